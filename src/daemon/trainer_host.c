#include "daemon/trainer_host.h"

#include <stdio.h>

#include "daemon/trainer_input.h"
#include "daemon/trainer_load.h"
#include "daemon/trainer_send.h"

#define READ_BATCH 512
/* More than this is no accident. */
#define RESUMES_MAX 5
#define RESUMES_WITHIN_MS 120000
#define RESUME_PATIENCE_MS 1000

enum { CANDIDATES, LABELS, TOPICS };

struct trainer_host {
    struct runtime *rt;
    struct outbox *outbox;
    struct trainer_load load;
    struct trainer_send send;
    struct trainer_role *role;
    struct fis_encoder *encoder;
    struct example_topic *validation;
    const char *topics[TOPICS];
    struct stream_consumer *consumer;
    struct stream_batch *batch;
    struct intake intake;
    uint32_t taken; /* messages of the batch that were handed over */
    struct fis_arena arena;
    struct job job;
    bool job_ran, running, stopping, failed;
    bool again; /* to be taken down and opened anew */
    uint32_t resumed;
    uint64_t resumed_at_ms;
    uint64_t commit_at_ms;
    struct trainer_input input;
    uint64_t said_answers;
    char group[128], transactional_id[128];
};

/* A unit that cannot be committed (the group went on without us, messages were given up) is let go:
 * the ledger has what was before it, and the host goes on from there, as after a restart. */
static bool may_resume(struct trainer_host *h, const struct fis_error *e)
{
    uint64_t now = runtime_now(h->rt).mono_ms;
    if (e->class != FIS_ABORT_TXN || h->stopping)
        return false;
    if (now - h->resumed_at_ms > RESUMES_WITHIN_MS) {
        h->resumed_at_ms = now;
        h->resumed = 0;
    }
    return h->resumed++ < RESUMES_MAX;
}

static void fail(struct trainer_host *h, const struct fis_error *e)
{
    if (h->failed || h->again)
        return;
    h->again = may_resume(h, e);
    h->failed = !h->again;
    if (h->failed)
        runtime_fail(h->rt, "trainer", e);
    else
        log_line(LOG_LEVEL_WARN, "resuming", "role=trainer from=ledger reason=\"%s\"", e->text);
}

static bool gone(const struct trainer_host *h)
{
    return h->failed || h->again;
}

static void run_job(void *arg)
{
    struct trainer_host *h = arg;
    trainer_role_job(h->role);
}

static void job_done(void *arg)
{
    struct trainer_host *h = arg;
    h->job_ran = true; /* handed to the role when no commit is under way */
}

static void submit_job(void *arg)
{
    struct trainer_host *h = arg;
    h->job = (struct job){.run = run_job, .done = job_done, .arg = h};
    workers_submit(h->rt->workers, &h->job);
}

/* What was read and not handed over yet belongs to the next owner. */
static void drop_revoked(struct trainer_host *h, const struct stream_partition *partitions,
                         size_t count)
{
    for (uint32_t i = h->taken; i < h->batch->count; i++)
        for (size_t k = 0; k < count; k++)
            if (h->batch->messages[i].topic == partitions[k].topic &&
                h->batch->messages[i].partition == partitions[k].partition)
                h->batch->messages[i].topic = TOPICS;
}

static void on_revoke(void *arg, bool lost, const struct stream_partition *partitions, size_t count)
{
    struct trainer_host *h = arg;
    outbox_forget(h->outbox);
    drop_revoked(h, partitions, count);
    log_line(LOG_LEVEL_INFO, "revoked", "role=trainer partitions=%zu lost=%d", count, lost);
}

/* ---- opening ------------------------------------------------------------------------------- */

