/*
 * The last layer's Gauss-Newton matrix, one block per class, and the directions it preconditions;
 * private to core.
 */
#ifndef CORE_DIRECTION_PRECONDITION_H
#define CORE_DIRECTION_PRECONDITION_H

#include "fis/network.h"

struct precondition;

/* For a mean over n rows. INPUT: the last layer is too wide for it; NOMEM. */
int precondition_new(const struct fis_shape *shape, uint32_t n, struct precondition **out,
                     struct fis_error *e) FIS_MUST_CHECK;
void precondition_free(struct precondition *p);

/* n rows: the last layer's inputs, and their logits. */
void precondition_add(struct precondition *p, const float *act, const float *logits, uint32_t n);

/* b [sides][K][in + 1] <- (H_k + damping trace(H_k)/dim I)^-1 b, class by class; once. A class
 * whose block is all zero (no row has p_k strictly between 0 and 1) keeps its part as it is. INPUT:
 * not positive definite. */
int precondition_solve(struct precondition *p, double damping, double *b, uint32_t sides,
                       struct fis_error *e) FIS_MUST_CHECK;
/* The same of the columns of the last layer's blocks. */
int precondition_apply(struct precondition *p, double damping, float *g_acc, float *g_fair,
                       struct fis_error *e) FIS_MUST_CHECK;

#endif
