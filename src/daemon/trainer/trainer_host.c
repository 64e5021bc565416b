#include "daemon/trainer/trainer_host_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "daemon/context/closer.h"

/* Less than a group waits for its members. */
#define LEAVE_PATIENCE_MS 1000
/* Beside what the member may take. While a broker hangs each client takes its time to end, and a
 * trainer has six of them. */
#define DROP_MS 4000

/* ---- life ---------------------------------------------------------------------------------- */

static void set_options(struct trainer_host *h)
{
    const struct context *ctx = h->ctx;
    const struct config_topics *t = &ctx->cfg->topics;
    h->options = (struct session_options){
        .topics = {[SESSION_LEDGER] = t->ledger,
                   [SESSION_HEADS] = t->heads,
                   [SESSION_MODELS] = t->models,
                   [SESSION_CANDIDATES] = t->candidates,
                   [SESSION_LABELS] = t->labels,
                   [SESSION_CONTROL] = t->control,
                   [SESSION_VALIDATION] = t->validation,
                   [SESSION_REQUESTS] = t->label_requests},
        .schema = &ctx->pipeline.schema,
        .columns = ctx->pipeline.columns,
        .n_columns = ctx->pipeline.n_columns,
        .sensitive = ctx->pipeline.validation.sensitive,
        .n_sensitive = ctx->pipeline.validation.n_sensitive,
        .base = config_choice("model.base.type", ctx->cfg->base.type),
        .accept_change = ctx->cfg->accept_change,
        .labels = ctx->pipeline.labels,
        .max_chunk = ctx->chunk_bytes ? ctx->chunk_bytes : t->max_chunk,
        .at_least_once = !ctx->exactly_once,
        .commit_ms = ctx->cfg->runtime.commit_interval,
    };
    pipeline_trainer(&ctx->pipeline, &h->options.role);
}

int trainer_host_open(struct trainer_host **out, struct context *ctx, struct fis_error *e)
{
    struct trainer_host *h = fis_calloc(1, sizeof *h);
    if (!h)
        return fis_fail(e, FIS_NOMEM, "no memory for the trainer");
    h->ctx = ctx;
    h->side.rows.ctx = ctx;
    pool_ends_init(&h->ends, ctx);
    config_trainer_group(ctx->cfg, h->group);
    set_options(h);
    const struct session_ports ports = trainer_host_ports(h);
    h->session = session_new(&h->options, &ports, e);
    if (!h->session) {
        fis_free(h);
        return -FIS_NOMEM;
    }
    *out = h;
    return 0;
}

/* The outbox before the member, which its last commit may use; the readers, which hold nothing that
 * others wait for, last. What was not committed is dropped. Blocks for some seconds at most. */
static void drop(void *host)
{
    struct trainer_host *h = host;
    const uint64_t until = context_now().mono_ms + (uint64_t)h->patience_ms + DROP_MS;
    outbox_close(h->old.outbox);
    stream_consumer_close(h->old.member, h->patience_ms);
    for (int r = 0; r < SESSION_READERS; r++)
        kafka_reader_close(h->old.readers[r], context_now().mono_ms < until ? 0 : -1);
    trainer_rows_done(&h->old.rows);
}

static void take_all(struct trainer_host *h, int patience_ms)
{
    h->old = h->side;
    h->side = (struct kafka_side){.rows.ctx = h->ctx};
    h->patience_ms = patience_ms;
    h->committing = h->sweeping = h->mark.answered = false;
    h->halted[0] = 0;
    observe_sent_over(&h->ctx->observer, false);
}

/* A worker asks the broker something, with what is in use. */
static bool asks(const struct trainer_host *h)
{
    return pool_ends_running(&h->ends) || h->mark.running;
}

void trainer_host_say_left(const struct trainer_host *h)
{
    struct session_status s;
    if (!h)
        return;
    session_status(h->session, &s);
    if (s.busy)
        log_line(LOG_LEVEL_WARN, "stop",
                 "role=trainer text=\"a job was still running; it is repeated after a restart\"");
    if (h->side.outbox && s.unsaved)
        log_line(LOG_LEVEL_WARN, "stop",
                 "role=trainer text=\"%s and the offsets of what was read were not committed; the "
                 "next start repeats them\"",
                 DECIMAL_COUNT(outbox_outstanding(h->side.outbox), "message"));
}

void trainer_host_close(struct trainer_host *h, int patience_ms)
{
    if (!h)
        return;
    trainer_host_say_left(h);
    take_all(h, patience_ms);
    drop(h);
    session_free(h->session);
    pool_ends_done(&h->ends);
    fis_free(h);
}

