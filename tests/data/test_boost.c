/*
 * Trees that are fitted here are those of Python's xgboost (tests/golden/trees-golden.py), the same
 * each time, and never those of a row's own fold for its margin.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "data/boost.h"
#include "fis/encoder.h"
#include "fis/mem.h"
#include "fis/network.h"

#define N 200u
#define D 5u
#define STRIDE (D + 3)

static struct fis_error e;
static float x[N * STRIDE], two[N], three[N][3];
static uint32_t y2[N], y3[N], every[N];

static float next(FILE *f)
{
    float v;
    assert_int_equal(fscanf(f, "%f", &v), 1);
    return v;
}

static int read_golden(void **state)
{
    (void)state;
    FILE *f = fopen("tests/golden/trees-golden.txt", "r");
    assert_non_null(f);
    assert_true(next(f) == N && next(f) == D);
    for (uint32_t i = 0; i < N; i++) {
        every[i] = i;
        for (uint32_t j = 0; j < D; j++)
            x[i * STRIDE + j] = next(f);
        y3[i] = (uint32_t)next(f);
        y2[i] = y3[i] > 0;
        two[i] = next(f);
        for (uint32_t k = 0; k < 3; k++)
            three[i][k] = next(f);
    }
    fclose(f);
    return 0;
}

static const struct fis_trees_options options = {
    .n = 40, .depth = 4, .rate = .08, .rows = .8, .columns = .8, .folds = 5, .seed = 11};

static struct fis_trees_rows rows(uint32_t classes)
{
    return (struct fis_trees_rows){N, D, STRIDE, classes, x, classes == 2 ? y2 : y3};
}

static void near(double a, double b)
{
    assert_true(fabs(a - b) <= 2e-6 * (1 + fabs(b)));
}

static void equal_to_python(void **state)
{
    (void)state;
    struct fis_trees_rows r = rows(2);
    struct fis_trees *t;
    assert_int_equal(data_boost(&r, every, N, 0, &options, &t, &e), 0);
    for (uint32_t i = 0; i < N; i++) {
        fis_trees_apply(t, x + i * STRIDE);
        near((double)(FIS_MARGIN_SCALE * x[i * STRIDE + D]), (double)two[i]);
    }
    fis_trees_unref(t);
    r = rows(3);
    assert_int_equal(data_boost(&r, every, N, 0, &options, &t, &e), 0);
    assert_int_equal(fis_trees_shape(t)->n, 120);
    for (uint32_t i = 0; i < N; i++) {
        double most = fmax((double)three[i][0], fmax((double)three[i][1], (double)three[i][2]));
        fis_trees_apply(t, x + i * STRIDE);
        for (uint32_t k = 0; k < 3; k++)
            near((double)(FIS_MARGIN_SCALE * x[i * STRIDE + D + k]), (double)three[i][k] - most);
    }
    fis_trees_unref(t);
}

static void same(const struct fis_trees *a, const struct fis_trees *b)
{
    const struct fis_trees_shape *s = fis_trees_shape(a);
    assert_memory_equal(s, fis_trees_shape(b), sizeof *s);
    assert_memory_equal(fis_trees_thresholds(a), fis_trees_thresholds(b),
                        fis_trees_nodes(s) * sizeof(float));
    assert_memory_equal(fis_trees_leaves(a), fis_trees_leaves(b),
                        fis_trees_leaf_count(s) * sizeof(float));
}

static double loss(const float *margins, const uint32_t *y)
{
    double sum = 0;
    for (uint32_t i = 0; i < N; i++) {
        double m = (double)(FIS_MARGIN_SCALE * margins[i]);
        sum += log1p(exp(y[i] ? -m : m)) / N;
    }
    return sum;
}

static void margins_are_out_of_fold(void **state)
{
    (void)state;
    struct fis_trees_rows r = rows(2);
    struct fis_trees *t, *again;
    float margins[N], margins_again[N], own[N];
    assert_int_equal(fis_trees_fit(&r, &options, data_boost, &t, margins, &e), 0);
    assert_int_equal(fis_trees_fit(&r, &options, data_boost, &again, margins_again, &e), 0);
    same(t, again);
    assert_memory_equal(margins, margins_again, sizeof margins);
    for (uint32_t i = 0; i < N; i++) {
        fis_trees_apply(t, x + i * STRIDE);
        own[i] = x[i * STRIDE + D];
    }
    /* What was fitted to a row knows its label; out of fold it does not. */
    assert_true(loss(own, y2) < .45 && loss(margins, y2) > loss(own, y2) + .08);
    fis_trees_unref(t);
    fis_trees_unref(again);
}

static void refuses(void **state)
{
    (void)state;
    struct fis_trees_rows r = rows(2);
    struct fis_trees *t;
    assert_int_equal(data_boost(&r, every, 0, 0, &options, &t, &e), -FIS_INPUT);
    struct fis_trees_shape s = {.d = 1, .margins = 1, .n = 1, .depth = 1};
    float zero[2] = {0};
    assert_null(fis_trees_new(&s, (uint32_t[]){1}, zero, zero, &e));
    s.depth = 9;
    assert_null(fis_trees_new(&s, (uint32_t[]){0}, zero, zero, &e));
    s = (struct fis_trees_shape){.d = 1, .margins = 3, .n = 4, .depth = 1};
    assert_null(fis_trees_new(&s, (uint32_t[]){0}, zero, zero, &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_to_python),
        cmocka_unit_test(margins_are_out_of_fold),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, read_golden, NULL);
}
