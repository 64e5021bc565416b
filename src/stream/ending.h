/*
 * Inside stream/: the end of a client, in a thread of its own, since librdkafka may not come to one
 * (a topic that was deleted under a reader, another cluster behind an address, a member that cannot
 * leave). The owner waits for a while; what is not over then is left behind and dies with the
 * process.
 */
#ifndef STREAM_ENDING_H
#define STREAM_ENDING_H

#include <stdbool.h>

#define STREAM_DESTROY_MS 2000 /* a client that destroys itself needs less than one second */

struct stream_ending;

/* Runs `end`, and returns when it has, or called stream_ending_go, or after `ms`. */
void stream_end(void (*end)(void *arg, struct stream_ending *e), void *arg, int ms);
/* In `end`: the owner need not wait for the rest. */
void stream_ending_go(struct stream_ending *e);

#endif
