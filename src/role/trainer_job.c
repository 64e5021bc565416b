/* The trainer role's work: what runs on a worker while the machine waits. */
#include "role/trainer_role.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void trainer_score_rows(struct trainer_role *m, const float *x, const struct fis_id *const *ids,
                        uint32_t n, float *scores)
{
    uint32_t k = fis_shape_classes(&m->shape), d = fis_shape_inputs(&m->shape);
    struct fis_panel *panel = fis_trainer_panel(m->learner);
    for (uint32_t at = 0; at < n; at += ROLE_BLOCK) {
        uint32_t block = n - at < ROLE_BLOCK ? n - at : ROLE_BLOCK;
        fis_influence_batch(panel, x + (size_t)at * d, block, m->scratch, m->p, m->infl_acc,
                            m->infl_fair);
        for (uint32_t i = 0; i < block; i++) {
            size_t row = (size_t)i * k;
            fis_criteria_score(&m->o.selector.criteria, ids[at + i], m->p + row,
                               m->infl_acc + row, m->infl_fair + row, k,
                               scores + (size_t)(at + i) * FIS_MAX_CRITERIA);
        }
    }
}

static void rescore(void *arg, const float *x, const struct fis_id *const *ids, uint32_t n,
                    float *scores)
{
    trainer_score_rows(arg, x, ids, n, scores);
}

int trainer_take_validation(struct trainer_role *m, struct fis_error *e)
{
    if (!m->next_x)
        return 0;
    if (fis_trainer_set_validation(m->learner, &m->next_validation, m->next_groups, e) < 0)
        return -1;
    m->n_groups = m->o.directions.n_groups = m->next_groups;
    fis_free(m->next_x);
    fis_free(m->next_y);
    fis_free(m->next_group);
    m->next_x = NULL;
    m->next_y = m->next_group = NULL;
    return 0;
}

/* A new head: directions at the anchor, set-aside labels looked at again, the heap rescored. */
static int new_head(struct trainer_role *m, struct fis_error *e)
{
    if (fis_trainer_refresh(m->learner, &m->o.directions, &m->cosine, e) < 0)
        return -1;
    fis_trainer_review(m->learner);
    return fis_selector_rescore(m->selector, rescore, m, e);
}

static int warm_up(struct trainer_role *m, struct fis_error *e)
{
    if (!m->restored) {
        uint64_t steps = (uint64_t)m->o.warm_up_epochs * fis_trainer_epoch_steps(m->learner);
        if (fis_trainer_warm_up(m->learner, (uint32_t)steps, e) < 0)
            return fis_error_prefix(e, "warm-up");
        fis_trainer_fork(m->learner);
        if (fis_gate_first(m->gate, m->learner, &m->judgement, m->published, e) < 0)
            return fis_error_prefix(e, "warm-up");
    }
    fis_trainer_round_begin(m->learner);
    return new_head(m, e);
}

/* A training step that met a loss that is not finite leaves the copies as they were; the round
 * goes on, and its gate refuses. */
static void train(struct trainer_role *m, uint32_t upto)
{
    struct fis_error why;
    if (upto <= m->steps_done || m->diverged)
        return;
    if (fis_trainer_train(m->learner, upto - m->steps_done, &why) < 0) {
        m->diverged = 1;
        return;
    }
    m->steps_done = upto;
}

static int train_part(struct trainer_role *m, struct fis_error *e)
{
    uint32_t r = m->o.selector.labels_per_round, bought = m->this_round.bought;
    uint64_t share = (uint64_t)m->o.steps_per_round * (bought < r ? bought : r) / r;
    train(m, (uint32_t)share);
    m->untrained = 0;
    return new_head(m, e);
}

/* The round's loss was not finite: there is nothing to judge, and the copies go back to where the
 * round began. */
static void refuse_diverged(struct trainer_role *m)
{
    fis_trainer_roll_back(m->learner);
    struct fis_gate_judgement *j = &m->judgement;
    memset(j, 0, sizeof *j);
    j->verdict = FIS_REJECT;
    j->reason = FIS_GATE_NOT_FINITE;
    j->floor = j->difference = j->difference_se = NAN;
    snprintf(j->text, sizeof j->text, "the loss of this round's training was not finite; the "
                                      "copies are as they were before the round");
}

static int judge(struct trainer_role *m, struct fis_error *e)
{
    if (m->diverged) {
        refuse_diverged(m);
        return 0;
    }
    if (fis_gate_judge(m->gate, m->learner, &m->judgement, m->published, e) < 0)
        return -1;
    if (m->judgement.verdict == FIS_REJECT && m->o.learner.copies == FIS_COPIES_MIXED)
        fis_trainer_roll_back(m->learner);
    return 0;
}

static int finish(struct trainer_role *m, struct fis_error *e)
{
    train(m, m->o.steps_per_round);
    m->untrained = 0;
    if (judge(m, e) < 0 || trainer_take_validation(m, e) < 0)
        return -1;
    fis_trainer_round_begin(m->learner);
    return new_head(m, e);
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
}
