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
#include "fis/learner.h"
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
    .n = 40, .depth = 4, .rate = .05, .rows = .8, .columns = .5, .folds = 5, .seed = 11};

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
        fis_trees_apply(t, x + i * STRIDE, 1);
        near((double)(FIS_MARGIN_SCALE * x[i * STRIDE + D]), (double)two[i]);
    }
    fis_trees_unref(t);
    r = rows(3);
    assert_int_equal(data_boost(&r, every, N, 0, &options, &t, &e), 0);
    assert_int_equal(fis_trees_shape(t)->n, 120);
    for (uint32_t i = 0; i < N; i++) {
        double most = fmax((double)three[i][0], fmax((double)three[i][1], (double)three[i][2]));
        fis_trees_apply(t, x + i * STRIDE, 1);
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
        fis_trees_apply(t, x + i * STRIDE, 1);
        own[i] = x[i * STRIDE + D];
    }
    /* What was fitted to a row knows its label; out of fold it does not. */
    assert_true(loss(own, y2) < .45 && loss(margins, y2) > loss(own, y2) + .08);
    fis_trees_unref(t);
    fis_trees_unref(again);
}

/* With patience the trees of all rows are more than the folds', as the rows are. */
static void more_rows_bear_more_trees(void **state)
{
    (void)state;
    struct fis_trees_rows r = rows(2);
    struct fis_trees_options o = options;
    struct fis_trees *t, *few;
    float margins[N];
    o.n = 400;
    o.patience = 20;
    assert_int_equal(fis_trees_fit(&r, &o, data_boost, &t, margins, &e), 0);
    const uint32_t n = fis_trees_shape(t)->n, best = n * 4 / 5;
    assert_true(n > 10 && n < 400);
    o.n = best - 5; /* so few that the loss is still falling: no fold has more */
    assert_int_equal(fis_trees_fit(&r, &o, data_boost, &few, margins, &e), 0);
    assert_int_equal(fis_trees_shape(few)->n, o.n);
    fis_trees_unref(t);
    fis_trees_unref(few);
}

/* ---- below a learner ------------------------------------------------------------------------ */

#define LABELLED 80u

/* The first rows are labelled, the others are for validation. */
static struct fis_learner *learner(int learn_validation, int split_by_place)
{
    struct fis_learner_options o = {.folds = 3,
                                    .learning_rate = .01f,
                                    .batch = 16,
                                    .learn_validation = learn_validation,
                                    .split_by_place = split_by_place,
                                    .seed = 3};
    static uint32_t group[N];
    float plain[N * (D + 1)];
    assert_int_equal(fis_shape_init(&o.shape, D + 1, (uint32_t[]){4}, 1, 2, &e), 0);
    assert_int_equal(fis_shape_set_margins(&o.shape, 1, &e), 0);
    for (uint32_t i = 0; i < N; i++) {
        memcpy(plain + i * (D + 1), x + i * STRIDE, D * sizeof *x);
        plain[i * (D + 1) + D] = 0;
        group[i] = i % 2;
    }
    struct fis_learner *t = fis_learner_new(&o, &e);
    assert_non_null(t);
    for (uint32_t i = 0; i < LABELLED; i++)
        assert_int_equal(fis_learner_add_initial(t, plain + i * (D + 1), y2[i], &e), 0);
    const struct fis_rows v = {N - LABELLED, D + 1, plain + LABELLED * (D + 1), y2 + LABELLED,
                               group};
    assert_int_equal(fis_learner_set_validation(t, &v, 2, &e), 0);
    return t;
}

static struct fis_trees *fitted(struct fis_learner *t)
{
    struct fis_trees *trees;
    assert_int_equal(fis_learner_fit_base(t, &options, data_boost, &trees, &e), 0);
    return trees;
}

