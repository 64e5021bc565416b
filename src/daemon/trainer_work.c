#include "daemon/trainer_work.h"

#include "daemon/intake.h"
#include "daemon/monitor.h"
#include "daemon/pool_ends.h"
#include "daemon/trainer_input.h"
#include "daemon/trainer_load.h"
#include "daemon/trainer_snapshot.h"
#include "daemon/trainer_validation.h"
#include "daemon/version_fetch.h"
#include "role/trainer_wire.h"

#define READ_BATCH 512
/* What is committed and never moves is committed again before a broker forgets it. */
#define COMMIT_AGAIN_MS 3600000

enum { CANDIDATES, LABELS, CONTROL, VALIDATION, TOPICS };
#define INPUTS VALIDATION /* those before it are the consumer's */

struct trainer_work {
    struct runtime *rt;
    struct outbox *outbox;
    const char *group;
    struct trainer_wire wire;
    struct trainer_load load;
    struct trainer_role *role;
    struct fis_encoder *encoder;
    struct example_topic *validation;
    const char *topics[TOPICS];
    struct stream_consumer *consumer;
    struct stream_batch *batch;
    uint32_t taken; /* messages of the batch that were handed over */
    struct intake intake;
    struct trainer_input input;
    struct fis_arena arena;
    struct job job;
    bool job_wanted, on_worker, job_ran, running, draining;
    bool waiting; /* the next message waits for a version */
    bool adjust;  /* the role has not got the newest limits yet */
    struct version_fetch *fetch;
    struct pool_ends ends;
    uint64_t labels_lost; /* not told to the role yet */
    bool candidates_lost;
    uint64_t commit_at_ms, commit_again_ms;
    uint64_t said_answers;
    uint64_t restore_ms, restored_entries, restored_bytes;
    struct trainer_snapshot shown;
};

/* ---- what the role wants ------------------------------------------------------------------- */

static int put(void *arg, enum trainer_topic t, struct wire_bytes key, struct wire_bytes value,
               struct fis_error *e)
{
    struct trainer_work *w = arg;
    const struct config_topics *topics = &w->rt->cfg->topics;
    const char *const names[TRAINER_TOPICS] = {
        [TRAINER_REQUESTS] = topics->label_requests,
        [TRAINER_LEDGER] = topics->ledger,
        [TRAINER_HEADS] = topics->heads,
        [TRAINER_MODELS] = topics->models,
    };
    return outbox_send(w->outbox, names[t], key, value, e);
}

static void run_job(void *arg)
{
    struct trainer_work *w = arg;
    trainer_role_job(w->role);
}

static void job_done(void *arg)
{
    struct trainer_work *w = arg;
    w->on_worker = false;
    w->job_ran = true; /* handed to the role when no commit is under way */
}

/* Not from inside the role: the job owns it. */
static void want_job(void *arg, enum trainer_job kind)
{
    struct trainer_work *w = arg;
    (void)kind;
    w->job_wanted = true;
}

static void submit_job(struct trainer_work *w)
{
    if (!w->job_wanted)
        return;
    w->job_wanted = false;
    w->on_worker = true;
    trainer_snapshot_take(&w->shown, w->role, runtime_now(w->rt).mono_ms, true);
    w->job = (struct job){.run = run_job, .done = job_done, .arg = w};
    workers_submit(w->rt->workers, &w->job);
}

static void note(void *arg, const char *event, const char *text)
{
    (void)arg;
    log_line(LOG_LEVEL_INFO, event, "%s", text);
}

static void want_pool(void *arg)
{
    struct trainer_work *w = arg;
    pool_ends_want(&w->ends);
}

static void told_model(void *arg, const struct wire_model *v)
{
    struct trainer_work *w = arg;
    monitor_model(w->rt->monitor, v);
}

static void told_state(void *arg, const struct wire_trainer_state *s)
{
    struct trainer_work *w = arg;
    monitor_state(w->rt->monitor, s);
}

/* ---- opening and closing ------------------------------------------------------------------- */

