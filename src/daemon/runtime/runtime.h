/*
 * The runtime: one libuv loop that drives the hosts of the roles. Everything that may want
 * attention (librdkafka's queues, workers, the transaction's thread) wakes one uv_async; then each
 * host takes a turn, in which it does what can be done without waiting. A slow tick makes sure
 * that nothing depends on a wake alone.
 *
 * Stopping is a state: a signal (or a failure) asks the hosts to stop, they finish what is in
 * flight, and when all have stopped, or the deadline passes, the loop ends. A second signal ends
 * the process at once.
 *
 * Thread: the loop's, but for runtime_wake.
 */
#ifndef DAEMON_RUNTIME_H
#define DAEMON_RUNTIME_H

#include <uv.h>

#include "base/log.h"
#include "daemon/runtime/loop_watch.h"
#include "daemon/runtime/notify.h"
#include "daemon/context/pipeline.h"
#include "daemon/context/worker.h"
#include "stream/address.h"
#include "stream/conf.h"
#include "stream/embedded.h"

struct runtime {
    uv_loop_t loop;
    struct loop_watch watch;
    uv_async_t async;
    uv_timer_t tick;
    uv_signal_t sigterm, sigint, sighup;
    const struct config *cfg;
    struct config *own_cfg; /* the same, for daemon/runtime/reload.c alone */
    const char *config_path;
    struct pipeline pipeline;
    struct workers *workers;
    struct stream_embedded *embedded;
    struct stream_property *properties; /* the configuration's, and the embedded broker's address */
    size_t property_count;
    bool exactly_once;
    size_t dead_letter_bytes; /* max.message.bytes of that topic; 0: no limit */
    size_t batch_bytes;       /* the smallest max.message.bytes of what is written; 0: no limit */
    struct scorer_host *scorer;
    struct trainer_host *trainer;
    struct topics_job *topics;
    struct monitor *monitor;
    bool started, stopping, ended;
    uint64_t ticks, began_ns;
    struct notify notify;
    struct {
        char text[FIS_ERROR_TEXT];
        uint64_t at; /* uv_hrtime */
    } said[8];       /* the Kafka troubles that were logged last: the oldest goes */
    uint64_t stop_deadline_ms;
    int exit_code;
};

/* Runs until stopped; `cfg` was read from `path`, and is changed by a reload. Returns the process's
 * exit code: 0 when everything was drained and committed, 1 when a role failed or the time to drain
 * was over. */
int runtime_run(struct config *cfg, const char *path, bool embedded);

void runtime_wake(void *rt); /* any thread */
void runtime_fail(struct runtime *rt, const char *who, const struct fis_error *e);
void runtime_stop(struct runtime *rt, const char *why);
struct trainer_time runtime_now(const struct runtime *rt);
/* What goes into every Kafka client. */
struct stream_client runtime_client(struct runtime *rt);
/* A transient error of Kafka; the same text is said once in ten seconds. */
void runtime_kafka_event(struct runtime *rt, const char *who, const struct fis_error *e);

#endif