static int open_all(struct trainer_host *h, struct fis_error *e)
{
    const struct config *cfg = h->rt->cfg;
    snprintf(h->group, sizeof h->group, "%s-trainer", cfg->pipeline);
    snprintf(h->transactional_id, sizeof h->transactional_id, "%s-trainer", cfg->pipeline);
    h->topics[CANDIDATES] = cfg->topics.candidates;
    h->topics[LABELS] = cfg->topics.labels;
    struct outbox_options o = {.client = runtime_client(h->rt),
                               .dead_letter_bytes = h->rt->dead_letter_bytes};
    if (h->rt->exactly_once)
        o.transactional_id = h->transactional_id;
    if (outbox_open(&h->outbox, &o, e) < 0)
        return -1;
    h->batch = stream_batch_new(READ_BATCH);
    h->arena.size = cfg->records.max_bytes * 4 + ((size_t)1 << 20);
    h->arena.base = fis_alloc(h->arena.size, 1);
    if (!h->batch || !h->arena.base)
        return fis_fail(e, FIS_NOMEM, "no memory for the trainer");
    struct trainer_out out;
    intake_init(&h->intake, CANDIDATES);
    h->input.rt = h->rt; /* its counts outlive a reopening */
    h->input.outbox = h->outbox;
    h->input.arena = &h->arena;
    trainer_send_init(&h->send, h->rt, h->outbox, &h->intake, &h->arena);
    trainer_send_out(&h->send, submit_job, h, &out);
    trainer_load_init(&h->load, h->rt, &out, h->outbox);
    return 0;
}

int trainer_host_open(struct trainer_host **out, struct runtime *rt, struct fis_error *e)
{
    struct trainer_host *h = fis_calloc(1, sizeof *h);
    if (!h)
        return fis_fail(e, FIS_NOMEM, "no memory for the trainer");
    h->rt = rt;
    if (open_all(h, e) < 0) {
        trainer_host_close(h, 0);
        return -1;
    }
    *out = h;
    return 0;
}

/* There is one trainer at a time: its transactions fence any other. Its membership says so too
 * (the operator's own group.instance.id comes first), so one that comes back after a crash has its
 * partitions at once and does not wait for the session of the dead one to end. */
static int open_consumer(struct trainer_host *h, struct fis_error *e)
{
    struct stream_client client = runtime_client(h->rt);
    size_t n = 0;
    struct stream_property *all = fis_calloc(client.property_count + 1, sizeof *all);
    if (!all)
        return fis_fail(e, FIS_NOMEM, "no memory for the trainer");
    if (h->rt->exactly_once)
        all[n++] = (struct stream_property){"group.instance.id", h->group};
    for (size_t i = 0; i < client.property_count; i++)
        all[n++] = client.properties[i];
    client.property_count = n;
    client.properties = all;
    struct stream_consumer_options o = {
        .client = client,
        .group_id = h->group,
        .topics = h->topics,
        .topic_count = TOPICS,
        .on_revoke = on_revoke,
        .revoke_arg = h,
    };
    int rc = stream_consumer_open(&h->consumer, &o, e);
    fis_free(all);
    return rc;
}

static int begin(struct trainer_host *h, struct fis_error *e)
{
    h->role = h->load.role;
    h->encoder = h->load.encoder;
    h->validation = h->load.validation;
    h->load.role = NULL;
    h->load.encoder = NULL;
    h->load.validation = NULL;
    trainer_load_done(&h->load);
    if (open_consumer(h, e) < 0)
        return -1;
    h->running = true;
    return trainer_role_start(h->role, runtime_now(h->rt), e);
}

/* ---- input --------------------------------------------------------------------------------- */

static int take(struct trainer_host *h, const struct stream_message *s, struct fis_error *e)
{
    if (s->topic == TOPICS)
        return 0; /* revoked */
    int fresh = intake_take(&h->intake, s->topic, s->partition, s->offset, e);
    if (fresh <= 0)
        return fresh;
    struct wire_message m = {
        .topic = h->topics[s->topic],
        .partition = s->partition,
        .offset = s->offset,
        .timestamp_ms = s->timestamp_ms,
        .key = {s->key, s->key_length},
        .value = {s->value, s->value_length},
    };
    return s->topic == CANDIDATES ? trainer_input_offer(&h->input, h->role, &m, e)
                                  : trainer_input_label(&h->input, h->role, &m, e);
}

/* Hands over what has arrived, until the role is due for a job: a burst of labels is taken in the
 * same steps as a trickle. True when there is nothing left to hand over, or the role must act. */
