#include "daemon/trainer/trainer_work.h"

#include "daemon/trainer/pool_ends.h"
#include "daemon/trainer/trainer_load.h"
#include "daemon/trainer/trainer_reader.h"
#include "daemon/trainer/trainer_snapshot.h"
#include "daemon/trainer/trainer_validation.h"
#include "role/trainer_wire.h"

struct trainer_work {
    struct context *ctx;
    struct outbox *outbox;
    struct trainer_wire wire;
    struct trainer_load load;
    struct trainer_role *role;
    struct fis_encoder *encoder;
    struct example_topic *validation;
    struct trainer_reader reader;
    struct job job;
    bool job_wanted, on_worker, job_ran, running, draining;
    bool adjust; /* the role has not got the newest limits yet */
    struct pool_ends ends;
    uint64_t commit_at_ms;
    uint64_t said_answers;
    uint64_t restore_ms, restored_entries, restored_bytes;
    struct trainer_snapshot shown;
};

/* ---- what the role wants ------------------------------------------------------------------- */

static int put(void *arg, enum trainer_topic t, struct wire_bytes key, struct wire_bytes value,
               struct fis_error *e)
{
    struct trainer_work *w = arg;
    const struct config_topics *topics = &w->ctx->cfg->topics;
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
    trainer_snapshot_take(&w->shown, w->role, context_now().mono_ms, true);
    w->job = (struct job){.run = run_job, .done = job_done, .arg = w};
    workers_submit(w->ctx->workers, &w->job);
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
    observe_model(&w->ctx->observer, v);
}

static void told_state(void *arg, const struct wire_trainer_state *s)
{
    struct trainer_work *w = arg;
    observe_state(&w->ctx->observer, s);
}

/* ---- opening and closing ------------------------------------------------------------------- */

