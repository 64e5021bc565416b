#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "fis/fairness.h"
#include "fis/loss.h"
#include "fis/mem.h"

#define N 2000u

struct predicted {
    uint32_t classes, groups, y[N], g[N], h[N];
    float f[N * 10];
};

static void make(struct predicted *c, uint64_t seed, uint32_t classes, uint32_t groups)
{
    struct fis_rng rng;
    fis_rng_seed(&rng, seed, 0);
    c->classes = classes;
    c->groups = groups;
    for (uint32_t i = 0; i < N; i++) {
        c->y[i] = fis_rng_below(&rng, classes);
        c->g[i] = fis_rng_below(&rng, groups);
        for (uint32_t k = 0; k < classes; k++)
            c->f[i * classes + k] =
                (float)(fis_rng_normal(&rng) + (k == c->y[i]) * (1 + .7 * c->g[i]));
    }
    fis_predict(c->f, N, classes, c->h);
}

/* Share of `what` among the rows of group g (any: -1) that `of` lets through; by plain counting. */
enum of { EVERY, LABEL_IS, LABEL_IS_NOT };
static double share(const struct predicted *c, int g, enum of of, uint32_t k)
{
    double hits = 0, rows = 0;
    for (uint32_t i = 0; i < N; i++) {
        int is = c->y[i] == k;
        if ((g >= 0 && c->g[i] != (uint32_t)g) || (of == LABEL_IS && !is) ||
            (of == LABEL_IS_NOT && is))
            continue;
        rows++;
        hits += c->h[i] == k;
    }
    return hits / rows;
}

static double widest(const struct predicted *c, enum of of, uint32_t from, uint32_t to)
{
    double gap = 0;
    for (uint32_t k = from; k < to; k++)
        for (int i = 0; i < (int)c->groups; i++)
            for (int j = 0; j < i; j++)
                gap = fmax(gap, fabs(share(c, i, of, k) - share(c, j, of, k)));
    return gap;
}

static void eval(const struct predicted *c, uint32_t positive, struct fis_metrics *m)
{
    fis_metrics_eval(c->h, c->f, c->y, c->g, NULL, N, c->classes, c->groups, positive, m);
}

static void equal(double a, double b)
{
    if (!(fabs(a - b) <= 1e-12))
        fail_msg("%.15g, expected %.15g", a, b);
}

static void are_their_definitions(void **state)
{
    (void)state;
    static struct predicted c;
    static const uint32_t classes[] = {2, 3, 10}, groups[] = {2, 3, 5};
    for (uint32_t i = 0; i < 9; i++) {
        struct fis_metrics m;
        uint32_t positive = i & 1;
        make(&c, i, classes[i % 3], groups[i / 3]);
        eval(&c, positive, &m);
        uint32_t from = c.classes == 2 ? positive : 0;
        uint32_t to = c.classes == 2 ? positive + 1 : c.classes;
        double tpr = widest(&c, LABEL_IS, from, to), fpr = widest(&c, LABEL_IS_NOT, from, to);
        equal(m.demographic_parity, widest(&c, EVERY, from, to));
        equal(m.equal_opportunity, tpr);
        equal(m.equalized_odds, (tpr + fpr) / 2);
        equal(m.equalized_odds_max, fmax(tpr, fpr));
        double recall = 0, hits = 0;
        for (uint32_t k = 0; k < c.classes; k++) {
            equal(m.recall[k], share(&c, -1, LABEL_IS, k));
            recall += m.recall[k] / c.classes;
        }
        for (uint32_t r = 0; r < N; r++)
            hits += c.h[r] == c.y[r];
        equal(m.balanced_accuracy, recall);
        equal(m.accuracy, hits / N);
        assert_int_equal(m.predicted_classes, c.classes);
        equal(fis_metrics_of(&m, FIS_DEMOGRAPHIC_PARITY), m.demographic_parity);
        equal(fis_metrics_of(&m, FIS_EQUAL_OPPORTUNITY), m.equal_opportunity);
        equal(fis_metrics_of(&m, FIS_EQUALIZED_ODDS), m.equalized_odds);
        equal(fis_metrics_of(&m, FIS_RISK_DISPARITY), m.risk_disparity);
        assert_true(isnan(fis_metrics_of(&m, (enum fis_metric)0)));
    }
}

