#include "daemon/monitor/webhook.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "config/topic_list.h"
#include "daemon/monitor/webhook_post.h"
#include "stream/consumer.h"
#include "wire/chunk.h"
#include "wire/model.h"

enum {
    SLICE_MS = 500, /* between two looks, and a heartbeat of the group's member */
    FIRST_MS = 1000,
    LONGEST_MS = 300000,
    CLOSE_MS = 1000,
    OPEN_VERSIONS = 4
};

struct webhook {
    struct context *ctx;
    struct webhook_post *post;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t news;
    bool leads, stop, woken;      /* under lock */
    struct webhook_status status; /* under lock */

    /* The thread's. */
    struct stream_consumer *models;
    struct stream_batch *batch; /* of one message */
    struct wire_assembler *assembler;
    bool fresh;       /* nothing was committed: up to the end only the newest is kept */
    char *newest;     /* its body, to be sent at the end */
    uint64_t version; /* of it */
    uint64_t refused; /* messages that are no version: passed over, as everywhere */
};

/* ---- between the threads --------------------------------------------------------------------- */

static bool is_over(void *arg)
{
    struct webhook *w = arg;
    pthread_mutex_lock(&w->lock);
    bool over = w->stop || !w->leads;
    pthread_mutex_unlock(&w->lock);
    return over;
}

static void wake(void *arg)
{
    struct webhook *w = arg;
    pthread_mutex_lock(&w->lock);
    w->woken = true;
    pthread_cond_signal(&w->news);
    pthread_mutex_unlock(&w->lock);
}

/* Until there is news, or so long. */
static void pause_ms(struct webhook *w, uint64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += (time_t)(ms / 1000) + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&w->lock);
    if (!w->woken)
        pthread_cond_timedwait(&w->news, &w->lock, &until);
    w->woken = false;
    pthread_mutex_unlock(&w->lock);
}

/* An attempt; failed: why, else NULL. */
static void count(struct webhook *w, uint64_t version, const char *failed)
{
    pthread_mutex_lock(&w->lock);
    if (failed) {
        w->status.failed++;
        snprintf(w->status.why, sizeof w->status.why, "%.*s", WEBHOOK_WHY - 1, failed);
    } else {
        w->status.delivered++;
        w->status.version = version;
    }
    w->status.waiting = failed ? version : 0;
    pthread_mutex_unlock(&w->lock);
}

/* It is another process that tries now. */
static void stop_waiting(struct webhook *w)
{
    pthread_mutex_lock(&w->lock);
    w->status.waiting = 0;
    pthread_mutex_unlock(&w->lock);
}

/* ---- delivering ------------------------------------------------------------------------------ */

/* Keeps the membership while it waits. */
static void wait_for_next(struct webhook *w, uint64_t ms)
{
    uint64_t until = context_now().mono_ms + ms;
    for (uint64_t now; (now = context_now().mono_ms) < until && !is_over(w);) {
        pause_ms(w, until - now < SLICE_MS ? until - now : SLICE_MS);
        (void)stream_consumer_read(w->models, NULL, 0);
    }
}

/* Until it is delivered: true; or it is over. */
static bool deliver(struct webhook *w, uint64_t version, const char *body)
{
    struct fis_error e;
    uint64_t wait_ms = FIRST_MS;
    for (uint32_t attempt = 1; !is_over(w); attempt++) {
        int rc = webhook_post_send(w->post, version, body, &e);
        if (rc && is_over(w))
            return false;
        count(w, version, rc ? e.text : NULL);
        if (!rc) {
            log_line(LOG_LEVEL_INFO, "webhook", "version=%llu delivered=yes attempt=%u host=%s",
                     (unsigned long long)version, attempt, webhook_post_host(w->post));
            return true;
        }
        log_line(LOG_LEVEL_WARN, "webhook",
                 "version=%llu delivered=no attempt=%u host=%s next_ms=%llu reason=\"%s\"",
                 (unsigned long long)version, attempt, webhook_post_host(w->post),
                 (unsigned long long)wait_ms, e.text);
        wait_for_next(w, wait_ms);
        wait_ms = 2 * wait_ms < LONGEST_MS ? 2 * wait_ms : LONGEST_MS;
    }
    return false;
}

