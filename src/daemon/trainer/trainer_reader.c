#include "daemon/trainer/trainer_reader.h"

#define READ_BATCH 512
/* Of messages in a turn of the loop: some thousands of candidates. */
#define TURN_BYTES ((size_t)256 << 10)
/* What is committed and never moves is committed again before a broker forgets it. */
#define COMMIT_AGAIN_MS 3600000
#define COMMANDS_PATIENCE_MS 10000

int trainer_reader_init(struct trainer_reader *r, struct context *ctx, struct outbox *outbox,
                        const char *group, struct fis_error *e)
{
    const struct config_topics *t = &ctx->cfg->topics;
    *r = (struct trainer_reader){
        .ctx = ctx,
        .outbox = outbox,
        .group = group,
        .topics = {[TRAINER_CANDIDATES] = t->candidates,
                   [TRAINER_LABELS] = t->labels,
                   [TRAINER_CONTROL] = t->control,
                   [TRAINER_VALIDATION] = t->validation},
        .commands = {.first = TRAINER_CONTROL, .batch = stream_batch_new(READ_BATCH)},
        .rest = {.first = TRAINER_CANDIDATES, .batch = stream_batch_new(READ_BATCH)},
        .arena.size = ctx->cfg->records.max_bytes * 4 + ((size_t)1 << 20),
        .commit_again_ms = context_now().mono_ms + COMMIT_AGAIN_MS,
    };
    intake_init(&r->intake);
    r->arena.base = fis_alloc(r->arena.size, 1);
    r->input = (struct trainer_input){.ctx = ctx, .outbox = outbox, .arena = &r->arena};
    return r->commands.batch && r->rest.batch && r->arena.base
               ? 0
               : fis_fail(e, FIS_NOMEM, "no memory for the trainer");
}

static void close_source(struct trainer_source *s)
{
    stream_batch_free(s->batch);
    stream_consumer_close(s->consumer, 0);
}

void trainer_reader_done(struct trainer_reader *r)
{
    close_source(&r->commands);
    close_source(&r->rest);
    version_fetch_close(r->fetch);
    intake_done(&r->intake);
    fis_free(r->arena.base);
}

static int open_source(struct trainer_reader *r, struct trainer_source *s, const char *name,
                       uint32_t topics, struct fis_error *e)
{
    struct stream_consumer_options o = {
        .client = context_client(r->ctx),
        .group_id = r->group,
        .stored = true,
        .topics = r->topics + s->first,
        .topic_count = topics,
    };
    o.client.name = name;
    return stream_consumer_open(&s->consumer, &o, e);
}

int trainer_reader_open(struct trainer_reader *r, struct fis_error *e)
{
    r->opened_ms = context_now().mono_ms;
    int rc = open_source(r, &r->commands, "control", 1, e);
    return rc < 0 ? rc : open_source(r, &r->rest, "input", TRAINER_CONTROL, e);
}

/* ---- messages ------------------------------------------------------------------------------ */

static struct wire_message message(const char *topic, const struct stream_message *s)
{
    return (struct wire_message){
        .topic = topic,
        .partition = s->partition,
        .offset = s->offset,
        .timestamp_ms = s->timestamp_ms,
        .key = {s->key, s->key_length},
        .value = {s->value, s->value_length},
    };
}

/* A command that wants a version of the models topic waits for it: 0, and it is handed over again
 * later. */
static int version_there(struct trainer_reader *r, const struct trainer_role *role,
                         const struct wire_message *m, struct fis_error *e)
{
    uint64_t wanted = trainer_input_wanted(&r->input, role, m);
    if (!wanted)
        return 1;
    if (r->fetch && version_fetch_wanted(r->fetch) != wanted) {
        version_fetch_end(r->fetch);
        r->fetch = NULL;
    }
    if (!r->fetch && version_fetch_open(&r->fetch, r->ctx, wanted, e) < 0)
        return -1;
    return version_fetch_turn(r->fetch, e);
}

