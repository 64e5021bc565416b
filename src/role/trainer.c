#include "role/trainer_impl.h"

#include "base/decimal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

int trainer_role_initial(struct trainer_role *m, const float *x, uint32_t y, struct fis_error *e)
{
    int rc = fis_learner_add_initial(m->learner, x, y, e);
    if (rc == 0)
        fis_profile_add(m->initial, x);
    return rc;
}

int trainer_role_validation(struct trainer_role *m, const struct fis_rows *rows, uint32_t n_groups,
                            struct fis_error *e)
{
    size_t cells = (size_t)rows->n * rows->d;
    if (m->phase != PHASE_NEW && (rows->n < 2 || n_groups < 2 || n_groups > FIS_MAX_GROUPS))
        return fis_fail(e, FIS_INPUT, "%s in %s; 2 rows and 2 to %d groups are needed",
                        DECIMAL_COUNT(rows->n, "row"), DECIMAL_COUNT(n_groups, "group"),
                        FIS_MAX_GROUPS);
    float *x = fis_alloc(cells, sizeof *x);
    uint32_t *y = fis_alloc(rows->n, sizeof *y), *g = fis_alloc(rows->n, sizeof *g);
    if (!x || !y || !g) {
        fis_free(x);
        fis_free(y);
        fis_free(g);
        return fis_fail(e, FIS_NOMEM, "trainer: no memory for %u validation rows", rows->n);
    }
    memcpy(x, rows->x, cells * sizeof *x);
    memcpy(y, rows->y, rows->n * sizeof *y);
    memcpy(g, rows->group, rows->n * sizeof *g);
    fis_free(m->next_x);
    fis_free(m->next_y);
    fis_free(m->next_group);
    m->next_x = x;
    m->next_y = y;
    m->next_group = g;
    m->next_validation = (struct fis_rows){rows->n, rows->d, x, y, g};
    m->next_groups = n_groups;
    return m->phase == PHASE_NEW ? trainer_take_validation(m, e) : 0;
}

/* What was sent up to here may be committed while the job runs. */
static void trainer_ask_for_job(struct trainer_role *m, enum trainer_job kind,
                                struct trainer_time now)
{
    assert(!m->job);
    if (m->phase != PHASE_WARM_UP)
        trainer_say_all(m, now);
    m->job = kind;
    m->out.job(m->out.ctx, kind);
}

void trainer_begin_phase(struct trainer_role *m, enum trainer_phase phase)
{
    m->phase = phase;
    m->state.phase_began_ms = m->state.clock_ms;
    m->dirty = true;
}

/* What the validation set can show at all. */
static void note_detectable(struct trainer_role *m)
{
    const double gap = fis_gate_detectable(m->gate, m->learner);
    const char *metric = fis_metric_name(m->o.gate.metric);
    if (isfinite(gap))
        trainer_note(m, "detectable",
                     "rows=%u metric=%s gap=%.4f text=\"the smallest gap that these rows can tell "
                     "from none: 5 %% level, power 80 %%\"",
                     fis_learner_validation(m->learner)->n, metric, gap);
}

int trainer_role_start(struct trainer_role *m, struct trainer_time now, struct fis_error *e)
{
    struct fis_learner_counts n = fis_learner_counts(m->learner);
    const struct fis_rows *v = fis_learner_validation(m->learner);
    if (n.initial == 0)
        return fis_fail(e, FIS_FATAL, "the initial labelled set is empty: nothing to warm up on");
    if (!v || v->n == 0)
        return fis_fail(e, FIS_FATAL, "the validation set is empty: nothing to judge on");
    if (m->n_groups < 2)
        return fis_fail(e, FIS_FATAL, "the validation set has %u group: fairness needs at least 2",
                        m->n_groups);
    if (m->restored && !m->restored_anchor)
        trainer_note(m, "anchor", "text=\"no checkpoint that fits: it starts from the head\"");
    note_detectable(m);
    trainer_tick(m, now);
    m->phase = PHASE_WARM_UP;
    trainer_ask_for_job(m, TRAINER_JOB_WARM_UP, now);
    return 0;
}

static bool deadline_passed(const struct trainer_role *m)
{
    return m->o.round_deadline_ms &&
           m->state.clock_ms - m->state.phase_began_ms >= m->o.round_deadline_ms;
}

static uint32_t part_of_round(const struct trainer_role *m)
{
    return (m->o.selector.labels_per_round + m->o.refreshes - 1) / m->o.refreshes;
}

static bool round_full(const struct trainer_role *m)
{
    return trainer_round_progress(m) >= m->o.selector.labels_per_round;
}

static bool job_due(const struct trainer_role *m)
{
    return m->untrained >= part_of_round(m) || round_full(m);
}

