/*
 * What is done fast gives what is done slowly: records that are mostly 0 have the same numbers as
 * among others, to the last bit; and the set that is selected is the one that the naive twin
 * selects.
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fis/influence.h"
#include "fis/mem.h"
#include "fis/selector.h"

struct model {
    struct fis_shape shape;
    float *w, *g[FIS_DIRECTIONS];
    struct fis_panel *panel;
};

/* Hidden layers end with 0. With `last_only` the directions are 0 below the last layer. */
static void model_new(struct model *m, uint32_t d, const uint32_t *hidden, uint32_t classes,
                      int last_only, struct fis_rng *rng)
{
    uint32_t n_hidden = 0;
    while (hidden[n_hidden])
        n_hidden++;
    assert_int_equal(fis_shape_init(&m->shape, d, hidden, n_hidden, classes, NULL), 0);
    uint32_t margins = classes == 2 ? 1 : classes;
    assert_int_equal(fis_shape_set_margins(&m->shape, d % 2 ? margins : 0, NULL), 0);
    size_t n = fis_shape_params(&m->shape);
    m->w = fis_alloc(n, sizeof *m->w);
    fis_network_init(&m->shape, m->w, rng);
    for (size_t i = 0; i < n; i++)
        m->w[i] += (float)fis_rng_normal(rng) * .02f; /* biases too */
    for (int i = 0; i < FIS_DIRECTIONS; i++) {
        m->g[i] = fis_calloc(n, sizeof *m->g[i]);
        for (size_t k = last_only ? fis_shape_offset(&m->shape, n_hidden) : 0; k < n; k++)
            m->g[i][k] = (float)fis_rng_normal(rng) * .1f;
    }
    m->panel = fis_panel_new(&m->shape, m->w, (const float *const *)m->g, FIS_DIRECTIONS);
    assert_non_null(m->panel);
}

static void model_free(struct model *m)
{
    fis_panel_unref(m->panel);
    fis_free(m->w);
    fis_free(m->g[0]);
    fis_free(m->g[1]);
}

/* [3][n][K]: probabilities, and both influences. */
static float *scored(const struct model *m, const float *x, uint32_t n)
{
    uint32_t k = fis_shape_classes(&m->shape);
    struct fis_scratch *s = fis_scratch_new(&m->shape, n, FIS_DIRECTIONS);
    float *out = fis_calloc(3 * (size_t)n * k, sizeof *out);
    assert_true(s && out);
    fis_influence_batch(m->panel, x, n, s, out, out + (size_t)n * k, out + 2 * (size_t)n * k);
    fis_scratch_free(s);
    return out;
}

static void sparse_row(struct fis_rng *rng, float *x, uint32_t d)
{
    memset(x, 0, d * sizeof *x);
    for (uint32_t i = 0; i < d / 7; i++)
        x[fis_rng_below(rng, d)] = i % 3 ? 1 : (float)fis_rng_normal(rng);
}

/* The same, of rows that are given as their values that are not 0. */
static float *scored_lists(const struct model *m, const float *x, uint32_t n)
{
    uint32_t k = fis_shape_classes(&m->shape), d = fis_shape_inputs(&m->shape), at = 0;
    struct fis_scratch *s = fis_scratch_new(&m->shape, n, FIS_DIRECTIONS);
    float *out = fis_calloc(3 * (size_t)n * k, sizeof *out);
    float *value = fis_alloc((size_t)n * d, sizeof *value);
    uint32_t *index = fis_alloc((size_t)n * d, sizeof *index);
    uint32_t *from = fis_calloc(n + (size_t)1, sizeof *from);
    assert_true(s && out && value && index && from);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t u = 0; u < d; u++)
            if (x[(size_t)i * d + u] != 0) {
                index[at] = u;
                value[at++] = x[(size_t)i * d + u];
            }
        from[i + 1] = at;
    }
    struct fis_sparse lists = {from, index, value};
    fis_influence_sparse(m->panel, &lists, n, s, out, out + (size_t)n * k, out + 2 * (size_t)n * k);
    fis_scratch_free(s);
    fis_free(value);
    fis_free(index);
    fis_free(from);
    return out;
}

