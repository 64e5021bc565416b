#include <math.h>
#include "kit/cmocka.h"

#include "kit/core/random_case.h"

#define N 100u

/* Counts every allocation of the process, OpenBLAS' included; not under a sanitizer, which has an
 * allocator of its own. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#define COUNTS_MALLOC 1
static uint64_t mallocs;
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_memalign(size_t, size_t);
void *malloc(size_t size)
{
    mallocs++;
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size)
{
    mallocs++;
    return __libc_calloc(count, size);
}
void *aligned_alloc(size_t alignment, size_t size)
{
    mallocs++;
    return __libc_memalign(alignment, size);
}
#else
static uint64_t mallocs;
#endif

struct scored {
    float *p, *acc, *fair; /* [n][K] */
};

static struct scored scored_new(const struct random_case *c)
{
    size_t m = (size_t)c->n * c->classes;
    struct scored s = {fis_alloc(m, sizeof(float)), fis_alloc(m, sizeof(float)),
                       fis_alloc(m, sizeof(float))};
    assert_true(s.p && s.acc && s.fair);
    return s;
}

static void scored_free(struct scored *s)
{
    fis_free(s->p);
    fis_free(s->acc);
    fis_free(s->fair);
}

static struct fis_panel *panel_of(const struct random_case *c)
{
    const float *g[] = {c->g_acc, c->g_fair};
    struct fis_panel *panel = fis_panel_new(&c->shape, c->w, g, 2);
    assert_non_null(panel);
    return panel;
}

/* In batches of `batch` rows. */
static void score(const struct random_case *c, uint32_t batch, struct scored *out)
{
    struct fis_panel *panel = panel_of(c);
    struct fis_scratch *s = fis_scratch_new(&c->shape, batch, 2);
    assert_non_null(s);
    for (uint32_t from = 0; from < c->n; from += batch) {
        uint32_t rows = c->n - from < batch ? c->n - from : batch;
        size_t at = (size_t)from * c->classes;
        fis_influence_batch(panel, c->x + (size_t)from * c->d, rows, s, out->p + at, out->acc + at,
                            out->fair + at);
    }
    fis_scratch_free(s);
    fis_panel_unref(panel);
}

static void equals_naive_twin(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RANDOM_CASES; i++) {
        struct random_case c;
        assert_int_equal(random_case_number(&c, i, N), 0);
        struct scored s = scored_new(&c);
        score(&c, N, &s);
        for (uint32_t r = 0; r < N; r++) {
            double acc[64], fair[64], size[2] = {0, 0};
            assert_int_equal(fis_influence_naive(&c.shape, c.w, c.x + (size_t)r * c.d, c.g_acc,
                                                 c.g_fair, acc, fair, NULL),
                             0);
            for (uint32_t k = 0; k < c.classes; k++) {
                size[0] = fmax(size[0], fabs(acc[k]));
                size[1] = fmax(size[1], fabs(fair[k]));
            }
            for (uint32_t k = 0; k < c.classes; k++) {
                size_t at = (size_t)r * c.classes + k;
                assert_true(fabs(s.acc[at] - acc[k]) <= 1e-5 * (size[0] + 1));
                assert_true(fabs(s.fair[at] - fair[k]) <= 1e-5 * (size[1] + 1));
            }
        }
        scored_free(&s);
        random_case_done(&c);
    }
}

static void expected_influence_is_zero(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RANDOM_CASES; i++) {
        struct random_case c;
        assert_int_equal(random_case_number(&c, i, N), 0);
        struct scored s = scored_new(&c);
        score(&c, N, &s);
        for (uint32_t r = 0; r < N; r++) {
            double sum[2] = {0, 0}, size[2] = {0, 0};
            for (uint32_t k = 0; k < c.classes; k++) {
                size_t at = (size_t)r * c.classes + k;
                sum[0] += (double)s.p[at] * s.acc[at];
                sum[1] += (double)s.p[at] * s.fair[at];
                size[0] += fabs((double)s.p[at] * s.acc[at]);
                size[1] += fabs((double)s.p[at] * s.fair[at]);
            }
            assert_true(fabs(sum[0]) <= 2e-6 * size[0] && size[0] > 0);
            assert_true(fabs(sum[1]) <= 2e-6 * size[1] && size[1] > 0);
        }
        scored_free(&s);
        random_case_done(&c);
    }
}

