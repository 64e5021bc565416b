#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "fis/loss.h"
#include "lab/noise_matrix.h"
#include "lab/noise_model.h"

static struct fis_error e;

static int is_near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance;
}

/* ---- rows whose probabilities are calibrated ------------------------------------------------ */

#define BIG 60000u
#define MOST 3u

/* Classes follow p, groups group_p, and both what a row looks like; labels and groups as they are,
 * and as they are reported. */
static struct {
    uint32_t classes, groups;
    float logits[BIG * MOST], p[BIG * MOST], group_p[BIG * MOST];
    uint32_t y[BIG], group[BIG], reported_y[BIG], reported_group[BIG];
    double t[MOST * MOST], t_groups[MOST * MOST];
} big;

static uint32_t draw(struct fis_rng *rng, const float *p, uint32_t n)
{
    double u = fis_rng_unit(rng);
    for (uint32_t k = 0; k + 1 < n; k++) {
        if (u < (double)p[k])
            return k;
        u -= (double)p[k];
    }
    return n - 1;
}

static uint32_t tell(struct fis_rng *rng, const double *t, uint32_t value, uint32_t n)
{
    float row[MOST];
    for (uint32_t k = 0; k < n; k++)
        row[k] = (float)t[value * n + k];
    return draw(rng, row, n);
}

static void make_rows(uint32_t n, uint32_t classes, uint32_t groups, double label_noise,
                      double group_noise)
{
    struct fis_rng rng;
    fis_rng_seed(&rng, 4, classes * 10 + groups);
    big.classes = classes;
    big.groups = groups;
    lab_noise_uniform(classes, label_noise, big.t);
    lab_noise_uniform(groups, group_noise, big.t_groups);
    for (uint32_t i = 0; i < n; i++) {
        float *g = big.group_p + (size_t)i * groups, *f = big.logits + (size_t)i * classes;
        for (uint32_t j = 0; j < groups; j++)
            g[j] = (float)(2 * fis_rng_normal(&rng));
        fis_softmax(g, 1, groups, g);
        big.group[i] = draw(&rng, g, groups);
        for (uint32_t k = 0; k < classes; k++)
            f[k] = (float)(1.5 * fis_rng_normal(&rng));
        f[0] += 2 * g[0]; /* given x, class and group have nothing to do with each other */
        fis_softmax(f, 1, classes, big.p + (size_t)i * classes);
        big.y[i] = draw(&rng, big.p + (size_t)i * classes, classes);
        big.reported_y[i] = tell(&rng, big.t, big.y[i], classes);
        big.reported_group[i] = tell(&rng, big.t_groups, big.group[i], groups);
    }
}

static struct lab_noise_model plain_model(enum fis_metric metric)
{
    static double cells[MOST * MOST * MOST];
    return (struct lab_noise_model){.classes = big.classes,
                                    .groups = big.groups,
                                    .confidence = .9,
                                    .cells = cells,
                                    .surrogate = {metric, FIS_GAP_OVERALL, big.classes - 1, 1}};
}

/* ---- matrices ------------------------------------------------------------------------------- */

static void an_inverse_inverts(void **state)
{
    double t[9] = {.8, .15, .05, .3, .6, .1, 0, .25, .75}, inverse[9];
    (void)state;
    assert_int_equal(lab_noise_invert(3, t, inverse, &e), 0);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double sum = 0;
            for (int k = 0; k < 3; k++)
                sum += t[i * 3 + k] * inverse[k * 3 + j];
            assert_true(is_near(sum, i == j, 1e-12));
        }
    double alike[4] = {.5, .5, .5, .5};
    assert_int_equal(lab_noise_invert(2, alike, inverse, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "cannot be inverted"));
}

static void matrices_are_recovered(void **state)
{
    (void)state;
    for (uint32_t k = 2; k <= 3; k++) {
        double t[9];
        make_rows(BIG, k, 2, .3, .2);
        lab_noise_likeliest(big.p, big.reported_y, BIG, k, t);
        for (uint32_t i = 0; i < k * k; i++)
            assert_true(is_near(t[i], big.t[i], .02));
        lab_noise_likeliest(big.p, big.y, BIG, k, t); /* and where there is no noise, none */
        for (uint32_t i = 0; i < k; i++)
            assert_true(t[i * k + i] > .98);
    }
}

