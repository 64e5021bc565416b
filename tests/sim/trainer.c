/* A trainer: role/leader decides whether it leads; role/memory follows; when it leads, the role
 * with its transactional producer and its input. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "client.h"
#include "faults.h"
#include "process.h"
#include "trainer_impl.h"

#define MESSAGE_BYTES ((size_t)128 * 1024)

static struct trainer_time now_of(const struct sim_trainer *t)
{
    return (struct trainer_time){sim_mono(t->w, t->process), sim_wall(t->w, t->process)};
}

static uint64_t mono(const struct sim_trainer *t)
{
    return sim_mono(t->w, t->process);
}

static void fail(struct sim_trainer *t, const struct fis_error *e)
{
    election_failed(&t->leader, e, false, mono(t));
}

static int put(void *arg, enum trainer_topic topic, struct wire_bytes key, struct wire_bytes value,
               struct fis_error *e)
{
    static const enum sim_topic topics[] = {SIM_REQUESTS, SIM_LEDGER, SIM_HEADS, SIM_MODELS};
    struct sim_trainer *t = arg;
    enum sim_topic to = topics[topic];
    (void)e;
    int32_t p = to == SIM_REQUESTS ? sim_partition_of(t->w->broker, to, key) : 0;
    sim_txn_send(&t->txn, to, p, key, value, NULL);
    t->dirty = true;
    return 0;
}

static void run_job(struct sim_world *w, void *arg)
{
    struct sim_trainer *t = arg;
    (void)w;
    trainer_role_job(t->role);
    t->job_ran = true;
}

static void out_job(void *arg, enum trainer_job kind)
{
    struct sim_trainer *t = arg;
    int64_t ms = sim_faults_job_ms(t->w);
    sim_note(t->w, t->name, "job %d takes %lld ms", (int)kind, (long long)ms);
    t->job = sim_alloc(t->w, sizeof *t->job);
    t->job->t = t;
    t->job->term = t->term;
    sim_at(t->w, t->w->now + ms, t->process, sim_trainer_job, t->job);
}

/* A job of a role that was let go meanwhile is not run: a host waits for it before it lets go. */
void sim_trainer_job(struct sim_world *w, void *arg)
{
    struct sim_trainer_job *j = arg;
    if (j->t->term == j->term && j->t->role)
        run_job(w, j->t);
}

static void out_note(void *arg, const char *event, const char *text)
{
    struct sim_trainer *t = arg;
    sim_note(t->w, t->name, "%s %s", event, text);
}

static void out_pool(void *arg)
{
    struct sim_trainer *t = arg;
    t->wants_pool = true;
}

/* ---- leading ------------------------------------------------------------------------------- */

static struct fis_encoder *fit(struct sim_trainer *t)
{
    const struct sim_data *d = t->w->data;
    struct fis_error e;
    struct fis_encoder *enc = fis_encoder_new(d->columns, t->w->plan->d, 10, &e);
    SIM_MUST(t->w, enc, "encoder: %s", e.text);
    for (uint32_t i = 0; i < t->w->plan->initial; i++) {
        struct fis_value row[SIM_D_MAX];
        for (uint32_t c = 0; c < t->w->plan->d; c++)
            row[c] = (struct fis_value){.kind = FIS_VALUE_NUMBER, .number = d->initial_x[i][c]};
        SIM_MUST(t->w, fis_encoder_observe(enc, row, &e) == 0, "encoder: %s", e.text);
    }
    SIM_MUST(t->w, fis_encoder_finish(enc, &e) == 0, "encoder: %s", e.text);
    return enc;
}

static int hand_rows_over(struct sim_trainer *t, struct fis_error *e)
{
    const struct sim_data *d = t->w->data;
    const struct sim_plan *p = t->w->plan;
    for (uint32_t i = 0; i < p->initial; i++)
        if (trainer_role_initial(t->role, d->initial_x[i], d->initial_y[i], e) < 0)
            return -1;
    return sim_trainer_validate(t, e);
}

static int make_role(struct sim_trainer *t, struct fis_error *e)
{
    const struct sim_data *d = t->w->data;
    struct trainer_out out;
    struct trainer_wire_options o = {.schema = &d->schema,
                                     .columns = d->columns,
                                     .n_columns = t->w->plan->d,
                                     .labels = t->w->plan->labels_encoding,
                                     .max_chunk = 600,
                                     .put = put,
                                     .job = out_job,
                                     .note = out_note,
                                     .pool = t->w->plan->pool ? out_pool : NULL,
                                     .arg = t};
    bool found = memory_found(t->memory);
    t->encoder =
        found ? memory_take_encoder(t->memory, d->columns, t->w->plan->d, &d->schema, e) : fit(t);
    if (!t->encoder || trainer_wire_init(&t->wire, &o, e) < 0)
        return -1;
    trainer_wire_out(&t->wire, &out);
    t->role = trainer_role_new(&d->trainer, t->encoder, &out, e);
    if (!t->role || hand_rows_over(t, e) < 0)
        return -1;
    return found ? memory_apply(t->memory, t->role, now_of(t), e) : 0;
}

