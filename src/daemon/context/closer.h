/*
 * Ends of Kafka clients: librdkafka waits for its threads, and for brokers, which takes from
 * milliseconds to seconds. They are ended beside the loop, which goes on turning; it does not end
 * before the last of them has.
 * Thread: the loop's; `end` runs on another, as the only one that has `what`.
 */
#ifndef DAEMON_CLOSER_H
#define DAEMON_CLOSER_H

#include "daemon/context/context.h"

/* Calls end(what) soon, then done(arg) on the loop (NULL: no call). What is NULL needs
 * no end. Where memory is refused it is ended at once. */
void closer_take(struct context *ctx, void (*end)(void *what), void *what, void (*done)(void *arg),
                 void *arg);

#endif