static void name_topics(struct trainer_work *w)
{
    const struct config_topics *t = &w->rt->cfg->topics;
    w->topics[CANDIDATES] = t->candidates;
    w->topics[LABELS] = t->labels;
    w->topics[CONTROL] = t->control;
    w->topics[VALIDATION] = t->validation;
}

static int open_wire(struct trainer_work *w, struct trainer_out *out, struct fis_error *e)
{
    const struct pipeline *p = &w->rt->pipeline;
    struct trainer_wire_options o = {
        .schema = &p->schema,
        .columns = p->columns,
        .n_columns = p->n_columns,
        .labels = p->labels,
        .max_chunk = w->rt->cfg->topics.max_chunk,
        .put = put,
        .job = want_job,
        .note = note,
        .pool = want_pool,
        .model = told_model,
        .state = told_state,
        .arg = w,
    };
    if (trainer_wire_init(&w->wire, &o, e) < 0)
        return -FIS_NOMEM;
    trainer_wire_out(&w->wire, out);
    return 0;
}

int trainer_work_open(struct trainer_work **out, struct runtime *rt, struct outbox *outbox,
                      struct memory *memory, const char *group, struct fis_error *e)
{
    struct trainer_work *w = fis_calloc(1, sizeof *w);
    struct trainer_out role_out;
    if (!w)
        return fis_fail(e, FIS_NOMEM, "no memory for the trainer");
    w->rt = rt;
    w->outbox = outbox;
    w->group = group;
    name_topics(w);
    intake_init(&w->intake);
    pool_ends_init(&w->ends, rt);
    w->batch = stream_batch_new(READ_BATCH);
    w->arena.size = rt->cfg->records.max_bytes * 4 + ((size_t)1 << 20);
    w->arena.base = fis_alloc(w->arena.size, 1);
    w->input = (struct trainer_input){.rt = rt, .outbox = outbox, .arena = &w->arena};
    w->commit_again_ms = runtime_now(rt).mono_ms + COMMIT_AGAIN_MS;
    int rc = w->batch && w->arena.base ? open_wire(w, &role_out, e)
                                       : fis_fail(e, FIS_NOMEM, "no memory for the trainer");
    if (rc < 0) {
        trainer_work_close(w);
        return rc;
    }
    trainer_load_init(&w->load, rt, &role_out, memory);
    *out = w;
    return 0;
}

bool trainer_work_on_worker(const struct trainer_work *w)
{
    return w->on_worker || w->job_wanted || pool_ends_running(&w->ends);
}

void trainer_work_close(struct trainer_work *w)
{
    if (!w)
        return;
    trainer_load_done(&w->load);
    stream_batch_free(w->batch);
    stream_consumer_close(w->consumer, 0);
    version_fetch_close(w->fetch);
    pool_ends_done(&w->ends);
    example_topic_close(w->validation);
    trainer_role_free(w->role);
    fis_encoder_free(w->encoder);
    trainer_wire_done(&w->wire);
    intake_done(&w->intake);
    fis_free(w->arena.base);
    fis_free(w);
}

static int begin(struct trainer_work *w, struct fis_error *e)
{
    w->role = w->load.role;
    w->encoder = w->load.encoder;
    w->validation = w->load.validation;
    w->load.role = NULL;
    w->load.encoder = NULL;
    w->load.validation = NULL;
    w->restore_ms = w->load.restore_ms;
    w->restored_entries = w->load.entries;
    w->restored_bytes = w->load.bytes;
    trainer_load_done(&w->load);
    struct stream_consumer_options o = {
        .client = runtime_client(w->rt),
        .group_id = w->group,
        .stored = true,
        .topics = w->topics,
        .topic_count = INPUTS,
    };
    o.client.name = "input";
    if (stream_consumer_open(&w->consumer, &o, e) < 0)
        return -1;
    w->running = true;
    return trainer_role_start(w->role, runtime_now(w->rt), e);
}

/* ---- input --------------------------------------------------------------------------------- */

static struct wire_message message(const struct trainer_work *w, const struct stream_message *s)
{
    return (struct wire_message){
        .topic = w->topics[s->topic],
        .partition = s->partition,
        .offset = s->offset,
        .timestamp_ms = s->timestamp_ms,
        .key = {s->key, s->key_length},
        .value = {s->value, s->value_length},
    };
}

