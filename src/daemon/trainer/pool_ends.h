/*
 * The ends of the topics of records, asked for on a worker since the call blocks: where a scan of
 * the pool ends. A broker that does not answer is asked again. Thread: the loop.
 */
#ifndef DAEMON_POOL_ENDS_H
#define DAEMON_POOL_ENDS_H

#include "daemon/context/context.h"
#include "session/session.h"
#include "stream/topics.h"

struct pool_ends {
    struct context *ctx;
    struct job job;
    struct stream_client client;
    bool running, ran;
    int rc;
    struct wire_pool_end *ends; /* [count] */
    uint32_t count;
    struct fis_error error;
};

void pool_ends_init(struct pool_ends *p, struct context *ctx);
/* Its worker must have ended. */
void pool_ends_done(struct pool_ends *p);
bool pool_ends_running(const struct pool_ends *p);

void pool_ends_ask(struct pool_ends *p);
/* session_ends, when they have come. */
int pool_ends_answer(struct pool_ends *p, struct session *session,
                     struct fis_error *e) FIS_MUST_CHECK;

#endif
