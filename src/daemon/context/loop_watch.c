#include "daemon/context/loop_watch.h"

#include <time.h>

#include "base/log.h"

static uint64_t thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Just before the loop waits again: what passed since the last time, less what it waited then. */
static void on_prepare(uv_prepare_t *p)
{
    struct loop_watch *w = p->data;
    uint64_t now = uv_hrtime(), idle = uv_metrics_idle_time(p->loop), cpu = thread_ns();
    uint64_t passed = now - w->last, waited = idle - w->last_idle;
    if (!w->skip) {
        histogram_observe(&w->seconds, passed > waited ? 1e-9 * (double)(passed - waited) : 0, 1);
        histogram_observe(&w->cpu_seconds, 1e-9 * (double)(cpu - w->last_cpu), 1);
    }
    w->skip = false;
    w->last = now;
    w->last_idle = idle;
    w->last_cpu = cpu;
}

void loop_watch_start(struct loop_watch *w, uv_loop_t *loop)
{
    histogram_init(&w->seconds, histogram_seconds, histogram_seconds_n);
    histogram_init(&w->cpu_seconds, histogram_seconds, histogram_seconds_n);
    uv_loop_configure(loop, UV_METRICS_IDLE_TIME);
    uv_prepare_init(loop, &w->prepare);
    w->prepare.data = w;
    w->last = uv_hrtime();
    w->last_idle = 0;
    w->last_cpu = thread_ns();
    uv_prepare_start(&w->prepare, on_prepare);
}

void loop_watch_skip(struct loop_watch *w)
{
    w->skip = true;
}

void loop_watch_stop(struct loop_watch *w)
{
    uv_close((uv_handle_t *)&w->prepare, NULL);
}

void loop_watch_say(const struct loop_watch *w)
{
    if (w->seconds.count)
        log_line(LOG_LEVEL_INFO, "loop",
                 "turns=%llu p99_ms=%.2f longest_ms=%.2f longest_cpu_ms=%.2f",
                 (unsigned long long)w->seconds.count, 1e3 * histogram_quantile(&w->seconds, .99),
                 1e3 * w->seconds.max, 1e3 * w->cpu_seconds.max);
}
