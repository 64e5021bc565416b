/*
 * The publication of fis+ with a second direction (RF): besides the boosted copies, the anchor
 * fine-tuned for two rounds' steps on the labelled rows with 10 x the gradient of the guide rows'
 * gap. The gate picks among 15 points anchor + a (boosted - anchor) + b (RF - anchor), a and b in
 * quarters, a + b <= 1. With cross-fit there is one RF per half, guided by it alone.
 */
#include "lab/finetune.h"

#include <string.h>

#include "fis/defaults.h"
#include "fis/mem.h"
#include "lab/fair_term.h"
#include "lab/labelled.h"
#include "lab/points.h"

enum { QUARTERS = 4 };
#define WEIGHT 10.0
#define STREAM 160u

void lab_finetune_grid(struct fis_gate_points *p)
{
    p->n = 0;
    for (uint32_t far = 0; far <= QUARTERS; far++)
        for (uint32_t b = 0; b <= far; b++, p->n++) {
            p->share[p->n][0] = (float)(far - b) / QUARTERS;
            p->share[p->n][1] = (float)b / QUARTERS;
        }
}

/* The rows of the half that guides copy `fold`. */
static uint32_t guide_rows(const struct lab_run *r, uint32_t fold, uint32_t *index)
{
    const struct fis_rows *v = fis_learner_validation(r->learner);
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->n; i++)
        if (fis_learner_fold_of(r->learner)[i] == fold)
            index[n++] = i;
    return n;
}

static int tune(struct lab_run *r, uint32_t fold, struct lab_fair_term *term, float *work,
                float *end, struct fis_error *e)
{
    const struct lab_sgd_rows rows = lab_labelled_rows(r);
    const uint32_t steps = r->o->protocol.steps_per_round;
    struct lab_sgd_options o = lab_labelled_sgd(r, STREAM + fold);
    o.extra = lab_fair_term_add;
    o.arg = term;
    struct lab_sgd *sgd = lab_sgd_new(&o, e);
    if (!sgd)
        return fis_fail(e, FIS_NOMEM, "fine-tune: no memory");
    memcpy(work, fis_learner_anchor(r->learner), r->n_params * sizeof *work);
    int rc = lab_sgd_steps(sgd, &rows, steps, work, 0, NULL, e);
    if (rc == 0)
        rc = lab_sgd_steps(sgd, &rows, steps, work, FIS_DEFAULT_AVERAGE_EVERY, end, e);
    lab_sgd_free(sgd);
    return rc;
}

int lab_finetune(struct lab_run *r, uint32_t fold, float *end, struct fis_error *e)
{
    const struct lab_fair_term_options o = {.shape = r->shape,
                                            .directions = r->directions,
                                            .rows = *fis_learner_validation(r->learner),
                                            .weight = WEIGHT};
    struct lab_fair_term *term = NULL;
    float *work = fis_alloc(r->n_params, sizeof *work);
    uint32_t *index = fis_alloc(o.rows.n, sizeof *index);
    int rc = 0;
    if (!work || !index)
        rc = fis_fail(e, FIS_NOMEM, "fine-tune: no memory");
    if (rc == 0 && !(term = lab_fair_term_new(&o, index, guide_rows(r, fold, index), e)))
        rc = fis_fail(e, FIS_NOMEM, "fine-tune: no memory");
    if (rc == 0)
        rc = tune(r, fold, term, work, end, e);
    lab_fair_term_free(term);
    fis_free(work);
    fis_free(index);
    return rc;
}

static int publish(struct lab_run *r, int last, float *params, struct fis_error *e)
{
    const uint32_t folds = r->folds == 2 ? 2 : 1;
    struct fis_gate_points p;
    float *ends = fis_alloc(folds * r->n_params, sizeof *ends);
    int rc = ends ? 0 : fis_fail(e, FIS_NOMEM, "fine-tune: no memory");
    for (uint32_t h = 0; rc == 0 && h < folds; h++)
        rc = lab_finetune(r, h, ends + h * r->n_params, e);
    if (rc == 0) {
        fis_gate_points_of(r->learner, &p);
        lab_finetune_grid(&p);
        p.n_ends = 2;
        for (uint32_t h = 0; h < 2; h++)
            p.end[1][h] = ends + (h < folds ? h : 0) * r->n_params;
        rc = lab_points_publish(r, &p, last, params, e);
    }
    fis_free(ends);
    return rc;
}

const struct lab_publication lab_publication_ft = {
    .name = "ft", .copies = FIS_COPIES_BOOSTED, .by_metric = true, .publish = publish};
