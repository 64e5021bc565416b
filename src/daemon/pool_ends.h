/*
 * The ends of the records topic, asked for on a worker since the call blocks: where a scan of the
 * pool ends. A broker that does not answer is asked again. Thread: the loop.
 */
#ifndef DAEMON_POOL_ENDS_H
#define DAEMON_POOL_ENDS_H

#include "daemon/runtime.h"
#include "stream/topics.h"

struct pool_ends {
    struct runtime *rt;
    struct job job;
    struct stream_client client;
    bool wanted, running, ran;
    int rc;
    struct stream_end *found;
    uint32_t count;
    struct fis_error error;
};

void pool_ends_init(struct pool_ends *p, struct runtime *rt);
/* Its worker must have ended. */
void pool_ends_done(struct pool_ends *p);
bool pool_ends_running(const struct pool_ends *p);

void pool_ends_want(struct pool_ends *p);
/* 1: they are there, and *ends (the caller's to fis_free) and *n are written; 0: not yet, or not
 * wanted. */
int pool_ends_turn(struct pool_ends *p, struct wire_pool_end **ends, uint32_t *n,
                   struct fis_error *e) FIS_MUST_CHECK;

#endif
