#include <math.h>
#include "kit/cmocka.h"

#include "kit/core/random_case.h"

#define N 150u /* two whole tiles and a part */

static void close_to(double a, double b, double scale, const char *what)
{
    if (!(fabs(a - b) <= 2e-5 * (fabs(b) + scale)))
        fail_msg("%s: %.9g, expected %.9g", what, a, b);
}

static void shape_limits(void **state)
{
    (void)state;
    struct fis_shape s;
    struct fis_error e;
    uint32_t hidden[9] = {4, 4, 4, 4, 4, 4, 4, 4, 4}, zero[1] = {0}, wide[1] = {UINT32_MAX};
    assert_int_equal(fis_shape_init(&s, 7, hidden, 7, 64, &e), 0);
    assert_int_equal(s.n_layers, 8);
    assert_int_equal(fis_shape_params(&s), 8 * 4 + 6 * 5 * 4 + 5 * 64);
    assert_int_equal(fis_shape_offset(&s, 1), 32);
    memset(&s, 0x5a, sizeof s);
    struct fis_shape before = s;
    assert_int_equal(fis_shape_init(&s, 7, hidden, 8, 2, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "8 hidden layers, at most 7"));
    assert_int_equal(fis_shape_init(&s, 0, hidden, 1, 2, &e), -FIS_INPUT);
    assert_int_equal(fis_shape_init(&s, 7, zero, 1, 2, &e), -FIS_INPUT);
    assert_int_equal(fis_shape_init(&s, 7, wide, 1, 2, &e), -FIS_INPUT);
    assert_int_equal(fis_shape_init(&s, 7, hidden, 1, 1, &e), -FIS_INPUT);
    assert_int_equal(fis_shape_init(&s, 7, hidden, 1, 65, NULL), -FIS_INPUT);
    assert_memory_equal(&s, &before, sizeof s); /* written on success only */
}

static void init_is_lecun(void **state)
{
    (void)state;
    struct fis_shape s;
    struct fis_rng rng, again;
    uint32_t hidden = 100;
    assert_int_equal(fis_shape_init(&s, 50, &hidden, 1, 2, NULL), 0);
    float *w = fis_alloc(fis_shape_params(&s), sizeof *w);
    float *v = fis_alloc(fis_shape_params(&s), sizeof *v);
    assert_true(w && v);
    fis_rng_seed(&rng, 3, 0);
    again = rng;
    fis_network_init(&s, w, &rng);
    fis_network_init(&s, v, &again);
    assert_memory_equal(w, v, fis_shape_params(&s) * sizeof *w);
    double square = 0, top = 0;
    for (int i = 0; i < 5000; i++) {
        square += (double)w[i] * w[i];
        top = fmax(top, fabs((double)w[i]));
    }
    assert_true(fabs(square / 5000 * 50 - 1) < .05);
    assert_true(top <= 2 / .8796 / sqrt(50) + 1e-6);
    for (int i = 5000; i < 5100; i++)
        assert_true(w[i] == 0);
    fis_free(w);
    fis_free(v);
}

/* Logits and tangents of the fast path against the twin in double. */
static void tangents_equal_twin(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RANDOM_CASES; i++) {
        struct random_case c;
        assert_int_equal(random_case_number(&c, i, N), 0);
        const float *g[] = {c.g_acc, c.g_fair};
        struct fis_panel *p = fis_panel_new(&c.shape, c.w, g, 2);
        struct fis_scratch *s = fis_scratch_new(&c.shape, N, 2);
        float *logits = fis_alloc(N * c.classes, sizeof *logits);
        float *plain = fis_alloc(N * c.classes, sizeof *plain);
        float *t = fis_alloc(2 * N * c.classes, sizeof *t);
        assert_true(p && s && logits && plain && t);
        fis_panel_tangents(p, c.x, N, s, logits, t);
        fis_network_forward(&c.shape, c.w, c.x, N, s, plain);
        uint32_t checked = 0;
        for (uint32_t r = 0; r < N; r++)
            for (uint32_t which = 0; which < 2; which++) {
                const double h = 1e-6;
                double up[64], down[64], mid[64];
                uint64_t kinks[2] = {0, 0};
                const float *x = c.x + (size_t)r * c.d;
                twin_logits(&c, g[which], h, x, up, &kinks[0]);
                twin_logits(&c, g[which], -h, x, down, &kinks[1]);
                twin_logits(&c, NULL, 0, x, mid, NULL);
                for (uint32_t k = 0; k < c.classes; k++) {
                    size_t at = (size_t)r * c.classes + k;
                    close_to(logits[at], mid[k], 1, "logit");
                    close_to(plain[at], mid[k], 1, "plain logit");
                    if (kinks[0] == kinks[1])
                        close_to(t[which * N * c.classes + at], (up[k] - down[k]) / (2 * h), 10,
                                 "tangent");
                }
                checked += kinks[0] == kinks[1];
            }
        assert_true(checked > 2 * N * 9 / 10);
        fis_free(logits);
        fis_free(plain);
        fis_free(t);
        fis_scratch_free(s);
        fis_panel_unref(p);
        random_case_done(&c);
    }
}

