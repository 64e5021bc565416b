/*
 * What is known of the noise in the validation rows, and the losses and metrics that take it into
 * account. Without corrections they are the plain ones.
 *
 * A row counts for the true group g and class k with weight w_g v_k: the posteriors given what it
 * is labelled.
 */
#ifndef LAB_NOISE_MODEL_H
#define LAB_NOISE_MODEL_H

#include <stdbool.h>

#include "fis/gate.h"

struct lab_noise_model {
    uint32_t classes, groups;
    const double *t; /* [K][K] of the classes; NULL: labels are true */
    bool trim;
    double confidence; /* of a contradiction that is trimmed */
    struct fis_surrogate surrogate;
    /* By the trainer's validation row. NULL: groups are true; for the gate: labels are; nothing is
     * trimmed. */
    const float *group_posterior; /* [n][M] */
    const float *class_posterior; /* [n][K] */
    const uint8_t *trimmed;       /* [n] */
    double *cells;                /* work of the gate's measure: [M][K][K] */
};

/* Posterior over n true kinds: to_k = p_k T[k][label] / sum; p itself where the label cannot be. */
void lab_noise_posterior(const double *t, const float *p, uint32_t label, uint32_t n, float *to);
/* Whether the model contradicts a label with confidence: p [K]. */
bool lab_noise_contradicts(const struct lab_noise_model *m, const float *p, uint32_t label);

/* fis_losses_fn, arg: the model; class posteriors and contradictions by the logits that are given.
 * phi: as fis_surrogate_eval compares means, of the true cells; demographic parity is not clipped.
 * A cell with less than one row's weight leaves its comparison out. */
int lab_noise_losses(void *arg, const float *logits, const uint32_t *labels, const uint32_t *groups,
                     const uint32_t *source, uint32_t n, uint32_t classes, double *ce, float *d_acc,
                     double *phi, float *d_fair, struct fis_error *e) FIS_MUST_CHECK;

/* fis_metrics_fn, arg: the model. */
void lab_noise_measure(void *arg, const uint32_t *predictions, const float *logits,
                       const uint32_t *labels, const uint32_t *groups, const uint32_t *source,
                       const uint32_t *rows, uint32_t n, uint32_t classes, uint32_t n_groups,
                       uint32_t positive, struct fis_metrics *out);

#endif
