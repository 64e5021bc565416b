/*
 * How good the first-order estimate of influence is: held against what one real training step on an
 * example does to validation loss and to phi, and against training on with the example left in
 * (paper, appendix on first-order against real influence).
 *
 * At the warm-up model of a split, for random rows of the pool with their true labels:
 *   estimate   rate x infl(x, y), from one forward pass with tangents
 *   step       change after one step of plain gradient descent on (x, y), at the same rate
 *   retrain    training on the initial rows goes on from the warm-up model, with the example in
 *              every batch, less the same training without it (same batches)
 *   curvature  as estimate, along directions preconditioned by the last layer's Gauss-Newton matrix
 */
#ifndef LAB_EXP_INFLUENCE_H
#define LAB_EXP_INFLUENCE_H

#include "lab/run.h"

struct lab_influence_options {
    struct lab_options run;       /* metric, seed, protocol */
    uint32_t examples, retrained; /* retrained: so many of them; at most examples */
    uint32_t steps;               /* of retraining; default a round's */
};
void lab_influence_default(const struct lab_task_spec *spec, enum lab_regime regime,
                           struct lab_influence_options *o);

struct lab_effect {
    double accuracy, fairness; /* of mean cross-entropy; of phi */
};
struct lab_influence_point {
    uint32_t row;                                         /* of the task */
    struct lab_effect estimate, step, retrain, curvature; /* retrain NaN when not done */
};
struct lab_influence {
    uint32_t n, n_retrained;
    struct lab_influence_point *points; /* owned; those that were retrained come first */
    /* Spearman's rank correlations: estimate with step, estimate and curvature with retrain. */
    struct lab_effect step, retrain, curvature;
};

int lab_influence_check(const struct lab_split *split, const struct lab_influence_options *o,
                        struct lab_influence *out, struct fis_error *e) FIS_MUST_CHECK;
void lab_influence_done(struct lab_influence *i);

/* Spearman's rank correlation of n pairs, equal values sharing their mean rank; NaN when one side
 * is constant or n < 2. NOMEM is NaN too. */
double lab_spearman(const double *a, const double *b, uint32_t n);

#endif
