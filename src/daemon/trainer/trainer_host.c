#include "daemon/trainer/trainer_host_impl.h"

#include <stdio.h>
#include <string.h>

#include "daemon/context/closer.h"

/* Less than a group waits for its members. */
#define LEAVE_PATIENCE_MS 1000

/* ---- election ------------------------------------------------------------------------------ */

static int join(void *arg, struct fis_error *e)
{
    struct trainer_host *h = arg;
    struct stream_consumer_options o = {
        .client = context_client(h->ctx),
        .group_id = h->group,
        .election = true,
        .topics = &h->options.topics[SESSION_LEDGER],
        .topic_count = 1,
    };
    o.client.name = "election";
    return stream_consumer_open(&h->side.member, &o, e);
}

static int fence(void *arg, struct fis_error *e)
{
    struct trainer_host *h = arg;
    struct outbox_options o = {.client = context_client(h->ctx),
                               .dead_letter_bytes = h->ctx->dead_letter_bytes,
                               .batch_bytes = h->ctx->batch_bytes,
                               .topics = h->written,
                               .n_topics = sizeof h->written / sizeof *h->written};
    h->written[0] = h->options.topics[SESSION_REQUESTS];
    h->written[1] = h->ctx->cfg->topics.dead_letter;
    o.client.name = "outbox";
    if (h->ctx->exactly_once)
        o.transactional_id = h->group;
    return outbox_open(&h->side.outbox, &o, e);
}

static int sweep(void *arg, struct fis_error *e)
{
    struct trainer_host *h = arg;
    const char *const *t = h->options.topics;
    const char *const own[] = {t[SESSION_LEDGER], t[SESSION_HEADS], t[SESSION_MODELS],
                               t[SESSION_REQUESTS], h->ctx->cfg->topics.dead_letter};
    _Static_assert(sizeof own == sizeof h->swept, "one list");
    memcpy(h->swept, own, sizeof own);
    h->sweeping = true;
    return outbox_sweep(h->side.outbox, h->swept, sizeof own / sizeof *own, h->group, e);
}

static bool fenced(void *arg)
{
    const struct trainer_host *h = arg;
    return h->side.outbox && outbox_fenced(h->side.outbox);
}

/* trainer_host_turn does it, as soon as no worker is at it. */
static void leave(void *arg)
{
    struct trainer_host *h = arg;
    h->leaving = true;
    context_wake(h->ctx);
}

static void stopped(void *arg, const struct fis_error *failed)
{
    struct trainer_host *h = arg;
    h->stopped = true;
    if (failed)
        context_fail(h->ctx, "trainer", failed);
}

/* ---- reading ------------------------------------------------------------------------------- */

static int open_reader(void *arg, enum session_reader r, struct fis_error *e)
{
    struct trainer_host *h = arg;
    struct kafka_reader_options o[SESSION_READERS] = {
        [SESSION_READ_MEMORY] = {.name = "memory", .first = SESSION_LEDGER},
        [SESSION_READ_COMMANDS] = {.name = "control", .first = SESSION_CONTROL},
        [SESSION_READ_INPUT] = {.name = "input", .first = SESSION_CANDIDATES},
        [SESSION_READ_VERSIONS] = {.first = SESSION_MODELS},
    };
    bool input = r == SESSION_READ_COMMANDS || r == SESSION_READ_INPUT;
    o[r].topics = h->options.topics + o[r].first;
    o[r].n_topics = r == SESSION_READ_MEMORY  ? SESSION_MEMORY_TOPICS
                    : r == SESSION_READ_INPUT ? 2
                                              : 1;
    o[r].group = input ? h->group : NULL;
    o[r].log_assigned = input;
    return kafka_reader_open(&h->side.readers[r], h->ctx, &o[r], e);
}

static void close_reader(void *arg, enum session_reader r)
{
    struct trainer_host *h = arg;
    kafka_reader_end(h->side.readers[r]);
    h->side.readers[r] = NULL;
}