bool trainer_role_due(const struct trainer_role *m)
{
    if (m->phase == PHASE_COLLECT)
        return trainer_window_full(m);
    return m->phase == PHASE_LABEL && job_due(m);
}

bool trainer_role_stale(const struct trainer_role *m)
{
    return m->stale;
}

bool trainer_role_busy(const struct trainer_role *m)
{
    return m->job != 0;
}

static bool no_more_rounds(const struct trainer_role *m)
{
    return (m->o.rounds && m->state.round > m->o.rounds) || trainer_out_of_patience(m);
}

/* With the budget spent, the labels that are still out are waited for and judged. */
static bool finished(const struct trainer_role *m)
{
    struct fis_selector_counts n = fis_selector_counts(m->selector);
    return no_more_rounds(m) || (n.budget_left == 0 && n.open == 0 && m->this_round.bought == 0);
}

/* `idle`: there was nothing to ask for. */
static void collect(struct trainer_role *m, bool idle)
{
    trainer_begin_phase(m, finished(m) ? PHASE_DONE : PHASE_COLLECT);
    if (m->phase == PHASE_DONE)
        trainer_note(m, "done", "rounds=%u labels=%llu", m->state.round - 1,
                     (unsigned long long)fis_selector_counts(m->selector).answered);
    else if (m->o.pool)
        trainer_scan_after(m, idle ? TRAINER_IDLE_SCAN_MS : 0);
}

/* Whether the round's version was worth its labels, and what the next ones are for. */
static void learn_from_verdict(struct trainer_role *m)
{
    const struct fis_gate_judgement *j = &m->judgement;
    const bool idle = j->verdict == FIS_REJECT && j->reason != FIS_GATE_PINNED;
    const bool before = m->state.undetectable;
    m->state.idle_rounds = idle ? m->state.idle_rounds + 1 : 0;
    if (j->anchor.n && j->reason != FIS_GATE_FIRST) /* few labels say little of what is to come */
        m->state.undetectable = j->undetectable;
    trainer_choose_criterion(m);
    if (m->state.undetectable != before)
        trainer_note(
            m, "gap", "detectable=%d gap=%.4f smallest=%.4f text=\"%s\"", !m->state.undetectable,
            fis_metrics_of(&j->anchor, m->o.gate.metric), j->detectable,
            m->state.undetectable ? "no gap that the validation rows can show: labels go where "
                                    "accuracy gains"
                                  : "the gap is beyond chance: labels go where it closes, too");
    if (trainer_out_of_patience(m))
        trainer_note(m, "patience",
                     "rounds=%u saved=%s text=\"no version was published in %u rounds: no label is "
                     "requested any more; fisctl labels resume goes on\"",
                     m->state.idle_rounds, trainer_saved(m, (char[32]){0}), m->state.idle_rounds);
}

static void begin_round(struct trainer_role *m)
{
    m->state.round++;
    m->state.diverged = 0;
    m->steps_done = 0;
    memset(&m->this_round, 0, sizeof m->this_round);
    fis_selector_round_begin(m->selector, m->state.round);
    collect(m, false);
}

/* Nothing was bought, so there is nothing to train on and nothing to judge: the round looks for
 * candidates again. Those that were requested without an answer hid others behind them. */
static void without_labels(struct trainer_role *m, struct trainer_time now)
{
    collect(m, !m->window.asked);
    if (m->window.asked && !m->o.pool) /* a scan has a head of its own */
        trainer_send_head(m, now);
}

/* Labels are being asked for: train on a quarter of the round, end it, or wait. */
static void label_phase(struct trainer_role *m, struct trainer_time now)
{
    if (job_due(m)) {
        trainer_ask_for_job(m, round_full(m) ? TRAINER_JOB_FINISH : TRAINER_JOB_TRAIN, now);
        return;
    }
    trainer_ask(m, now);
    if (fis_selector_counts(m->selector).open == 0 && !trainer_must_wait(m)) {
        if (m->this_round.bought > 0 || m->untrained > 0)
            trainer_ask_for_job(m, TRAINER_JOB_FINISH, now);
        else
            without_labels(m, now);
    } else if (deadline_passed(m)) {
        /* Without a label there is nothing new to judge: one more deadline. */
        trainer_begin_phase(m, PHASE_LABEL);
        if (m->this_round.bought > 0)
            trainer_ask_for_job(m, TRAINER_JOB_FINISH, now);
    }
}

void trainer_role_idle(struct trainer_role *m, struct trainer_time now)
{
    assert(!m->job);
    trainer_tick(m, now);
    trainer_expire(m, now);
    trainer_scan_turn(m);
    /* With the whole budget requested there is nothing to choose: only labels are waited for. */
    if (m->phase == PHASE_COLLECT &&
        (trainer_window_over(m) || fis_selector_counts(m->selector).budget_left == 0))
        trainer_close_window(m);
    if (m->phase == PHASE_LABEL)
        label_phase(m, now);
}

