/* The trainer role's work: what runs on a worker while the machine waits. */
#include "role/trainer_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct publication_call *call(struct trainer_role *m)
{
    m->call.round = m->state.round;
    return &m->call;
}

bool trainer_check(struct trainer_role *m, uint32_t index)
{
    return m->o.publication->check ? m->o.publication->check(call(m), index)
                                   : fis_learner_check(m->learner, index, NULL, NULL);
}

void trainer_score_rows(struct trainer_role *m, const float *x, const struct fis_id *const *ids,
                        uint32_t n, float *scores)
{
    uint32_t d = fis_shape_inputs(&m->shape);
    struct fis_panel *panel = fis_learner_panel(m->learner);
    for (uint32_t at = 0; at < n; at += ROLE_BLOCK) {
        uint32_t block = n - at < ROLE_BLOCK ? n - at : ROLE_BLOCK;
        const float *based = trainer_based(m, m->trees, x + (size_t)at * d, block);
        fis_criteria_batch(&m->o.selector.criteria, panel, ids + at, based, NULL, block, m->scratch,
                           NULL, scores + (size_t)at * FIS_MAX_CRITERIA);
    }
}

static void rescore(void *arg, const float *x, const struct fis_id *const *ids, uint32_t n,
                    float *scores)
{
    trainer_score_rows(arg, x, ids, n, scores);
}

/* rows: the validation rows [n][d]; over: trees whose margins they have instead. */
static double accuracy_on(struct trainer_role *m, const float *params, const float *rows,
                          const struct fis_trees *over)
{
    const struct fis_rows *v = fis_learner_validation(m->learner);
    uint32_t predicted[ROLE_BLOCK], right = 0;
    for (uint32_t at = 0; at < v->n; at += ROLE_BLOCK) {
        uint32_t n = v->n - at < ROLE_BLOCK ? v->n - at : ROLE_BLOCK;
        const float *x = trainer_based(m, over, rows + (size_t)at * v->d, n);
        fis_network_forward(&m->shape, params, x, n, m->scratch, m->p);
        fis_predict(m->p, n, fis_shape_classes(&m->shape), predicted);
        for (uint32_t i = 0; i < n; i++)
            right += predicted[i] == v->y[at + i];
    }
    return (double)right / v->n;
}

double trainer_accuracy(struct trainer_role *m, const float *params, const struct fis_trees *trees)
{
    const bool as_now = trees == m->trees || fis_learner_base_has_validation(m->learner);
    return accuracy_on(m, params, fis_learner_validation(m->learner)->x, as_now ? NULL : trees);
}

static double served_accuracy(struct trainer_role *m)
{
    const float *x = fis_learner_served_rows(m->learner);
    return accuracy_on(m, m->published, x ? x : fis_learner_validation(m->learner)->x, NULL);
}

/* VAL_0 was measured on rows that are no more. What is served is measured on both, and VAL_0 moves
 * by as much: the promise is about the model, not about how hard the rows are. */
static void rebase(struct trainer_role *m, double before)
{
    m->state.served_accuracy = served_accuracy(m);
    if (!isfinite(before) || m->state.served_accuracy == before)
        return;
    fis_gate_rebase(m->gate, fis_gate_val0(m->gate) + m->state.served_accuracy - before);
    m->rebased = true;
}

int trainer_take_validation(struct trainer_role *m, struct fis_error *e)
{
    if (!m->next_x)
        return 0;
    double before = m->phase == PHASE_NEW ? (double)NAN : served_accuracy(m);
    if (m->trees)
        fis_trees_apply(m->trees, m->next_x, m->next_validation.n);
    fis_gate_served_rows(m->gate, NULL);
    const bool fitted = fis_learner_base_has_validation(m->learner);
    int rc = fis_learner_set_validation(m->learner, &m->next_validation, m->next_groups, e);
    if (rc == 0 && fitted) /* the same row may be among the new ones */
        rc = trainer_refit_base(m, e);
    if (rc == 0)
        rc = trainer_serve_base(m, m->served_trees, e);
    if (rc)
        return rc;
    if (m->phase != PHASE_NEW) {
        rebase(m, before);
        m->rebased = true;
    }
    m->n_groups = m->o.directions.n_groups = m->next_groups;
    m->validation_sets++;
    fis_free(m->next_x);
    fis_free(m->next_y);
    fis_free(m->next_group);
    m->next_x = NULL;
    m->next_y = m->next_group = NULL;
    return 0;
}

