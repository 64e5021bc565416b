/*
 * What is known of the noise in the validation rows, and the losses and metrics that take it into
 * account. With the identity for both matrices and nothing trimmed they are the plain ones.
 *
 * A row counts for the true group g and class k with weight W[group][g] V[label][k], W and V the
 * inverses of the noise matrices: in expectation, sums over noisy rows are then sums over true
 * ones. Weights may be negative.
 */
#ifndef LAB_NOISE_MODEL_H
#define LAB_NOISE_MODEL_H

#include "fis/gate.h"

struct lab_noise_model {
    uint32_t classes, groups;
    double *t, *class_inverse, *group_inverse; /* T of the classes, V, W */
    int forward, trim;
    double confidence; /* of a contradiction */
    struct fis_surrogate surrogate;
    double *cells; /* work: [M][K][K] counts by group, label, prediction; twice */
    /* For the gate: by the trainer's validation row; NULL: nothing is trimmed. */
    const uint8_t *trimmed;
};

/* Without noise. Owns its matrices. */
int lab_noise_model_init(struct lab_noise_model *m, uint32_t classes, uint32_t groups,
                         struct fis_error *e) FIS_MUST_CHECK;
void lab_noise_model_done(struct lab_noise_model *m);
/* INPUT: a matrix cannot be inverted; nothing is changed then. NULL: the identity. */
int lab_noise_model_set(struct lab_noise_model *m, const double *classes, const double *groups,
                        struct fis_error *e) FIS_MUST_CHECK;

/* Whether the model contradicts a label with confidence: p [K]. */
int lab_noise_contradicts(const struct lab_noise_model *m, const float *p, uint32_t label);

/* fis_losses_fn, arg: the model (trimming by the logits it is given). Cross-entropy: mean of
 * -log (p T)_y. phi: as fis_surrogate_eval compares means, of the true cells; demographic parity is
 * not clipped. A cell with less than one row's weight leaves its comparison out. */
int lab_noise_losses(void *arg, const float *logits, const uint32_t *labels, const uint32_t *groups,
                     uint32_t n, uint32_t classes, double *ce, float *d_acc, double *phi,
                     float *d_fair, struct fis_error *e) FIS_MUST_CHECK;

/* fis_gate_measure_fn, arg: the model. */
void lab_noise_measure(void *arg, const uint32_t *predictions, const float *logits,
                       const uint32_t *labels, const uint32_t *groups, const uint32_t *source,
                       const uint32_t *rows, uint32_t n, uint32_t classes, uint32_t n_groups,
                       uint32_t positive, struct fis_metrics *out);

#endif
