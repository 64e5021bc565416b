/*
 * What the hosts of the roles and the monitor share: configuration, workers, the options of Kafka
 * clients, the state of the process, and how to reach the loop without knowing it. The runtime
 * fills it in; hosts (scorer, trainer) see nothing above it.
 *
 * Thread: the loop's, but for context_wake. Owns: nothing but its pipeline.
 */
#ifndef DAEMON_CONTEXT_H
#define DAEMON_CONTEXT_H

#include <uv.h>

#include "base/log.h"
#include "daemon/context/loop_watch.h"
#include "daemon/context/observer.h"
#include "daemon/context/pipeline.h"
#include "daemon/context/worker.h"
#include "stream/consumer.h"

#define CONTEXT_TROUBLES 8

struct context {
    const struct config *cfg;
    struct pipeline pipeline;
    struct workers *workers;
    uv_loop_t *loop;
    struct loop_watch watch;
    const struct stream_property *properties; /* of every Kafka client */
    size_t property_count;
    bool exactly_once, embedded;
    char cluster[64];         /* id of the brokers' cluster; "": not known yet */
    size_t dead_letter_bytes; /* max.message.bytes of that topic; 0: no limit */
    size_t batch_bytes;       /* the smallest max.message.bytes of what is written; 0: no limit */
    size_t chunk_bytes;       /* of a head, version or checkpoint; 0: topics.max_chunk */
    bool started;             /* topics exist, and the roles have begun */
    bool stopping, failed;
    struct observer observer;
    void (*wake)(void *arg); /* any thread */
    void (*fail)(void *arg, const char *who, const struct fis_error *e);
    void *arg;
    struct {
        char text[FIS_ERROR_TEXT];
        uint64_t at;              /* uv_hrtime */
    } troubles[CONTEXT_TROUBLES]; /* those of Kafka that were logged last */
};

void context_wake(void *ctx); /* any thread: the loop takes a turn soon */
/* A role cannot go on: the process stops, and exits with 1. */
void context_fail(struct context *ctx, const char *who, const struct fis_error *e);
struct trainer_time context_now(void);
/* What goes into every Kafka client. */
struct stream_client context_client(struct context *ctx);
/* A transient error of Kafka: for the observer, and for the log once in ten seconds. */
void context_trouble(struct context *ctx, const char *who, const struct fis_error *e);
/* FATAL when what answers at the brokers' address is not the cluster that answered first: what this
 * process knows is of the other one, and waiting does not bring that back. */
int context_same_cluster(struct context *ctx, const struct stream_consumer *c,
                         struct fis_error *e) FIS_MUST_CHECK;
/* What a reader's end waits for (STREAM_BLOCKED), for the log. */
void context_blocked(const char *who, const struct fis_error *e);

#endif