static double validation_loss(const float *rows)
{
    double sum = 0;
    for (uint32_t i = 0; i < N - LABELLED; i++) {
        double m = (double)(FIS_MARGIN_SCALE * rows[i * (D + 1) + D]);
        sum += log1p(exp(y2[LABELLED + i] ? -m : m)) / (N - LABELLED);
    }
    return sum;
}

/* Trees that know a validation row's label are better at it; its margin is not theirs. */
static void validation_rows_are_learnt_from_out_of_fold(void **state)
{
    (void)state;
    struct fis_learner *without = learner(0, 0), *with = learner(-1, 0), *noisy = learner(1, 1);
    struct fis_trees *less = fitted(without), *all = fitted(with), *private = fitted(noisy);
    assert_false(fis_learner_base_has_validation(without));
    assert_true(fis_learner_base_has_validation(with));
    assert_false(fis_learner_base_has_validation(noisy));
    same(less, private);
    const float *rows = fis_learner_validation(with)->x;
    const double out_of_fold = validation_loss(rows);
    assert_true(out_of_fold != validation_loss(fis_learner_validation(without)->x));
    fis_learner_apply_base(with, all);
    assert_true(validation_loss(rows) == out_of_fold);
    assert_int_equal(fis_learner_serve_base(with, all, &e), 0);
    assert_true(validation_loss(fis_learner_served_rows(with)) < out_of_fold - .05);
    struct fis_learner *const learners[] = {without, with, noisy};
    struct fis_trees *const trees[] = {less, all, private};
    for (int i = 0; i < 3; i++) {
        fis_trees_unref(trees[i]);
        fis_learner_free(learners[i]);
    }
}

/* Another process has the margins of the saved state, of what is served too; with other validation
 * rows it has none. */
static void margins_go_with_the_state(void **state)
{
    (void)state;
    struct fis_learner *a = learner(-1, 0), *b = learner(-1, 0);
    struct fis_trees *first = fitted(a);
    float served[(N - LABELLED) * (D + 1)];
    memcpy(served, fis_learner_validation(a)->x, sizeof served);
    assert_int_equal(fis_learner_keep_served(a, &e), 0);
    const float bought[D + 1] = {3, -3, 1, 1, 0};
    uint32_t at;
    assert_int_equal(fis_learner_add_bought(a, bought, 1, &at, &e), 0);
    assert_int_equal(fis_learner_add_bought(b, bought, 1, &at, &e), 0);
    struct fis_trees *second = fitted(a);
    const size_t size = fis_learner_save_size(a);
    void *saved = malloc(size);
    assert_non_null(saved);
    fis_learner_save(a, saved);
    for (size_t cut = size - 64; cut < size; cut += 9)
        assert_int_equal(fis_learner_load(b, saved, cut, &e), -FIS_INPUT);
    assert_int_equal(fis_learner_load(b, saved, size, &e), 0);
    assert_int_equal(fis_learner_fitted(b), LABELLED + 1);
    assert_true(fis_learner_base_has_validation(b));
    assert_memory_equal(fis_learner_validation(b)->x, fis_learner_validation(a)->x, sizeof served);
    assert_memory_not_equal(fis_learner_validation(b)->x, served, sizeof served);
    assert_memory_equal(fis_learner_served_rows(b), served, sizeof served);
    struct fis_rows other = *fis_learner_validation(a);
    other.n--;
    assert_int_equal(fis_learner_set_validation(b, &other, 2, &e), 0);
    assert_null(fis_learner_served_rows(b));
    assert_int_equal(fis_learner_load(b, saved, size, &e), 0);
    assert_int_equal(fis_learner_fitted(b), 0);
    assert_false(fis_learner_base_has_validation(b));
    free(saved);
    fis_trees_unref(first);
    fis_trees_unref(second);
    fis_learner_free(a);
    fis_learner_free(b);
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
        cmocka_unit_test(more_rows_bear_more_trees),
        cmocka_unit_test(validation_rows_are_learnt_from_out_of_fold),
        cmocka_unit_test(margins_go_with_the_state),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, read_golden, NULL);
}
