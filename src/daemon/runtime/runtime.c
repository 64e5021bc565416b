#include "daemon/runtime/runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "binding/binding.h"
#include "daemon/labelling/label_host.h"
#include "daemon/monitor/monitor.h"
#include "daemon/runtime/reload.h"
#include "daemon/runtime/topics_job.h"
#include "daemon/scorer/scorer_host.h"
#include "daemon/trainer/trainer_host.h"
#include "stream/embedded_address.h"
#include "stream/library.h"

#define TICK_MS 100
#define TICKS_PER_SAY 10
/* systemd gets its READY when the roles run, but does not wait longer than this for a broker. */
#define READY_NS UINT64_C(20000000000)
/* What closing in good order may take after the time to drain. */
#define CLOSING_MS 8000
/* Of that, what the answer to a question may take, */
#define ANSWER_MS 2000
#define ANSWER_SLICE_MS 10
/* and what the groups may take to let their members go: all of them, and each. */
#define LEAVING_MS 5000
#define LEAVING_LEAST_MS 500

static void wake(void *arg)
{
    struct runtime *rt = arg;
    uv_async_send(&rt->async);
}

static _Noreturn void end_process(const struct runtime *rt, int status)
{
    if (rt->embedded)
        stream_address_remove(rt->ctx.cfg->pipeline);
    log_stop();
    _Exit(status);
}

/* The last resort: a library call that does not return must not keep the process from ending. */
static void *guard_stop(void *arg)
{
    const struct runtime *rt = arg;
    uint64_t ms = rt->ctx.cfg->runtime.shutdown_timeout + CLOSING_MS;
    struct timespec left = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0)
        ;
    log_line(LOG_LEVEL_ERROR, "stop",
             "text=\"a call does not return: ending at once; what was not committed is repeated "
             "after a restart\"");
    end_process(rt, 1);
}

static void start_guard(struct runtime *rt)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, guard_stop, rt) == 0)
        pthread_detach(thread);
}

static void stop(struct runtime *rt, const char *why)
{
    if (rt->ctx.stopping)
        return;
    rt->ctx.stopping = true;
    rt->stop_deadline_ms = uv_hrtime() / 1000000 + rt->ctx.cfg->runtime.shutdown_timeout;
    notify_stopping(&rt->notify);
    log_line(LOG_LEVEL_INFO, "stopping", "reason=\"%s\" timeout_ms=%llu", why,
             (unsigned long long)rt->ctx.cfg->runtime.shutdown_timeout);
    start_guard(rt);
    if (rt->scorer)
        scorer_host_stop(rt->scorer);
    if (rt->labels)
        label_host_stop(rt->labels);
    if (rt->trainer)
        trainer_host_stop(rt->trainer);
    wake(rt);
}

static void on_fail(void *arg, const char *who, const struct fis_error *e)
{
    (void)who;
    (void)e;
    stop(arg, "a role failed");
}

/* ---- turns --------------------------------------------------------------------------------- */

static int open_roles(struct runtime *rt, struct fis_error *e)
{
    if ((rt->ctx.cfg->roles & CONFIG_TRAINER) && trainer_host_open(&rt->trainer, &rt->ctx, e) < 0)
        return -1;
    if ((rt->ctx.cfg->roles & CONFIG_SCORER) && scorer_host_open(&rt->scorer, &rt->ctx, e) < 0)
        return -1;
    if (rt->ctx.cfg->labels.page && label_host_open(&rt->labels, &rt->ctx, e) < 0)
        return -1;
    monitor_roles(rt->monitor, rt->scorer, rt->trainer, rt->labels);
    log_line(LOG_LEVEL_INFO, "started", "pipeline=%s roles=%s%s delivery=%s", rt->ctx.cfg->pipeline,
             rt->scorer ? "scorer" : "", rt->trainer ? (rt->scorer ? ",trainer" : "trainer") : "",
             rt->ctx.exactly_once ? "exactly_once" : "at_least_once");
    return 0;
}

/* Topics first; then the roles. */
static void start_up(struct runtime *rt)
{
    struct fis_error e;
    int rc = rt->topics ? topics_job_turn(rt->topics, &e) : 1;
    if (rc > 0) {
        rt->ctx.started = true;
        loop_watch_skip(&rt->ctx.watch);
        rc = open_roles(rt, &e);
    }
    if (rc < 0)
        context_fail(&rt->ctx, "start", &e);
}

static bool all_stopped(const struct runtime *rt)
{
    return (!rt->scorer || scorer_host_stopped(rt->scorer)) &&
           (!rt->trainer || trainer_host_stopped(rt->trainer)) &&
           (!rt->labels || label_host_stopped(rt->labels));
}

/* What is in flight will not be acknowledged: closing in good order would wait for the same broker
 * again. The kernel closes the sockets, and the broker aborts the transaction. */