static void risk_is_its_definition(void **state)
{
    (void)state;
    static struct predicted c;
    struct fis_metrics m;
    double sum[3] = {0}, rows[3] = {0}, all, gap = 0;
    make(&c, 5, 3, 3);
    eval(&c, 1, &m);
    all = fis_cross_entropy(c.f, c.y, NULL, N, 3, NULL);
    for (uint32_t i = 0; i < N; i++) {
        sum[c.g[i]] += fis_cross_entropy(c.f + 3 * i, c.y + i, NULL, 1, 3, NULL);
        rows[c.g[i]]++;
    }
    for (int g = 0; g < 3; g++)
        gap = fmax(gap, fabs(sum[g] / rows[g] - all));
    assert_true(gap > 0);
    equal(m.risk_disparity, gap);
}

/* A constant prediction must look like one, not like a fair and accurate model. */
static void constant_prediction_shows(void **state)
{
    (void)state;
    uint32_t h[8] = {0}, y[8] = {0, 0, 0, 0, 0, 0, 0, 1}, g[8] = {0, 1, 0, 1, 0, 1, 0, 1};
    struct fis_metrics m;
    fis_metrics_eval(h, NULL, y, g, NULL, 8, 2, 2, 1, &m);
    assert_int_equal(m.predicted_classes, 1);
    equal(m.accuracy, .875);
    equal(m.balanced_accuracy, .5);
    equal(m.recall[0], 1);
    equal(m.recall[1], 0);
    equal(m.demographic_parity, 0);
    assert_true(isnan(m.equal_opportunity)); /* group 0 has no positives: not estimable, not 0 */
    assert_true(isnan(m.equalized_odds) && isnan(m.equalized_odds_max));
    assert_true(isnan(m.group[0].tpr) && m.group[1].tpr == 0);
}

static void empty_cells_are_not_estimable(void **state)
{
    (void)state;
    uint32_t h[4] = {0, 1, 0, 1}, y[4] = {0, 1, 1, 0}, g[4] = {0, 0, 2, 2};
    float f[8] = {1, 0, 0, 1, 1, 0, 0, 1};
    struct fis_metrics m;
    fis_metrics_eval(h, f, y, g, NULL, 4, 2, 3, 1, &m);
    assert_true(isnan(m.demographic_parity) && isnan(m.equal_opportunity));
    assert_true(isnan(m.risk_disparity) && isnan(m.group[1].accuracy));
    assert_int_equal(m.group[1].n, 0);
    equal(m.accuracy, .5);
    for (int i = 0; i < 4; i++)
        y[i] = 0;
    fis_metrics_eval(h, f, y, g, NULL, 4, 2, 3, 1, &m);
    assert_true(isnan(m.recall[1]));
    equal(m.balanced_accuracy, m.recall[0]); /* over the classes that occur */
    fis_metrics_eval(h, f, y, g, NULL, 0, 2, 3, 1, &m);
    assert_true(isnan(m.accuracy) && isnan(m.balanced_accuracy) && isnan(m.demographic_parity));
}

static void rows_select(void **state)
{
    (void)state;
    uint32_t h[4] = {0, 1, 1, 1}, y[4] = {0, 1, 0, 0}, g[4] = {0, 1, 0, 1},
             rows[] = {0, 1, 1, 0, 3};
    struct fis_metrics m;
    fis_metrics_eval(h, NULL, y, g, rows, 5, 2, 2, 1, &m);
    equal(m.accuracy, .8);
    assert_int_equal(m.n, 5);
    assert_int_equal(m.group[1].n, 3);
    equal(m.group[1].fpr, 1);
    equal(m.group[0].positive_rate, 0);
}

static void predict_takes_first_of_equals(void **state)
{
    (void)state;
    float f[] = {1, 3, 3, 0, 0, 0, -5, -3e38f, 2};
    uint32_t h[3];
    fis_predict(f, 3, 3, h);
    assert_int_equal(h[0], 1);
    assert_int_equal(h[1], 0);
    assert_int_equal(h[2], 2);
}

/* NaN logits leave accuracy alone but never give a finite risk. */
static void nan_logits_give_nan_risk(void **state)
{
    (void)state;
    static struct predicted c;
    struct fis_metrics m;
    make(&c, 5, 3, 3);
    c.f[12] = NAN;
    eval(&c, 1, &m);
    assert_true(isnan(m.risk_disparity));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_their_definitions),
        cmocka_unit_test(risk_is_its_definition),
        cmocka_unit_test(constant_prediction_shows),
        cmocka_unit_test(empty_cells_are_not_estimable),
        cmocka_unit_test(rows_select),
        cmocka_unit_test(predict_takes_first_of_equals),
        cmocka_unit_test(nan_logits_give_nan_risk),
    };
    return cmocka_run_group_tests_name("core/metrics", tests, NULL, NULL);
}