/* 1: handed over; 0: it must wait. */
static int take_control(struct trainer_reader *r, struct trainer_role *role,
                        const struct wire_message *m, struct fis_error *e)
{
    int rc = version_there(r, role, m, e);
    if (rc <= 0)
        return rc;
    const struct wire_model *version = r->fetch ? version_fetch_model(r->fetch) : NULL;
    rc = trainer_input_control(&r->input, role, m, version, context_now(), e);
    version_fetch_end(r->fetch);
    r->fetch = NULL;
    return rc < 0 ? rc : 1;
}

static int hand_over(struct trainer_reader *r, struct trainer_role *role, uint32_t topic,
                     const struct wire_message *m, struct fis_error *e)
{
    if (topic == TRAINER_CONTROL)
        return take_control(r, role, m, e);
    int rc = topic == TRAINER_LABELS ? trainer_input_label(&r->input, role, m, context_now(), e)
                                     : trainer_input_offer(&r->input, role, m, e);
    return rc < 0 ? rc : 1;
}

/* 1: taken, 0: it waits for something. */
static int take(struct trainer_reader *r, struct trainer_source *from, struct trainer_role *role,
                struct fis_error *e)
{
    const struct stream_message *s = &from->batch->messages[from->taken];
    uint32_t topic = from->first + s->topic;
    struct wire_message m = message(r->topics[topic], s);
    int rc = intake_take(&r->intake, topic, s->partition, s->offset, e);
    if (rc == 0)
        rc = 1; /* handed over before */
    else if (rc > 0 && (rc = hand_over(r, role, topic, &m, e)) == 0 &&
             intake_move(&r->intake, topic, s->partition, s->offset, e) < 0)
        rc = -FIS_NOMEM;
    from->taken += rc > 0;
    r->waiting = rc == 0;
    return rc;
}

/* A job that is due waits for the commands that were there at the start: a pin may be among them.
 */
static bool may_take(const struct trainer_reader *r, const struct trainer_role *role)
{
    return !trainer_role_busy(role) && (!r->informed || !trainer_role_due(role));
}

static bool left(const struct trainer_source *s)
{
    return s->taken < s->batch->count;
}

/* *full: there may be more to read. 0: the next message waits. */
static int take_from(struct trainer_reader *r, struct trainer_source *s, struct trainer_role *role,
                     bool *full, struct fis_error *e)
{
    size_t bytes = 0;
    int rc = 1;
    if (left(s)) {
        *full = true;
    } else {
        stream_batch_release(s->batch);
        s->taken = 0;
        *full |= stream_consumer_read(s->consumer, s->batch, READ_BATCH) == READ_BATCH;
    }
    while (rc > 0 && left(s) && may_take(r, role) && bytes < TURN_BYTES) {
        bytes += s->batch->messages[s->taken].value_length;
        rc = take(r, s, role, e);
    }
    *full |= left(s);
    return rc;
}

static void tell_lost(struct trainer_reader *r, struct trainer_role *role)
{
    if (r->labels_lost)
        trainer_role_labels_lost(role, r->labels_lost, context_now());
    if (r->candidates_lost)
        trainer_role_candidates_lost(role);
    r->labels_lost = 0;
    r->candidates_lost = false;
}

int trainer_reader_turn(struct trainer_reader *r, struct trainer_role *role, bool *all,
                        struct fis_error *e)
{
    bool full = false;
    tell_lost(r, role);
    int rc = take_from(r, &r->commands, role, &full, e);
    if (rc >= 0 && !r->informed) {
        if (trainer_reader_events(r, e) < 0) /* the end is one of them */
            return -1;
        r->informed = r->commands_ended && !left(&r->commands);
    }
    if (rc > 0 && r->informed)
        rc = take_from(r, &r->rest, role, &full, e);
    *all = rc == 0 || !full || !may_take(r, role);
    return rc < 0 ? rc : 0;
}

/* Said once: a trainer that asks for nothing because a broker is away should not look idle. */
void trainer_reader_tick(struct trainer_reader *r, uint64_t now_ms)
{
    if (r->informed || r->waiting_said || now_ms < r->opened_ms + COMMANDS_PATIENCE_MS)
        return;
    r->waiting_said = true;
    log_line(LOG_LEVEL_WARN, "waiting",
             "role=trainer topic=%s text=\"it has not been read to its end yet, and may hold a "
             "pause: no label is asked for before\"",
             r->topics[TRAINER_CONTROL]);
}