/* A command that wants a version of the models topic waits for it: 0, and it is handed over again
 * later. */
static int version_there(struct trainer_work *w, const struct wire_message *m, struct fis_error *e)
{
    uint64_t wanted = trainer_input_wanted(&w->input, w->role, m);
    if (!wanted)
        return 1;
    if (w->fetch && version_fetch_wanted(w->fetch) != wanted) {
        version_fetch_close(w->fetch);
        w->fetch = NULL;
    }
    if (!w->fetch && version_fetch_open(&w->fetch, w->rt, wanted, e) < 0)
        return -1;
    return version_fetch_turn(w->fetch, e);
}

/* 1: handed over; 0: it must wait. */
static int take_control(struct trainer_work *w, const struct wire_message *m, struct fis_error *e)
{
    int rc = version_there(w, m, e);
    if (rc <= 0)
        return rc;
    const struct wire_model *version = w->fetch ? version_fetch_model(w->fetch) : NULL;
    rc = trainer_input_control(&w->input, w->role, m, version, runtime_now(w->rt), e);
    version_fetch_close(w->fetch);
    w->fetch = NULL;
    return rc < 0 ? rc : 1;
}

static int hand_over(struct trainer_work *w, uint32_t topic, const struct wire_message *m,
                     struct fis_error *e)
{
    int rc = topic == CONTROL  ? take_control(w, m, e)
             : topic == LABELS ? trainer_input_label(&w->input, w->role, m, runtime_now(w->rt), e)
                               : trainer_input_offer(&w->input, w->role, m, e);
    return topic == CONTROL || rc < 0 ? rc : 1;
}

/* 1: taken, 0: it waits for something. */
static int take(struct trainer_work *w, struct fis_error *e)
{
    const struct stream_message *s = &w->batch->messages[w->taken];
    struct wire_message m = message(w, s);
    int rc = intake_take(&w->intake, s->topic, s->partition, s->offset, e);
    if (rc == 0)
        rc = 1; /* handed over before */
    else if (rc > 0 && (rc = hand_over(w, s->topic, &m, e)) == 0 &&
             intake_move(&w->intake, s->topic, s->partition, s->offset, e) < 0)
        rc = -FIS_NOMEM;
    w->taken += rc > 0;
    w->waiting = rc == 0;
    return rc;
}

/* Hands over what has arrived, until the role is due for a job: a burst of labels is taken in the
 * same steps as a trickle. *all: there is nothing left to hand over, or the role must act. */
static int read_input(struct trainer_work *w, bool *all, struct fis_error *e)
{
    bool full = true;
    int rc = 1;
    if (w->taken == w->batch->count) {
        stream_batch_release(w->batch);
        w->taken = 0;
        full = stream_consumer_read(w->consumer, w->batch, READ_BATCH) == READ_BATCH;
    }
    while (rc > 0 && w->taken < w->batch->count && !trainer_role_due(w->role) &&
           !trainer_role_busy(w->role))
        rc = take(w, e);
    *all = rc == 0 || !full || trainer_role_due(w->role) || trainer_role_busy(w->role);
    return rc < 0 ? rc : 0;
}

/* ---- what else comes in -------------------------------------------------------------------- */

static int validation_moved(void *arg, int32_t partition, int64_t next, struct fis_error *e)
{
    struct trainer_work *w = arg;
    return intake_move(&w->intake, VALIDATION, partition, next, e);
}

static int follow_validation(struct trainer_work *w, struct fis_error *e)
{
    if (!w->validation)
        return 0;
    if (trainer_validation_follow(w->validation, w->encoder, w->role, w->rt->monitor, e) < 0)
        return -1;
    return example_topic_positions(w->validation, validation_moved, w, e);
}

static void tell_lost(struct trainer_work *w)
{
    if (w->labels_lost)
        trainer_role_labels_lost(w->role, w->labels_lost, runtime_now(w->rt));
    if (w->candidates_lost)
        trainer_role_candidates_lost(w->role);
    w->labels_lost = 0;
    w->candidates_lost = false;
}

