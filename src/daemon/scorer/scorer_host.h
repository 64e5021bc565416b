/*
 * The scorer's host: Kafka on one side, the pure scorer (role/scorer.h) on the other. It reads
 * records into batches, has them scored by workers, sends what the machine offers and commits
 * what the machine releases; it follows the heads topic. Thread: the loop.
 */
#ifndef DAEMON_SCORER_HOST_H
#define DAEMON_SCORER_HOST_H

#include "daemon/runtime/runtime.h"

struct scorer_host;
int scorer_host_open(struct scorer_host **out, struct runtime *rt,
                     struct fis_error *e) FIS_MUST_CHECK;
/* True when there is more to do at once. */
bool scorer_host_turn(struct scorer_host *h);
void scorer_host_stop(struct scorer_host *h);
bool scorer_host_stopped(const struct scorer_host *h);
void scorer_host_tick(struct scorer_host *h); /* about once a second: a line on progress */
/* What it shows (daemon/monitor/status.h): fills *out, and at most n of the partitions it reads; returns
 * how many. */
struct status_scorer;
struct status_lag;
uint32_t scorer_host_status(struct scorer_host *h, struct status_scorer *out,
                            struct status_lag *lags, uint32_t n);
/* A line on what was not committed, when there is something. NULL is fine. */
void scorer_host_say_left(const struct scorer_host *h);
/* Leaves the group, for which it waits so long at most, and frees. NULL is fine. */
void scorer_host_close(struct scorer_host *h, int patience_ms);

#endif