static void strategies_agree_for_two_classes(void **state)
{
    (void)state;
    uint32_t differ = 0;
    for (uint32_t i = 0; i < RANDOM_CASES; i++) {
        struct random_case c;
        assert_int_equal(random_case_number(&c, i, N), 0);
        struct scored s = scored_new(&c);
        score(&c, N, &s);
        for (uint32_t r = 0; r < N; r++) {
            size_t at = (size_t)r * c.classes;
            uint32_t one = fis_proxy_label(1, s.p + at, s.acc + at, c.classes);
            uint32_t two = fis_proxy_label(2, s.p + at, s.acc + at, c.classes);
            if (c.classes == 2)
                assert_int_equal(one, two);
            differ += one != two;
        }
        scored_free(&s);
        random_case_done(&c);
    }
    assert_true(differ > 0); /* for K > 2 they are two strategies */
}

static void proxy_takes_first_of_equals(void **state)
{
    (void)state;
    const float p[] = {.4f, .4f, .2f}, infl[] = {-.5f, .25f, -.25f};
    assert_int_equal(fis_proxy_label(1, p, infl, 3), 1);
    assert_int_equal(fis_proxy_label(2, p, infl, 3), 0);
}

/* Not close: the same bits, so that what is selected does not depend on batches. */
static void batch_size_changes_no_bit(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RANDOM_CASES; i += 5) {
        struct random_case c;
        assert_int_equal(random_case_number(&c, i, N), 0);
        struct scored whole = scored_new(&c), parts = scored_new(&c);
        size_t bytes = (size_t)N * c.classes * sizeof(float);
        score(&c, N, &whole);
        for (uint32_t batch = 1; batch < N; batch += batch < 5 ? 1 : 13) {
            score(&c, batch, &parts);
            assert_memory_equal(whole.p, parts.p, bytes);
            assert_memory_equal(whole.acc, parts.acc, bytes);
            assert_memory_equal(whole.fair, parts.fair, bytes);
        }
        scored_free(&whole);
        scored_free(&parts);
        random_case_done(&c);
    }
}

static void sure_model_keeps_the_sign(void **state)
{
    (void)state;
    /* Logits (a, 0) with a growing until p_1 is tiny: infl_0 = -p_1 (s_1 - s_0) never loses its
     * sign or its first digits. */
    struct fis_shape shape;
    assert_int_equal(fis_shape_init(&shape, 1, NULL, 0, 2, NULL), 0);
    float w[4] = {1, 0, 0, 0}, g[4] = {.3f, .7f, .1f, -.2f};
    const float *both[] = {g, g};
    struct fis_panel *panel = fis_panel_new(&shape, w, both, 2);
    struct fis_scratch *s = fis_scratch_new(&shape, 1, 2);
    assert_true(panel && s);
    for (float x = 1; x < 80; x += 3) {
        float p[2], acc[2], fair[2];
        double t = (double)g[1] * x + g[3] - (double)g[0] * x - g[2];
        double want = -t / (1 + exp((double)x));
        fis_influence_batch(panel, &x, 1, s, p, acc, fair);
        assert_true(fabs(acc[0] - want) <= 1e-4 * fabs(want));
    }
    fis_scratch_free(s);
    fis_panel_unref(panel);
}

static void huge_logits_stay_finite(void **state)
{
    (void)state;
    static const float logits[][3] = {
        {90, 2, -2}, {1e4f, 0, 0}, {-1e4f, -1e4f, -1e4f}, {3e38f, -3e38f, 0}};
    struct fis_shape shape;
    assert_int_equal(fis_shape_init(&shape, 1, NULL, 0, 3, NULL), 0);
    struct fis_scratch *s = fis_scratch_new(&shape, 1, 2);
    assert_non_null(s);
    for (int i = 0; i < 4; i++) { /* the biases are the logits */
        float w[6] = {0, 0, 0}, g[6] = {1, -2, 3, .5f, 0, -1}, x = 2, p[3], acc[3], fair[3];
        const float *both[] = {g, g};
        double sum = 0;
        memcpy(w + 3, logits[i], sizeof logits[i]);
        struct fis_panel *panel = fis_panel_new(&shape, w, both, 2);
        assert_non_null(panel);
        fis_influence_batch(panel, &x, 1, s, p, acc, fair);
        for (int k = 0; k < 3; k++) {
            assert_true(isfinite(p[k]) && isfinite(acc[k]) && isfinite(fair[k]));
            sum += p[k];
        }
        assert_true(fabs(sum - 1) < 1e-6);
        fis_panel_unref(panel);
    }
    fis_scratch_free(s);
}

