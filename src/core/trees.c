#include "fis/trees.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "fis/mem.h"
#include "fis/network.h"
#include "fis/rng.h"

#include "encoder_impl.h"
#include "softmax.h"
#include "trees_impl.h"

struct fis_trees {
    atomic_uint references;
    struct fis_trees_shape shape;
    struct network_test *nodes;
    float *leaf;
    uint32_t *feature; /* the same nodes apart, for the wire */
    float *threshold;
};

static int check(const struct fis_trees_shape *s, const uint32_t *feature, const float *threshold,
                 const float *leaf, struct fis_error *e)
{
    if (s->depth == 0 || s->depth > FIS_TREES_DEPTH_MAX || s->n > FIS_TREES_MAX || s->d == 0 ||
        s->margins == 0 || s->margins > FIS_MAX_CLASSES || s->n % s->margins)
        return fis_fail(e, FIS_INPUT, "trees: %u of depth %u for %u margins of %u features", s->n,
                        s->depth, s->margins, s->d);
    for (size_t i = 0; i < fis_trees_nodes(s); i++)
        if (feature[i] >= s->d || !isfinite(threshold[i]))
            return fis_fail(e, FIS_INPUT, "trees: node %zu asks feature %u of %u for %g", i,
                            feature[i], s->d, (double)threshold[i]);
    for (size_t i = 0; i < fis_trees_leaf_count(s); i++)
        if (!isfinite(leaf[i]))
            return fis_fail(e, FIS_INPUT, "trees: leaf %zu is not finite", i);
    return 0;
}

struct fis_trees *fis_trees_new(const struct fis_trees_shape *s, const uint32_t *feature,
                                const float *threshold, const float *leaf, struct fis_error *e)
{
    if (check(s, feature, threshold, leaf, e))
        return NULL;
    size_t nodes = fis_trees_nodes(s), leaves = fis_trees_leaf_count(s);
    struct fis_trees *t = fis_calloc(1, sizeof *t);
    if (!t || !(t->nodes = fis_alloc(nodes + 1, sizeof *t->nodes)) ||
        !(t->leaf = fis_alloc(leaves + 1, sizeof *t->leaf)) ||
        !(t->feature = fis_alloc(nodes + 1, sizeof *t->feature)) ||
        !(t->threshold = fis_alloc(nodes + 1, sizeof *t->threshold))) {
        fis_fail(e, FIS_NOMEM, "trees: no memory for %u of depth %u", s->n, s->depth);
        fis_trees_unref(t);
        return NULL;
    }
    atomic_init(&t->references, 1);
    t->shape = *s;
    for (size_t i = 0; i < nodes; i++)
        t->nodes[i] = (struct network_test){feature[i], threshold[i]};
    memcpy(t->feature, feature, nodes * sizeof *feature);
    memcpy(t->threshold, threshold, nodes * sizeof *threshold);
    memcpy(t->leaf, leaf, leaves * sizeof *leaf);
    return t;
}

struct fis_trees *fis_trees_ref(struct fis_trees *t)
{
    if (t)
        atomic_fetch_add_explicit(&t->references, 1, memory_order_relaxed);
    return t;
}

void fis_trees_unref(struct fis_trees *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->references, 1, memory_order_acq_rel) > 1)
        return;
    fis_free(t->nodes);
    fis_free(t->leaf);
    fis_free(t->feature);
    fis_free(t->threshold);
    fis_free(t);
}

const struct fis_trees_shape *fis_trees_shape(const struct fis_trees *t)
{
    return &t->shape;
}

const uint32_t *fis_trees_features(const struct fis_trees *t)
{
    return t->feature;
}

const float *fis_trees_thresholds(const struct fis_trees *t)
{
    return t->threshold;
}

const float *fis_trees_leaves(const struct fis_trees *t)
{
    return t->leaf;
}

/* A row's leaf of a tree. No branch depends on a row, so that the processor walks several trees at
 * a time. */
static inline float leaf_of(const struct fis_trees *t, uint32_t tree, const float *x)
{
    uint32_t depth = t->shape.depth, nodes = (1u << depth) - 1, at = 0;
    const struct network_test *first = t->nodes + (size_t)tree * nodes;
    for (uint32_t l = 0; l < depth; l++)
        at = 2 * at + 2 - (x[first[at].feature] < first[at].threshold);
    return t->leaf[(size_t)tree * (nodes + 1) + at - nodes];
}

/* A step of one tree waits for its memory; those of TOGETHER trees do not wait for each other. */
#define TOGETHER 12u
#ifdef __clang__
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 12")
#endif