static int read_next(void *arg, enum session_reader r, struct session_input *in,
                     struct fis_error *e)
{
    struct trainer_host *h = arg;
    return kafka_reader_read(h->side.readers[r], in, e);
}

static void to_end(void *arg, enum session_reader r)
{
    struct trainer_host *h = arg;
    kafka_reader_to_end(h->side.readers[r]);
}

static int initial(void *arg, struct fis_encoder **encoder, struct session_rows *out,
                   struct fis_error *e)
{
    struct trainer_host *h = arg;
    return trainer_rows_initial(&h->side.rows, encoder, out, e);
}

static int validation(void *arg, const struct fis_encoder *encoder, struct session_rows *out,
                      struct fis_error *e)
{
    struct trainer_host *h = arg;
    return trainer_rows_validation(&h->side.rows, encoder, h->session, out, e);
}

static void validated(void *arg)
{
    struct trainer_host *h = arg;
    trainer_rows_validated(&h->side.rows);
}

static struct trainer_versions versions_of(const struct trainer_role *role)
{
    struct trainer_role_counts c = trainer_role_counts(role);
    return (struct trainer_versions){c.model_version, c.served_version, c.published, c.rejected};
}

static void ready(void *arg, struct trainer_role *role)
{
    struct trainer_host *h = arg;
    trainer_rows_started(&h->side.rows);
    h->versions = h->sent_versions = versions_of(role);
}

/* ---- sending ------------------------------------------------------------------------------- */

static int send_message(void *arg, enum session_topic t, struct wire_bytes key,
                        struct wire_bytes value, struct fis_error *e)
{
    struct trainer_host *h = arg;
    /* Of the memory the order counts: it is in one partition, however many there are. */
    int32_t partition = t < SESSION_MEMORY_TOPICS ? 0 : -1;
    return outbox_send(h->side.outbox, h->options.topics[t], partition, key, value, e);
}

static int send_dead_letter(void *arg, const struct wire_message *m, const struct fis_error *why,
                            struct fis_error *e)
{
    struct trainer_host *h = arg;
    return outbox_dead_letter(h->side.outbox, h->ctx->cfg->topics.dead_letter, m, why, e);
}

static int commit(void *arg, const struct session_place *places, uint32_t n, struct fis_error *e)
{
    struct trainer_host *h = arg;
    struct stream_offset *offsets = fis_alloc(n ? n : 1, sizeof *offsets);
    if (!offsets)
        return fis_fail(e, FIS_NOMEM, "no memory for offsets");
    for (uint32_t i = 0; i < n; i++)
        offsets[i] = (struct stream_offset){h->options.topics[places[i].topic], places[i].partition,
                                            places[i].next};
    int rc = outbox_commit(h->side.outbox, h->side.member, offsets, n, e);
    h->committing = rc == 0;
    fis_free(offsets);
    return rc;
}

/* ---- work ---------------------------------------------------------------------------------- */

static void run_job(void *arg)
{
    struct trainer_host *h = arg;
    session_job(h->session);
}

static void job_done(void *arg)
{
    struct trainer_host *h = arg;
    session_job_done(h->session);
}

static void job(void *arg, enum trainer_job kind)
{
    struct trainer_host *h = arg;
    (void)kind;
    trainer_host_look(h, true);
    h->job = (struct job){.run = run_job, .done = job_done, .arg = h};
    workers_submit(h->ctx->workers, &h->job);
}

static void ends(void *arg)
{
    struct trainer_host *h = arg;
    pool_ends_ask(&h->ends);
}

static void note(void *arg, enum log_level level, const char *event, const char *format, va_list ap)
{
    (void)arg;
    log_line_v(level, event, format, ap);
}

static struct trainer_time time_now(void *arg)
{
    (void)arg;
    return context_now();
}

static void model(void *arg, const struct wire_model *v)
{
    const struct trainer_host *h = arg;
    observe_model(&h->ctx->observer, v);
}