static int open_wire(struct trainer_work *w, struct trainer_out *out, struct fis_error *e)
{
    const struct pipeline *p = &w->ctx->pipeline;
    struct trainer_wire_options o = {
        .schema = &p->schema,
        .columns = p->columns,
        .n_columns = p->n_columns,
        .labels = p->labels,
        .max_chunk = w->ctx->cfg->topics.max_chunk,
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

int trainer_work_open(struct trainer_work **out, struct context *ctx, struct outbox *outbox,
                      struct memory *memory, const char *group, struct fis_error *e)
{
    struct trainer_work *w = fis_calloc(1, sizeof *w);
    struct trainer_out role_out;
    if (!w)
        return fis_fail(e, FIS_NOMEM, "no memory for the trainer");
    w->ctx = ctx;
    w->outbox = outbox;
    pool_ends_init(&w->ends, ctx);
    int rc = trainer_reader_init(&w->reader, ctx, outbox, group, e);
    if (rc == 0)
        rc = open_wire(w, &role_out, e);
    if (rc < 0) {
        trainer_work_close(w);
        return rc;
    }
    trainer_load_init(&w->load, ctx, &role_out, memory);
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
    trainer_reader_done(&w->reader);
    pool_ends_done(&w->ends);
    example_topic_close(w->validation);
    trainer_role_free(w->role);
    fis_encoder_free(w->encoder);
    trainer_wire_done(&w->wire);
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
    if (trainer_reader_open(&w->reader, e) < 0)
        return -1;
    w->running = true;
    return trainer_role_start(w->role, context_now(), e);
}

/* ---- what else comes in -------------------------------------------------------------------- */

static int follow_validation(struct trainer_work *w, struct fis_error *e)
{
    if (!w->validation)
        return 0;
    if (trainer_validation_follow(w->validation, w->encoder, w->role, &w->ctx->observer, e) < 0)
        return -1;
    return example_topic_positions(w->validation, trainer_reader_validation_moved, &w->reader, e);
}

/* ---- commits ------------------------------------------------------------------------------- */

static int maybe_commit(struct trainer_work *w, struct stream_consumer *member, struct fis_error *e)
{
    struct trainer_time now = context_now();
    if (!outbox_ready(w->outbox) || (now.mono_ms < w->commit_at_ms && !w->draining))
        return 0;
    w->commit_at_ms = now.mono_ms + w->ctx->cfg->runtime.commit_interval;
    /* A job owns the role, and all was said before it began. */
    if (!trainer_role_busy(w->role) && trainer_role_flush(w->role, now, e) < 0)
        return -1;
    /* Half of what the role said is worse than nothing: it would be committed as if it were all. */
    if (trainer_wire_failed(&w->wire, e) || trainer_reader_tell(&w->reader, now.mono_ms, e) < 0)
        return -1;
    return outbox_dirty(w->outbox) ? outbox_commit(w->outbox, member, e) : 0;
}

/* ---- turns --------------------------------------------------------------------------------- */

static void adjust(struct trainer_work *w)
{
    struct trainer_role_options o;
    if (w->adjust) {
        pipeline_trainer(&w->ctx->pipeline, 0, 0, &o);
        trainer_role_adjust(w->role, &o, context_now());
    }
    w->adjust = false;
}

static int act(struct trainer_work *w, bool *more, struct fis_error *e)
{
    bool all;
    adjust(w);
    if (follow_validation(w, e) < 0 || pool_ends_tell(&w->ends, w->role, e) < 0 ||
        trainer_reader_turn(&w->reader, w->role, &all, e) < 0)
        return -1;
    if (all && trainer_reader_informed(&w->reader) && !trainer_role_busy(w->role))
        trainer_role_idle(w->role, context_now());
    *more = (trainer_reader_left(&w->reader) || !all) && !trainer_role_busy(w->role);
    return 0;
}

static int finish_job(struct trainer_work *w, struct fis_error *e)
{
    w->job_ran = false;
    return trainer_role_job_done(w->role, context_now(), e);
}

static int work(struct trainer_work *w, bool *more, struct fis_error *e)
{
    if (trainer_wire_failed(&w->wire, e))
        return -1;
    if (outbox_ready(w->outbox) && w->job_ran && finish_job(w, e) < 0)
        return -1;
    if (!outbox_ready(w->outbox) || trainer_role_busy(w->role) || w->draining)
        trainer_reader_poll(&w->reader);
    else if (act(w, more, e) < 0)
        return -1;
    return trainer_reader_events(&w->reader, e);
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

uint32_t trainer_work_status(struct trainer_work *w, struct trainer_status *out, struct lag *lags,
                             uint32_t n)
{
    uint64_t now = context_now().mono_ms;
    out->running = w->running;
    if (!w->running)
        return 0;
    if (!trainer_role_busy(w->role))
        trainer_snapshot_take(&w->shown, w->role, now, out->want_best);
    trainer_snapshot_show(&w->shown, now, out);
    out->restore_ms = w->restore_ms;
    out->ledger_entries = w->restored_entries;
    out->ledger_bytes = w->restored_bytes;
    const struct trainer_input *in = &w->reader.input;
    out->read = in->read;
    out->dead_labels = dead_counts_sum(&in->dead_labels);
    out->dead_offers = dead_counts_sum(&in->dead_offers);
    out->dead_commands = dead_counts_sum(&in->dead_commands);
    out->dead[0] = &in->dead_labels;
    out->dead[1] = &in->dead_offers;
    out->dead[2] = &in->dead_commands;
    return trainer_reader_lags(&w->reader, lags, n);
}

void trainer_work_tick(struct trainer_work *w)
{
    if (!w->running || trainer_role_busy(w->role))
        return;
    trainer_reader_tick(&w->reader, context_now().mono_ms);
    struct trainer_role_counts c = trainer_role_counts(w->role);
    uint64_t refused = dead_counts_sum(&w->reader.input.dead_labels);
    uint64_t answers = c.labels + c.duplicates + c.skipped + refused;
    if (answers == w->said_answers)
        return;
    w->said_answers = answers;
    log_line(LOG_LEVEL_INFO, "labels",
             "round=%u phase=%s labels=%u open=%u kept=%u duplicates=%llu skipped=%llu "
             "refused=%llu",
             c.round, c.phase, c.learner.bought, c.selector.open, c.learner.kept,
             (unsigned long long)c.duplicates, (unsigned long long)c.skipped,
             (unsigned long long)refused);
}

void trainer_work_say_left(const struct trainer_work *w)
{
    if (w->running && trainer_role_busy(w->role))
        log_line(LOG_LEVEL_WARN, "stop",
                 "role=trainer text=\"a job was still running; it is done "
                 "again after a restart\"");
}