static void open_input(struct sim_trainer *t)
{
    static const enum sim_topic topics[] = {SIM_CANDIDATES, SIM_LABELS, SIM_CONTROL};
    memset(t->from, -1, sizeof t->from);
    memset(t->gone, -1, sizeof t->gone);
    memset(t->first, -1, sizeof t->first);
    memset(t->position, -1, sizeof t->position);
    for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++)
        for (uint32_t p = 0; p < t->w->broker->partitions[topics[i]]; p++) {
            int32_t partition = (int32_t)p;
            int64_t at = sim_group_committed(t->w->broker, SIM_TRAINERS, topics[i], partition);
            int64_t start = sim_log_start(t->w->broker, topics[i], partition);
            /* A new group: where it began is committed at once. */
            t->from[topics[i]][p] = at;
            t->position[topics[i]][p] = at >= 0 ? at : start;
            if (at < 0 && start > 0)
                t->first[topics[i]][p] = start;
        }
}

static void begin(struct sim_world *w, void *arg)
{
    struct sim_trainer_job *j = arg;
    struct sim_trainer *t = j->t;
    struct fis_error e;
    if (j->term != t->term || t->leader.state != ELECTION_LEAD)
        return;
    bool restored = memory_found(t->memory);
    if (make_role(t, &e) < 0) {
        fail(t, &e);
        return;
    }
    if (t->txn.epoch == w->broker->producers[0].epoch) /* else another leads by now */
        sim_check_restored(w, t->role);
    open_input(t);
    t->running = true;
    if (trainer_role_start(t->role, now_of(t), &e) < 0)
        fail(t, &e);
    else
        election_running(&t->leader, restored, mono(t));
}

static void out_lead(void *ctx)
{
    struct sim_trainer *t = ctx;
    struct sim_trainer_job *j = sim_alloc(t->w, sizeof *j);
    *j = (struct sim_trainer_job){t, t->term};
    sim_at(t->w, t->w->now + sim_between(t->w, SIM_RNG_NET, 0, 800), t->process, begin, j);
}

/* ---- the other wishes of the leader -------------------------------------------------------- */

static void out_follow(void *ctx)
{
    static const char *const names[] = {"ledger", "heads", "models"};
    struct sim_trainer *t = ctx;
    struct fis_error e;
    t->term++;
    t->memory = memory_new(names, MESSAGE_BYTES, &e);
    SIM_MUST(t->w, t->memory, "memory_new: %s", e.text);
    memset(t->follow_at, 0, sizeof t->follow_at);
    sim_seat_take(&t->seat, t->w, SIM_TRAINERS);
    t->in_group = true;
}

static void initialised(void *arg)
{
    struct sim_trainer *t = arg;
    t->txn_ready = true;
    election_fenced_others(&t->leader, mono(t));
}

static void ended(void *arg, enum sim_code code)
{
    struct sim_trainer *t = arg;
    struct fis_error e;
    t->committing = false;
    if (code == SIM_OK)
        return;
    fis_fail(&e, FIS_ABORT_TXN, "fenced by the broker (%d)", (int)code);
    election_failed(&t->leader, &e, code == SIM_FENCED, mono(t));
}

static void out_fence(void *ctx)
{
    struct sim_trainer *t = ctx;
    struct sim_txn_events events = {t, initialised, ended};
    sim_txn_open(&t->txn, t->w, t->process, 0, &events);
}

static void out_catch_up(void *ctx)
{
    struct sim_trainer *t = ctx;
    for (int i = 0; i < MEMORY_TOPICS; i++)
        t->ends[i] = sim_stable_end(t->w->broker, (enum sim_topic)(SIM_LEDGER + i), 0);
}

static void out_drain(void *ctx)
{
    (void)ctx; /* sim_trainer_work sees the state */
}

static void let_go(struct sim_trainer *t)
{
    sim_txn_close(&t->txn);
    trainer_role_free(t->role);
    trainer_wire_done(&t->wire);
    fis_encoder_free(t->encoder);
    memory_free(t->memory);
    t->role = NULL;
    t->encoder = NULL;
    t->memory = NULL;
    t->wire = (struct trainer_wire){0};
    t->txn_ready = t->committing = t->dirty = t->job_ran = t->running = t->wants_pool = false;
    t->unit_open = false;
    t->term++;
}

static void left(struct sim_world *w, void *arg)
{
    struct sim_trainer *t = arg;
    (void)w;
    election_left(&t->leader, mono(t));
}

static void out_leave(void *ctx)
{
    struct sim_trainer *t = ctx;
    if (t->in_group)
        sim_seat_leave(&t->seat, t->w);
    t->in_group = false;
    let_go(t);
    sim_at(t->w, t->w->now + sim_between(t->w, SIM_RNG_NET, 1, 1000), t->process, left, t);
}

