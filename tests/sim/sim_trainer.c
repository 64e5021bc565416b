/* A trainer: the session with its ports bound to the simulated broker. */
#include <stdio.h>
#include <string.h>

#include "sim_trainer_impl.h"

static void later(struct sim_trainer *t, int64_t ms, sim_event_fn *fn)
{
    struct later *l = sim_alloc(t->w, sizeof *l);
    *l = (struct later){t, t->term};
    sim_at(t->w, t->w->now + ms, t->process, fn, l);
}

static struct trainer_time now_of(const struct sim_trainer *t)
{
    return (struct trainer_time){sim_mono(t->w, t->process), sim_wall(t->w, t->process)};
}

/* ---- election ------------------------------------------------------------------------------ */

static int out_join(void *ctx, struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    (void)e;
    sim_seat_take(&t->seat, t->w, SIM_TRAINERS);
    t->in_group = true;
    return 0;
}

static void initialised(void *arg)
{
    struct sim_trainer *t = arg;
    session_fenced_others(t->session, now_of(t));
}

static void crash_later(struct sim_world *w, void *arg)
{
    struct later *l = arg;
    sim_process_crash(w, l->t->process);
}

/* As the daemon's host does; a supervisor starts it again. */
static void watch_topics(struct sim_trainer *t)
{
    struct sim_producer_id *id = &t->w->broker->producers[SIM_TRAINER_ID];
    if (!id->backwards || id->epoch != t->txn.epoch)
        return;
    id->backwards = false;
    sim_note(t->w, t->name, "halted: its topics run backwards");
    sim_check_halted(t->w);
    session_halt(t->session);
    sim_faults_restart(t->w, t->process);
    later(t, sim_between(t->w, SIM_RNG_NET, 100, 4000), crash_later);
}

static void ended(void *arg, enum sim_code code)
{
    struct sim_trainer *t = arg;
    struct session_status s;
    struct fis_error e;
    t->committing = false;
    if (code == SIM_OK || code == SIM_CUT)
        watch_topics(t);
    if (code == SIM_OK)
        session_committed(t->session);
    session_status(t->session, &s);
    if (code == SIM_OK || s.halted)
        return;
    t->fenced = code == SIM_FENCED;
    fis_fail(&e, FIS_ABORT_TXN, "the broker refused the commit (%d)", (int)code);
    session_failed(t->session, &e, now_of(t));
}

static void swept(void *arg)
{
    struct sim_trainer *t = arg;
    session_swept(t->session);
}

static int out_sweep(void *ctx, struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    (void)e;
    sim_txn_sweep_open(&t->txn);
    return 0;
}

static void undelivered(void *arg)
{
    struct sim_trainer *t = arg;
    struct fis_error e;
    fis_fail(&e, FIS_ABORT_TXN, "a message was not delivered");
    session_failed(t->session, &e, now_of(t));
}

static int out_fence(void *ctx, struct fis_error *e)
{
    struct sim_trainer *t = ctx;
    struct sim_txn_events events = {t, initialised, ended, swept, undelivered};
    (void)e;
    sim_txn_open(&t->txn, t->w, t->process, 0, &events);
    return 0;
}

static bool out_fenced(void *ctx)
{
    const struct sim_trainer *t = ctx;
    return t->fenced;
}

static void leave_group(struct sim_trainer *t)
{
    if (t->in_group)
        sim_seat_leave(&t->seat, t->w);
    t->in_group = false;
}

static void left(struct sim_world *w, void *arg)
{
    struct later *l = arg;
    (void)w;
    session_left(l->t->session, now_of(l->t));
}

static void out_leave(void *ctx)
{
    struct sim_trainer *t = ctx;
    leave_group(t);
    sim_txn_close(&t->txn);
    memset(t->readers, 0, sizeof t->readers);
    t->committing = t->fenced = t->unit_open = t->ends_due = false;
    t->n_labels = 0;
    memset(t->cut, 0, sizeof t->cut);
    t->start_at = 0;
    t->validation = UINT32_MAX;
    t->term++;
    later(t, sim_between(t->w, SIM_RNG_NET, 1, 1000), left);
}