void trainer_host_stop(struct trainer_host *h)
{
    session_stop(h->session, context_now());
}

bool trainer_host_stopped(const struct trainer_host *h)
{
    /* A job of a trainer that failed holds nothing that counts, and a question never does. */
    struct session_status s;
    session_status(h->session, &s);
    return h->stopped && (h->ctx->failed || !s.on_worker);
}

/* ---- turns --------------------------------------------------------------------------------- */

/* The owner of the ledger's first partition leads; partitions added to it mean nothing. */
static bool has_first(const struct stream_consumer *member)
{
    size_t n;
    const struct stream_partition *owned = stream_consumer_owned(member, &n);
    for (size_t i = 0; i < n; i++)
        if (owned[i].partition == 0)
            return true;
    return false;
}

static void serve_member(struct trainer_host *h)
{
    struct stream_consumer_event ev;
    stream_consumer_read(h->side.member, NULL, 0);
    while (stream_consumer_event(h->side.member, &ev))
        if (ev.kind == STREAM_ASSIGNED || ev.kind == STREAM_REVOKED)
            session_seat(h->session, has_first(h->side.member) && !ev.lost, ev.lost, context_now());
        else if (ev.kind == STREAM_ERROR && ev.error.kind == FIS_RETRY)
            context_trouble(h->ctx, "trainer", &ev.error);
        else if (ev.kind == STREAM_ERROR)
            session_failed(h->session, &ev.error, context_now());
}

static void watch_topics(struct trainer_host *h)
{
    struct stream_backwards b;
    if (!outbox_backwards(h->side.outbox, &b))
        return;
    snprintf(h->halted, sizeof h->halted, "%.120s was deleted or cut while it was written",
             b.topic);
    log_line(
        LOG_LEVEL_ERROR, "halted",
        "role=trainer topic=%s partition=%d expected_after=%lld found=%lld text=\"the topic "
        "was deleted and recreated, or cut, while the trainer wrote to it: nothing is requested "
        "or committed any more. Stop every trainer, restore ledger, heads and models from one "
        "backup, or recreate them (docs/operations.md)\"",
        b.topic, (int)b.partition, (long long)b.last, (long long)b.now);
    session_halt(h->session);
}

static void serve_outbox(struct trainer_host *h)
{
    struct fis_error e;
    bool trouble;
    struct session_status s;
    int rc = outbox_turn(h->side.outbox, &e, &trouble);
    watch_topics(h);
    session_status(h->session, &s);
    if (s.halted)
        return;
    if (rc < 0) {
        session_failed(h->session, &e, context_now());
        return;
    }
    if (trouble)
        context_trouble(h->ctx, "trainer", &e);
    if (!outbox_ready(h->side.outbox))
        return;
    if (h->committing) {
        h->versions = h->sent_versions;
        observe_sent_over(&h->ctx->observer, true);
        session_committed(h->session);
    }
    if (h->sweeping)
        session_swept(h->session);
    h->committing = h->sweeping = false;
    session_fenced_others(h->session, context_now()); /* and it may sweep */
}

static void serve_ends(struct trainer_host *h)
{
    struct fis_error e;
    if (pool_ends_answer(&h->ends, h->session, &e) < 0)
        session_failed(h->session, &e, context_now());
}

static void dropped(void *host)
{
    struct trainer_host *h = host;
    h->letting_go = h->leaving = false;
    session_left(h->session, context_now());
}

static void let_go(struct trainer_host *h)
{
    if (asks(h) || h->letting_go)
        return;
    h->letting_go = true;
    pool_ends_done(&h->ends);
    pool_ends_init(&h->ends, h->ctx);
    take_all(h, LEAVE_PATIENCE_MS);
    closer_take(h->ctx, drop, h, dropped, h);
}

bool trainer_host_turn(struct trainer_host *h)
{
    if (h->stopped)
        return false;
    if (h->leaving)
        let_go(h);
    if (h->side.member)
        serve_member(h);
    if (h->side.outbox)
        serve_outbox(h);
    for (int r = 0; r < SESSION_READERS; r++)
        kafka_reader_poll(h->side.readers[r]);
    serve_ends(h);
    return !h->stopped && session_turn(h->session, context_now());
}

/* One that does not lead yet uses the limits when it does. */
void trainer_host_adjust(struct trainer_host *h)
{
    set_options(h);
    session_adjust(h->session, &h->options.role, h->options.commit_ms);
}
