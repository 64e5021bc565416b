/*
 * Plain training for rival methods: SGD as the trainer's (Nesterov, weight decay, the last batch
 * of an epoch is what is left), over rows with weights, with an optional term of one's own.
 *
 * Thread: one owner. Owns: momentum and work space; rows are borrowed.
 */
#ifndef LAB_SGD_H
#define LAB_SGD_H

#include "fis/network.h"

/* Rows to learn from, by index into x [.][d] and y; weights [n] or NULL. */
struct lab_sgd_rows {
    const float *x;
    const uint32_t *y; /* by the same index as x */
    const uint32_t *rows;
    const float *weights; /* by position in rows; NULL: 1 */
    uint32_t n, d;
};

struct lab_sgd_options {
    struct fis_shape shape;
    uint32_t batch;
    float learning_rate, momentum, weight_decay;
    uint64_t seed, stream;
    /* Adds to gradient (slab) what a step has besides the batch's cross-entropy; NULL: nothing. */
    int (*extra)(void *arg, const float *params, float *gradient, struct fis_error *e);
    void *arg;
};

struct lab_sgd;
struct lab_sgd *lab_sgd_new(const struct lab_sgd_options *o, struct fis_error *e) FIS_MUST_CHECK;
void lab_sgd_free(struct lab_sgd *s);
/* `steps` steps on params (slab). Rows may change between calls. INPUT when the loss is not finite.
 * average (slab, or NULL): mean over every `average_every`-th iterate of this call. */
int lab_sgd_steps(struct lab_sgd *s, const struct lab_sgd_rows *rows, uint32_t steps, float *params,
                  uint32_t average_every, float *average, struct fis_error *e) FIS_MUST_CHECK;
uint32_t lab_sgd_epoch_steps(const struct lab_sgd *s, uint32_t rows);

#endif