static bool more_to_do(const struct trainer_role *m)
{
    return !no_more_rounds(m) && fis_selector_counts(m->selector).budget_left > 0;
}

/* Where the ledger says that the stopped one was. */
static void go_on(struct trainer_role *m)
{
    uint64_t began = m->state.phase_began_ms;
    switch (m->state.phase) {
    case WIRE_PHASE_LABEL:
        trainer_begin_phase(m, PHASE_LABEL);
        break;
    case WIRE_PHASE_COLLECT:
        collect(m, false);
        break;
    case WIRE_PHASE_DONE: /* there may be more rounds or more budget now */
        if (more_to_do(m))
            collect(m, false);
        else
            trainer_begin_phase(m, PHASE_DONE);
        break;
    }
    m->state.phase_began_ms = began;
}

bool trainer_go_on(struct trainer_role *m, const char *why)
{
    if (m->phase != PHASE_DONE || !more_to_do(m))
        return false;
    trainer_note(m, "going_on", "round=%u text=\"%s\"", m->state.round, why);
    m->dirty = true;
    collect(m, false);
    trainer_scan_turn(m);
    return true;
}

void trainer_role_adjust(struct trainer_role *m, const struct trainer_role_options *o,
                         struct trainer_time now)
{
    assert(!m->job);
    trainer_tick(m, now);
    m->o.rounds = o->rounds;
    m->o.window_records = o->window_records;
    m->o.window_ms = o->window_ms;
    m->o.round_deadline_ms = o->round_deadline_ms;
    m->o.label_deadline_ms = o->label_deadline_ms;
    m->o.replace = o->replace;
    m->o.daily_budget = o->daily_budget;
    m->o.patience = o->patience;
    m->o.idle_rounds = o->idle_rounds;
    m->o.selector.budget = o->selector.budget;
    fis_selector_set_budget(m->selector, o->selector.budget);
    m->o.selector.in_flight = o->selector.in_flight;
    fis_selector_set_in_flight(m->selector, o->selector.in_flight);
    trainer_go_on(m, "there are more rounds or more budget now");
}

static void note_validation(struct trainer_role *m)
{
    if (!m->rebased)
        return;
    m->rebased = false;
    trainer_note(m, "validation_changed", "rows=%u groups=%u accuracy_served=%.4f val_0=%.4f",
                 fis_learner_validation(m->learner)->n, m->n_groups, m->state.served_accuracy,
                 fis_gate_val0(m->gate));
}

static void note_anchor(struct trainer_role *m)
{
    if (m->went_back)
        trainer_note(m, "went_back", "verdicts=%u served=%llu text=\"training starts from it\"",
                     m->o.patience, (unsigned long long)m->state.served_version);
    m->went_back = false;
}

int trainer_role_job_done(struct trainer_role *m, struct trainer_time now, struct fis_error *e)
{
    enum trainer_job kind = m->job;
    assert(kind);
    m->job = 0;
    if (m->job_result < 0) {
        if (e)
            *e = m->job_error;
        return -(int)m->job_error.kind;
    }
    trainer_tick(m, now);
    m->dirty = true;
    m->state.privacy = trainer_privacy(m);
    int first = kind == TRAINER_JOB_WARM_UP && !m->restored;
    if (first || kind == TRAINER_JOB_FINISH)
        trainer_send_version(m, now);
    note_validation(m);
    trainer_note_base(m);
    note_anchor(m);
    if (first || kind == TRAINER_JOB_FINISH) {
        learn_from_verdict(m);
        begin_round(m);
    } else if (kind == TRAINER_JOB_WARM_UP)
        go_on(m);
    trainer_send_head(m, now);
    int rc = trainer_send_checkpoint(m, e);
    if (rc)
        return rc;
    trainer_scan_turn(m);
    return 0;
}

struct trainer_role_counts trainer_role_counts(const struct trainer_role *m)
{
    static const char *const phases[] = {"new", "warm-up", "collect", "label", "done"};
    struct trainer_role_counts c = m->counts;
    c.phase = phases[m->phase];
    c.round = m->state.round;
    c.window = m->state.window_records;
    c.head_version = m->state.head_version;
    c.model_version = m->state.model_version;
    c.served_version = m->state.served_version;
    c.paused = m->state.paused != 0;
    c.pinned = m->state.pinned != 0;
    c.scan = m->scan.step == SCAN_ON ? m->scan.version : 0;
    c.forgotten = m->forgotten.n;
    c.day_asked = m->state.day_asked;
    c.selector = fis_selector_counts(m->selector);
    c.learner = fis_learner_counts(m->learner);
    c.privacy = m->state.privacy;
    return c;
}