static void sparse_as_dense(uint32_t d, const uint32_t *hidden, uint32_t classes, int last_only,
                            struct fis_rng *rng)
{
    enum { N = 77 };
    struct model m;
    size_t row = d * sizeof(float);
    float *alone = fis_alloc((size_t)N * d, sizeof(float));
    float *mixed = fis_alloc((size_t)2 * N * d, sizeof(float));
    model_new(&m, d, hidden, classes, last_only, rng);
    for (size_t i = 0; i < N; i++) {
        sparse_row(rng, alone + i * d, d);
        memcpy(mixed + 2 * i * d, alone + i * d, row);
        for (uint32_t u = 0; u < d; u++)
            mixed[(2 * i + 1) * d + u] = (float)fis_rng_normal(rng);
    }
    float *a = scored(&m, alone, N), *b = scored(&m, mixed, 2 * N);
    float *lists = scored_lists(&m, alone, N), *mixed_lists = scored_lists(&m, mixed, 2 * N);
    assert_memory_equal(lists, a, 3 * (size_t)N * classes * sizeof *a);
    assert_memory_equal(mixed_lists, b, 6 * (size_t)N * classes * sizeof *b);
    for (size_t what = 0; what < 3; what++)
        for (size_t i = 0; i < N; i++)
            assert_memory_equal(a + (what * N + i) * classes, b + (what * 2 * N + 2 * i) * classes,
                                classes * sizeof(float));
    fis_free(a);
    fis_free(b);
    fis_free(lists);
    fis_free(mixed_lists);
    fis_free(alone);
    fis_free(mixed);
    model_free(&m);
}

static void sparse_records_score_as_among_others(void **state)
{
    (void)state;
    static const uint32_t shapes[][3] = {{64, 0}, {0}, {13, 0}, {32, 16, 0}, {100, 5, 0}, {128, 0}};
    struct fis_rng rng;
    fis_rng_seed(&rng, 31, 0);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int last_only = 0; last_only < 2; last_only++) {
            sparse_as_dense(14, shapes[i], 2, last_only, &rng);
            sparse_as_dense(24, shapes[i], 2, last_only, &rng);
            sparse_as_dense(25, shapes[i], 5, last_only, &rng);
            sparse_as_dense(104, shapes[i], 2, last_only, &rng);
            sparse_as_dense(331, shapes[i], 10, last_only, &rng);
        }
}

/* Each algorithm's scores of a batch are those of each row by itself, whichever its form. */
static void criteria_of_a_batch(void **state)
{
    (void)state;
    enum { N = 77, D = 40, K = 3 };
    static const uint32_t hidden[] = {20, 0};
    struct fis_rng rng;
    struct fis_id ids[N];
    const struct fis_id *of[N];
    float *x = fis_alloc(N * D, sizeof *x), batch[N][FIS_MAX_CRITERIA], one[FIS_MAX_CRITERIA];
    fis_rng_seed(&rng, 33, 0);
    for (uint32_t i = 0; i < N; i++) {
        sparse_row(&rng, x + (size_t)i * D, D);
        assert_int_equal(fis_id_set(&ids[i], &i, sizeof i), 0);
        of[i] = &ids[i];
    }
    for (int last_only = 0; last_only < 3; last_only++) {
        struct model m;
        model_new(&m, D, hidden, K, last_only, &rng);
        if (last_only == 2) { /* one direction is 0 throughout */
            memset(m.g[0], 0, fis_shape_params(&m.shape) * sizeof *m.g[0]);
            fis_panel_unref(m.panel);
            m.panel = fis_panel_new(&m.shape, m.w, (const float *const *)m.g, FIS_DIRECTIONS);
        }
        struct fis_scratch *s = fis_scratch_new(&m.shape, N, FIS_DIRECTIONS);
        float *out = scored(&m, x, N), *acc = out + N * K, *fair = acc + N * K;
        for (uint32_t a = 0; fis_acquisition_at(a); a++) {
            struct fis_criteria c = {fis_acquisition_at(a), .strategy = 1, .seed = 5};
            fis_criteria_batch(&c, m.panel, of, x, NULL, N, s, NULL, &batch[0][0]);
            for (uint32_t i = 0; i < N; i++) {
                fis_criteria_score(&c, of[i], out + i * K, acc + i * K, fair + i * K, K, one);
                for (int j = 0; j < FIS_MAX_CRITERIA; j++)
                    assert_true(batch[i][j] == one[j] ||
                                fabsf(batch[i][j] - one[j]) <= 1e-6f * fabsf(one[j]));
            }
        }
        fis_free(out);
        fis_scratch_free(s);
        model_free(&m);
    }
    fis_free(x);
}

struct ranked {
    double score;
    uint32_t row;
};

static int better(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->score == y->score ? (x->row > y->row) - (x->row < y->row)
                                : (x->score < y->score) - (x->score > y->score);
}

