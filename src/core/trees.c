#include "fis/trees.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "fis/mem.h"
#include "fis/network.h"
#include "fis/rng.h"

#include "encoder_impl.h"

struct node {
    uint32_t feature;
    float threshold;
};

struct fis_trees {
    atomic_uint references;
    struct fis_trees_shape shape;
    struct node *nodes;
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
        t->nodes[i] = (struct node){feature[i], threshold[i]};
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

void fis_trees_apply(const struct fis_trees *t, float *x)
{
    uint32_t depth = t->shape.depth, m = t->shape.margins, which = 0;
    uint32_t nodes = (1u << depth) - 1;
    const struct node *tree = t->nodes;
    const float *leaf = t->leaf;
    float sum[FIS_MAX_CLASSES] = {0};
    double margins[FIS_MAX_CLASSES];
    /* No branch depends on a row, so that the processor walks several trees at a time. */
    for (uint32_t i = 0; i < t->shape.n; i++, tree += nodes, leaf += nodes + 1) {
        uint32_t at = 0;
        for (uint32_t l = 0; l < depth; l++)
            at = 2 * at + 2 - (x[tree[at].feature] < tree[at].threshold);
        sum[which] += leaf[at - nodes];
        which = which + 1 == m ? 0 : which + 1;
    }
    for (uint32_t k = 0; k < m; k++)
        margins[k] = (double)sum[k];
    encoder_margins_scale(margins, m, x + t->shape.d);
}

/* ---- fitting -------------------------------------------------------------------------------- */

static uint32_t fold_of(const struct fis_trees_options *o, uint32_t row)
{
    struct fis_rng rng;
    fis_rng_seed(&rng, o->seed, 1000003u + (uint64_t)row);
    return fis_rng_below(&rng, o->folds);
}

/* The margins of one fold's rows, by trees of the others. */
static int fit_fold(const struct fis_trees_rows *rows, const struct fis_trees_options *o,
                    fis_trees_fit_fn *fit, uint32_t fold, uint32_t *index, float *row,
                    float *margins, struct fis_error *e)
{
    struct fis_trees *trees = NULL;
    uint32_t n = 0, m = rows->classes == 2 ? 1 : rows->classes;
    for (uint32_t i = 0; i < rows->n; i++)
        if (fold_of(o, i) != fold)
            index[n++] = i;
    int rc = fit(rows, index, n, o, &trees, e);
    for (uint32_t i = 0; rc == 0 && i < rows->n; i++) {
        if (fold_of(o, i) != fold)
            continue;
        memcpy(row, rows->x + (size_t)i * rows->stride, rows->d * sizeof *row);
        fis_trees_apply(trees, row);
        memcpy(margins + (size_t)i * m, row + rows->d, m * sizeof *row);
    }
    fis_trees_unref(trees);
    return rc;
}

int fis_trees_fit(const struct fis_trees_rows *rows, const struct fis_trees_options *o,
                  fis_trees_fit_fn *fit, struct fis_trees **out, float *margins,
                  struct fis_error *e)
{
    uint32_t *index = fis_alloc(rows->n, sizeof *index);
    float *row = fis_alloc((size_t)rows->d + FIS_MAX_CLASSES, sizeof *row);
    struct fis_trees *trees = NULL;
    int rc = index && row ? 0 : fis_fail(e, FIS_NOMEM, "trees: no memory for %u rows", rows->n);
    for (uint32_t fold = 0; rc == 0 && fold < o->folds; fold++)
        rc = fit_fold(rows, o, fit, fold, index, row, margins, e);
    for (uint32_t i = 0; rc == 0 && i < rows->n; i++)
        index[i] = i;
    if (rc == 0)
        rc = fit(rows, index, rows->n, o, &trees, e);
    if (rc == 0)
        *out = trees;
    fis_free(index);
    fis_free(row);
    return rc;
}
