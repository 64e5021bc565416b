#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "fis/fairness.h"
#include "fis/loss.h"

#define N 90u

struct labelled {
    uint32_t classes, groups, y[N], g[N];
    float f[N * 10];
};

/* Every cell has rows; logits on a grid of 1/512, so that steps of a power of two are exact. */
static void make(struct labelled *c, uint64_t seed, uint32_t classes, uint32_t groups)
{
    struct fis_rng rng;
    fis_rng_seed(&rng, seed, classes * 10 + groups);
    c->classes = classes;
    c->groups = groups;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t cell = i < classes * groups ? i : fis_rng_below(&rng, classes * groups);
        c->y[i] = cell % classes;
        c->g[i] = cell / classes;
        for (uint32_t k = 0; k < classes; k++) {
            double lift = (k == c->y[i]) + .5 * ((k + c->g[i]) % 3 == 0);
            c->f[i * classes + k] = (float)(fis_rng_below(&rng, 1024) / 512.0 - 1 + lift);
        }
    }
}

static double phi_of(const struct fis_surrogate *s, const struct labelled *c, float *d)
{
    double phi;
    assert_int_equal(
        fis_surrogate_eval(s, c->f, c->y, c->g, N, c->classes, c->groups, &phi, d, NULL), 0);
    return phi;
}

static void check_gradient(const struct fis_surrogate *s, struct labelled *c)
{
    float d[N * 10];
    double top = 0;
    assert_true(phi_of(s, c, d) > 0);
    for (uint32_t i = 0; i < N * c->classes; i++)
        top = fmax(top, fabs((double)d[i]));
    assert_true(top > 0);
    for (uint32_t i = 0; i < N * c->classes; i++) {
        /* Two step sizes, extrapolated: the error is of fourth order in the step. */
        double slope[2];
        float was = c->f[i];
        for (int j = 0; j < 2; j++) {
            float h = j ? 0x1p-6f : 0x1p-5f;
            c->f[i] = was + h;
            double up = phi_of(s, c, NULL);
            c->f[i] = was - h;
            slope[j] = (up - phi_of(s, c, NULL)) / (2 * (double)h);
        }
        c->f[i] = was;
        double want = (4 * slope[1] - slope[0]) / 3;
        if (!(fabs(d[i] - want) <= 2e-5 * top))
            fail_msg("metric %d form %d K %u M %u: d[%u] = %.9g, differences say %.9g",
                     (int)s->metric, (int)s->form, c->classes, c->groups, i, (double)d[i], want);
    }
}

static void gradients_are_finite_differences(void **state)
{
    (void)state;
    static const uint32_t classes[] = {2, 3, 10}, groups[] = {2, 3, 5};
    for (int m = FIS_DEMOGRAPHIC_PARITY; m <= FIS_RISK_DISPARITY; m++)
        for (int form = FIS_GAP_PAIRS; form <= FIS_GAP_OVERALL; form++)
            for (uint32_t j = 0; j < 18; j++) {
                struct labelled c;
                make(&c, j, classes[j % 3], groups[j / 3 % 3]);
                struct fis_surrogate s = {(enum fis_metric)m, (enum fis_gap_form)form, j & 1,
                                          j < 9 ? 1 : 0};
                check_gradient(&s, &c);
            }
}

/* Means straight from the definition, in double. */
static double mean_p(const struct labelled *c, uint32_t k, int group, int part)
{
    double sum = 0, rows = 0;
    for (uint32_t i = 0; i < N; i++) {
        double z = 0;
        int same = c->y[i] == k;
        if ((group >= 0 && c->g[i] != (uint32_t)group) || (part == 1 && !same) ||
            (part == 2 && same))
            continue;
        for (uint32_t j = 0; j < c->classes; j++)
            z += exp((double)c->f[i * c->classes + j] - (double)c->f[i * c->classes + k]);
        sum += 1 / z;
        rows++;
    }
    return sum / rows;
}

static double expected_phi(const struct fis_surrogate *s, const struct labelled *c)
{
    double phi = 0;
    int pairs = s->form == FIS_GAP_PAIRS || c->groups == 2, dp = s->metric == 1;
    int from = dp ? 0 : 1, to = dp ? 0 : s->metric == FIS_EQUALIZED_ODDS ? 2 : 1;
    double scale = dp && pairs ? 1.0 / (c->groups * (c->groups - 1) * c->classes) : 1;
    for (int part = from; part <= to; part++)
        for (uint32_t k = 0; k < c->classes; k++) {
            if (!dp && c->classes == 2 && k != s->positive)
                continue;
            for (int i = 0; i < (int)c->groups; i++)
                for (int j = pairs ? i + 1 : -1; j < (pairs ? (int)c->groups : 0); j++)
                    phi += pow(scale * (mean_p(c, k, i, part) - mean_p(c, k, j, part)), 2) / 2;
        }
    return phi;
}

