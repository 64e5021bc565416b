#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fis/loss.h"
#include "fis/rng.h"

static void check_sum(const float *p, uint32_t k)
{
    double sum = 0;
    for (uint32_t i = 0; i < k; i++) {
        assert_true(p[i] >= 0 && p[i] <= 1);
        sum += p[i];
    }
    assert_true(fabs(sum - 1) < 1e-6 * k);
}

static void huge_logits_stay_finite(void **state)
{
    (void)state;
    static const struct {
        uint32_t classes;
        float f[3];
        double loss[3];
    } cases[] = {{3, {90, 2, -2}, {0, 88, 92}},
                 {2, {1e4f, 0}, {0, 1e4}},
                 {2, {-1e4f, -1e4f}, {0.693147180559945, 0.693147180559945}},
                 {2, {3e38f, -3e38f}, {0, 2 * (double)3e38f}},
                 {2, {-FLT_MAX, FLT_MAX}, {2 * (double)FLT_MAX, 0}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t classes = cases[i].classes;
        float p[3], d[3];
        fis_softmax(cases[i].f, 1, classes, p);
        check_sum(p, classes);
        for (uint32_t y = 0; y < classes; y++) {
            double loss = fis_cross_entropy(cases[i].f, &y, NULL, 1, classes, d), sum = 0;
            assert_true(isfinite(loss));
            assert_true(fabs(loss - cases[i].loss[y]) <= 1e-12 * cases[i].loss[y] + 1e-12);
            for (uint32_t k = 0; k < classes; k++) {
                assert_true(isfinite(d[k]) && fabsf(d[k]) <= 1);
                sum += d[k];
            }
            assert_true(fabs(sum) < 1e-6);
        }
    }
}

static void nan_in_nan_out(void **state)
{
    (void)state;
    float f[3][2] = {{NAN, 0}, {0, NAN}, {INFINITY, 0}}, p[2];
    uint32_t y = 0;
    for (int i = 0; i < 3; i++) {
        fis_softmax(f[i], 1, 2, p);
        assert_true(isnan(p[0]) || isnan(p[1]));
        y = i != 0;
        assert_true(isnan(fis_cross_entropy(f[i], &y, NULL, 1, 2, NULL)));
    }
}

static void softmax_in_place(void **state)
{
    (void)state;
    float f[] = {1, 2, 3, -1, 0, 1}, p[6];
    fis_softmax(f, 2, 3, p);
    fis_softmax(f, 2, 3, f);
    for (int i = 0; i < 6; i++)
        assert_true(f[i] == p[i]);
    for (int i = 0; i < 3; i++) /* shifting all logits changes nothing */
        assert_true(fabsf(p[i] - p[i + 3]) < 1e-7f);
    check_sum(p, 3);
}

/* Gradients against central differences; float logits move by exact powers of two. */
static void gradient_is_finite_difference(void **state)
{
    (void)state;
    struct fis_rng rng;
    for (uint64_t seed = 0; seed < 20; seed++) {
        enum { ROWS = 7 };
        uint32_t classes = seed % 3 == 0 ? 2 : seed % 3 == 1 ? 3 : 10, y[ROWS];
        float f[ROWS * 10], v[ROWS], d[ROWS * 10];
        fis_rng_seed(&rng, seed, 1);
        for (uint32_t i = 0; i < ROWS; i++) {
            y[i] = fis_rng_below(&rng, classes);
            v[i] = i == 3 ? 0 : (float)fis_rng_unit(&rng);
        }
        for (uint32_t i = 0; i < ROWS * classes; i++)
            f[i] = (float)(fis_rng_below(&rng, 4096)) / 512 - 4;
        const float *weights = seed & 1 ? v : NULL;
        (void)fis_cross_entropy(f, y, weights, ROWS, classes, d);
        for (uint32_t i = 0; i < ROWS * classes; i++) {
            const float h = 0x1p-10f;
            float was = f[i];
            f[i] = was + h;
            double up = fis_cross_entropy(f, y, weights, ROWS, classes, NULL);
            f[i] = was - h;
            double down = fis_cross_entropy(f, y, weights, ROWS, classes, NULL);
            f[i] = was;
            assert_true(fabs((up - down) / (2 * (double)h) - d[i]) < 2e-7);
        }
    }
}

static void weights_and_empty(void **state)
{
    (void)state;
    float f[] = {1, 0, 0, 2}, none[] = {0, 0}, first[] = {3, 0}, d[4] = {9, 9, 9, 9};
    uint32_t y[] = {0, 0};
    double one = fis_cross_entropy(f, y, NULL, 1, 2, NULL);
    assert_true(fabs(fis_cross_entropy(f, y, first, 2, 2, d) - one) < 1e-15);
    assert_true(d[2] == 0 && d[3] == 0);
    assert_true(fis_cross_entropy(f, y, none, 2, 2, d) == 0);
    for (int i = 0; i < 4; i++)
        assert_true(d[i] == 0);
    assert_true(fis_cross_entropy(f, y, NULL, 0, 2, NULL) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(huge_logits_stay_finite), cmocka_unit_test(nan_in_nan_out),
        cmocka_unit_test(softmax_in_place),        cmocka_unit_test(gradient_is_finite_difference),
        cmocka_unit_test(weights_and_empty),
    };
    return cmocka_run_group_tests_name("core/loss", tests, NULL, NULL);
}