static void state(void *arg, const struct wire_trainer_state *s)
{
    const struct trainer_host *h = arg;
    observe_state(&h->ctx->observer, s);
}

static void sent_model(void *arg, const struct wire_model *v)
{
    struct trainer_host *h = arg;
    struct trainer_versions *s = &h->sent_versions;
    s->newest = v->version;
    s->served = v->served ? v->version : s->served;
    s->published += v->served;
    s->rejected += !v->served;
    observe_sent_model(&h->ctx->observer, v);
}

static void sent_state(void *arg, const struct wire_trainer_state *s)
{
    const struct trainer_host *h = arg;
    observe_sent_state(&h->ctx->observer, s);
}

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
    const struct session_ports ports = {
        .ctx = h,
        .join = join,
        .fence = fence,
        .sweep = sweep,
        .fenced = fenced,
        .leave = leave,
        .stopped = stopped,
        .open = open_reader,
        .close = close_reader,
        .read = read_next,
        .to_end = to_end,
        .initial = initial,
        .validation = validation,
        .send = send_message,
        .dead_letter = send_dead_letter,
        .commit = commit,
        .job = job,
        .ends = ends,
        .clock = time_now,
        .note = note,
        .model = model,
        .state = state,
        .sent_model = sent_model,
        .sent_state = sent_state,
        .validated = validated,
        .ready = ready,
    };
    h->session = session_new(&h->options, &ports, e);
    if (!h->session) {
        fis_free(h);
        return -FIS_NOMEM;
    }
    *out = h;
    return 0;
}

/* The outbox before the member, which its last commit may use. What it did not commit is dropped.
 * Blocks for some seconds at most. */
static void drop(void *host)
{
    struct trainer_host *h = host;
    outbox_close(h->old.outbox);
    for (int r = 0; r < SESSION_READERS; r++)
        kafka_reader_close(h->old.readers[r]);
    trainer_rows_done(&h->old.rows);
    stream_consumer_close(h->old.member, h->patience_ms);
}

static void take_all(struct trainer_host *h, int patience_ms)
{
    h->old = h->side;
    h->side = (struct kafka_side){.rows.ctx = h->ctx};
    h->patience_ms = patience_ms;
    h->committing = h->sweeping = false;
    h->halted[0] = 0;
    observe_sent_over(&h->ctx->observer, false);
}

static bool on_worker(const struct trainer_host *h)
{
    struct session_status s;
    session_status(h->session, &s);
    return s.on_worker || pool_ends_running(&h->ends);
}

void trainer_host_say_left(const struct trainer_host *h)
{
    struct session_status s;
    if (!h)
        return;
    session_status(h->session, &s);
    if (s.busy)
        log_line(LOG_LEVEL_WARN, "stop",
                 "role=trainer text=\"a job was still running; it is done "
                 "again after a restart\"");
    if (h->side.outbox && s.unsaved)
        log_line(LOG_LEVEL_WARN, "stop",
                 "role=trainer text=\"%llu messages and the offsets of what was read were not "
                 "committed; the next start repeats them\"",
                 (unsigned long long)outbox_outstanding(h->side.outbox));
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
    /* A job of a trainer that failed holds nothing that counts. */
    return h->stopped && (h->ctx->failed || !on_worker(h));
}

/* ---- turns --------------------------------------------------------------------------------- */

/* Whoever has the ledger's first partition leads; others that were added to it mean nothing. */
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

/* Dead letters may be cleared away by anybody. */
static void watch_topics(struct trainer_host *h)
{
    struct stream_backwards b;
    if (!outbox_backwards(h->side.outbox, &b) ||
        strcmp(b.topic, h->ctx->cfg->topics.dead_letter) == 0)
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
    int rc = outbox_turn(h->side.outbox, &e, &trouble);
    watch_topics(h);
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
    if (pool_ends_running(&h->ends) || h->letting_go)
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
