/*
 * Gradient-boosted trees as a base (fis/network.h): how they are evaluated, and the margins of the
 * rows that they were fitted to. Fitting itself is done by a fis_trees_fit_fn.
 *
 * A tree is complete: 2^depth - 1 nodes in the order of a heap and 2^depth leaves. A row goes to
 * the left child while x[feature] < threshold. Tree t adds its leaf to margin t % margins, in the
 * order of the trees, so a row's margins are the same to the bit in every process.
 *
 * Thread: immutable once made; reference counted. Owns: its arrays.
 */
#ifndef FIS_TREES_H
#define FIS_TREES_H

#include <stddef.h>
#include <stdint.h>

#include "fis/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FIS_TREES_MAX 65536u
#define FIS_TREES_DEPTH_MAX 8u
#define FIS_TREES_FOLDS_MAX 16u

struct fis_trees_shape {
    uint32_t d, margins; /* features of a row; 1 (two classes) or K */
    uint32_t n, depth;   /* n: a multiple of margins */
};

struct fis_trees;
/* feature, threshold [n][2^depth - 1], leaf [n][2^depth], copied. INPUT: out of range. */
struct fis_trees *fis_trees_new(const struct fis_trees_shape *shape, const uint32_t *feature,
                                const float *threshold, const float *leaf, struct fis_error *e);
struct fis_trees *fis_trees_ref(struct fis_trees *t); /* NULL is fine */
void fis_trees_unref(struct fis_trees *t);
const struct fis_trees_shape *fis_trees_shape(const struct fis_trees *t);
const uint32_t *fis_trees_features(const struct fis_trees *t);
const float *fis_trees_thresholds(const struct fis_trees *t);
const float *fis_trees_leaves(const struct fis_trees *t);
static inline size_t fis_trees_nodes(const struct fis_trees_shape *s)
{
    return (size_t)s->n * ((1u << s->depth) - 1);
}
static inline size_t fis_trees_leaf_count(const struct fis_trees_shape *s)
{
    return (size_t)s->n << s->depth;
}

/* Sets the last `margins` features of each row of x [n][d + margins] from the first d, scaled and
 * cut off as those of a base's columns (fis/encoder.h). Many rows at once take a fraction of the
 * time that they take one by one. */
void fis_trees_apply(const struct fis_trees *t, float *x, uint32_t n);

/* ---- fitting -------------------------------------------------------------------------------- */

struct fis_trees_options {
    uint32_t n, depth;    /* n: boosting rounds, at most */
    uint32_t patience;    /* rounds without a smaller loss out of fold that end it; 0: n rounds */
    double rate;          /* of learning */
    double rows, columns; /* shares that a tree is fitted to */
    uint32_t folds; /* for margins out of fold; 0: none, each row's is of trees fitted to it */
    double growth;  /* fitted again when the labelled rows have grown by this share, and at last */
    uint64_t seed;
};

/* Rows as they are stored: x [n][stride], of which the first d are fitted to. */
struct fis_trees_rows {
    uint32_t n, d, stride, classes;
    const float *x;
    const uint32_t *y;
};

/* Fits trees to those of the rows that index [n] names. The n_held rows behind them are held out:
 * with patience, their loss ends the boosting (the rounds after the best are part of the trees).
 * The same arguments give the same trees, and fewer rounds the first ones of them. */
typedef int fis_trees_fit_fn(const struct fis_trees_rows *rows, const uint32_t *index, uint32_t n,
                             uint32_t n_held, const struct fis_trees_options *o,
                             struct fis_trees **out, struct fis_error *e);

/* Trees of all rows, in *out; and in margins [n][margins], scaled as by fis_trees_apply, each row's
 * by trees that were not fitted to it: in folds that are dealt by seed and place, so that a row
 * that is added moves no other one. With patience, the folds' have as many rounds as make the rows'
 * mean loss out of fold least, and those of all rows more, by as much as there are more rows.
 * INPUT: what `fit` refuses. */
int fis_trees_fit(const struct fis_trees_rows *rows, const struct fis_trees_options *o,
                  fis_trees_fit_fn *fit, struct fis_trees **out, float *margins,
                  struct fis_error *e) FIS_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