/* Of scores [n][FIS_MAX_CRITERIA], one criterion's k-th best. */
static float kth_best(const float *scores, uint32_t criterion, uint32_t n, uint32_t k)
{
    struct ranked all[512];
    assert_true(k < n && n <= 512);
    for (uint32_t i = 0; i < n; i++)
        all[i] = (struct ranked){(double)scores[i * FIS_MAX_CRITERIA + criterion], i};
    qsort(all, n, sizeof *all, better);
    return (float)all[k].score;
}

/* With floors, what reaches one has the scores it has without, to the last bit, and what reaches
 * none stays below them: of dense rows, sparse ones and both, deep networks and shallow ones. */
static void floors_change_no_score_that_counts(void **state)
{
    (void)state;
    enum { N = 333, D = 40 };
    static const uint32_t hidden[][4] = {{20, 0}, {64, 0}, {17, 9, 0}, {0}};
    struct fis_rng rng;
    struct fis_id ids[N];
    const struct fis_id *of[N];
    float *x = fis_alloc(N * D, sizeof *x);
    static float all[N][FIS_MAX_CRITERIA], low[N][FIS_MAX_CRITERIA];
    uint32_t left_out = 0;
    fis_rng_seed(&rng, 34, 0);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(fis_id_set(&ids[i], &i, sizeof i), 0);
        of[i] = &ids[i];
    }
    for (uint32_t round = 0; round < 4 * 3 * 3; round++) {
        struct model m;
        uint32_t classes = 2 + 3 * (round % 3);
        for (uint32_t i = 0; i < N; i++) {
            sparse_row(&rng, x + (size_t)i * D, D);
            for (uint32_t u = 0; (round + i / 40) % 2 && u < D; u++)
                x[(size_t)i * D + u] = (float)fis_rng_normal(&rng);
        }
        model_new(&m, D, hidden[round % 4], classes, round / 4 % 3 == 1, &rng);
        struct fis_scratch *s = fis_scratch_new(&m.shape, N, FIS_DIRECTIONS);
        for (uint32_t a = 0; fis_acquisition_at(a); a++) {
            struct fis_criteria c = {fis_acquisition_at(a), .strategy = 1, .seed = 5};
            fis_criteria_batch(&c, m.panel, of, x, NULL, N, s, NULL, &all[0][0]);
            for (uint32_t k = 3; k < N; k *= 4) {
                float floors[] = {kth_best(&all[0][0], 0, N, k), kth_best(&all[0][0], 1, N, k)};
                if (fis_criteria_count(c.acquisition) == 1)
                    floors[1] = INFINITY;
                fis_criteria_batch(&c, m.panel, of, x, NULL, N, s, floors, &low[0][0]);
                for (uint32_t i = 0; i < N; i++) {
                    if (all[i][0] >= floors[0] || all[i][1] >= floors[1]) {
                        assert_memory_equal(low[i], all[i], sizeof *all);
                    } else {
                        assert_true(low[i][0] < floors[0] && low[i][1] < floors[1]);
                        left_out += memcmp(low[i], all[i], sizeof *all) != 0;
                    }
                }
            }
        }
        fis_scratch_free(s);
        model_free(&m);
    }
    assert_true(left_out > 0); /* something was spared */
    fis_free(x);
}

/* Which rows are the best `most`, as a set of bits. */
static void best_of(struct ranked *all, uint32_t n, uint32_t most, unsigned char *in)
{
    memset(in, 0, n);
    qsort(all, n, sizeof *all, better);
    for (uint32_t i = 0; i < most; i++)
        in[all[i].row] = 1;
}

/* Softmax of double sums, the naive influences, and the criteria by their formulas. */
static void naive_scores(const struct model *m, const float *x, double scores[2])
{
    uint32_t k = fis_shape_classes(&m->shape), h = m->shape.width[1], d = m->shape.width[0];
    const float *w1 = m->w, *b1 = w1 + (size_t)d * h, *w2 = b1 + h, *b2 = w2 + (size_t)h * k;
    double z[FIS_MAX_CLASSES], a[64], acc[FIS_MAX_CLASSES], fair[FIS_MAX_CLASSES], sum = 0;
    for (uint32_t j = 0; j < h; j++) {
        a[j] = (double)b1[j];
        for (uint32_t u = 0; u < d; u++)
            a[j] += (double)x[u] * (double)w1[(size_t)u * h + j];
    }
    for (uint32_t c = 0; c < k; c++) {
        z[c] = (double)b2[c];
        for (uint32_t j = 0; j < h; j++)
            z[c] += (a[j] > 0 ? a[j] : 0) * (double)w2[(size_t)j * k + c];
        sum += exp(z[c]);
    }
    assert_int_equal(fis_influence_naive(&m->shape, m->w, x, m->g[0], m->g[1], acc, fair, NULL), 0);
    scores[0] = scores[1] = 0;
    for (uint32_t c = 0; c < k; c++) {
        double p = exp(z[c]) / sum;
        scores[0] -= acc[c] <= 0 && fair[c] <= 0 ? p * fair[c] : 0;
        scores[1] -= p * log(p);
    }
}

