#include "role/trainer_role.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* As measured (src/DESIGN.md): below this cross-fit and the preconditioner cost more than they give. */
#define ROWS_FOR_AUTO 1000
#define ASK_AT_ONCE 4096

static int decide(int option, uint32_t rows)
{
    return option >= 0 ? option : rows >= ROWS_FOR_AUTO;
}

static int make_parts(struct trainer_role *m, struct fis_error *e)
{
    struct trainer_role_options *o = &m->o;
    uint32_t d = fis_encoder_dimension(m->encoder), k = o->schema->n_classes;
    if (fis_shape_init(&m->shape, d, o->hidden, o->n_hidden, k, e) < 0)
        return -1;
    o->selector.d = d;
    o->learner.shape = m->shape;
    /* Folds are of boosted copies; where there are none, `auto` has nothing to decide. */
    int cross_fit = o->cross_fit < 0 && o->learner.copies != FIS_COPIES_BOOSTED ? 0 : o->cross_fit;
    o->learner.folds = decide(cross_fit, o->validation_rows) ? 2 : 1;
    o->directions.n_groups = o->n_groups;
    o->directions.precondition = decide(o->precondition, o->validation_rows);
    m->n_groups = o->n_groups;
    m->selector = fis_selector_new(&o->selector, e);
    m->learner = m->selector ? fis_trainer_new(&o->learner, e) : NULL;
    m->gate = m->learner ? fis_gate_new(&o->gate, &m->shape, e) : NULL;
    if (!m->gate)
        return -1;
    m->scratch = fis_scratch_new(&m->shape, ROLE_BLOCK, FIS_DIRECTIONS);
    m->p = fis_alloc((size_t)ROLE_BLOCK * k, sizeof *m->p);
    m->infl_acc = fis_alloc((size_t)ROLE_BLOCK * k, sizeof *m->p);
    m->infl_fair = fis_alloc((size_t)ROLE_BLOCK * k, sizeof *m->p);
    m->published = fis_calloc(fis_shape_params(&m->shape), sizeof *m->published);
    if (!m->scratch || !m->p || !m->infl_acc || !m->infl_fair || !m->published)
        return fis_fail(e, FIS_NOMEM, "trainer: no memory for a network of %zu parameters",
                        fis_shape_params(&m->shape));
    return 0;
}

struct trainer_role *trainer_role_new(const struct trainer_role_options *o,
                                      const struct fis_encoder *encoder,
                                      const struct trainer_out *out, struct fis_error *e)
{
    struct trainer_role *m = fis_calloc(1, sizeof *m);
    if (!m) {
        fis_fail(e, FIS_NOMEM, "trainer: no memory");
        return NULL;
    }
    m->o = *o;
    m->out = *out;
    m->encoder = encoder;
    if (make_parts(m, e) < 0) {
        trainer_role_free(m);
        return NULL;
    }
    return m;
}

void trainer_role_free(struct trainer_role *m)
{
    if (!m)
        return;
    fis_selector_free(m->selector);
    fis_trainer_free(m->learner);
    fis_gate_free(m->gate);
    fis_scratch_free(m->scratch);
    fis_free(m->p);
    fis_free(m->infl_acc);
    fis_free(m->infl_fair);
    fis_free(m->published);
    fis_free(m->next_x);
    fis_free(m->next_y);
    fis_free(m->next_group);
    fis_free(m);
}

const struct fis_shape *trainer_role_shape(const struct trainer_role *m)
{
    return &m->shape;
}

int trainer_role_initial(struct trainer_role *m, const float *x, uint32_t y, struct fis_error *e)
{
    return fis_trainer_add_initial(m->learner, x, y, e);
}