static void out_stopped(void *ctx, const struct fis_error *failed)
{
    struct sim_trainer *t = ctx;
    bool gave_up = failed && t->w->plan->failing && strstr(failed->text, "times within");
    bool halted = failed && !gave_up && failed->kind == FIS_FATAL && sim_check_excuses(t->w);
    SIM_MUST(t->w, !failed || failed->kind == FIS_ABORT_TXN || gave_up || halted, "%s stopped: %s",
             t->name, failed->text);
    sim_note(t->w, t->name, "stopped %s", failed ? failed->text : "in good order");
    t->w->halted |= halted;
    if (gave_up)
        sim_faults_restart(t->w, t->process);
    leave_group(t);
    later(t, 0, crash_later);
}

/* ---- work ---------------------------------------------------------------------------------- */

static void run_job(struct sim_world *w, void *arg)
{
    struct later *l = arg;
    (void)w;
    session_job(l->t->session);
    session_job_done(l->t->session);
}

static void out_job(void *ctx, enum trainer_job kind)
{
    struct sim_trainer *t = ctx;
    int64_t ms = sim_faults_job_ms(t->w);
    sim_note(t->w, t->name, "job %d takes %lld ms", (int)kind, (long long)ms);
    later(t, ms, run_job);
}

static void out_ends(void *ctx)
{
    struct sim_trainer *t = ctx;
    t->ends_due = true;
}

static void answer_ends(struct sim_trainer *t)
{
    struct wire_pool_end ends[SIM_PARTITIONS];
    const struct sim_broker *b = t->w->broker;
    uint32_t n = b->partitions[SIM_RECORDS];
    if (!t->ends_due || !sim_broker_is_up(t->w))
        return;
    t->ends_due = false;
    for (uint32_t p = 0; p < n; p++)
        ends[p] = (struct wire_pool_end){(int32_t)p, sim_end(b, SIM_RECORDS, (int32_t)p)};
    session_ends(t->session, ends, n);
}

static void out_note(void *ctx, enum log_level level, const char *event, const char *format,
                     va_list ap)
{
    struct sim_trainer *t = ctx;
    char text[FIS_ERROR_TEXT + 256];
    (void)level;
    vsnprintf(text, sizeof text, format, ap);
    sim_note(t->w, t->name, "%s %s", event, text);
    /* Only a broker that loses what it has acknowledged makes a scan silent. */
    bool loses = t->w->plan->cutting || t->w->plan->tails; /* a head that scorers wait for, too */
    SIM_MUST(t->w, loses || !strstr(text, "no scorer has reported"),
             "liveness: a scan waited for progress that is gone");
}

/* ---- life ---------------------------------------------------------------------------------- */

static void serve_group(struct sim_trainer *t)
{
    struct sim_seat_change change;
    if (!t->in_group)
        return;
    sim_seat_turn(&t->seat, t->w, &change);
    if (change.fresh)
        session_seat(t->session, t->seat.owned & 1, change.lost, now_of(t));
}

static void turn(struct sim_world *w, void *arg)
{
    struct sim_trainer *t = arg;
    serve_group(t);
    answer_ends(t);
    if (!t->committing && !t->unit_open) {
        t->began = w->now;
        t->unit_open = true;
    }
    sim_trainer_arrive(t);
    session_turn(t->session, now_of(t));
    sim_at(w, w->now + sim_between(w, SIM_RNG_NET, 10, 150), t->process, turn, t);
}

static void options(const struct sim_world *w, struct session_options *o)
{
    *o = (struct session_options){
        .schema = &w->data->schema,
        .columns = w->data->columns,
        .n_columns = w->plan->d,
        .labels = w->plan->labels_encoding,
        .max_chunk = 600,
        .commit_ms = (uint64_t)w->plan->commit_ms,
        .role = w->data->trainer[w->data->limits],
    };
    for (int i = 0; i < SESSION_TOPICS; i++)
        o->topics[i] = sim_topic_names[sim_topics[i]];
}