/* Answers were paid for; what else is lost is told again by others or was not acted upon. */
static int input_reset(struct trainer_work *w, const struct stream_consumer_event *ev,
                       struct fis_error *e)
{
    bool labels = ev->topic == LABELS, bad = ev->lost_messages > 0 || ev->recreated;
    if (!bad && ev->first == 0)
        return intake_move(&w->intake, ev->topic, ev->partition, 0, e); /* a new group */
    if (labels && bad)
        w->labels_lost += ev->lost_messages > 0 ? (uint64_t)ev->lost_messages : 1;
    w->candidates_lost |= ev->topic == CANDIDATES && bad;
    log_line(labels && bad ? LOG_LEVEL_ERROR
             : bad         ? LOG_LEVEL_WARN
                           : LOG_LEVEL_INFO,
             "offsets_lost", "topic=%s partition=%d wanted=%lld first_kept=%lld lost=%lld%s%s",
             w->topics[ev->topic], (int)ev->partition, (long long)ev->wanted, (long long)ev->first,
             (long long)ev->lost_messages, ev->recreated ? " text=\"the topic was made anew\"" : "",
             labels && bad ? " consequence=\"open requests expire\"" : "");
    return intake_move(&w->intake, ev->topic, ev->partition, ev->first, e);
}

static int consumer_events(struct trainer_work *w, struct fis_error *e)
{
    struct stream_consumer_event ev;
    while (stream_consumer_event(w->consumer, &ev)) {
        if (ev.kind == STREAM_ASSIGNED)
            log_line(LOG_LEVEL_INFO, "assigned", "role=trainer partitions=%u", ev.owned);
        else if (ev.kind == STREAM_RESET && input_reset(w, &ev, e) < 0)
            return -1;
        else if (ev.kind == STREAM_ERROR && ev.error.class == FIS_FATAL)
            return fis_fail(e, FIS_FATAL, "%s", ev.error.text);
        else if (ev.kind == STREAM_ERROR)
            runtime_kafka_event(w->rt, "trainer", &ev.error);
    }
    return 0;
}

/* ---- commits ------------------------------------------------------------------------------- */

/* How far the input was taken goes with what is sent. */
static int tell_offsets(struct trainer_work *w, uint64_t now, struct fis_error *e)
{
    const struct intake_place *p;
    if (now >= w->commit_again_ms) {
        w->commit_again_ms = now + COMMIT_AGAIN_MS;
        intake_again(&w->intake);
    }
    while ((p = intake_next(&w->intake)))
        if (outbox_consumed(w->outbox, w->topics[p->topic], p->partition, p->next, e) < 0)
            return -1;
    return 0;
}

static int maybe_commit(struct trainer_work *w, struct stream_consumer *member, struct fis_error *e)
{
    struct trainer_time now = runtime_now(w->rt);
    if (!outbox_ready(w->outbox) || (now.mono_ms < w->commit_at_ms && !w->draining))
        return 0;
    w->commit_at_ms = now.mono_ms + w->rt->cfg->runtime.commit_interval;
    /* A job owns the role, and all was said before it began. */
    if (!trainer_role_busy(w->role) && trainer_role_flush(w->role, now, e) < 0)
        return -1;
    /* Half of what the role said is worse than nothing: it would be committed as if it were all. */
    if (trainer_wire_failed(&w->wire, e) || tell_offsets(w, now.mono_ms, e) < 0)
        return -1;
    return outbox_dirty(w->outbox) ? outbox_commit(w->outbox, member, e) : 0;
}

/* ---- turns --------------------------------------------------------------------------------- */

static void adjust(struct trainer_work *w)
{
    struct trainer_role_options o;
    if (w->adjust) {
        pipeline_trainer(&w->rt->pipeline, 0, 0, &o);
        trainer_role_adjust(w->role, &o, runtime_now(w->rt));
    }
    w->adjust = false;
}

