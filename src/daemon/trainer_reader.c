#include "daemon/trainer_reader.h"

#define READ_BATCH 512
/* What is committed and never moves is committed again before a broker forgets it. */
#define COMMIT_AGAIN_MS 3600000

int trainer_reader_init(struct trainer_reader *r, struct runtime *rt, struct outbox *outbox,
                        const char *group, struct fis_error *e)
{
    const struct config_topics *t = &rt->cfg->topics;
    *r = (struct trainer_reader){
        .rt = rt,
        .outbox = outbox,
        .group = group,
        .topics = {[TRAINER_CANDIDATES] = t->candidates,
                   [TRAINER_LABELS] = t->labels,
                   [TRAINER_CONTROL] = t->control,
                   [TRAINER_VALIDATION] = t->validation},
        .batch = stream_batch_new(READ_BATCH),
        .arena.size = rt->cfg->records.max_bytes * 4 + ((size_t)1 << 20),
        .commit_again_ms = runtime_now(rt).mono_ms + COMMIT_AGAIN_MS,
    };
    intake_init(&r->intake);
    r->arena.base = fis_alloc(r->arena.size, 1);
    r->input = (struct trainer_input){.rt = rt, .outbox = outbox, .arena = &r->arena};
    return r->batch && r->arena.base ? 0 : fis_fail(e, FIS_NOMEM, "no memory for the trainer");
}

void trainer_reader_done(struct trainer_reader *r)
{
    stream_batch_free(r->batch);
    stream_consumer_close(r->consumer, 0);
    version_fetch_close(r->fetch);
    intake_done(&r->intake);
    fis_free(r->arena.base);
}

int trainer_reader_open(struct trainer_reader *r, struct fis_error *e)
{
    struct stream_consumer_options o = {
        .client = runtime_client(r->rt),
        .group_id = r->group,
        .stored = true,
        .topics = r->topics,
        .topic_count = TRAINER_VALIDATION,
    };
    o.client.name = "input";
    return stream_consumer_open(&r->consumer, &o, e);
}

/* ---- messages ------------------------------------------------------------------------------ */

static struct wire_message message(const struct trainer_reader *r, const struct stream_message *s)
{
    return (struct wire_message){
        .topic = r->topics[s->topic],
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
    if (!r->fetch && version_fetch_open(&r->fetch, r->rt, wanted, e) < 0)
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
    rc = trainer_input_control(&r->input, role, m, version, runtime_now(r->rt), e);
    version_fetch_end(r->fetch);
    r->fetch = NULL;
    return rc < 0 ? rc : 1;
}

static int hand_over(struct trainer_reader *r, struct trainer_role *role, uint32_t topic,
                     const struct wire_message *m, struct fis_error *e)
{
    if (topic == TRAINER_CONTROL)
        return take_control(r, role, m, e);
    int rc = topic == TRAINER_LABELS
                 ? trainer_input_label(&r->input, role, m, runtime_now(r->rt), e)
                 : trainer_input_offer(&r->input, role, m, e);
    return rc < 0 ? rc : 1;
}

/* 1: taken, 0: it waits for something. */
static int take(struct trainer_reader *r, struct trainer_role *role, struct fis_error *e)
{
    const struct stream_message *s = &r->batch->messages[r->taken];
    struct wire_message m = message(r, s);
    int rc = intake_take(&r->intake, s->topic, s->partition, s->offset, e);
    if (rc == 0)
        rc = 1; /* handed over before */
    else if (rc > 0 && (rc = hand_over(r, role, s->topic, &m, e)) == 0 &&
             intake_move(&r->intake, s->topic, s->partition, s->offset, e) < 0)
        rc = -FIS_NOMEM;
    r->taken += rc > 0;
    r->waiting = rc == 0;
    return rc;
}

static void tell_lost(struct trainer_reader *r, struct trainer_role *role)
{
    if (r->labels_lost)
        trainer_role_labels_lost(role, r->labels_lost, runtime_now(r->rt));
    if (r->candidates_lost)
        trainer_role_candidates_lost(role);
    r->labels_lost = 0;
    r->candidates_lost = false;
}

int trainer_reader_turn(struct trainer_reader *r, struct trainer_role *role, bool *all,
                        struct fis_error *e)
{
    bool full = true;
    int rc = 1;
    tell_lost(r, role);
    if (r->taken == r->batch->count) {
        stream_batch_release(r->batch);
        r->taken = 0;
        full = stream_consumer_read(r->consumer, r->batch, READ_BATCH) == READ_BATCH;
    }
    while (rc > 0 && r->taken < r->batch->count && !trainer_role_due(role) &&
           !trainer_role_busy(role))
        rc = take(r, role, e);
    *all = rc == 0 || !full || trainer_role_due(role) || trainer_role_busy(role);
    return rc < 0 ? rc : 0;
}

bool trainer_reader_left(const struct trainer_reader *r)
{
    return r->taken < r->batch->count && !r->waiting;
}

void trainer_reader_poll(struct trainer_reader *r)
{
    stream_consumer_read(r->consumer, r->batch, 0);
}

/* ---- events -------------------------------------------------------------------------------- */

/* Answers were paid for; what else is lost is told again by others or was not acted upon. */
static int input_reset(struct trainer_reader *r, const struct stream_consumer_event *ev,
                       struct fis_error *e)
{
    bool labels = ev->topic == TRAINER_LABELS, bad = ev->lost_messages > 0 || ev->recreated;
    if (!bad && ev->first == 0)
        return intake_move(&r->intake, ev->topic, ev->partition, 0, e); /* a new group */
    if (labels && bad)
        r->labels_lost += ev->lost_messages > 0 ? (uint64_t)ev->lost_messages : 1;
    r->candidates_lost |= ev->topic == TRAINER_CANDIDATES && bad;
    log_line(labels && bad ? LOG_LEVEL_ERROR
             : bad         ? LOG_LEVEL_WARN
                           : LOG_LEVEL_INFO,
             "offsets_lost", "topic=%s partition=%d wanted=%lld first_kept=%lld lost=%lld%s%s",
             r->topics[ev->topic], (int)ev->partition, (long long)ev->wanted, (long long)ev->first,
             (long long)ev->lost_messages, ev->recreated ? " text=\"the topic was made anew\"" : "",
             labels && bad ? " consequence=\"open requests expire\"" : "");
    return intake_move(&r->intake, ev->topic, ev->partition, ev->first, e);
}

int trainer_reader_events(struct trainer_reader *r, struct fis_error *e)
{
    struct stream_consumer_event ev;
    while (stream_consumer_event(r->consumer, &ev)) {
        if (ev.kind == STREAM_ASSIGNED)
            log_line(LOG_LEVEL_INFO, "assigned", "role=trainer partitions=%u", ev.owned);
        else if (ev.kind == STREAM_RESET && input_reset(r, &ev, e) < 0)
            return -1;
        else if (ev.kind == STREAM_ERROR && ev.error.class == FIS_FATAL)
            return fis_fail(e, FIS_FATAL, "%s", ev.error.text);
        else if (ev.kind == STREAM_ERROR)
            runtime_kafka_event(r->rt, "trainer", &ev.error);
    }
    return 0;
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