void sim_trainer_start(struct sim_world *w, int process)
{
    struct sim_trainer *t = sim_alloc(w, sizeof *t);
    struct session_options o;
    struct fis_error e;
    const struct session_ports ports = {
        .ctx = t,
        .join = out_join,
        .fence = out_fence,
        .sweep = out_sweep,
        .fenced = out_fenced,
        .leave = out_leave,
        .stopped = out_stopped,
        .open = sim_trainer_open,
        .close = sim_trainer_close,
        .read = sim_trainer_read,
        .to_end = sim_trainer_to_end,
        .initial = sim_trainer_initial,
        .validation = sim_trainer_validation,
        .send = sim_trainer_send,
        .dead_letter = sim_trainer_dead_letter,
        .commit = sim_trainer_commit,
        .committed_state = sim_trainer_committed_state,
        .job = out_job,
        .ends = w->plan->pool ? out_ends : NULL,
        .note = out_note,
        .ready = sim_trainer_ready,
    };
    w->trainers[process] = t;
    t->w = w;
    t->process = process;
    t->validation = UINT32_MAX;
    memset(t->from, -1, sizeof t->from);
    memset(t->gone, -1, sizeof t->gone);
    memset(t->first, -1, sizeof t->first);
    snprintf(t->name, sizeof t->name, "trainer-%d", process);
    options(w, &o);
    t->session = session_new(&o, &ports, &e);
    SIM_MUST(w, t->session, "session_new: %s", e.text);
    sim_at(w, w->now, process, turn, t);
}

void sim_trainer_reload(struct sim_world *w, int process)
{
    struct sim_trainer *t = w->trainers[process];
    session_adjust(t->session, &w->data->trainer[w->data->limits],
                   (uint64_t)w->plan->commit_ms / 2);
    sim_note(w, t->name, "other limits");
}

void sim_trainer_drop(struct sim_world *w, int process)
{
    sim_txn_close(&w->trainers[process]->txn);
    session_free(w->trainers[process]->session);
    w->trainers[process] = NULL;
}

void sim_trainer_term(struct sim_world *w, int process)
{
    struct sim_trainer *t = w->trainers[process];
    session_stop(t->session, now_of(t));
}

static bool has_read_all(const struct sim_trainer *t)
{
    for (int r = SESSION_READ_COMMANDS; r <= SESSION_READ_INPUT; r++)
        for (uint32_t i = 0; i < readers[r].n * SIM_PARTITIONS; i++) {
            const struct partition *p = &t->readers[r].p[i];
            enum sim_topic topic = sim_trainer_topic_of((enum session_reader)r, i);
            int32_t n = (int32_t)(i % SIM_PARTITIONS);
            if (sim_trainer_exists(t, (enum session_reader)r, i) &&
                (!p->there || p->fresh || p->at < sim_end(t->w->broker, topic, n) ||
                 sim_trainer_is_cut(t, topic, n, p)))
                return false;
        }
    return true;
}

bool sim_trainer_quiet(const struct sim_world *w, int process)
{
    const struct sim_trainer *t = w->trainers[process];
    struct session_status s;
    session_status(t->session, &s);
    if (s.state == ELECTION_STANDBY)
        return true;
    return s.running && !s.busy && !s.unsaved && !s.waiting && has_read_all(t);
}

/* One that was suspended may think it sim_trainer_leads, and does not know better yet. */
bool sim_trainer_leads(const struct sim_trainer *t)
{
    struct session_status s;
    if (!t)
        return false;
    session_status(t->session, &s);
    return s.running && s.state == ELECTION_LEAD &&
           t->txn.epoch == t->w->broker->producers[t->txn.producer].epoch;
}

const struct trainer_role *sim_trainer_leading(const struct sim_world *w)
{
    for (int i = 0; i < SIM_PROCESSES; i++)
        if (sim_trainer_leads(w->trainers[i]))
            return session_role(w->trainers[i]->session);
    return NULL;
}