/* Leaves [TOGETHER] of a row, of as many trees from `tree` on. */
static void leaves_of(const struct fis_trees *t, uint32_t tree, const float *x, float *leaf)
{
    const uint32_t depth = t->shape.depth, nodes = (1u << depth) - 1;
    const struct network_test *first = t->nodes + (size_t)tree * nodes;
    uint32_t at[TOGETHER] = {0};
    for (uint32_t l = 0; l < depth; l++) {
        UNROLLED
        for (uint32_t k = 0; k < TOGETHER; k++) {
            const struct network_test *n = first + k * nodes + at[k];
            at[k] = 2 * at[k] + 2 - (x[n->feature] < n->threshold);
        }
    }
    for (uint32_t k = 0; k < TOGETHER; k++)
        leaf[k] = t->leaf[(size_t)(tree + k) * (nodes + 1) + at[k] - nodes];
}

/* Leaves of n trees from `tree` on, added one by one: one sum stays in a register. */
static void add_leaves(const float *leaf, uint32_t tree, uint32_t n, uint32_t m, float *sum)
{
    float one = sum[0];
    uint32_t which = tree % m;
    for (uint32_t k = 0; m == 1 && k < n; k++)
        one += leaf[k];
    sum[0] = one;
    for (uint32_t k = 0; m > 1 && k < n; k++) {
        sum[which] += leaf[k];
        which = which + 1 == m ? 0 : which + 1;
    }
}

static void set_margins(const float *sum, uint32_t stride, uint32_t m, float *to)
{
    double margins[FIS_MAX_CLASSES];
    for (uint32_t k = 0; k < m; k++)
        margins[k] = (double)sum[k * stride];
    encoder_margins_scale(margins, m, to);
}

/* By the first n trees. */
static void apply_first(const struct fis_trees *t, uint32_t n, const float *x, float *to)
{
    uint32_t m = t->shape.margins;
    float sum[FIS_MAX_CLASSES] = {0}, leaf[TOGETHER];
    for (uint32_t i = 0, some; i < n; i += some) {
        some = n - i < TOGETHER ? 1 : TOGETHER;
        if (some == 1)
            leaf[0] = leaf_of(t, i, x);
        else
            leaves_of(t, i, x, leaf);
        add_leaves(leaf, i, some, m, sum);
    }
    set_margins(sum, 1, m, to);
}

/* All tests of a tree for a tile of rows cost less than the walks of its rows as long as the tree
 * is small beside the tile; what is turned lies on the stack. */
#define TURNED_MOST 1024u

static bool fits(const struct network_kernel *k, const struct fis_trees_shape *s)
{
    return 1u << s->depth <= 2 * k->rows && s->depth <= NETWORK_TREE_DEPTH &&
           s->d + s->margins <= TURNED_MOST;
}

static void apply_tile(const struct network_kernel *kernel, const struct fis_trees *t, float *x)
{
    const uint32_t m = t->shape.margins, width = t->shape.d + m, rows = kernel->rows;
    const struct network_tree first = {(1u << t->shape.depth) - 1, t->nodes, t->leaf};
    _Alignas(64) float turned[TURNED_MOST * NETWORK_MAX_TILE];
    _Alignas(64) float sums[FIS_MAX_CLASSES * NETWORK_MAX_TILE];
    kernel->transpose(x, width, turned);
    memset(sums, 0, m * rows * sizeof *sums);
    kernel->trees(first, t->shape.n, m, turned, sums);
    for (uint32_t i = 0; i < rows; i++)
        set_margins(sums + i, rows, m, x + (size_t)i * width + t->shape.d);
}

void trees_apply_by(const struct network_kernel *k, const struct fis_trees *t, float *x, uint32_t n)
{
    const size_t width = t->shape.d + t->shape.margins;
    uint32_t i = 0;
    if (fits(k, &t->shape))
        for (; n - i >= k->rows; i += k->rows)
            apply_tile(k, t, x + i * width);
    for (; i < n; i++)
        apply_first(t, t->shape.n, x + i * width, x + i * width + t->shape.d);
}

void fis_trees_apply(const struct fis_trees *t, float *x, uint32_t n)
{
    trees_apply_by(network_kernel(0), t, x, n);
}

/* ---- fitting -------------------------------------------------------------------------------- */

struct fitting {
    const struct fis_trees_rows *rows;
    const struct fis_trees_options *o;
    uint32_t margins;
    uint32_t *index;                             /* [rows->n] */
    struct fis_trees *fold[FIS_TREES_FOLDS_MAX]; /* not fitted to the rows of the fold */
    double *loss;                                /* [o->n] out of fold, by rounds */
};

