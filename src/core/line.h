/*
 * The Newton line: the smallest step of the last layer, in the metric of its curvature, that closes
 * every gap between groups to first order. A version is published from a point of it.
 *
 * h: last hidden activations and 1; w: last layer; p: probabilities. Gap j is a difference of means
 * of p_k (of cross-entropies for risk disparity): of the two groups, or of each group and all rows
 * where there are more; by class for K > 2, of the positive one alone for two classes; within the
 * rows of the class, and of the others, for odds. g_j: its value, J_j: its gradient by w, over the
 * guide rows. H: the last layer's Gauss-Newton matrix, one block a class, over rows whose labels
 * and groups are not looked at, damped by .01 trace / dim. Then
 *
 *     step = - H^-1 J^T (J H^-1 J^T)^-1 g
 *
 * Gaps that follow from others make the inner matrix singular: it has a ridge of 1e-6 of its mean
 * diagonal. A cell without rows has no gap. Private to core.
 */
#ifndef CORE_LINE_H
#define CORE_LINE_H

#include "fis/influence.h"

#define LINE_MAX_GAPS 512u
#define LINE_CURVATURE_ROWS 8192u /* of each set; more say the same */

struct line_guide {
    const struct fis_rows *rows;
    const uint32_t *index; /* NULL: all rows */
    uint32_t n;            /* of the index */
};

struct line_unlabelled { /* two sets of features [n][d]; either may be empty */
    const float *x[2];
    uint32_t n[2];
};

/* step: slab; 0 but for the last layer. All 0 where no gap can be closed. INPUT: more gaps than
 * LINE_MAX_GAPS, a last layer that is too wide, weights that give no finite step. */
int line_step(const struct fis_shape *shape, const float *params, const struct line_guide *guide,
              const struct line_unlabelled *u, enum fis_metric metric, uint32_t positive,
              uint32_t n_groups, float *step, struct fis_error *e) FIS_MUST_CHECK;

/* Against the direction of unfairness that a head has (slab; its last layer), of such a length that
 * the logits of rows x [n][d] move by 1/2, root mean square. With noise on directions (fis/privacy.h)
 * this is the line: it follows from what is out already. 0 for a direction that moves nothing. */
int line_along(const struct fis_shape *shape, const float *params, const float *direction,
               const float *x, uint32_t n, float *step, struct fis_error *e) FIS_MUST_CHECK;

/* Probabilities pi [n][K] of the classes by the model's logits, of rows that the model was not trained
 * on: the mean of two fits by maximum likelihood, softmax(scale f + bias) for each group (Platt's
 * scaling for two classes), and softmax(scale f + slope added + bias) for all rows, where `added`
 * [n][K] is what the line at 1 adds to the logits (NULL: the first fit alone). A point of the line
 * moves rows along `added`, and groups against each other: rows of equal logits that differ in these
 * may differ in what is true of them. Two estimates with errors of their own are nearer than each.
 * Where a group's fit does not converge, that of all rows; where that does not, the softmax as it
 * is; where the second does not, the fit of all rows. */
int line_calibrate(const float *logits, const float *added, const uint32_t *y, const uint32_t *group, uint32_t n,
                   uint32_t classes, uint32_t n_groups, float *pi,
                   struct fis_error *e) FIS_MUST_CHECK;

#endif
