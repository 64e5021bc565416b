/*
 * Topics at the start, on a worker since the admin calls block: those that are missing are
 * created, and a broker that does not answer is waited for. Then what the topics take says how long
 * a record and a dead letter may be. Thread: the loop.
 */
#ifndef DAEMON_TOPICS_JOB_H
#define DAEMON_TOPICS_JOB_H

#include "daemon/context/context.h"
#include "stream/embedded.h"

struct topics_job;
int topics_job_start(struct topics_job **out, struct context *ctx,
                     struct fis_error *e) FIS_MUST_CHECK;
/* 1: all topics are there; 0: not yet; negative: refused, for good. */
int topics_job_turn(struct topics_job *t, struct fis_error *e) FIS_MUST_CHECK;
void topics_job_free(struct topics_job *t); /* its worker must have ended; NULL is fine */

/* The topics of the pipeline on the embedded broker, which has no admin protocol. */
int topics_embedded(const struct config *cfg, struct stream_embedded *broker,
                    struct fis_error *e) FIS_MUST_CHECK;

#endif