/* A new head: directions at the anchor, set-aside labels looked at again, the heap rescored. A
 * candidate whose score is not finite leaves the selector, which is no error. */
static int new_head(struct trainer_role *m, struct fis_error *e)
{
    const struct fis_criteria *c = &m->o.selector.criteria;
    int rc = fis_learner_refresh(m->learner, &m->o.directions, &m->cosine, e);
    if (rc < 0)
        return rc;
    fis_learner_review(m->learner);
    if (c->acquisition->refreshed && (rc = c->acquisition->refreshed(c->state, m->learner, e)) < 0)
        return rc;
    if (m->o.publication->refreshed && (rc = m->o.publication->refreshed(call(m), e)) < 0)
        return rc;
    rc = fis_selector_rescore(m->selector, rescore, m, e);
    return rc == -FIS_INPUT ? 0 : rc;
}

/* Weights that are finite may be so large that no direction is: then the round has diverged. */
static int new_head_or_back(struct trainer_role *m, struct fis_error *e)
{
    int rc = new_head(m, e);
    if (rc != -FIS_INPUT)
        return rc;
    m->state.diverged = 1;
    fis_learner_roll_back(m->learner);
    return new_head(m, e);
}

/* The first time each needs the anchor. */
static int begin_plug_ins(struct trainer_role *m, struct fis_error *e)
{
    const struct fis_criteria *c = &m->o.selector.criteria;
    int rc = 0;
    if (m->o.publication->begin)
        rc = m->o.publication->begin(call(m), e);
    if (rc == 0 && c->acquisition->begin)
        rc = c->acquisition->begin(c->state, m->learner, e);
    return rc;
}

static int first_version(struct trainer_role *m, struct fis_error *e)
{
    if (fis_gate_first(m->gate, m->learner, &m->judgement, m->published, e) < 0)
        return -1;
    m->judged_val0 = fis_gate_val0(m->gate);
    m->state.served_accuracy = served_accuracy(m);
    return 0;
}

/* Over a base the untrained network is the base itself, and that is the first version. */
static int begin_training(struct trainer_role *m, struct fis_error *e)
{
    uint64_t steps = (uint64_t)m->o.warm_up_epochs * fis_learner_epoch_steps(m->learner);
    bool based = m->shape.margins > 0;
    if (trainer_fit_base(m, e) < 0 || trainer_serve_base(m, m->trees, e) < 0)
        return -1;
    if (based && first_version(m, e) < 0)
        return -1;
    if (fis_learner_warm_up(m->learner, (uint32_t)steps, e) < 0)
        return -1;
    if (based)
        return 0;
    return publication_retrain(call(m), e) < 0 ? -1 : first_version(m, e);
}

/* Margins of what came after the fit follow from the trees; out of fold they came with the
 * checkpoint, and without one that fits they are made again. */
static int restore_base(struct trainer_role *m, struct fis_error *e)
{
    if (!m->trees)
        return 0;
    fis_learner_apply_base(m->learner, m->trees);
    const float *served = fis_learner_served_rows(m->learner);
    if (served && fis_learner_base_has_validation(m->learner))
        fis_gate_served_rows(m->gate, served); /* which came with the checkpoint too */
    else if (trainer_serve_base(m, m->served_trees, e) < 0)
        return -1;
    return fis_learner_fitted(m->learner) ? 0 : trainer_fit_base(m, e);
}

static int warm_up(struct trainer_role *m, struct fis_error *e)
{
    if (m->restored && restore_base(m, e) < 0)
        return -1;
    if (m->restored)
        rebase(m, m->state.served_accuracy);
    else if (begin_training(m, e) < 0)
        return fis_error_prefix(e, "warm-up");
    if (!m->restored_anchor)
        fis_learner_round_begin(m->learner);
    return begin_plug_ins(m, e) < 0 ? -1 : new_head(m, e);
}

uint32_t trainer_round_progress(const struct trainer_role *m)
{
    return trainer_counts_kept(m) ? m->this_round.kept : m->this_round.bought;
}

