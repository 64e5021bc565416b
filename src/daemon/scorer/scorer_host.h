/*
 * The scorer's host: Kafka on one side, the pure scorer (role/scorer.h) on the other. It reads
 * records into batches, has them scored by workers, sends what the machine offers and commits
 * what the machine releases; it follows the heads topic. Thread: the loop.
 */
#ifndef DAEMON_SCORER_HOST_H
#define DAEMON_SCORER_HOST_H

#include "daemon/context/context.h"

struct scorer_host;
int scorer_host_open(struct scorer_host **out, struct context *ctx,
                     struct fis_error *e) FIS_MUST_CHECK;
/* True when there is more to do at once. */
bool scorer_host_turn(struct scorer_host *h);
void scorer_host_stop(struct scorer_host *h);
bool scorer_host_stopped(const struct scorer_host *h);
void scorer_host_tick(struct scorer_host *h); /* about once a second: a line on progress */
/* A line on what was not committed, when there is something. NULL is fine. */
void scorer_host_say_left(const struct scorer_host *h);
/* Leaves the group, for which it waits so long at most, and frees. NULL is fine. */
void scorer_host_close(struct scorer_host *h, int patience_ms);

#endif
