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
 * Thread: the loop's.
 */
#ifndef DAEMON_RUNTIME_H
#define DAEMON_RUNTIME_H

#include <uv.h>

#include "daemon/context/context.h"
#include "daemon/runtime/notify.h"
#include "stream/embedded.h"

struct runtime {
    struct context ctx;
    uv_loop_t loop;
    uv_async_t async;
    uv_timer_t tick;
    uv_signal_t sigterm, sigint, sighup;
    struct config *cfg; /* the context's, for daemon/runtime/reload.c alone */
    const char *config_path;
    struct stream_embedded *embedded;
    struct stream_property *properties; /* the configuration's, and the embedded broker's address */
    struct scorer_host *scorer;
    struct trainer_host *trainer;
    struct label_host *labels; /* NULL: no labelling page */
    struct topics_job *topics;
    struct monitor *monitor;
    bool ended;
    uint64_t ticks, began_ns;
    struct notify notify;
    uint64_t stop_deadline_ms;
};

/* Runs until stopped; `cfg` was read from `path`, and is changed by a reload. Ends the process: 0
 * when everything was drained and committed, 1 when a role failed or the time to drain was over. */
_Noreturn void runtime_run(struct config *cfg, const char *path, bool embedded);

#endif