static void anchor_points_give_their_row(void **state)
{
    static float reported[BIG * MOST];
    double t[9];
    (void)state;
    make_rows(BIG, 2, 2, 0, .2);
    for (uint32_t i = 0; i < BIG; i++)
        for (uint32_t g = 0; g < 2; g++)
            reported[2 * i + g] = big.group_p[2 * i] * (float)big.t_groups[g] +
                                  big.group_p[2 * i + 1] * (float)big.t_groups[2 + g];
    assert_int_equal(lab_noise_anchors(reported, BIG, 2, t, &e), 0);
    for (int i = 0; i < 4; i++)
        assert_true(is_near(t[i], big.t_groups[i], .02));
    assert_int_equal(lab_noise_anchors(reported, 3, 2, t, &e), 0); /* fewer rows than it needs */
}

/* ---- losses --------------------------------------------------------------------------------- */

struct values {
    double ce, phi;
    float d_acc[400 * MOST], d_fair[400 * MOST];
};

static void losses_of(struct lab_noise_model *m, const uint32_t *y, const uint32_t *group,
                      uint32_t n, struct values *v)
{
    if (lab_noise_losses(m, big.logits, y, group, NULL, n, big.classes, &v->ce, v->d_acc, &v->phi,
                         v->d_fair, &e) < 0)
        fail_msg("%s", e.text);
}

static void without_noise_they_are_the_plain_ones(void **state)
{
    static struct values a, b;
    (void)state;
    for (uint32_t k = 2; k <= 3; k++)
        for (uint32_t m = 2; m <= 3; m++)
            for (int metric = FIS_DEMOGRAPHIC_PARITY; metric <= FIS_RISK_DISPARITY; metric++)
                for (int form = FIS_GAP_PAIRS; form <= FIS_GAP_OVERALL; form++) {
                    make_rows(400, k, m, 0, 0);
                    struct lab_noise_model model = plain_model((enum fis_metric)metric);
                    model.surrogate.form = (enum fis_gap_form)form;
                    losses_of(&model, big.y, big.group, 400, &a);
                    b.ce = fis_cross_entropy(big.logits, big.y, NULL, 400, k, b.d_acc);
                    assert_int_equal(fis_surrogate_eval(&model.surrogate, big.logits, big.y,
                                                        big.group, 400, k, m, &b.phi, b.d_fair, &e),
                                     0);
                    assert_true(is_near(a.ce, b.ce, 1e-6));
                    assert_true(is_near(a.phi, b.phi, 1e-7));
                    for (uint32_t i = 0; i < 400 * k; i++) {
                        assert_true(is_near((double)a.d_acc[i], (double)b.d_acc[i], 1e-7));
                        assert_true(is_near((double)a.d_fair[i], (double)b.d_fair[i], 1e-7));
                    }
                }
}

/* The loss's derivative by every logit of a few rows. */
static void derivatives_agree_with_differences(void **state)
{
    static struct values at, up, down;
    (void)state;
    make_rows(400, 3, 2, .2, .2);
    struct lab_noise_model m = plain_model(FIS_DEMOGRAPHIC_PARITY);
    m.t = big.t;
    m.group_posterior = big.group_p;
    losses_of(&m, big.reported_y, big.reported_group, 40, &at);
    for (int i = 0; i < 60; i++) {
        const float h = 1e-2f, f = big.logits[i];
        big.logits[i] = f + h;
        losses_of(&m, big.reported_y, big.reported_group, 40, &up);
        big.logits[i] = f - h;
        losses_of(&m, big.reported_y, big.reported_group, 40, &down);
        big.logits[i] = f;
        const double ce = (up.ce - down.ce) / (2 * (double)h);
        const double phi = (up.phi - down.phi) / (2 * (double)h);
        assert_true(is_near((double)at.d_acc[i], ce, 1e-5));
        assert_true(is_near((double)at.d_fair[i], phi, 1e-6));
    }
}

