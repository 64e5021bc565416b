/*
 * The trainer role of a process: a session (session/session.h) with its ports bound to Kafka, files
 * and workers. Thread: the loop.
 */
#ifndef DAEMON_TRAINER_HOST_H
#define DAEMON_TRAINER_HOST_H

#include "daemon/context/context.h"

struct trainer_host;
int trainer_host_open(struct trainer_host **out, struct context *ctx,
                      struct fis_error *e) FIS_MUST_CHECK;
bool trainer_host_turn(struct trainer_host *h); /* true when there is more to do at once */
void trainer_host_stop(struct trainer_host *h);
bool trainer_host_stopped(const struct trainer_host *h);
/* The configuration has changed. */
void trainer_host_adjust(struct trainer_host *h);
/* A line on what was not committed, when there is something. NULL is fine. */
void trainer_host_say_left(const struct trainer_host *h);
/* Leaves the group, for which it waits so long at most, and frees. NULL is fine. */
void trainer_host_close(struct trainer_host *h, int patience_ms);

#endif
