/*
 * Influence: by how much one training step on (x, y) would change the validation loss and the
 * unfairness, to first order (paper, Lemmas 3.1 and 3.2, with learning rate 1).
 *
 *     infl(x, k) = -< grad_w CE(x, k), G > = s_k - p . s,      s = tangent of the logits along G
 *
 * for all K labels at once, with no gradient per sample. Negative is good: the loss, or phi, falls.
 * For every x and G:  sum_k p_k infl(x, k) = 0.
 */
#ifndef FIS_INFLUENCE_H
#define FIS_INFLUENCE_H

#include "fis/network.h"
#include "fis/fairness.h"
#include "fis/privacy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Labelled rows with groups; a borrowed view. x [n][d], y [n], group [n] (NULL where not needed).
 */
struct fis_rows {
    uint32_t n, d;
    const float *x;
    const uint32_t *y;
    const uint32_t *group;
};

enum { FIS_DIRECTION_ACCURACY = 0, FIS_DIRECTION_FAIRNESS = 1, FIS_DIRECTIONS = 2 };

/* Losses in place of the mean cross-entropy and phi, for rows that are not to be taken as they are
 * (noisy labels): values, and derivatives by the logits, [n][K] each. source: which of the rows
 * that directions are taken from it is; NULL: all of them, in order. */
typedef int fis_losses_fn(void *arg, const float *logits, const uint32_t *labels,
                          const uint32_t *groups, const uint32_t *source, uint32_t n,
                          uint32_t classes, double *ce, float *d_acc, double *phi, float *d_fair,
                          struct fis_error *e);

struct fis_direction_options {
    struct fis_surrogate surrogate;
    uint32_t n_groups;
    uint32_t score_layers; /* the last ones, which directions cover; 0: all dense layers. A
                              transformer is never covered */
    int precondition;      /* by the last layer's Gauss-Newton matrix, one block per class:
                              (H_k + damping trace/dim I)^-1 g_k with H_k = mean p_k (1-p_k) a a^T over
                              the rows, a = last hidden activations and 1; the other layers' parts become
                              0 */
    double damping;        /* .01 */
    fis_losses_fn *losses; /* NULL: cross-entropy and the surrogate */
    void *losses_arg;
    /* Noise (fis/privacy.h): for fis_learner_refresh alone. NULL: exact directions. The curvature
     * is then taken from the initial rows. Borrowed. */
    const struct fis_privacy *privacy;
};

/* g_acc, g_fair: slabs. Gradients at `params` of mean CE and of phi over `rows` (or over the
 * subset index[0..n_index) when index is not NULL). INPUT: a cell too small. While it runs it holds
 * the rows' hidden activations: a float for each row and hidden unit. */
int fis_directions(const struct fis_shape *shape, const float *params, const struct fis_rows *rows,
                   const uint32_t *index, uint32_t n_index, const struct fis_direction_options *o,
                   float *g_acc, float *g_fair, double *phi, struct fis_error *e) FIS_MUST_CHECK;

/* The fast path. Panel with directions [accuracy, fairness]. p, infl_acc, infl_fair: [n][K]. */
void fis_influence_batch(const struct fis_panel *panel, const float *x, uint32_t n,
                         struct fis_scratch *s, float *p, float *infl_acc, float *infl_fair);
/* The same numbers, to the last bit, for rows that are mostly 0. */
void fis_influence_sparse(const struct fis_panel *panel, const struct fis_sparse *x, uint32_t n,
                          struct fis_scratch *s, float *p, float *infl_acc, float *infl_fair);

/* The naive twin, for tests: forms grad_w CE(x, k) and takes the dot product in double. [K] each.
 */
int fis_influence_naive(const struct fis_shape *shape, const float *params, const float *x,
                        const float *g_acc, const float *g_fair, double *infl_acc,
                        double *infl_fair, struct fis_error *e) FIS_MUST_CHECK;

/* Proxy labels (paper, Eq. 4 and appendix): I: argmin_k |infl_acc(x, k)|, II: argmax_k p_k. The
 * first of equals. For K = 2 both agree. */
uint32_t fis_proxy_label(int strategy, const float *p, const float *infl_acc, uint32_t classes);

#ifdef __cplusplus
}
#endif

#endif