/* A row that overflows spoils no other row of its batch. */
static void bad_row_stays_alone(void **state)
{
    (void)state;
    struct random_case c;
    assert_int_equal(random_case_init(&c, 4, 2, 3, 2, N), 0);
    struct scored clean = scored_new(&c), dirty = scored_new(&c);
    score(&c, N, &clean);
    for (uint32_t j = 0; j < c.d; j++)
        c.x[7 * c.d + j] = j & 1 ? 3e38f : NAN;
    score(&c, N, &dirty);
    for (uint32_t r = 0; r < N; r++)
        for (uint32_t k = 0; k < 3 && r != 7; k++)
            assert_true(clean.acc[3 * r + k] == dirty.acc[3 * r + k]);
    assert_true(isnan(dirty.acc[21]));
    scored_free(&clean);
    scored_free(&dirty);
    random_case_done(&c);
}

static void scoring_does_not_allocate(void **state)
{
    (void)state;
    struct random_case c;
    assert_int_equal(random_case_init(&c, 2, 2, 3, 2, N), 0);
    struct scored out = scored_new(&c);
    float *tangents = fis_alloc(2 * N * 3, sizeof *tangents);
    float *gradient = fis_calloc(c.params, sizeof *gradient);
    struct fis_panel *panel = panel_of(&c);
    struct fis_scratch *s = fis_scratch_new(&c.shape, N, 2);
    assert_true(tangents && gradient && s);
    uint64_t seam = 0, all = 0;
    for (int round = 0; round < 20; round++) {
        if (round == 1) { /* OpenBLAS takes its buffers at its first call */
            seam = fis_mem_count();
            all = mallocs;
        }
        fis_influence_batch(panel, c.x, N, s, out.p, out.acc, out.fair);
        fis_panel_tangents(panel, c.x, N, s, out.p, tangents);
        fis_network_forward(&c.shape, c.w, c.x, N, s, out.p);
        fis_network_backward(&c.shape, c.w, c.x, N, s, out.p, gradient);
    }
    assert_int_equal(fis_mem_count(), seam);
    assert_int_equal(mallocs, all);
#ifdef COUNTS_MALLOC
    assert_true(all > 0);
#endif
    fis_free(tangents);
    fis_free(gradient);
    fis_scratch_free(s);
    fis_panel_unref(panel);
    scored_free(&out);
    random_case_done(&c);
}

static void naive_out_of_memory(void **state)
{
    (void)state;
    struct random_case c;
    struct fis_error e;
    double a[3], f[3];
    assert_int_equal(random_case_init(&c, 2, 2, 3, 2, N), 0);
    fis_mem_refuse_after(0);
    int rc = fis_influence_naive(&c.shape, c.w, c.x, c.g_acc, c.g_fair, a, f, &e);
    fis_mem_refuse_after(UINT64_MAX);
    assert_int_equal(rc, -FIS_NOMEM);
    assert_int_equal(e.kind, FIS_NOMEM);
    random_case_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_naive_twin),
        cmocka_unit_test(expected_influence_is_zero),
        cmocka_unit_test(strategies_agree_for_two_classes),
        cmocka_unit_test(proxy_takes_first_of_equals),
        cmocka_unit_test(batch_size_changes_no_bit),
        cmocka_unit_test(sure_model_keeps_the_sign),
        cmocka_unit_test(huge_logits_stay_finite),
        cmocka_unit_test(bad_row_stays_alone),
        cmocka_unit_test(scoring_does_not_allocate),
        cmocka_unit_test(naive_out_of_memory),
    };
    return cmocka_run_group_tests_name("core/influence", tests, NULL, NULL);
}