/* The mean of d CE / d f_k over many rows, weighted by f_k: what a network would feel. */
static double pull(const float *d)
{
    double sum = 0;
    for (uint32_t i = 0; i < BIG * big.classes; i++)
        sum += (double)d[i] * (double)big.logits[i];
    return sum;
}

/* At calibrated probabilities nothing pulls, with true labels; with noisy ones all of it does, and
 * the forward correction takes that away. */
static void forward_correction_recovers_the_clean_gradient(void **state)
{
    static float d_acc[BIG * MOST], d_fair[BIG * MOST];
    double ce, phi, pulls[3];
    (void)state;
    for (uint32_t k = 2; k <= 3; k++) {
        make_rows(BIG, k, 2, .3, 0);
        struct lab_noise_model m = plain_model(FIS_EQUAL_OPPORTUNITY);
        for (int i = 0; i < 3; i++) { /* clean, noisy, corrected */
            m.t = i == 2 ? big.t : NULL;
            assert_int_equal(lab_noise_losses(&m, big.logits, i ? big.reported_y : big.y, big.group,
                                              NULL, BIG, k, &ce, d_acc, &phi, d_fair, &e),
                             0);
            pulls[i] = pull(d_acc);
        }
        assert_true(fabs(pulls[0]) < .03);
        assert_true(fabs(pulls[1]) > .3);
        assert_true(fabs(pulls[2]) < .03);
    }
}

static void phi_of_true_cells_is_recovered(void **state)
{
    static float d_acc[BIG * MOST], d_fair[BIG * MOST], posterior[BIG * MOST];
    static const enum fis_metric metrics[] = {FIS_DEMOGRAPHIC_PARITY, FIS_EQUAL_OPPORTUNITY,
                                              FIS_EQUALIZED_ODDS};
    double ce, phi[3];
    (void)state;
    for (int metric = 0; metric < 3; metric++) {
        make_rows(BIG, 2, 2, .3, .3);
        struct lab_noise_model m = plain_model(metrics[metric]);
        for (uint32_t i = 0; i < BIG; i++)
            lab_noise_posterior(big.t_groups, big.group_p + (size_t)i * 2, big.reported_group[i], 2,
                                posterior + (size_t)i * 2);
        for (int i = 0; i < 3; i++) { /* clean, noisy, corrected */
            m.t = i == 2 ? big.t : NULL;
            m.group_posterior = i == 2 ? posterior : NULL;
            assert_int_equal(lab_noise_losses(&m, big.logits, i ? big.reported_y : big.y,
                                              i ? big.reported_group : big.group, NULL, BIG, 2, &ce,
                                              d_acc, &phi[i], d_fair, &e),
                             0);
        }
        assert_true(phi[1] < .5 * phi[0]);
        assert_true(is_near(phi[2], phi[0], .15 * phi[0]));
    }
}

static void contradictions_are_left_out(void **state)
{
    static struct values v;
    const float sure[3] = {.02f, .95f, .03f};
    uint32_t contradicted = 0;
    (void)state;
    make_rows(400, 3, 2, .3, 0);
    struct lab_noise_model m = plain_model(FIS_EQUALIZED_ODDS);
    assert_false(lab_noise_contradicts(&m, sure, 1));
    assert_true(lab_noise_contradicts(&m, sure, 0));
    m.confidence = .96;
    assert_false(lab_noise_contradicts(&m, sure, 0));
    m.confidence = .9;
    m.trim = true;
    losses_of(&m, big.reported_y, big.group, 400, &v);
    for (uint32_t i = 0; i < 400; i++) {
        const int out = lab_noise_contradicts(&m, big.p + (size_t)i * 3, big.reported_y[i]);
        contradicted += (uint32_t)out;
        for (uint32_t k = 0; k < 3; k++) {
            assert_int_equal(v.d_acc[3 * i + k] == 0.0f && v.d_fair[3 * i + k] == 0.0f, out);
        }
    }
    assert_in_range(contradicted, 5, 200);
}

/* ---- the gate's measure --------------------------------------------------------------------- */