static _Noreturn void end_at_once(struct runtime *rt, const char *why, int status)
{
    log_line(LOG_LEVEL_WARN, "stop", "text=\"%s\"", why);
    scorer_host_say_left(rt->scorer);
    trainer_host_say_left(rt->trainer);
    log_line(LOG_LEVEL_INFO, "stopped", "status=%d", status);
    end_process(rt, status);
}

static void end_loop(struct runtime *rt)
{
    rt->ended = true;
    monitor_stop(rt->monitor);
    loop_watch_stop(&rt->ctx.watch);
    uv_close((uv_handle_t *)&rt->async, NULL);
    uv_close((uv_handle_t *)&rt->tick, NULL);
    uv_close((uv_handle_t *)&rt->sigterm, NULL);
    uv_close((uv_handle_t *)&rt->sigint, NULL);
    uv_close((uv_handle_t *)&rt->sighup, NULL);
}

static void turn(struct runtime *rt)
{
    bool more = false;
    if (rt->ended)
        return;
    if (rt->ctx.stopping && uv_hrtime() / 1000000 >= rt->stop_deadline_ms)
        end_at_once(rt, "the time to drain is over", 1);
    workers_collect(rt->ctx.workers);
    monitor_turn(rt->monitor);
    if (!rt->ctx.started && !rt->ctx.stopping)
        start_up(rt);
    if (rt->trainer)
        more |= trainer_host_turn(rt->trainer);
    if (rt->scorer)
        more |= scorer_host_turn(rt->scorer);
    if (rt->labels)
        more |= label_host_turn(rt->labels);
    if (rt->ctx.stopping && all_stopped(rt))
        end_loop(rt);
    else if (more)
        uv_async_send(&rt->async);
}

static void on_async(uv_async_t *a)
{
    turn(a->data);
}

/* After a turn, so that a loop that hangs in one does not look alive. */
static void tell_systemd(struct runtime *rt)
{
    uint64_t now = uv_hrtime();
    notify_alive(&rt->notify, now);
    if (!rt->ctx.stopping && (rt->ctx.started || now - rt->began_ns >= READY_NS))
        notify_ready(&rt->notify);
}

static void on_tick(uv_timer_t *t)
{
    struct runtime *rt = t->data;
    turn(rt);
    tell_systemd(rt);
    if (rt->ended || ++rt->ticks % TICKS_PER_SAY)
        return;
    char doing[STATUS_REASON];
    monitor_tick(rt->monitor);
    status_line(status_now(rt->monitor), doing, sizeof doing);
    notify_status(&rt->notify, doing);
    if (rt->scorer)
        scorer_host_tick(rt->scorer);
}