static void the_same_records_are_selected(void **state)
{
    (void)state;
    enum { N = 3000, D = 60, K = 3, MOST = 64 };
    static const uint32_t hidden[] = {48, 0};
    static struct ranked fast[2][N], naive[2][N];
    unsigned char of_fast[N], of_naive[N];
    struct fis_criteria criteria = {.acquisition = &fis_acquisition_fis_plus};
    struct fis_rng rng;
    struct model m;
    float *x = fis_alloc((size_t)N * D, sizeof *x);
    fis_rng_seed(&rng, 32, 0);
    model_new(&m, D, hidden, K, 0, &rng);
    for (uint32_t i = 0; i < N; i++) {
        sparse_row(&rng, x + (size_t)i * D, D);
        for (uint32_t u = 0; i % 2 && u < D; u++)
            x[(size_t)i * D + u] = (float)fis_rng_normal(&rng);
    }
    float *out = scored(&m, x, N), *acc = out + (size_t)N * K, *fair = acc + (size_t)N * K;
    for (uint32_t i = 0; i < N; i++) {
        float f[FIS_MAX_CRITERIA];
        double s[2];
        struct fis_id id;
        assert_int_equal(fis_id_set(&id, &i, sizeof i), 0);
        size_t at = (size_t)i * K;
        fis_criteria_score(&criteria, &id, out + at, acc + at, fair + at, K, f);
        naive_scores(&m, x + (size_t)i * D, s);
        for (int c = 0; c < 2; c++) {
            fast[c][i] = (struct ranked){(double)f[c], i};
            naive[c][i] = (struct ranked){s[c], i};
        }
    }
    for (int c = 0; c < 2; c++) {
        best_of(fast[c], N, MOST, of_fast);
        best_of(naive[c], N, MOST, of_naive);
        assert_memory_equal(of_fast, of_naive, N);
        assert_true(naive[c][MOST - 1].score > 0 &&
                    naive[c][MOST - 1].score > naive[c][MOST].score);
    }
    fis_free(out);
    fis_free(x);
    model_free(&m);
}

struct other_thread {
    const struct model *m;
    const float *x;
    uint32_t n;
    float *out;
};

static void *score_elsewhere(void *arg)
{
    struct other_thread *t = arg;
    fis_flush_denormals();
    t->out = scored(t->m, t->x, t->n);
    return NULL;
}

/* Numbers below the smallest normal one are 0: a row has the same bits alone, among such rows, and
 * on another thread. */
static void denormals_change_no_bit(void **state)
{
    (void)state;
    enum { ROWS = 37, WIDTH = 24 };
    static const uint32_t hidden[] = {16, 0};
    struct model m;
    struct fis_rng rng;
    float x[ROWS * WIDTH], zero[WIDTH] = {0};
    pthread_t thread;
    fis_rng_seed(&rng, 5, 0);
    fis_flush_denormals();
    model_new(&m, WIDTH, hidden, 2, 0, &rng);
    for (int i = 0; i < ROWS * WIDTH; i++)
        x[i] = i / WIDTH % 2 ? 1e-40f : (float)fis_rng_normal(&rng);
    struct other_thread t = {.m = &m, .x = x, .n = ROWS};
    float *all = scored(&m, x, ROWS), *none = scored(&m, zero, 1);
    assert_int_equal(pthread_create(&thread, NULL, score_elsewhere, &t), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_memory_equal(all, t.out, 3 * ROWS * 2 * sizeof *all);
    for (uint32_t i = 0; i < ROWS; i++) {
        float *one = scored(&m, x + i * WIDTH, 1);
        for (uint32_t part = 0; part < 3; part++) {
            assert_memory_equal(one + 2 * part, all + 2 * (part * ROWS + i), 2 * sizeof *one);
            if (i % 2)
                assert_memory_equal(one + 2 * part, none + 2 * part, 2 * sizeof *one);
        }
        fis_free(one);
    }
    fis_free(all);
    fis_free(none);
    fis_free(t.out);
    model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(denormals_change_no_bit),
        cmocka_unit_test(sparse_records_score_as_among_others),
        cmocka_unit_test(criteria_of_a_batch),
        cmocka_unit_test(floors_change_no_score_that_counts),
        cmocka_unit_test(the_same_records_are_selected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