static void without_noise_metrics_are_the_plain_ones(void **state)
{
    static uint32_t predictions[400], source[400];
    struct fis_metrics a, b;
    (void)state;
    for (uint32_t k = 2; k <= 3; k++)
        for (uint32_t m = 2; m <= 3; m++) {
            make_rows(400, k, m, 0, 0);
            struct lab_noise_model model = plain_model(FIS_EQUALIZED_ODDS);
            fis_predict(big.logits, 400, k, predictions);
            for (uint32_t i = 0; i < 400; i++)
                source[i] = i;
            fis_metrics_eval(predictions, big.logits, big.y, big.group, NULL, 400, k, m, k - 1, &a);
            lab_noise_measure(&model, predictions, big.logits, big.y, big.group, source, NULL, 400,
                              k, m, k - 1, &b);
            const double one[] = {a.accuracy,           a.balanced_accuracy, a.demographic_parity,
                                  a.equal_opportunity,  a.equalized_odds,    a.risk_disparity,
                                  a.equalized_odds_max, a.group[0].tpr,      a.group[1].fpr,
                                  a.group[0].accuracy,  a.group[0].n,        a.recall[1]};
            const double two[] = {b.accuracy,           b.balanced_accuracy, b.demographic_parity,
                                  b.equal_opportunity,  b.equalized_odds,    b.risk_disparity,
                                  b.equalized_odds_max, b.group[0].tpr,      b.group[1].fpr,
                                  b.group[0].accuracy,  b.group[0].n,        b.recall[1]};
            for (size_t i = 0; i < sizeof one / sizeof *one; i++)
                assert_true(is_near(one[i], two[i], 1e-6));
            assert_int_equal(a.predicted_classes, b.predicted_classes);
            assert_int_equal(a.n, b.n);
        }
}

static void metrics_of_true_labels_are_recovered(void **state)
{
    static uint32_t predictions[BIG], source[BIG];
    static float classes[BIG * MOST], groups[BIG * MOST];
    struct fis_metrics clean, noisy, corrected;
    (void)state;
    make_rows(BIG, 2, 2, .3, .2);
    struct lab_noise_model m = plain_model(FIS_EQUALIZED_ODDS);
    fis_predict(big.logits, BIG, 2, predictions);
    for (uint32_t i = 0; i < BIG; i++) {
        source[i] = i;
        lab_noise_posterior(big.t, big.p + (size_t)i * 2, big.reported_y[i], 2, classes + 2 * i);
        lab_noise_posterior(big.t_groups, big.group_p + (size_t)i * 2, big.reported_group[i], 2,
                            groups + 2 * i);
    }
    fis_metrics_eval(predictions, NULL, big.y, big.group, NULL, BIG, 2, 2, 1, &clean);
    fis_metrics_eval(predictions, NULL, big.reported_y, big.reported_group, NULL, BIG, 2, 2, 1,
                     &noisy);
    m.class_posterior = classes;
    m.group_posterior = groups;
    lab_noise_measure(&m, predictions, NULL, big.reported_y, big.reported_group, source, NULL, BIG,
                      2, 2, 1, &corrected);
    assert_true(clean.accuracy - noisy.accuracy > .1);
    assert_true(is_near(corrected.accuracy, clean.accuracy, .01));
    assert_true(clean.demographic_parity - noisy.demographic_parity > .03);
    assert_true(is_near(corrected.equalized_odds, clean.equalized_odds, .02));
    assert_true(is_near(corrected.demographic_parity, clean.demographic_parity, .02));
    assert_true(isnan(corrected.risk_disparity)); /* no logits */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_inverse_inverts),
        cmocka_unit_test(matrices_are_recovered),
        cmocka_unit_test(anchor_points_give_their_row),
        cmocka_unit_test(without_noise_they_are_the_plain_ones),
        cmocka_unit_test(derivatives_agree_with_differences),
        cmocka_unit_test(forward_correction_recovers_the_clean_gradient),
        cmocka_unit_test(phi_of_true_cells_is_recovered),
        cmocka_unit_test(contradictions_are_left_out),
        cmocka_unit_test(without_noise_metrics_are_the_plain_ones),
        cmocka_unit_test(metrics_of_true_labels_are_recovered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