uint32_t trainer_share_of_steps(const struct trainer_role *m, uint32_t labels)
{
    uint32_t r = m->o.selector.labels_per_round;
    return (uint32_t)((uint64_t)m->o.steps_per_round * (labels < r ? labels : r) / r);
}

/* A training step that met a loss that is not finite leaves the weights as they were; the round
 * goes on, and its gate refuses. */
static int train(struct trainer_role *m, uint32_t upto, struct fis_error *e)
{
    if (upto <= m->steps_done || m->state.diverged)
        return 0;
    uint32_t steps = upto - m->steps_done;
    int rc = m->o.publication->train ? m->o.publication->train(call(m), steps, e)
                                     : fis_learner_train(m->learner, steps, e);
    if (rc == 0)
        m->steps_done = upto;
    m->state.diverged = rc == -FIS_INPUT;
    return m->state.diverged ? 0 : rc;
}

static int train_part(struct trainer_role *m, struct fis_error *e)
{
    int rc = train(m, trainer_share_of_steps(m, trainer_round_progress(m)), e);
    m->untrained = 0;
    return rc < 0 ? rc : new_head_or_back(m, e);
}

/* The round's loss was not finite: there is nothing to judge, and the anchor goes back to where the
 * round began. */
static void refuse_diverged(struct trainer_role *m)
{
    fis_learner_roll_back(m->learner);
    struct fis_gate_judgement *j = &m->judgement;
    uint32_t smallest = j->smallest_cell;
    memset(j, 0, sizeof *j);
    j->smallest_cell = smallest;
    j->verdict = FIS_REJECT;
    j->reason = FIS_GATE_NOT_FINITE;
    j->looks = m->state.looks; /* not one more: nothing was looked at */
    j->change = j->floor = j->difference = j->difference_se = j->detectable = NAN;
    fis_metrics_none(&j->pick);
    fis_metrics_none(&j->anchor);
    fis_metrics_none(&j->served);
    snprintf(j->text, sizeof j->text,
             "rejected: not_finite: the loss of this round's training was not finite; the weights "
             "of the previous round are kept");
}

static int judge(struct trainer_role *m, struct fis_error *e)
{
    m->judged_val0 = fis_gate_val0(m->gate);
    if (m->state.diverged) {
        refuse_diverged(m);
        return 0;
    }
    return m->o.publication->judge(call(m), &m->judgement, m->published, e);
}

/* A head that fails the gate time and again leads nowhere: the anchor starts once more from what is
 * served. */
static void lose_patience(struct trainer_role *m)
{
    const struct fis_gate_judgement *j = &m->judgement;
    int bad = j->verdict == FIS_REJECT &&
              (j->reason == FIS_GATE_BELOW_FLOOR || j->reason == FIS_GATE_NOT_FINITE);
    m->state.failures = bad ? m->state.failures + 1 : 0;
    if (m->o.patience == 0 || m->state.failures < m->o.patience)
        return;
    fis_learner_set_anchor(m->learner, m->published);
    m->state.failures = 0;
    m->went_back = true;
}

static int finish(struct trainer_role *m, struct fis_error *e)
{
    if (trainer_fit_base(m, e) < 0 || train(m, m->o.steps_per_round, e) < 0)
        return -1;
    m->untrained = 0;
    if (judge(m, e) < 0)
        return -1;
    if (m->judgement.verdict == FIS_PUBLISH && trainer_serve_base(m, m->trees, e) < 0)
        return -1;
    if (m->judgement.verdict == FIS_PUBLISH)
        m->state.served_accuracy = served_accuracy(m);
    lose_patience(m);
    if (trainer_take_validation(m, e) < 0 || new_head_or_back(m, e) < 0)
        return -1;
    fis_learner_round_begin(m->learner);
    return 0;
}

void trainer_role_job(struct trainer_role *m)
{
    struct fis_error *e = &m->job_error;
    switch (m->job) {
    case TRAINER_JOB_WARM_UP:
        m->job_result = warm_up(m, e);
        break;
    case TRAINER_JOB_TRAIN:
        m->job_result = train_part(m, e);
        break;
    case TRAINER_JOB_FINISH:
        m->job_result = finish(m, e);
        break;
    }
    if (m->job_result == 0)
        m->job_result = trainer_make_checkpoint(m, e);
}