int trainer_role_validation(struct trainer_role *m, const struct fis_rows *rows, uint32_t n_groups,
                            struct fis_error *e)
{
    size_t cells = (size_t)rows->n * rows->d;
    if (m->phase != PHASE_NEW && (rows->n < 2 || n_groups < 2 || n_groups > FIS_MAX_GROUPS))
        return fis_fail(e, FIS_INPUT, "%u rows in %u groups; 2 rows and 2 to %d groups are needed",
                        rows->n, n_groups, FIS_MAX_GROUPS);
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

static void ask_for_job(struct trainer_role *m, enum trainer_job kind)
{
    assert(!m->job);
    m->job = kind;
    m->out.job(m->out.ctx, kind);
}

int trainer_role_start(struct trainer_role *m, struct trainer_time now, struct fis_error *e)
{
    struct fis_trainer_counts n = fis_trainer_counts(m->learner);
    const struct fis_rows *v = fis_trainer_validation(m->learner);
    if (n.initial == 0)
        return fis_fail(e, FIS_FATAL, "the initial labelled set is empty: nothing to warm up on");
    if (!v || v->n == 0)
        return fis_fail(e, FIS_FATAL, "the validation set is empty: nothing to judge on");
    if (m->n_groups < 2)
        return fis_fail(e, FIS_FATAL, "the validation set has %u group: fairness needs at least 2",
                        m->n_groups);
    if (m->restored && !m->in_restored_round)
        fis_selector_round_begin(m->selector);
    m->phase = PHASE_WARM_UP;
    m->round_started = now.mono_ms;
    ask_for_job(m, TRAINER_JOB_WARM_UP);
    return 0;
}

/* A candidate scored under another head than ours is scored again: they are few. */
static void own_scores(struct trainer_role *m, const struct wire_candidate *c, float *scores)
{
    const struct fis_id *id = &c->id;
    if (c->head_version == m->state.head_version)
        memcpy(scores, c->scores, sizeof c->scores);
    else
        trainer_score_rows(m, c->x, &id, 1, scores);
}

int trainer_role_offer(struct trainer_role *m, const struct wire_candidate *c, struct fis_error *e)
{
    if (c->d != fis_shape_inputs(&m->shape))
        return fis_fail(e, FIS_INPUT, "candidate has %u features, %u wanted", c->d,
                        fis_shape_inputs(&m->shape));
    struct fis_candidate held = {.id = c->id, .x = c->x};
    unsigned char small[4096], *payload = small;
    held.payload_length = c->record.length + 1;
    if (held.payload_length > sizeof small && !(payload = fis_alloc(held.payload_length, 1)))
        return fis_fail(e, FIS_NOMEM, "candidate: no memory for %zu bytes", held.payload_length);
    payload[0] = (unsigned char)c->encoding;
    if (c->record.length)
        memcpy(payload + 1, c->record.data, c->record.length);
    held.payload = payload;
    own_scores(m, c, held.scores);
    int kept = fis_selector_offer(m->selector, &held, e);
    if (payload != small)
        fis_free(payload);
    m->counts.candidates++;
    m->window.offered++;
    return kept < 0 ? kept : 0;
}

void trainer_role_progress(struct trainer_role *m, const struct wire_progress *p)
{
    m->state.window_records += p->records;
    m->window.scored += p->records;
    m->counts.records += p->records;
    m->counts.refused += p->refused;
    m->counts.tombstones += p->tombstones;
}

int trainer_counts_kept(const struct trainer_role *m)
{
    return m->o.selector.criteria.algorithm == FIS_ALGORITHM_FIS;
}

void trainer_count_label(struct trainer_role *m, const struct fis_id *id, uint32_t y, int kept)
{
    m->this_round.bought++;
    m->this_round.kept += kept != 0;
    m->this_round.by_class[y]++;
    if (!kept && trainer_counts_kept(m))
        fis_selector_not_kept(m->selector, id);
}

static void take_label(struct trainer_role *m, const struct fis_candidate *c, uint32_t criterion,
                       uint32_t y, uint32_t index)
{
    struct wire_ledger_entry entry = {
        .id = c->id,
        .class_index = y,
        .criterion = criterion,
        .round = m->state.round,
        .x = c->x,
        .d = fis_shape_inputs(&m->shape),
    };
    int kept = fis_trainer_check(m->learner, index, NULL, NULL) > 0;
    entry.state = kept ? WIRE_ACCEPTED : WIRE_SET_ASIDE;
    m->out.ledger(m->out.ctx, &entry);
    m->counts.labels++;
    m->untrained++;
    trainer_count_label(m, &c->id, y, kept);
}

static int skip_label(struct trainer_role *m, const struct wire_label *l, struct fis_error *e)
{
    if (!fis_selector_expire(m->selector, &l->id, 1))
        return fis_fail(e, FIS_INPUT, "skipped, but there is no open request with this id");
    struct wire_ledger_entry entry = {.id = l->id, .round = m->state.round};
    entry.state = WIRE_SKIPPED_BY_PERSON;
    m->out.ledger(m->out.ctx, &entry);
    m->counts.skipped++;
    return 0;
}

int trainer_role_label(struct trainer_role *m, const struct wire_label *l, struct fis_error *e)
{
    if (l->status != WIRE_LABELLED)
        return skip_label(m, l, e);
    struct fis_candidate c;
    uint32_t criterion, index;
    switch (fis_selector_answer(m->selector, &l->id, l->class_index, &c, &criterion)) {
    case FIS_ANSWER_UNKNOWN:
        return fis_fail(e, FIS_INPUT, "nobody asked for a label of this id");
    case FIS_ANSWER_CONTRADICTION:
        return fis_fail(e, FIS_INPUT, "label \"%s\" contradicts an earlier answer for this id",
                        m->o.schema->classes[l->class_index]);
    case FIS_ANSWER_DUPLICATE:
        m->counts.duplicates++;
        return 0;
    case FIS_ANSWER_ACCEPTED:
        break;
    }
    int rc = fis_trainer_add_bought(m->learner, c.x, l->class_index, &index, e);
    if (rc == 0)
        take_label(m, &c, criterion, l->class_index, index);
    fis_selector_release(m->selector, &l->id);
    return rc;
}

static void send_request(struct trainer_role *m, const struct fis_candidate *c, uint32_t criterion,
                         struct trainer_time now)
{
    const unsigned char *payload = c->payload;
    struct wire_label_request r = {
        .id = c->id,
        .round = m->state.round,
        .criterion = fis_criterion_name(m->o.selector.criteria.algorithm, criterion),
        .head_version = m->state.head_version,
        .requested_at_ms = now.wall_ms,
        .encoding = (enum wire_encoding)payload[0],
        .record = {payload + 1, c->payload_length - 1},
    };
    if (m->o.round_deadline_ms)
        r.deadline_ms = now.wall_ms + (int64_t)m->o.round_deadline_ms;
    struct wire_ledger_entry entry = {
        .id = c->id,
        .state = WIRE_REQUESTED,
        .criterion = criterion,
        .round = m->state.round,
        .x = c->x,
        .d = fis_shape_inputs(&m->shape),
        .encoding = r.encoding,
    };
    m->out.request(m->out.ctx, &r);
    m->out.ledger(m->out.ctx, &entry);
}

/* Asks for as many as the limits allow; a great many over several calls, so that what is sent
 * between two calls has a bound. */
static void ask(struct trainer_role *m, struct trainer_time now)
{
    struct fis_candidate c;
    uint32_t criterion, asked = 0;
    while (asked < ASK_AT_ONCE && fis_selector_ask(m->selector, &c, &criterion)) {
        send_request(m, &c, criterion, now);
        asked++;
    }
    if (asked)
        trainer_note(m, "asked", "labels=%u open=%u", asked, fis_selector_counts(m->selector).open);
}

static int window_full(const struct trainer_role *m, struct trainer_time now)
{
    if (m->state.window_records >= m->o.window_records)
        return 1;
    return m->o.window_ms && now.mono_ms - m->round_started >= m->o.window_ms &&
           fis_selector_counts(m->selector).held > 0;
}

static int deadline_passed(const struct trainer_role *m, struct trainer_time now)
{
    return m->o.round_deadline_ms && now.mono_ms - m->asked_since >= m->o.round_deadline_ms;
}

static uint32_t quarter(const struct trainer_role *m)
{
    return (m->o.selector.labels_per_round + 3) / 4;
}

static int round_full(const struct trainer_role *m)
{
    return trainer_round_progress(m) >= m->o.selector.labels_per_round;
}

static int job_due(const struct trainer_role *m)
{
    return m->untrained >= quarter(m) || round_full(m);
}

int trainer_role_due(const struct trainer_role *m)
{
    if (m->phase == PHASE_COLLECT)
        return m->state.window_records >= m->o.window_records;
    return m->phase == PHASE_LABEL && job_due(m);
}

/* Labels are being asked for: train on a quarter of the round, end it, or wait. */
static void label_phase(struct trainer_role *m, struct trainer_time now)
{
    if (job_due(m)) {
        ask_for_job(m, round_full(m) ? TRAINER_JOB_FINISH : TRAINER_JOB_TRAIN);
        return;
    }
    ask(m, now);
    if (fis_selector_counts(m->selector).open == 0) {
        ask_for_job(m, TRAINER_JOB_FINISH);
    } else if (deadline_passed(m, now)) {
        /* Without a label there is nothing new to judge: one more deadline. */
        m->asked_since = now.mono_ms;
        if (m->this_round.bought > 0)
            ask_for_job(m, TRAINER_JOB_FINISH);
    }
}

static void close_window(struct trainer_role *m, struct trainer_time now)
{
    m->phase = PHASE_LABEL;
    m->asked_since = now.mono_ms;
    m->state.window_records = 0; /* what comes from now on belongs to the next window */
    trainer_note(m, "round", "round=%u scored=%llu candidates=%llu held=%u", m->state.round,
                 (unsigned long long)m->window.scored, (unsigned long long)m->window.offered,
                 fis_selector_counts(m->selector).held);
    memset(&m->window, 0, sizeof m->window);
    m->out.window(m->out.ctx, TRAINER_WINDOW_CLOSED);
}

void trainer_role_idle(struct trainer_role *m, struct trainer_time now)
{
    assert(!m->job);
    /* With the budget in hands there is nothing to choose: the labels alone are waited for. */
    if (m->phase == PHASE_COLLECT &&
        (window_full(m, now) || fis_selector_counts(m->selector).budget_left == 0))
        close_window(m, now);
    if (m->phase == PHASE_LABEL)
        label_phase(m, now);
}

int trainer_role_busy(const struct trainer_role *m)
{
    return m->job != 0;
}

/* With the budget spent, the labels that are still out are waited for and judged. */
static int finished(const struct trainer_role *m)
{
    struct fis_selector_counts n = fis_selector_counts(m->selector);
    if (m->o.rounds && m->state.round > m->o.rounds)
        return 1;
    return n.budget_left == 0 && n.open == 0 && m->this_round.bought == 0;
}

static void collect(struct trainer_role *m, struct trainer_time now)
{
    m->round_started = now.mono_ms;
    m->phase = finished(m) ? PHASE_DONE : PHASE_COLLECT;
    if (m->phase != PHASE_DONE)
        return;
    m->out.window(m->out.ctx, TRAINER_WINDOW_NONE);
    trainer_note(m, "done", "rounds=%u labels=%llu", m->state.round - 1,
                 (unsigned long long)fis_selector_counts(m->selector).answered);
}

static void begin_round(struct trainer_role *m, struct trainer_time now)
{
    m->steps_done = 0;
    m->diverged = 0;
    memset(&m->this_round, 0, sizeof m->this_round);
    fis_selector_round_begin(m->selector);
    m->out.window(m->out.ctx, TRAINER_WINDOW_DONE);
    collect(m, now);
}

static void note_validation(struct trainer_role *m)
{
    if (!m->rebased)
        return;
    m->rebased = 0;
    trainer_note(m, "validation_changed", "rows=%u groups=%u accuracy_served=%.4f val_0=%.4f",
                 fis_trainer_validation(m->learner)->n, m->n_groups, m->state.served_accuracy,
                 fis_gate_val0(m->gate));
}

int trainer_role_job_done(struct trainer_role *m, struct trainer_time now, struct fis_error *e)
{
    enum trainer_job kind = m->job;
    assert(kind);
    m->job = 0;
    if (m->job_result < 0) {
        if (e)
            *e = m->job_error;
        return m->job_result;
    }
    int version = kind == TRAINER_JOB_FINISH || (kind == TRAINER_JOB_WARM_UP && !m->restored);
    if (version) {
        trainer_send_version(m, now);
        m->state.round++;
        begin_round(m, now);
    } else if (kind == TRAINER_JOB_WARM_UP) {
        collect(m, now);
    }
    note_validation(m);
    trainer_send_head(m, now);
    trainer_send_state(m);
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
    c.selector = fis_selector_counts(m->selector);
    c.learner = fis_trainer_counts(m->learner);
    return c;
}
