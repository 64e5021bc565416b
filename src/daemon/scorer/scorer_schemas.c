#include "daemon/scorer/scorer_schemas.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "binding/binding.h"
#include "fis/mem.h"
#include "registry/schema_cache.h"

enum { FIRST_MS = 1000, LONGEST_MS = 60000 };

struct scorer_schemas {
    struct context *ctx;
    struct registry *registry;
    struct schema_cache *cache;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t news;
    atomic_bool stop;
    enum {
        IDLE,
        ASKED,
        ANSWERED
    } state; /* under lock; says which thread has the next four fields */
    uint32_t id;
    int rc;
    struct wire_format *format;
    struct fis_error error;

    /* The loop's. */
    bool needed; /* a batch waits for needed_id */
    uint32_t needed_id;
    uint64_t retry_at_ms, wait_ms;
    struct scorer_registry status;
};

/* ---- the thread ------------------------------------------------------------------------------ */

static bool is_over(void *arg)
{
    struct scorer_schemas *s = arg;
    return atomic_load(&s->stop);
}

static void *fetch_all(void *arg)
{
    struct scorer_schemas *s = arg;
    pthread_mutex_lock(&s->lock);
    while (!is_over(s)) {
        if (s->state != ASKED) {
            pthread_cond_wait(&s->news, &s->lock);
            continue;
        }
        pthread_mutex_unlock(&s->lock);
        s->format = NULL;
        s->rc = registry_fetch(s->registry, s->id, &s->format, &s->error);
        pthread_mutex_lock(&s->lock);
        s->state = ANSWERED;
        context_wake(s->ctx);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static int start_thread(struct scorer_schemas *s, struct fis_error *e)
{
    sigset_t all, old;
    sigfillset(&all); /* signals are the loop's */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    s->running = pthread_create(&s->thread, NULL, fetch_all, s) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return s->running ? 0 : fis_fail(e, FIS_FATAL, "a thread for the schema registry cannot start");
}

/* ---- life ------------------------------------------------------------------------------------ */

int scorer_schemas_open(struct scorer_schemas **out, struct context *ctx, struct fis_error *e)
{
    struct scorer_schemas *s = fis_calloc(1, sizeof *s);
    if (!s)
        return fis_fail(e, FIS_NOMEM, "no memory for schemas");
    s->ctx = ctx;
    s->wait_ms = FIRST_MS;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->news, NULL);
    s->cache = schema_cache_new();
    const struct registry_options o = binding_registry(ctx->cfg, is_over, s);
    int rc = s->cache ? registry_open(&s->registry, &o, e)
                      : fis_fail(e, FIS_NOMEM, "no memory for schemas");
    if (!rc)
        rc = start_thread(s, e);
    if (rc)
        scorer_schemas_close(s);
    else
        *out = s;
    return rc;
}

void scorer_schemas_close(struct scorer_schemas *s)
{
    if (!s)
        return;
    atomic_store(&s->stop, true);
    if (s->running) {
        pthread_mutex_lock(&s->lock);
        pthread_cond_signal(&s->news);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
    }
    if (s->state == ANSWERED)
        wire_format_free(s->format);
    registry_close(s->registry);
    schema_cache_free(s->cache);
    pthread_cond_destroy(&s->news);
    pthread_mutex_destroy(&s->lock);
    fis_free(s);
}

void scorer_schemas_status(const struct scorer_schemas *s, struct scorer_registry *out)
{
    *out = s->status;
    out->known = schema_cache_known(s->cache);
}

/* ---- batches --------------------------------------------------------------------------------- */

/* False: its schema is to be fetched. */
static bool resolve(struct scorer_schemas *s, struct scoring_batch *b, uint32_t i, uint64_t now_ms)
{
    const struct wire_bytes value = b->messages[i].value;
    uint32_t id;
    b->formats[i] = NULL;
    if (!value.data || wire_frame_id(value, &id, &b->errors[i]))
        return true;
    if (schema_cache_find(s->cache, id, now_ms, &b->formats[i], &b->errors[i]) != SCHEMA_ASK)
        return true;
    s->needed = true;
    s->needed_id = id;
    return false;
}

bool scorer_schemas_ready(struct scorer_schemas *s, struct scoring_batch *b, uint32_t *resolved)
{
    uint64_t now_ms = context_now().mono_ms;
    while (*resolved < b->n && resolve(s, b, *resolved, now_ms))
        ++*resolved;
    return *resolved == b->n;
}

/* ---- fetching -------------------------------------------------------------------------------- */

/* Of what went well, only the first time is news. */
static void note_outcome(struct scorer_schemas *s, uint64_t now_ms)
{
    bool failed = s->rc && s->error.kind != FIS_INPUT;
    const char *host = registry_host(s->registry);
    if (failed) {
        s->status.failed++;
        s->retry_at_ms = now_ms + s->wait_ms;
        log_line(LOG_LEVEL_WARN, "registry", "host=%s id=%u next_ms=%llu reason=\"%s\"", host,
                 s->id, (unsigned long long)s->wait_ms, s->error.text);
        s->wait_ms = 2 * s->wait_ms < LONGEST_MS ? 2 * s->wait_ms : LONGEST_MS;
        snprintf(s->status.why, sizeof s->status.why, "%s", s->error.text);
    } else {
        s->status.fetched++;
        s->wait_ms = FIRST_MS;
        log_line(s->rc ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "registry", "host=%s id=%u %s%s%s", host,
                 s->id, s->rc ? "refused=\"" : "known=yes", s->rc ? s->error.text : "",
                 s->rc ? "\"" : "");
    }
    s->status.down = failed;
}

static int take_answer(struct scorer_schemas *s, struct fis_error *e)
{
    uint64_t now_ms = context_now().mono_ms;
    pthread_mutex_lock(&s->lock);
    bool answered = s->state == ANSWERED;
    if (answered)
        s->state = IDLE;
    pthread_mutex_unlock(&s->lock);
    if (!answered)
        return 0;
    s->needed = false; /* a batch that still waits says so again */
    note_outcome(s, now_ms);
    if (s->rc && s->error.kind != FIS_INPUT)
        return 0;
    return schema_cache_take(s->cache, s->id, s->rc ? NULL : s->format, &s->error, now_ms, e);
}

static void ask(struct scorer_schemas *s)
{
    pthread_mutex_lock(&s->lock);
    if (s->state == IDLE) {
        s->id = s->needed_id;
        s->state = ASKED;
        pthread_cond_signal(&s->news);
    }
    pthread_mutex_unlock(&s->lock);
}

int scorer_schemas_turn(struct scorer_schemas *s, struct fis_error *e)
{
    int rc = take_answer(s, e);
    if (!rc && s->needed && context_now().mono_ms >= s->retry_at_ms)
        ask(s);
    return rc;
}