static bool read_input(struct trainer_host *h)
{
    struct fis_error e;
    bool full = true;
    if (h->taken == h->batch->count) {
        stream_batch_release(h->batch);
        h->taken = 0;
        full = stream_consumer_read(h->consumer, h->batch, READ_BATCH) == READ_BATCH;
    }
    while (h->taken < h->batch->count && !gone(h) && !trainer_role_due(h->role))
        if (take(h, &h->batch->messages[h->taken++], &e) < 0)
            fail(h, &e);
    return !full || trainer_role_due(h->role);
}

static void follow_validation(struct trainer_host *h)
{
    struct fis_error e;
    struct data_examples x;
    bool changed = false;
    if (!h->validation)
        return;
    if (example_topic_turn(h->validation, &changed, &e) < 0) {
        fail(h, &e);
        return;
    }
    if (!changed)
        return;
    if (example_topic_build(h->validation, h->encoder, &x, &e) < 0) {
        log_line(LOG_LEVEL_ERROR, "validation", "text=\"kept as it was\" reason=\"%s\"", e.text);
        return;
    }
    struct fis_rows rows = trainer_rows(&x);
    int rc = trainer_role_validation(h->role, &rows, x.names.n, &e);
    if (rc == -FIS_INPUT)
        log_line(LOG_LEVEL_ERROR, "validation", "text=\"kept as it was\" reason=\"%s\"", e.text);
    else if (rc < 0)
        fail(h, &e);
    else
        log_line(LOG_LEVEL_INFO, "validation", "rows=%u groups=%u from=next_round", x.n, x.names.n);
    data_examples_done(&x);
}

/* ---- turns --------------------------------------------------------------------------------- */

static void loading(struct trainer_host *h)
{
    struct fis_error e;
    if (trainer_load_turn(&h->load, &e) < 0 || (h->load.step == LOAD_DONE && begin(h, &e) < 0))
        fail(h, &e);
}

static void finish_job(struct trainer_host *h)
{
    struct fis_error e;
    h->job_ran = false;
    if (trainer_role_job_done(h->role, runtime_now(h->rt), &e) < 0)
        fail(h, &e);
}

/* What may be committed of the input goes with what is sent. */
static int tell_offsets(struct trainer_host *h, struct fis_error *e)
{
    const struct intake_place *p;
    while ((p = intake_next(&h->intake)))
        if (outbox_consumed(h->outbox, h->topics[p->topic], p->partition, p->commit, e) < 0)
            return -1;
    return 0;
}

static void maybe_commit(struct trainer_host *h)
{
    struct fis_error e;
    uint64_t now = runtime_now(h->rt).mono_ms;
    if (!outbox_ready(h->outbox) || (now < h->commit_at_ms && !h->stopping))
        return;
    h->commit_at_ms = now + h->rt->cfg->runtime.commit_interval;
    /* Half of what the role said is worse than nothing: it would be committed as if it were all. */
    if (trainer_send_failed(&h->send, &e) || tell_offsets(h, &e) < 0 ||
        (outbox_dirty(h->outbox) && outbox_commit(h->outbox, h->consumer, &e) < 0))
        fail(h, &e);
}

/* The consumer is at its end: somebody has its place in the group. After an outage that may be its
 * own join request from before, so it is not the end of the trainer. Where another trainer has
 * taken over in earnest, the transactional id tells. */
static void lost_place(struct trainer_host *h, struct fis_error *e)
{
    e->class = FIS_ABORT_TXN;
    fail(h, e);
}

static void consumer_events(struct trainer_host *h)
{
    struct stream_consumer_event ev;
    while (stream_consumer_event(h->consumer, &ev)) {
        if (ev.kind == STREAM_ASSIGNED)
            log_line(LOG_LEVEL_INFO, "assigned", "role=trainer partitions=%u", ev.owned);
        else if (ev.kind == STREAM_ERROR && ev.error.class == FIS_FATAL)
            lost_place(h, &ev.error);
        else if (ev.kind == STREAM_ERROR)
            runtime_kafka_event(h->rt, "trainer", &ev.error);
    }
}