static void on_signal(uv_signal_t *s, int number)
{
    struct runtime *rt = s->data;
    if (number == SIGHUP) {
        if (!rt->ctx.stopping)
            reload(rt);
        return;
    }
    if (rt->ctx.stopping) {
        log_line(LOG_LEVEL_WARN, "stop", "text=\"second signal: ending at once\"");
        end_process(rt, 128 + number);
    }
    stop(rt, number == SIGTERM ? "SIGTERM" : "SIGINT");
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void open_handles(struct runtime *rt)
{
    uv_loop_init(&rt->loop);
    loop_watch_start(&rt->ctx.watch, &rt->loop);
    uv_async_init(&rt->loop, &rt->async, on_async);
    uv_timer_init(&rt->loop, &rt->tick);
    uv_timer_start(&rt->tick, on_tick, TICK_MS, TICK_MS);
    uv_signal_init(&rt->loop, &rt->sigterm);
    uv_signal_init(&rt->loop, &rt->sigint);
    uv_signal_init(&rt->loop, &rt->sighup);
    rt->async.data = rt->tick.data = rt->sigterm.data = rt->sigint.data = rt->sighup.data = rt;
    uv_signal_start(&rt->sigterm, on_signal, SIGTERM);
    uv_signal_start(&rt->sigint, on_signal, SIGINT);
    uv_signal_start(&rt->sighup, on_signal, SIGHUP);
}

static int make_properties(struct runtime *rt, struct fis_error *e)
{
    uint32_t n = rt->ctx.cfg->kafka.count;
    rt->properties = fis_calloc((size_t)n + 2, sizeof *rt->properties);
    if (!rt->properties)
        return fis_fail(e, FIS_NOMEM, "no memory for %u Kafka properties", n);
    rt->ctx.properties = rt->properties;
    rt->ctx.property_count = binding_properties(rt->ctx.cfg, rt->properties);
    const char *caveats[STREAM_CAVEATS];
    for (size_t i = stream_library_caveats(rt->properties, n, 0, caveats); i-- > 0;)
        log_line(LOG_LEVEL_WARN, "kafka", "librdkafka=%s text=\"%s\"", stream_library_version(),
                 caveats[i]);
    if (!rt->embedded)
        return 0;
    rt->properties[rt->ctx.property_count++] =
        (struct stream_property){"bootstrap.servers", stream_embedded_bootstrap(rt->embedded)};
    /* Its rebalances take as long as a session may; the default would keep a restart waiting. */
    if (config_kafka(rt->ctx.cfg, "session.timeout.ms"))
        return 0;
    rt->properties[rt->ctx.property_count++] =
        (struct stream_property){"session.timeout.ms", STREAM_EMBEDDED_SESSION_MS};
    return 0;
}

static int start_broker(struct runtime *rt, struct fis_error *e)
{
    if (stream_embedded_start(&rt->embedded, e) < 0)
        return -1;
    const char *address = stream_embedded_bootstrap(rt->embedded);
    log_line(LOG_LEVEL_WARN, "embedded_broker",
             "address=%s text=\"for trials only: no data outlives this process, about 5 MB are "
             "kept per partition, and delivery is at_least_once (a crash may repeat a request)\"",
             address);
    if (topics_embedded(rt->ctx.cfg, rt->embedded, e) < 0)
        return -1;
    return stream_address_write(rt->ctx.cfg->pipeline, address, e);
}

static int open_runtime(struct runtime *rt, bool embedded, struct fis_error *e)
{
    rt->ctx.exactly_once = rt->ctx.cfg->delivery == CONFIG_EXACTLY_ONCE && !embedded;
    if (pipeline_init(&rt->ctx.pipeline, rt->ctx.cfg, e) < 0 ||
        (embedded && start_broker(rt, e) < 0) || make_properties(rt, e) < 0)
        return -1;
    /* Workers do one thing at a time: a batch each, and a training job beside them. */
    uint32_t threads = rt->ctx.cfg->runtime.workers + 1;
    if (workers_start(&rt->ctx.workers, threads, context_wake, &rt->ctx, e) < 0 ||
        monitor_open(&rt->monitor, &rt->ctx, e) < 0)
        return -1;
    return embedded ? 0 : topics_job_start(&rt->topics, &rt->ctx, e);
}

/* A broker that does not answer one who leaves does not answer the next. */
static int left_until(uint64_t until_ms)
{
    uint64_t now = uv_hrtime() / 1000000;
    return now + LEAVING_LEAST_MS < until_ms ? (int)(until_ms - now) : LEAVING_LEAST_MS;
}

/* What still runs is a question to a broker, which may hang, or the job of a daemon that failed:
 * neither holds anything that counts. */
static bool workers_idle(struct runtime *rt)
{
    const uint64_t until_ms = uv_hrtime() / 1000000 + (rt->ctx.failed ? 0 : ANSWER_MS);
    workers_collect(rt->ctx.workers);
    while (workers_busy(rt->ctx.workers) && uv_hrtime() / 1000000 < until_ms) {
        uv_sleep(ANSWER_SLICE_MS);
        workers_collect(rt->ctx.workers);
    }
    return workers_busy(rt->ctx.workers) == 0;
}

static void close_runtime(struct runtime *rt)
{
    if (rt->ctx.workers && !workers_idle(rt))
        end_at_once(rt, "not waiting for a job", rt->ctx.failed);
    uint64_t until_ms = uv_hrtime() / 1000000 + (rt->ctx.failed ? 1000 : LEAVING_MS);
    workers_stop(rt->ctx.workers);
    scorer_host_close(rt->scorer, left_until(until_ms));
    trainer_host_close(rt->trainer, left_until(until_ms));
    label_host_close(rt->labels, left_until(until_ms));
    topics_job_free(rt->topics);
    monitor_close(rt->monitor);
    if (rt->embedded)
        stream_address_remove(rt->ctx.cfg->pipeline);
    stream_embedded_stop(rt->embedded);
    fis_free(rt->properties);
    pipeline_done(&rt->ctx.pipeline);
}

void runtime_run(struct config *cfg, const char *path, bool embedded)
{
    struct runtime rt = {.cfg = cfg, .config_path = path, .began_ns = uv_hrtime()};
    struct fis_error e;
    rt.ctx = (struct context){.cfg = cfg,
                              .loop = &rt.loop,
                              .embedded = embedded,
                              .wake = wake,
                              .fail = on_fail,
                              .arg = &rt};
    notify_init(&rt.notify);
    open_handles(&rt);
    if (log_start(&e) < 0 || open_runtime(&rt, embedded, &e) < 0) {
        context_fail(&rt.ctx, "start", &e);
        end_loop(&rt);
    }
    uv_run(&rt.loop, UV_RUN_DEFAULT);
    close_runtime(&rt);
    uv_loop_close(&rt.loop);
    loop_watch_say(&rt.ctx.watch);
    log_line(LOG_LEVEL_INFO, "stopped", "status=%d", rt.ctx.failed);
    log_stop();
    /* exit would take from a client that is left to its thread what it uses, and wait for whatever a
     * library does at the end. */
    _Exit(rt.ctx.failed);
}
