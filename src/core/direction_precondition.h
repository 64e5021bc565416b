/*
 * The last layer's Gauss-Newton matrix, one block per class, and the directions it preconditions;
 * private to core.
 */
#ifndef CORE_DIRECTION_PRECONDITION_H
#define CORE_DIRECTION_PRECONDITION_H

#include "core/network_scratch.h"

struct precondition;

/* For a mean over n rows. INPUT: the last layer is too wide for it; NOMEM. */
int precondition_new(const struct fis_shape *shape, uint32_t n, struct precondition **out,
                     struct fis_error *e) FIS_MUST_CHECK;
void precondition_free(struct precondition *p);

/* Rows of the last fis_network_forward on this scratch, which must be rows of these logits. */
void precondition_add(struct precondition *p, const struct fis_shape *shape,
                      const struct fis_scratch *s, const float *x, const float *logits, uint32_t n);

/* g <- (H_k + damping trace(H_k)/dim I)^-1 g_k for the last layer's columns k, 0 elsewhere. A class
 * whose block is all zero (no row has p_k strictly between 0 and 1) keeps its gradient as it is.
 * INPUT: not positive definite. */
int precondition_apply(struct precondition *p, const struct fis_shape *shape, double damping,
                       float *g_acc, float *g_fair, struct fis_error *e) FIS_MUST_CHECK;

#endif