/* Everything before `offset` needs no more delivery. */
static void commit(struct webhook *w, int64_t offset)
{
    struct fis_error e;
    const struct stream_offset at = {.topic = w->ctx->cfg->topics.models, .offset = offset};
    if (stream_consumer_commit(w->models, &at, 1, &e))
        log_line(LOG_LEVEL_WARN, "webhook",
                 "text=\"an offset is not committed: a version may be "
                 "delivered twice\" reason=\"%s\"",
                 e.text);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void keep_newest(struct webhook *w, char *body, uint64_t version)
{
    free(w->newest);
    w->newest = body;
    w->version = version;
}

/* 1: a version is complete, *body its body if it was published; 0: not yet, or no version.
 * Negative: no memory; it has to be read again. */
static int take(struct webhook *w, const struct stream_message *m, char **body, uint64_t *version)
{
    struct wire_bytes payload;
    struct wire_model_owned v;
    struct fis_error e;
    int rc = wire_assembler_feed(w->assembler, (struct wire_bytes){m->value, m->value_length},
                                 &payload, version, &e);
    if (rc > 0)
        rc = wire_model_decode(payload, &v, &e) ? -(int)e.kind : 1;
    if (rc == -FIS_NOMEM)
        return rc;
    if (rc < 0)
        log_line(LOG_LEVEL_WARN, "webhook", "offset=%lld passed_over=%llu reason=\"%s\"",
                 (long long)m->offset, (unsigned long long)++w->refused, e.text);
    if (rc <= 0)
        return 0;
    *body = v.model.served ? webhook_body(&v.model) : NULL;
    *version = v.model.version;
    rc = v.model.served && !*body ? -(int)FIS_NOMEM : 1;
    wire_model_done(&v);
    return rc;
}

/* False: versions have to be read again, from what is committed. */
static bool handle(struct webhook *w, const struct stream_message *m)
{
    char *body = NULL;
    uint64_t version;
    if (take(w, m, &body, &version) < 0)
        return false;
    if (w->fresh && body) {
        keep_newest(w, body, version);
        return true;
    }
    if (body && deliver(w, version, body))
        commit(w, m->offset + 1);
    free(body);
    return true;
}

static void handle_event(struct webhook *w, const struct stream_consumer_event *ev)
{
    if (ev->kind == STREAM_RESET) {
        w->fresh = true;
    } else if (ev->kind == STREAM_EOF && w->fresh) {
        if (w->newest && !deliver(w, w->version, w->newest))
            return;
        keep_newest(w, NULL, 0);
        w->fresh = false;
        commit(w, ev->offset);
    } else if (ev->kind == STREAM_ERROR) {
        log_line(LOG_LEVEL_WARN, "webhook", "reason=\"%s\"", ev->error.text);
    }
}

static int open_models(struct webhook *w, struct fis_error *e)
{
    char group[CONFIG_GROUP_MAX];
    const char *topic = w->ctx->cfg->topics.models;
    config_webhook_group(w->ctx->cfg, group);
    struct stream_consumer_options o = {.client = context_client(w->ctx),
                                        .group_id = group,
                                        .eofs = true,
                                        .topics = &topic,
                                        .topic_count = 1};
    o.client.wake = wake;
    o.client.wake_arg = w;
    o.client.stats = NULL;
    return stream_consumer_open(&w->models, &o, e);
}

/* As long as this process leads. */
static void follow(struct webhook *w)
{
    struct stream_consumer_event ev;
    struct fis_error e;
    w->fresh = false;
    w->assembler = wire_assembler_new(WIRE_ASSEMBLE_EACH, OPEN_VERSIONS, 0);
    if (!w->assembler || open_models(w, &e)) {
        log_line(LOG_LEVEL_ERROR, "webhook",
                 "text=\"it cannot read versions: tried again\" reason=\"%s\"",
                 w->assembler ? e.text : "no memory");
        pause_ms(w, LONGEST_MS / 10);
    }
    bool good = true;
    while (w->models && good && !is_over(w)) {
        uint32_t n = stream_consumer_read(w->models, w->batch, 1);
        while (stream_consumer_event(w->models, &ev))
            handle_event(w, &ev);
        if (n)
            good = handle(w, &w->batch->messages[0]);
        stream_batch_release(w->batch);
        if (!n)
            pause_ms(w, SLICE_MS);
    }
    stream_consumer_close(w->models, CLOSE_MS);
    w->models = NULL;
    if (w->assembler)
        wire_assembler_free(w->assembler);
    w->assembler = NULL;
    keep_newest(w, NULL, 0);
    stop_waiting(w);
}

static void *run(void *arg)
{
    struct webhook *w = arg;
    for (;;) {
        pthread_mutex_lock(&w->lock);
        while (!w->stop && !w->leads)
            pthread_cond_wait(&w->news, &w->lock);
        bool stop = w->stop;
        pthread_mutex_unlock(&w->lock);
        if (stop)
            return NULL;
        follow(w);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

int webhook_open(struct webhook **out, struct context *ctx, struct fis_error *e)
{
    pthread_condattr_t steady;
    *out = NULL;
    if (!ctx->cfg->webhook.url || !(ctx->cfg->roles & CONFIG_TRAINER))
        return 0;
    struct webhook *w = fis_calloc(1, sizeof *w);
    if (!w || !(w->batch = stream_batch_new(1))) {
        fis_free(w);
        return fis_fail(e, FIS_NOMEM, "no memory for the webhook");
    }
    w->ctx = ctx;
    w->status.on = true;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&w->news, &steady);
    pthread_condattr_destroy(&steady);
    int rc = webhook_post_open(&w->post, ctx->cfg, is_over, w, e);
    if (!rc && pthread_create(&w->thread, NULL, run, w))
        rc = fis_fail(e, FIS_FATAL, "no thread for the webhook");
    if (!rc) {
        *out = w;
        return 0;
    }
    webhook_post_close(w->post);
    stream_batch_free(w->batch);
    fis_free(w);
    return rc;
}

void webhook_lead(struct webhook *w, bool leads)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    if (w->leads != leads) {
        w->leads = leads;
        w->woken = true;
        pthread_cond_signal(&w->news);
    }
    pthread_mutex_unlock(&w->lock);
}

struct webhook_status webhook_status(struct webhook *w)
{
    struct webhook_status now = {0};
    if (!w)
        return now;
    pthread_mutex_lock(&w->lock);
    now = w->status;
    pthread_mutex_unlock(&w->lock);
    return now;
}

void webhook_close(struct webhook *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = w->woken = true;
    pthread_cond_signal(&w->news);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    webhook_post_close(w->post);
    stream_batch_free(w->batch);
    pthread_cond_destroy(&w->news);
    pthread_mutex_destroy(&w->lock);
    fis_free(w);
}