bool trainer_reader_informed(const struct trainer_reader *r)
{
    return r->informed;
}

bool trainer_reader_left(const struct trainer_reader *r)
{
    return (left(&r->commands) || left(&r->rest)) && !r->waiting;
}

void trainer_reader_poll(struct trainer_reader *r)
{
    stream_consumer_read(r->commands.consumer, r->commands.batch, 0);
    stream_consumer_read(r->rest.consumer, r->rest.batch, 0);
}

uint32_t trainer_reader_lags(const struct trainer_reader *r, struct lag *lags, uint32_t n)
{
    const char *const *topics = r->topics;
    uint32_t found = lags_of(r->rest.consumer, "trainer", topics, lags, n);
    topics += r->commands.first;
    return found + lags_of(r->commands.consumer, "trainer", topics, lags + found, n - found);
}

/* ---- events -------------------------------------------------------------------------------- */

/* Answers were paid for; what else is lost is told again by others or was not acted upon. */
static int input_reset(struct trainer_reader *r, uint32_t topic,
                       const struct stream_consumer_event *ev, struct fis_error *e)
{
    bool labels = topic == TRAINER_LABELS, bad = ev->lost_messages > 0 || ev->recreated;
    if (!bad && ev->first == 0)
        return intake_move(&r->intake, topic, ev->partition, 0, e); /* a new group */
    if (labels && bad)
        r->labels_lost += ev->lost_messages > 0 ? (uint64_t)ev->lost_messages : 1;
    r->candidates_lost |= topic == TRAINER_CANDIDATES && bad;
    log_line(labels && bad ? LOG_LEVEL_ERROR
             : bad         ? LOG_LEVEL_WARN
                           : LOG_LEVEL_INFO,
             "offsets_lost", "topic=%s partition=%d wanted=%lld first_kept=%lld lost=%lld%s%s",
             r->topics[topic], (int)ev->partition, (long long)ev->wanted, (long long)ev->first,
             (long long)ev->lost_messages, ev->recreated ? " text=\"the topic was made anew\"" : "",
             labels && bad ? " consequence=\"open requests expire\"" : "");
    return intake_move(&r->intake, topic, ev->partition, ev->first, e);
}

static int take_events(struct trainer_reader *r, struct trainer_source *s, struct fis_error *e)
{
    struct stream_consumer_event ev;
    while (stream_consumer_event(s->consumer, &ev)) {
        if (ev.kind == STREAM_ASSIGNED)
            log_line(LOG_LEVEL_INFO, "assigned", "role=trainer partitions=%u topics=%s", ev.owned,
                     s == &r->commands ? "control" : "candidates,labels");
        else if (ev.kind == STREAM_END)
            r->commands_ended |= s == &r->commands;
        else if (ev.kind == STREAM_RESET && input_reset(r, s->first + ev.topic, &ev, e) < 0)
            return -1;
        else if (ev.kind == STREAM_ERROR && ev.error.kind == FIS_FATAL)
            return fis_fail(e, FIS_FATAL, "%s", ev.error.text);
        else if (ev.kind == STREAM_ERROR)
            context_trouble(r->ctx, "trainer", &ev.error);
    }
    return 0;
}

int trainer_reader_events(struct trainer_reader *r, struct fis_error *e)
{
    return take_events(r, &r->commands, e) < 0 ? -1 : take_events(r, &r->rest, e);
}

/* ---- places -------------------------------------------------------------------------------- */

int trainer_reader_validation_moved(void *arg, int32_t partition, int64_t next, struct fis_error *e)
{
    struct trainer_reader *r = arg;
    return intake_move(&r->intake, TRAINER_VALIDATION, partition, next, e);
}

int trainer_reader_tell(struct trainer_reader *r, uint64_t now_ms, struct fis_error *e)
{
    const struct intake_place *p;
    if (now_ms >= r->commit_again_ms) {
        r->commit_again_ms = now_ms + COMMIT_AGAIN_MS;
        intake_again(&r->intake);
    }
    while ((p = intake_next(&r->intake)))
        if (outbox_consumed(r->outbox, r->topics[p->topic], p->partition, p->next, e) < 0)
            return -1;
    return 0;
}
