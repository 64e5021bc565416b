#include "daemon/context/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOG_AGAIN_NS UINT64_C(10000000000)

void context_wake(void *arg)
{
    struct context *ctx = arg;
    if (ctx->wake)
        ctx->wake(ctx->arg);
}

void context_fail(struct context *ctx, const char *who, const struct fis_error *e)
{
    log_line(LOG_LEVEL_ERROR, "failed", "role=%s reason=\"%s\"", who, e->text);
    ctx->failed = true;
    if (ctx->fail)
        ctx->fail(ctx->arg, who, e);
}

struct trainer_time context_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (struct trainer_time){
        .mono_ms = uv_hrtime() / 1000000,
        .wall_ms = (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000,
    };
}

/* ---- Kafka ----------------------------------------------------------------------------------- */

static void kafka_log(void *arg, int level, const char *text)
{
    (void)arg;
    /* Its errors (3) come as events too, which context_trouble logs. */
    log_line(level <= 2 ? LOG_LEVEL_WARN : LOG_LEVEL_DEBUG, "kafka", "text=\"%s\"", text);
}

struct stream_client context_client(struct context *ctx)
{
    return (struct stream_client){
        .properties = ctx->properties,
        .property_count = ctx->property_count,
        .wake = context_wake,
        .wake_arg = ctx,
        .log = kafka_log,
        .stats = ctx->observer.stats,
        .stats_arg = ctx->observer.arg,
    };
}

/* Librdkafka's texts end in counters, "(after 12ms in state CONNECT, 30 identical errors …)". */
static bool same_trouble(const char *a, const char *b)
{
    const char *end = strstr(b, " (after ");
    return end ? strncmp(a, b, (size_t)(end - b)) == 0 : strcmp(a, b) == 0;
}

void context_blocked(const char *who, const struct fis_error *e)
{
    log_line(LOG_LEVEL_WARN, "waiting",
             "role=%s text=\"%s: it goes on when that ends (kafka-transactions.sh find-hanging)\"",
             who, e->text);
}

/* A broker that is away would fill the log: every client reports it, in turn. */
void context_trouble(struct context *ctx, const char *who, const struct fis_error *e)
{
    uint64_t now = uv_hrtime();
    uint32_t oldest = 0, i = 0;
    for (; i < CONTEXT_TROUBLES && !same_trouble(ctx->troubles[i].text, e->text); i++)
        if (ctx->troubles[i].at < ctx->troubles[oldest].at)
            oldest = i;
    observe_trouble(&ctx->observer, e->text);
    if (i < CONTEXT_TROUBLES && now - ctx->troubles[i].at < LOG_AGAIN_NS)
        return;
    i = i < CONTEXT_TROUBLES ? i : oldest;
    snprintf(ctx->troubles[i].text, sizeof ctx->troubles[i].text, "%s", e->text);
    ctx->troubles[i].at = now;
    log_line(LOG_LEVEL_WARN, "kafka", "who=%s text=\"%s\"", who, e->text);
}

int context_same_cluster(struct context *ctx, const struct stream_consumer *c, struct fis_error *e)
{
    char *id = stream_consumer_cluster(c), *known = ctx->cluster;
    int rc = 0;
    if (id && !*known)
        snprintf(known, sizeof ctx->cluster, "%s", id);
    else if (id && strncmp(known, id, sizeof ctx->cluster - 1) != 0)
        rc =
            fis_fail(e, FIS_FATAL,
                     "another cluster answers at the brokers' address (%s, before %s), without the "
                     "memory of this pipeline: restore ledger, heads and models from a backup, or "
                     "start again to begin from nothing",
                     id, known);
    free(id);
    return rc;
}