static uint32_t fold_of(const struct fitting *f, uint32_t row)
{
    struct fis_rng rng;
    if (f->o->folds == 0)
        return 0;
    fis_rng_seed(&rng, f->o->seed, 1000003u + (uint64_t)row);
    return fis_rng_below(&rng, f->o->folds);
}

static const float *x_of(const struct fitting *f, uint32_t row)
{
    return f->rows->x + (size_t)row * f->rows->stride;
}

/* The row's cross-entropy after each round, added to f->loss. */
static void add_losses(struct fitting *f, const struct fis_trees *t, uint32_t row)
{
    uint32_t m = f->margins, y = f->rows->y[row], rounds = t->shape.n / m;
    float z[FIS_MAX_CLASSES] = {0};
    double p[FIS_MAX_CLASSES];
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t k = 0; k < m; k++)
            z[m == 1 ? 1 : k] += leaf_of(t, round * m + k, x_of(f, row));
        f->loss[round] += softmax_row(z, f->rows->classes, y, p);
    }
}

static int fit_fold(struct fitting *f, fis_trees_fit_fn *fit, uint32_t fold, struct fis_error *e)
{
    uint32_t n = 0, all = f->rows->n, held = all;
    for (uint32_t i = 0; i < all; i++)
        f->index[fold_of(f, i) != fold ? n++ : --held] = i;
    int rc = fit(f->rows, f->index, n, all - n, f->o, &f->fold[fold], e);
    for (uint32_t i = n; rc == 0 && f->o->patience && i < all; i++)
        add_losses(f, f->fold[fold], f->index[i]);
    return rc;
}

/* With the least loss, of those that every fold has. */
static uint32_t best_rounds(const struct fitting *f)
{
    uint32_t rounds = f->o->n, best = 0;
    if (!f->o->patience || !f->o->folds)
        return rounds;
    for (uint32_t fold = 0; fold < f->o->folds; fold++)
        if (f->fold[fold]->shape.n / f->margins < rounds)
            rounds = f->fold[fold]->shape.n / f->margins;
    for (uint32_t round = 1; round < rounds; round++)
        if (f->loss[round] < f->loss[best])
            best = round;
    return best + 1;
}

/* A fold's trees see fewer rows than all, and more rows can bear more of them. */
static uint32_t rounds_of_all(const struct fitting *f, uint32_t rounds)
{
    const uint32_t folds = f->o->folds;
    if (!f->o->patience || folds < 2)
        return rounds;
    const uint64_t more = ((uint64_t)rounds * folds + (folds - 1) / 2) / (folds - 1);
    return more < f->o->n ? (uint32_t)more : f->o->n;
}

static int fit_all(struct fitting *f, fis_trees_fit_fn *fit, struct fis_trees **out, float *margins,
                   struct fis_error *e)
{
    struct fis_trees_options o = *f->o;
    struct fis_trees *trees = NULL;
    int rc = 0;
    for (uint32_t fold = 0; rc == 0 && fold < o.folds; fold++)
        rc = fit_fold(f, fit, fold, e);
    if (rc < 0)
        return rc;
    const uint32_t rounds = best_rounds(f);
    o.n = rounds_of_all(f, rounds);
    for (uint32_t i = 0; i < f->rows->n; i++)
        f->index[i] = i;
    if ((rc = fit(f->rows, f->index, f->rows->n, 0, &o, &trees, e)) < 0)
        return rc;
    for (uint32_t i = 0; i < f->rows->n; i++)
        apply_first(o.folds ? f->fold[fold_of(f, i)] : trees, rounds * f->margins, x_of(f, i),
                    margins + (size_t)i * f->margins);
    *out = trees;
    return 0;
}

int fis_trees_fit(const struct fis_trees_rows *rows, const struct fis_trees_options *o,
                  fis_trees_fit_fn *fit, struct fis_trees **out, float *margins,
                  struct fis_error *e)
{
    struct fitting f = {.rows = rows, .o = o, .margins = rows->classes == 2 ? 1 : rows->classes};
    assert(o->folds <= FIS_TREES_FOLDS_MAX);
    f.index = fis_alloc(rows->n + 1u, sizeof *f.index);
    f.loss = fis_calloc(o->n, sizeof *f.loss);
    int rc = f.index && f.loss ? fit_all(&f, fit, out, margins, e)
                               : fis_fail(e, FIS_NOMEM, "trees: no memory for %u rows", rows->n);
    for (uint32_t i = 0; i < o->folds; i++)
        fis_trees_unref(f.fold[i]);
    fis_free(f.index);
    fis_free(f.loss);
    return rc;
}