/* Backward is the transpose of the tangent: <gradient, G> = sum dlogits . tangent. */
static void backward_is_transpose_of_tangent(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RANDOM_CASES; i++) {
        struct random_case c;
        assert_int_equal(random_case_number(&c, i, N), 0);
        uint32_t m = N * c.classes;
        const float *g[] = {c.g_acc};
        struct fis_panel *p = fis_panel_new(&c.shape, c.w, g, 1);
        struct fis_scratch *s = fis_scratch_new(&c.shape, N, 1);
        float *logits = fis_alloc(m, sizeof *logits), *t = fis_alloc(m, sizeof *t);
        float *dl = fis_alloc(m, sizeof *dl), *grad = fis_calloc(c.params, sizeof *grad);
        assert_true(p && s && logits && t && dl && grad);
        double left = 0, right = 0, size = 0;
        fis_panel_tangents(p, c.x, N, s, logits, t);
        fis_network_forward(&c.shape, c.w, c.x, N, s, logits);
        for (uint32_t j = 0; j < m; j++) {
            dl[j] = random_normal(&c.rng, 1);
            right += (double)dl[j] * t[j];
        }
        fis_network_backward(&c.shape, c.w, c.x, N, s, dl, grad);
        for (size_t j = 0; j < c.params; j++) {
            left += (double)grad[j] * c.g_acc[j];
            size += fabs((double)grad[j] * c.g_acc[j]);
        }
        close_to(left, right, size, "transpose");
        fis_network_backward(&c.shape, c.w, c.x, N, s, dl, grad); /* adds */
        double twice = 0;
        for (size_t j = 0; j < c.params; j++)
            twice += (double)grad[j] * c.g_acc[j];
        close_to(twice, 2 * left, size, "second backward adds");
        fis_free(logits);
        fis_free(t);
        fis_free(dl);
        fis_free(grad);
        fis_scratch_free(s);
        fis_panel_unref(p);
        random_case_done(&c);
    }
}

/* Zero lower layers take the short way; the results must be those of the long one. */
static void sparse_directions(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RANDOM_CASES; i++) {
        struct random_case c;
        assert_int_equal(random_case_number(&c, i, N), 0);
        uint32_t m = N * c.classes, last = c.shape.n_layers - 1, cut = i / 4 % c.shape.n_layers;
        float *zero = fis_calloc(c.params, sizeof *zero), *dust = fis_alloc(c.params, sizeof *dust);
        memset(c.g_fair, 0, fis_shape_offset(&c.shape, last) * sizeof *c.g_fair);
        memset(c.g_acc, 0, fis_shape_offset(&c.shape, cut) * sizeof *c.g_acc);
        /* The same with a first element that is not zero but counts for nothing. */
        memcpy(dust, c.g_fair, c.params * sizeof *dust);
        if (last)
            dust[0] = 1e-30f;
        const float *g[] = {c.g_fair, zero, dust, c.g_acc};
        struct fis_panel *p = fis_panel_new(&c.shape, c.w, g, 4), *one;
        struct fis_scratch *s = fis_scratch_new(&c.shape, N, 4);
        float *logits = fis_alloc(m, sizeof *logits), *t = fis_alloc(4 * m, sizeof *t);
        float *alone = fis_alloc(m, sizeof *alone);
        assert_true(zero && p && s && logits && t && alone);
        fis_panel_tangents(p, c.x, N, s, logits, t);
        for (uint32_t j = 0; j < m; j++) {
            assert_true(t[m + j] == 0);
            close_to(t[j], t[2 * m + j], 1, "last layer alone");
        }
        one = fis_panel_new(&c.shape, c.w, &g[3], 1);
        assert_non_null(one);
        fis_panel_tangents(one, c.x, N, s, logits, alone);
        for (uint32_t j = 0; j < m; j++)
            close_to(t[3 * m + j], alone[j], 1, "order of directions");
        fis_panel_unref(one);
        fis_panel_unref(p);
        fis_scratch_free(s);
        fis_free(zero);
        fis_free(dust);
        fis_free(logits);
        fis_free(t);
        fis_free(alone);
        random_case_done(&c);
    }
}

static void relu_does_not_hide_nan(void **state)
{
    (void)state;
    struct random_case c;
    assert_int_equal(random_case_init(&c, 1, 2, 3, 2, 10), 0);
    const float *g[] = {c.g_acc};
    float logits[30], t[30];
    c.w[0] = NAN;
    struct fis_panel *p = fis_panel_new(&c.shape, c.w, g, 1);
    struct fis_scratch *s = fis_scratch_new(&c.shape, 10, 1);
    assert_true(p && s);
    fis_network_forward(&c.shape, c.w, c.x, 10, s, logits);
    assert_true(isnan(logits[0]));
    fis_panel_tangents(p, c.x, 10, s, logits, t);
    assert_true(isnan(logits[0]));
    assert_int_equal(fis_panel_shape(p)->n_layers, 3);
    fis_scratch_free(s);
    fis_panel_unref(fis_panel_ref(p));
    fis_panel_unref(p);
    fis_panel_unref(NULL);
    fis_scratch_free(NULL);
    random_case_done(&c);
}

static void out_of_memory(void **state)
{
    (void)state;
    struct random_case c;
    assert_int_equal(random_case_init(&c, 1, 2, 3, 2, 10), 0);
    const float *g[] = {c.g_acc, c.g_fair};
    struct fis_panel *p = NULL;
    struct fis_scratch *s = NULL;
    uint64_t refused = 0;
    for (uint64_t n = 0; !p; n++, refused++) {
        fis_mem_refuse_after(n);
        p = fis_panel_new(&c.shape, c.w, g, 2);
    }
    for (uint64_t n = 0; !s; n++, refused++) {
        fis_mem_refuse_after(n);
        s = fis_scratch_new(&c.shape, 10, 2);
    }
    fis_mem_refuse_after(UINT64_MAX);
    assert_true(refused >= 4 && refused < 20);
    fis_panel_unref(p);
    fis_scratch_free(s);
    random_case_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape_limits),        cmocka_unit_test(init_is_lecun),
        cmocka_unit_test(tangents_equal_twin), cmocka_unit_test(backward_is_transpose_of_tangent),
        cmocka_unit_test(sparse_directions),   cmocka_unit_test(relu_does_not_hide_nan),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("core/network", tests, NULL, NULL);
}
