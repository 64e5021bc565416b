#include "daemon/trainer/trainer_host_impl.h"

#include <string.h>

/* That a worker waits for an answer, and so a stop; then it asks again. */
#define MARK_MS 1000

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
    o.loose = h->written[1];
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

/* trainer_host_turn does it, as soon as no worker uses it. */
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

/* What it writes comes behind what it has read: an end that is lost in between is noticed too. */
static void expect_ends(struct trainer_host *h)
{
    struct kafka_reader *r = h->side.readers[SESSION_READ_MEMORY];
    for (int t = 0; h->side.outbox && t < SESSION_MEMORY_TOPICS; t++)
        outbox_expect(h->side.outbox, h->options.topics[t],
                      kafka_reader_next(r, (enum session_topic)t));
}

static int read_next(void *arg, enum session_reader r, struct session_input *in,
                     struct fis_error *e)
{
    struct trainer_host *h = arg;
    int rc = kafka_reader_read(h->side.readers[r], in, e);
    if (rc > 0 && in->event == SESSION_END && r == SESSION_READ_MEMORY)
        expect_ends(h);
    return rc;
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
    for (uint32_t i = 0; i < n; i++) {
        const char *topic = h->options.topics[places[i].topic];
        bool ledger = places[i].topic == SESSION_LEDGER; /* the number of its newest state */
        offsets[i] = (struct stream_offset){
            .topic = topic,
            .partition = places[i].partition,
            .offset = ledger ? outbox_delivered(h->side.outbox, topic) : places[i].next,
            .mark = ledger ? (uint64_t)places[i].next : 0,
        };
    }
    int rc = outbox_commit(h->side.outbox, h->side.member, offsets, n, e);
    h->committing = rc == 0;
    fis_free(offsets);
    return rc;
}

static void ask_mark(void *arg)
{
    struct trainer_host *h = arg;
    struct state_mark *m = &h->mark;
    m->rc = stream_consumer_mark(h->side.member, h->options.topics[SESSION_LEDGER], 0, MARK_MS,
                                 &m->number, &m->error);
}

static void mark_asked(void *arg)
{
    struct trainer_host *h = arg;
    h->mark.running = false;
    h->mark.answered = true;
}

static int committed_state(void *arg, uint64_t *number, struct fis_error *e)
{
    struct trainer_host *h = arg;
    struct state_mark *m = &h->mark;
    (void)e;
    if (m->running)
        return 0;
    *number = m->number;
    if (m->answered && m->rc == 0)
        return 1;
    if (m->answered)
        context_trouble(h->ctx, "trainer", &m->error);
    m->answered = false;
    m->running = true;
    m->job = (struct job){.run = ask_mark, .done = mark_asked, .arg = h};
    workers_submit(h->ctx->workers, &m->job);
    return 0;
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

struct session_ports trainer_host_ports(struct trainer_host *h)
{
    return (struct session_ports){
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
        .committed_state = committed_state,
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
}