static void phi_is_its_definition(void **state)
{
    (void)state;
    static const uint32_t classes[] = {2, 3, 10}, groups[] = {2, 3, 5};
    for (int m = FIS_DEMOGRAPHIC_PARITY; m <= FIS_EQUALIZED_ODDS; m++)
        for (int form = FIS_GAP_PAIRS; form <= FIS_GAP_OVERALL; form++)
            for (uint32_t j = 0; j < 18; j++) {
                struct labelled c;
                make(&c, 40 + j, classes[j % 3], groups[j / 3 % 3]);
                struct fis_surrogate s = {(enum fis_metric)m, (enum fis_gap_form)form, j & 1, 1};
                double want = expected_phi(&s, &c), phi = phi_of(&s, &c, NULL);
                assert_true(fabs(phi - want) <= 1e-10 * want);
            }
}

static void risk_is_its_definition(void **state)
{
    (void)state;
    struct labelled c;
    make(&c, 3, 3, 5);
    double sum[5] = {0}, rows[5] = {0}, all = 0, want = 0;
    for (uint32_t i = 0; i < N; i++) {
        double ce = fis_cross_entropy(c.f + 3 * i, c.y + i, NULL, 1, 3, NULL);
        sum[c.g[i]] += ce;
        rows[c.g[i]]++;
        all += ce / N;
    }
    for (int g = 0; g < 5; g++)
        want += pow(sum[g] / rows[g] - all, 2) / 2;
    for (int form = FIS_GAP_PAIRS; form <= FIS_GAP_OVERALL; form++) {
        struct fis_surrogate s = {FIS_RISK_DISPARITY, (enum fis_gap_form)form, 1, 1};
        assert_true(fabs(phi_of(&s, &c, NULL) - want) <= 1e-12);
    }
}

/* DP clips a mean at 1e-3: below it there is no pull. */
static void clipped_means_have_no_gradient(void **state)
{
    (void)state;
    struct labelled c;
    float d[N * 10];
    make(&c, 1, 2, 2);
    for (uint32_t i = 0; i < N; i++) {
        c.f[2 * i] = 20;
        c.f[2 * i + 1] = c.g[i] ? 0 : 1;
    }
    struct fis_surrogate s = {FIS_DEMOGRAPHIC_PARITY, FIS_GAP_PAIRS, 1, 1};
    assert_true(phi_of(&s, &c, d) < 1e-12);
    for (uint32_t i = 0; i < 2 * N; i++)
        assert_true(fabsf(d[i]) < 1e-9f);
}

/* One class clipped in one group only: renormalising then couples the other classes. */
static void clipped_class_in_one_group(void **state)
{
    (void)state;
    struct labelled c;
    make(&c, 1, 3, 2);
    for (uint32_t i = 0; i < N; i++)
        c.f[3 * i + 2] -= c.g[i] ? 0 : i ? 16 : 4; /* p = .02 in row 0, the mean under 1e-3 */
    struct fis_surrogate s = {FIS_DEMOGRAPHIC_PARITY, FIS_GAP_PAIRS, 1, 1};
    check_gradient(&s, &c);
}

static void refuses(enum fis_metric metric, struct labelled *c, uint32_t positive,
                    uint32_t min_cell, const char *text)
{
    struct fis_error e = {0};
    double phi = 7;
    struct fis_surrogate s = {metric, FIS_GAP_PAIRS, positive, min_cell};
    assert_int_equal(
        fis_surrogate_eval(&s, c->f, c->y, c->g, N, c->classes, c->groups, &phi, NULL, &e),
        -FIS_INPUT);
    assert_true(phi == 7);
    if (!strstr(e.text, text))
        fail_msg("\"%s\" does not say \"%s\"", e.text, text);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    struct labelled c;
    make(&c, 1, 3, 2);
    refuses((enum fis_metric)9, &c, 1, 0, "metric number 9");
    refuses(FIS_EQUAL_OPPORTUNITY, &c, 3, 0, "positive class 3, 0 to 2");
    c.y[4] = 3;
    refuses(FIS_EQUAL_OPPORTUNITY, &c, 1, 0, "row 4 has class 3, 0 to 2");
    c.y[4] = 0;
    c.g[5] = 2;
    refuses(FIS_EQUAL_OPPORTUNITY, &c, 1, 0, "row 5 has a group outside");
    c.g[5] = 0;
    c.groups = 1;
    refuses(FIS_DEMOGRAPHIC_PARITY, &c, 1, 0, "1 group,");
    struct fis_error e;
    assert_int_equal(fis_cells_check(FIS_DEMOGRAPHIC_PARITY, c.y, c.g, 0, 3, 2, 0, 1, &e),
                     -FIS_INPUT);
    assert_non_null(strstr(e.text, "no rows"));
}