static int act(struct trainer_work *w, bool *more, struct fis_error *e)
{
    bool all;
    adjust(w);
    tell_lost(w);
    if (follow_validation(w, e) < 0 || pool_ends_tell(&w->ends, w->role, e) < 0 ||
        read_input(w, &all, e) < 0)
        return -1;
    if (all && !trainer_role_busy(w->role))
        trainer_role_idle(w->role, runtime_now(w->rt));
    bool left = w->taken < w->batch->count && !w->waiting;
    *more = (left || !all) && !trainer_role_busy(w->role);
    return 0;
}

static int finish_job(struct trainer_work *w, struct fis_error *e)
{
    w->job_ran = false;
    return trainer_role_job_done(w->role, runtime_now(w->rt), e);
}

static int work(struct trainer_work *w, bool *more, struct fis_error *e)
{
    if (trainer_wire_failed(&w->wire, e))
        return -1;
    if (outbox_ready(w->outbox) && w->job_ran && finish_job(w, e) < 0)
        return -1;
    if (!outbox_ready(w->outbox) || trainer_role_busy(w->role) || w->draining)
        stream_consumer_read(w->consumer, w->batch, 0);
    else if (act(w, more, e) < 0)
        return -1;
    return consumer_events(w, e);
}

int trainer_work_turn(struct trainer_work *w, struct stream_consumer *member, bool *more,
                      struct fis_error *e)
{
    int rc = 0;
    *more = false;
    if (w->running) {
        if (work(w, more, e) < 0 || maybe_commit(w, member, e) < 0)
            return -1;
    } else if (!w->draining) {
        rc = trainer_load_turn(&w->load, e);
        if (rc == 0 && w->load.step == LOAD_DONE)
            rc = begin(w, e);
    }
    submit_job(w);
    return rc;
}

bool trainer_work_running(const struct trainer_work *w)
{
    return w->running;
}

void trainer_work_adjust(struct trainer_work *w)
{
    w->adjust = true;
}

void trainer_work_drain(struct trainer_work *w)
{
    w->draining = true;
}

bool trainer_work_drained(const struct trainer_work *w)
{
    if (!w->draining || trainer_work_on_worker(w))
        return false;
    return !w->running || (!trainer_role_busy(w->role) && !outbox_dirty(w->outbox));
}

uint32_t trainer_work_status(struct trainer_work *w, struct status_trainer *out,
                             struct status_lag *lags, uint32_t n)
{
    uint64_t now = runtime_now(w->rt).mono_ms;
    out->running = w->running;
    if (!w->running)
        return 0;
    if (!trainer_role_busy(w->role))
        trainer_snapshot_take(&w->shown, w->role, now, out->want_best);
    trainer_snapshot_show(&w->shown, now, out);
    out->restore_ms = w->restore_ms;
    out->ledger_entries = w->restored_entries;
    out->ledger_bytes = w->restored_bytes;
    out->dead_labels = w->input.refused_labels;
    out->dead_offers = w->input.refused_offers;
    out->dead_commands = w->input.refused_commands;
    out->dead[0] = &w->input.dead_labels;
    out->dead[1] = &w->input.dead_offers;
    out->dead[2] = &w->input.dead_commands;
    return status_lags(w->consumer, "trainer", w->topics, lags, n);
}

void trainer_work_tick(struct trainer_work *w)
{
    if (!w->running || trainer_role_busy(w->role))
        return;
    struct trainer_role_counts c = trainer_role_counts(w->role);
    uint64_t answers = c.labels + c.duplicates + c.skipped + w->input.refused_labels;
    if (answers == w->said_answers)
        return;
    w->said_answers = answers;
    log_line(LOG_LEVEL_INFO, "labels",
             "round=%u phase=%s labels=%u open=%u kept=%u duplicates=%llu skipped=%llu "
             "refused=%llu",
             c.round, c.phase, c.learner.bought, c.selector.open, c.learner.kept,
             (unsigned long long)c.duplicates, (unsigned long long)c.skipped,
             (unsigned long long)w->input.refused_labels);
}

void trainer_work_say_left(const struct trainer_work *w)
{
    if (w->running && trainer_role_busy(w->role))
        log_line(LOG_LEVEL_WARN, "stop",
                 "role=trainer text=\"a job was still running; it is done "
                 "again after a restart\"");
}
