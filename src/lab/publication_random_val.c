/*
 * Random + Val (the paper's appendix on validation enhancements): the model goes on from where it
 * ended, trained for 10 epochs on the validation rows themselves, with a fairness regulariser of
 * dynamic weight that sees their groups: what the same information is worth when it is learnt from.
 *
 * The paper does not say how the weight moves. Here it is the multiplier of the constraint "gap =
 * 0", by dual ascent: from 0, each epoch adds 10 x the root of the sum of squared gaps, so that it
 * grows while there is a gap. Nothing is left to judge with, so there is no gate.
 */
#include <math.h>
#include <string.h>

#include "fis/mem.h"
#include "lab/fair_term.h"
#include "lab/labelled.h"

enum { EPOCHS = 10 };
#define ASCENT 10.0
#define STREAM 150u

static int train_on(struct lab_run *r, const struct lab_sgd_rows *rows, struct lab_fair_term *term,
                    float *params, struct fis_error *e)
{
    struct lab_sgd_options o = lab_labelled_sgd(r, STREAM);
    o.extra = lab_fair_term_add;
    o.arg = term;
    struct lab_sgd *sgd = lab_sgd_new(&o, e);
    double weight = 0;
    int rc = sgd ? 0 : fis_fail(e, FIS_NOMEM, "random+val: no memory");
    for (uint32_t epoch = 0; rc == 0 && epoch < EPOCHS; epoch++) {
        lab_fair_term_weight(term, weight);
        rc = lab_sgd_steps(sgd, rows, lab_sgd_epoch_steps(sgd, rows->n), params, 0, NULL, e);
        if (rc == 0 && isfinite(lab_fair_term_value(term)))
            weight += ASCENT * sqrt(2 * lab_fair_term_value(term));
    }
    lab_sgd_free(sgd);
    return rc;
}

static int publish(struct lab_run *r, int last, float *params, struct fis_error *e)
{
    const struct fis_rows *v = fis_learner_validation(r->learner);
    const struct lab_fair_term_options o = {
        .shape = r->shape, .directions = r->directions, .rows = *v};
    struct lab_fair_term *term = lab_fair_term_new(&o, NULL, 0, e);
    uint32_t *all = fis_alloc(v->n, sizeof *all);
    int rc = 0;
    (void)last;
    if (!term || !all)
        rc = fis_fail(e, FIS_NOMEM, "random+val: no memory for %u rows", v->n);
    for (uint32_t i = 0; rc == 0 && i < v->n; i++)
        all[i] = i;
    if (rc == 0) {
        const struct lab_sgd_rows rows = {.x = v->x, .y = v->y, .rows = all, .n = v->n, .d = v->d};
        memcpy(params, fis_learner_end_anchor(r->learner), r->n_params * sizeof *params);
        rc = train_on(r, &rows, term, params, e);
    }
    lab_fair_term_free(term);
    fis_free(all);
    return rc;
}

const struct lab_publication lab_publication_random_val = {
    .name = "val", .split_rows = true, .by_metric = true, .publish = publish};