static void crash_later(struct sim_world *w, void *arg)
{
    struct sim_trainer *t = arg;
    sim_process_crash(w, t->process);
}

static void out_stopped(void *ctx, const struct fis_error *failed)
{
    struct sim_trainer *t = ctx;
    SIM_MUST(t->w, !failed || failed->kind == FIS_ABORT_TXN, "%s stopped: %s", t->name,
             failed->text);
    sim_note(t->w, t->name, "stopped %s", failed ? failed->text : "in good order");
    if (t->in_group)
        sim_seat_leave(&t->seat, t->w);
    t->in_group = false;
    sim_at(t->w, t->w->now, t->process, crash_later, t);
}

/* ---- turns --------------------------------------------------------------------------------- */

static void serve_group(struct sim_trainer *t)
{
    struct sim_seat_change change;
    if (!t->in_group)
        return;
    sim_seat_turn(&t->seat, t->w, &change);
    if (change.fresh)
        election_place(&t->leader, t->seat.owned & 1, change.lost, mono(t));
}

static bool at_ends(const struct sim_trainer *t)
{
    for (int i = 0; i < MEMORY_TOPICS; i++)
        if (t->follow_at[i] < t->ends[i])
            return false;
    return true;
}

static int read_memory(struct sim_trainer *t, struct fis_error *e)
{
    struct sim_entry m;
    for (int i = 0; i < MEMORY_TOPICS; i++) {
        enum sim_topic topic = (enum sim_topic)(SIM_LEDGER + i);
        uint32_t most = 1 + sim_below(t->w, SIM_RNG_NET, 200);
        while (most-- > 0 && sim_fetch(t->w->broker, topic, 0, &t->follow_at[i], &m) > 0) {
            struct wire_message msg = sim_message(topic, 0, &m);
            if (memory_take(t->memory, (enum memory_topic)i, &msg, e) < 0)
                return -1;
        }
    }
    return 0;
}

static void follow(struct sim_trainer *t)
{
    struct fis_error e;
    if (read_memory(t, &e) < 0) {
        fail(t, &e);
        return;
    }
    if (t->leader.state == ELECTION_STANDBY)
        election_warm(&t->leader, memory_entries(t->memory), memory_bytes(t->memory), mono(t));
    if (t->leader.state != ELECTION_CATCH_UP || !at_ends(t))
        return;
    if (memory_conclude(t->memory, &e) < 0)
        fail(t, &e);
    else
        election_caught_up(&t->leader, mono(t));
}

static void turn(struct sim_world *w, void *arg)
{
    struct sim_trainer *t = arg;
    serve_group(t);
    election_tick(&t->leader, mono(t));
    enum election_state s = t->leader.state;
    if (sim_broker_is_up(w) && (s == ELECTION_STANDBY || s == ELECTION_CATCH_UP))
        follow(t);
    if (t->running)
        sim_trainer_work(t, now_of(t));
    else if (t->leader.state == ELECTION_DRAIN)
        election_committed(&t->leader, mono(t)); /* asked to stop before it had begun */
    sim_at(w, w->now + sim_between(w, SIM_RNG_NET, 10, 150), t->process, turn, t);
}

/* ---- life ---------------------------------------------------------------------------------- */

void sim_trainer_start(struct sim_world *w, int process)
{
    struct sim_trainer *t = sim_alloc(w, sizeof *t);
    struct election_out out = {t,         out_follow, out_fence,   out_catch_up, out_lead,
                             out_drain, out_leave,  out_stopped, out_note};
    w->trainers[process] = t;
    t->w = w;
    t->process = process;
    snprintf(t->name, sizeof t->name, "trainer-%d", process);
    t->arena.size = MESSAGE_BYTES;
    t->arena.base = sim_alloc(w, t->arena.size);
    election_init(&t->leader, &out);
    election_start(&t->leader, mono(t));
    sim_at(w, w->now, process, turn, t);
}

void sim_trainer_drop(struct sim_world *w, int process)
{
    let_go(w->trainers[process]);
    w->trainers[process] = NULL;
}

void sim_trainer_term(struct sim_world *w, int process)
{
    struct sim_trainer *t = w->trainers[process];
    election_stop(&t->leader, mono(t));
}

bool sim_trainer_quiet(const struct sim_world *w, int process)
{
    const struct sim_trainer *t = w->trainers[process];
    if (t->leader.state == ELECTION_STANDBY)
        return true;
    return t->running && sim_trainer_at_rest(t);
}

/* One that was suspended may think it leads, and does not know better yet. */
static bool leads(const struct sim_trainer *t)
{
    return t && t->running && t->leader.state == ELECTION_LEAD &&
           t->txn.epoch == t->w->broker->producers[t->txn.producer].epoch;
}

struct trainer_role *sim_trainer_leading(const struct sim_world *w)
{
    for (int i = 0; i < SIM_PROCESSES; i++)
        if (leads(w->trainers[i]))
            return w->trainers[i]->role;
    return NULL;
}