static void small_cells_are_named(void **state)
{
    (void)state;
    struct labelled c;
    make(&c, 2, 2, 2);
    for (uint32_t i = 0; i < N; i++) { /* group 1: 12 rows of class 0, 18 of class 1 */
        c.g[i] = i < 30;
        c.y[i] = i >= 12;
    }
    for (uint32_t i = 60; i < N; i++)
        c.y[i] = 0;
    refuses(FIS_EQUALIZED_ODDS, &c, 1, 13, "group 1, class 0: 12 rows, 13 expected");
    refuses(FIS_EQUAL_OPPORTUNITY, &c, 1, 19, "group 1, class 1: 18 rows, 19 expected");
    refuses(FIS_DEMOGRAPHIC_PARITY, &c, 1, 31, "group 1: 30 rows, 31 expected");
    refuses(FIS_RISK_DISPARITY, &c, 1, 31, "group 1: 30 rows, 31 expected");
    struct fis_surrogate s = {FIS_EQUAL_OPPORTUNITY, FIS_GAP_PAIRS, 1, 18};
    (void)phi_of(&s, &c, NULL); /* class 0 is not looked at */
    assert_int_equal(fis_cells_check(FIS_EQUALIZED_ODDS, c.y, c.g, N, 2, 2, 1, 12, NULL), 0);
}

/* min_cell 0 is the paper's program: an empty cell counts as mean 0. */
static void empty_cells_count_as_zero(void **state)
{
    (void)state;
    struct labelled c;
    float d[N * 10];
    make(&c, 2, 2, 2);
    for (uint32_t i = 0; i < N; i++)
        c.y[i] = c.g[i] ? 0 : c.y[i]; /* no positives in group 1 */
    struct fis_surrogate s = {FIS_EQUAL_OPPORTUNITY, FIS_GAP_PAIRS, 1, 0};
    double mean = mean_p(&c, 1, 0, 1), phi = phi_of(&s, &c, d);
    assert_true(fabs(phi - mean * mean / 2) < 1e-5);
    for (uint32_t i = 0; i < N; i++)
        assert_true(c.y[i] == 1 ? d[2 * i] != 0 : d[2 * i] == 0);
}

static void huge_and_nan(void **state)
{
    (void)state;
    for (int m = FIS_DEMOGRAPHIC_PARITY; m <= FIS_RISK_DISPARITY; m++) {
        struct labelled c;
        float d[N * 10];
        make(&c, 2, 3, 3);
        struct fis_surrogate s = {(enum fis_metric)m, FIS_GAP_OVERALL, 1, 1};
        for (uint32_t i = 0; i < 3 * N; i++)
            c.f[i] = i % 7 == 0 ? 3e38f : i % 5 == 0 ? -3e38f : c.f[i] * 1e4f;
        double phi = phi_of(&s, &c, d);
        assert_true(isfinite(phi));
        for (uint32_t i = 0; i < 3 * N; i++)
            assert_true(m == FIS_RISK_DISPARITY || isfinite(d[i]));
        c.f[1] = NAN;
        assert_true(isnan(phi_of(&s, &c, NULL)));
    }
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(fis_metric_name(FIS_DEMOGRAPHIC_PARITY), "demographic_parity");
    assert_string_equal(fis_metric_name(FIS_EQUAL_OPPORTUNITY), "equal_opportunity");
    assert_string_equal(fis_metric_name(FIS_EQUALIZED_ODDS), "equalized_odds");
    assert_string_equal(fis_metric_name(FIS_RISK_DISPARITY), "risk_disparity");
    assert_string_equal(fis_metric_name((enum fis_metric)0), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_finite_differences),
        cmocka_unit_test(phi_is_its_definition),
        cmocka_unit_test(risk_is_its_definition),
        cmocka_unit_test(clipped_means_have_no_gradient),
        cmocka_unit_test(clipped_class_in_one_group),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(small_cells_are_named),
        cmocka_unit_test(empty_cells_count_as_zero),
        cmocka_unit_test(huge_and_nan),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests_name("core/fairness", tests, NULL, NULL);
}
