/*
 * A privileged peer: the sensitive attribute of every labelled row is known, and training itself is
 * regularised with it: cross-entropy + 10 x the gradient of the gap over 512 labelled rows drawn
 * again each step. The model starts at the warm-up and has as many steps as the anchor; the gate
 * picks among the 11 points between the anchor and it. Neither has seen a validation row, so all of
 * them judge.
 */
#include <string.h>

#include "fis/defaults.h"
#include "fis/mem.h"
#include "lab/fair_term.h"
#include "lab/labelled.h"
#include "lab/points.h"

enum { STEPS = 10 };
#define WEIGHT 10.0
#define SAMPLE 512u
#define STREAM 170u

struct aware {
    struct fis_direction_options directions; /* without a correction that validation rows need */
    struct lab_fair_term *term;
    struct lab_sgd *sgd;
    float *params, *part, *average; /* slabs; part: the average of one call's steps */
    uint32_t parts, round;          /* calls that are in the average, and of which round */
};

static int begin(struct lab_run *r, struct fis_error *e)
{
    const struct lab_task *t = r->split->task;
    struct aware *a = fis_calloc(1, sizeof *a);
    struct lab_fair_term_options o = {.shape = r->shape,
                                      .weight = WEIGHT,
                                      .sample = SAMPLE,
                                      .seed = r->o->seed,
                                      .stream = STREAM};
    if (!a)
        return fis_fail(e, FIS_NOMEM, "group-aware: no memory");
    r->publication_state = a;
    a->directions = *r->directions;
    a->directions.losses = NULL;
    o.directions = &a->directions;
    o.rows = (struct fis_rows){
        .n = t->n, .d = r->split->d, .x = r->split->x, .y = t->y, .group = r->training_group};
    a->term = lab_fair_term_new(&o, r->labelled, r->n_labelled, e);
    struct lab_sgd_options s = lab_labelled_sgd(r, STREAM + 1);
    s.extra = lab_fair_term_add;
    s.arg = a->term;
    a->sgd = lab_sgd_new(&s, e);
    a->params = fis_alloc(r->n_params, sizeof *a->params);
    a->part = fis_alloc(r->n_params, sizeof *a->part);
    a->average = fis_alloc(r->n_params, sizeof *a->average);
    if (!a->term || !a->sgd || !a->params || !a->part || !a->average)
        return fis_fail(e, FIS_NOMEM, "group-aware: no memory");
    memcpy(a->params, fis_learner_anchor(r->learner), r->n_params * sizeof *a->params);
    return 0;
}

/* The average over the round is that of its parts. */
static void take_in(struct lab_run *r, struct aware *a)
{
    if (a->round != r->round)
        a->parts = 0;
    a->round = r->round;
    const float share = 1.0f / (float)++a->parts;
    for (size_t i = 0; i < r->n_params; i++)
        a->average[i] =
            a->parts == 1 ? a->part[i] : a->average[i] + share * (a->part[i] - a->average[i]);
}

static int train(struct lab_run *r, uint32_t steps, struct fis_error *e)
{
    struct aware *a = r->publication_state;
    int rc = fis_learner_train(r->learner, steps, e);
    if (rc < 0 || steps == 0)
        return rc;
    const struct lab_sgd_rows rows = lab_labelled_rows(r);
    lab_fair_term_rows(a->term, rows.rows, rows.n);
    rc = lab_sgd_steps(a->sgd, &rows, steps, a->params, FIS_DEFAULT_AVERAGE_EVERY, a->part, e);
    if (rc == 0)
        take_in(r, a);
    return rc;
}

static int publish(struct lab_run *r, int last, float *params, struct fis_error *e)
{
    struct aware *a = r->publication_state;
    const float *const anchor = fis_learner_end_anchor(r->learner);
    struct fis_gate_points p = {.publish_from = anchor, .publish_to = a->average, .n = 1 + STEPS};
    for (uint32_t h = 0; h < FIS_MAX_FOLDS; h++) {
        p.from[h] = anchor;
        p.to[h] = a->average;
    }
    for (uint32_t i = 0; i < p.n; i++)
        p.share[i] = (float)i / STEPS;
    int rc = fis_gate_judge_points(r->gate, r->learner, &p, r->judgement, params, e);
    return rc < 0 ? rc : lab_points_take(r, last, params);
}

static void end(struct lab_run *r)
{
    struct aware *a = r->publication_state;
    if (!a)
        return;
    lab_fair_term_free(a->term);
    lab_sgd_free(a->sgd);
    fis_free(a->params);
    fis_free(a->part);
    fis_free(a->average);
    fis_free(a);
}

const struct lab_publication lab_publication_group_aware = {.name = "group-aware", .split_rows = true,
                                                            .line = true,
                                                            .by_metric = true,
                                                            .sees_groups = true,
                                                            .begin = begin,
                                                            .train = train,
                                                            .publish = publish,
                                                            .end = end};
