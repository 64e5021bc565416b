/* Margins of trees against a walk of one tree after the other, to the bit: row by row, and by tiles
 * of each kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/trees_impl.h"
#include "fis/mem.h"
#include "fis/network.h"
#include "fis/rng.h"
#include "fis/trees.h"

#define D 5u
#define MOST 40u
#define ROWS 70u /* two of the widest tiles, and some */

/* Some values are a threshold of a test. */
static float some_value(struct fis_rng *rng)
{
    return .25f * (float)(int)(4 * fis_rng_normal(rng));
}

static struct fis_trees *random_trees(const struct fis_trees_shape *s, struct fis_rng *rng)
{
    const size_t nodes = fis_trees_nodes(s), leaves = fis_trees_leaf_count(s);
    uint32_t *feature = fis_alloc(nodes + 1, sizeof *feature);
    float *threshold = fis_alloc(nodes + 1, sizeof *threshold);
    float *leaf = fis_alloc(leaves + 1, sizeof *leaf);
    struct fis_error e;
    for (size_t i = 0; i < nodes; i++) {
        feature[i] = fis_rng_below(rng, s->d);
        threshold[i] = some_value(rng);
    }
    for (size_t i = 0; i < leaves; i++)
        leaf[i] = .1f * (float)fis_rng_normal(rng);
    struct fis_trees *t = fis_trees_new(s, feature, threshold, leaf, &e);
    assert_non_null(t);
    fis_free(feature);
    fis_free(threshold);
    fis_free(leaf);
    return t;
}

/* The sum of one margin's trees, by the arrays that go on the wire. */
static float naive(const struct fis_trees *t, uint32_t which, const float *x)
{
    const struct fis_trees_shape *s = fis_trees_shape(t);
    const uint32_t nodes = (1u << s->depth) - 1;
    float sum = 0;
    for (uint32_t i = which; i < s->n; i += s->margins) {
        uint32_t at = 0;
        while (at < nodes) {
            const size_t node = (size_t)i * nodes + at;
            at = 2 * at + (x[fis_trees_features(t)[node]] < fis_trees_thresholds(t)[node] ? 1 : 2);
        }
        sum += fis_trees_leaves(t)[(size_t)i * (nodes + 1) + at - nodes];
    }
    return sum;
}

/* Sets the margins of a row. */
static void set_margins(const struct fis_trees *t, float *x)
{
    const struct fis_trees_shape *s = fis_trees_shape(t);
    float sum[3], largest = 0;
    for (uint32_t k = 0; k < s->margins; k++) {
        sum[k] = naive(t, k, x);
        if (s->margins > 1 && (k == 0 || sum[k] > largest))
            largest = sum[k];
    }
    for (uint32_t k = 0; k < s->margins; k++)
        x[s->d + k] = (float)((double)sum[k] - (double)largest) / FIS_MARGIN_SCALE;
}

static void check(const struct fis_trees_shape *s, uint32_t rows, struct fis_rng *rng)
{
    struct fis_trees *t = random_trees(s, rng);
    const struct network_kernel *k;
    const size_t width = s->d + s->margins, all = width * rows;
    float *x = fis_calloc(all + 1, sizeof *x), *expected = fis_calloc(all + 1, sizeof *x);
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t j = 0; j < s->d; j++)
            x[i * width + j] = expected[i * width + j] = some_value(rng);
        set_margins(t, expected + i * width);
    }
    for (uint32_t nth = 0; (k = network_kernel(nth)); nth++) {
        for (uint32_t i = 0; i < rows; i++)
            memset(x + i * width + s->d, 0xff, s->margins * sizeof *x);
        trees_apply_by(k, t, x, rows);
        assert_memory_equal(x, expected, all * sizeof *x);
    }
    fis_trees_apply(t, x, rows);
    assert_memory_equal(x, expected, all * sizeof *x);
    fis_free(x);
    fis_free(expected);
    fis_trees_unref(t);
}

static void as_one_by_one(void **state)
{
    struct fis_rng rng;
    (void)state;
    fis_rng_seed(&rng, 1, 1);
    for (uint32_t depth = 1; depth <= FIS_TREES_DEPTH_MAX; depth++)
        for (uint32_t rounds = 0; rounds <= MOST; rounds++)
            for (uint32_t margins = 1; margins <= 3; margins += 2) {
                const struct fis_trees_shape s = {
                    .d = D, .margins = margins, .n = rounds * margins, .depth = depth};
                check(&s, 1, &rng);
            }
}

static void as_tiles(void **state)
{
    struct fis_rng rng;
    (void)state;
    fis_rng_seed(&rng, 2, 1);
    for (uint32_t depth = 1; depth <= FIS_TREES_DEPTH_MAX; depth++)
        for (uint32_t rounds = 0; rounds <= MOST; rounds += 8)
            for (uint32_t margins = 1; margins <= 3; margins += 2) {
                const struct fis_trees_shape s = {
                    .d = D, .margins = margins, .n = rounds * margins, .depth = depth};
                check(&s, ROWS, &rng);
                check(&s, ROWS % 32, &rng);
            }
    /* Beyond what a tile is turned in. */
    for (uint32_t d = 1022; d <= 1026; d++)
        check(&(struct fis_trees_shape){.d = d, .margins = 1, .n = 30, .depth = 4}, ROWS, &rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_one_by_one), cmocka_unit_test(as_tiles)};
    return cmocka_run_group_tests_name("core/trees", tests, NULL, NULL);
}
