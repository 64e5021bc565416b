/*
 * Directions of the last layer from clipped gradients of examples, with noise; private to core.
 * include/fis/privacy.h has the mathematics.
 */
#ifndef CORE_DIRECTION_PRIVATE_H
#define CORE_DIRECTION_PRIVATE_H

#include "base/chacha.h"
#include "core/fairness_impl.h"
#include "fis/influence.h"
#include "fis/privacy.h"

/* A loss counts as at most this in risk disparity. */
#define PRIVATE_LOSS_MAX 4.0

/* Release 1. Sums and counts of the rows, before noise: what replacing one row moves by a length of
 * 2 at most, both together. */
struct private_cells {
    struct fairness_work sums; /* of every cell in use */
    /* Rows of a group by label, or all in column 0 for metrics that look at no labels. */
    double rows[FIS_MAX_GROUPS][FIS_MAX_CLASSES];
};
void private_cells_add(struct private_cells *c, const struct fis_surrogate *s, const float *logits,
                       const uint32_t *labels, const uint32_t *groups, uint32_t n, uint32_t classes,
                       uint32_t n_groups);
/* With noise (NULL: none): c->sums become the weights of every cell, for fairness_row_gradient. A
 * count is at least two deviations of its noise, so that a cell that drowns in it does not get a
 * weight beyond all others. */
void private_cells_weights(struct private_cells *c, const struct fis_surrogate *s, double deviation,
                           struct chacha_normal *noise);
/* |u| of a cell, and the largest of all cells there could be. */
double private_weight(const struct fairness_work *w, uint32_t label, uint32_t group);
double private_largest_weight(const struct fairness_work *w);

/* Releases 2 and 3. g_acc, g_fair: slabs, 0 but in the last layer. `index` [n]: which of the rows;
 * NULL: all of them, and n is not looked at. weights: what release 1 gave, or NULL to make it of
 * these rows. INPUT: a loss is not finite; NOMEM. */
int private_gradients(const struct fis_shape *shape, const float *params,
                      const struct fis_rows *rows, const uint32_t *index, uint32_t n,
                      const struct fis_direction_options *o, const struct fairness_work *weights,
                      struct chacha_normal *noise, float *g_acc, float *g_fair,
                      struct fis_error *e) FIS_MUST_CHECK;

/* The same, preconditioned when o->precondition, by the curvature on rows that need no protection,
 * public_x [n_public][d]: what comes out is as private as what went in. */
int private_directions(const struct fis_shape *shape, const float *params,
                       const struct fis_rows *rows, const uint32_t *index, uint32_t n,
                       const float *public_x, uint32_t n_public,
                       const struct fis_direction_options *o, struct chacha_normal *noise,
                       float *g_acc, float *g_fair, struct fis_error *e) FIS_MUST_CHECK;

/* The key of a refresh's noise, and its tag, from all that goes into it. */
void private_refresh_key(const struct fis_direction_options *o, uint64_t number,
                         const struct fis_shape *shape, const float *params,
                         const struct fis_rows *rows, const uint8_t *fold_of,
                         unsigned char key[CHACHA_KEY], uint64_t *tag);

#endif