static bool work(struct trainer_host *h)
{
    bool more = false;
    if (outbox_ready(h->outbox) && h->job_ran)
        finish_job(h);
    bool free = outbox_ready(h->outbox) && !trainer_role_busy(h->role) && !h->stopping;
    if (free && !gone(h)) {
        follow_validation(h);
        more = !read_input(h);
        if (!more && !gone(h))
            trainer_role_idle(h->role, runtime_now(h->rt));
    } else {
        stream_consumer_read(h->consumer, h->batch, 0); /* rebalances; keeps the membership */
    }
    consumer_events(h);
    if (!gone(h))
        maybe_commit(h);
    return more && !gone(h);
}

static void drop_all(struct trainer_host *h, int patience_ms)
{
    trainer_load_done(&h->load);
    stream_batch_free(h->batch);
    /* The outbox first: its commit may hold the consumer's group metadata. */
    outbox_close(h->outbox);
    stream_consumer_close(h->consumer, patience_ms);
    example_topic_close(h->validation);
    trainer_role_free(h->role);
    fis_encoder_free(h->encoder);
    trainer_send_done(&h->send);
    intake_done(&h->intake);
    fis_free(h->arena.base);
    *h = (struct trainer_host){.rt = h->rt,
                               .stopping = h->stopping,
                               .failed = h->failed,
                               .resumed = h->resumed,
                               .resumed_at_ms = h->resumed_at_ms,
                               .input = h->input};
}

/* Blocks the loop for some seconds at most: less than a group waits for its members. */
static void resume(struct trainer_host *h)
{
    struct fis_error e;
    if (h->running && trainer_role_busy(h->role) && !h->job_ran)
        return; /* the job owns the role */
    drop_all(h, RESUME_PATIENCE_MS);
    if (open_all(h, &e) < 0)
        fail(h, &e);
}

bool trainer_host_turn(struct trainer_host *h)
{
    struct fis_error e;
    bool said;
    if (h->failed)
        return false;
    if (h->again)
        resume(h);
    if (h->again || h->failed)
        return false;
    if (outbox_turn(h->outbox, &e, &said) < 0 || trainer_send_failed(&h->send, &e)) {
        fail(h, &e);
        return false;
    }
    if (said)
        runtime_kafka_event(h->rt, "trainer", &e);
    if (h->running)
        return work(h);
    if (!h->stopping)
        loading(h);
    return false;
}

void trainer_host_tick(struct trainer_host *h)
{
    if (!h->running || trainer_role_busy(h->role))
        return;
    struct trainer_role_counts c = trainer_role_counts(h->role);
    uint64_t answers = c.labels + c.duplicates + c.skipped + h->input.refused_labels;
    if (answers == h->said_answers)
        return;
    h->said_answers = answers;
    log_line(LOG_LEVEL_INFO, "labels",
             "round=%u phase=%s labels=%u open=%u kept=%u duplicates=%llu skipped=%llu "
             "refused=%llu",
             c.round, c.phase, c.learner.bought, c.selector.open, c.learner.kept,
             (unsigned long long)c.duplicates, (unsigned long long)c.skipped,
             (unsigned long long)h->input.refused_labels);
}

void trainer_host_stop(struct trainer_host *h)
{
    h->stopping = true;
    if (!h->again)
        return;
    h->failed = true; /* what was being given up is not committed */
    h->rt->exit_code = 1;
}

bool trainer_host_stopped(const struct trainer_host *h)
{
    if (h->failed)
        return true;
    if (!h->stopping || (h->running && trainer_role_busy(h->role)))
        return false;
    return !h->running || !outbox_dirty(h->outbox);
}

void trainer_host_say_left(const struct trainer_host *h)
{
    if (h && h->running && trainer_role_busy(h->role))
        log_line(LOG_LEVEL_WARN, "stop",
                 "role=trainer text=\"a job was still running; it is done "
                 "again after a restart\"");
    if (h && h->outbox && outbox_dirty(h->outbox))
        log_line(LOG_LEVEL_WARN, "stop",
                 "role=trainer text=\"%llu messages and the offsets of what was read were not "
                 "committed; the next start repeats them\"",
                 (unsigned long long)outbox_outstanding(h->outbox));
}

void trainer_host_close(struct trainer_host *h, int patience_ms)
{
    if (!h)
        return;
    trainer_host_say_left(h);
    drop_all(h, patience_ms);
    fis_free(h);
}
