/*
 * Intervals of accuracy and gaps over simulated populations whose true values are known: how many
 * hold the true value, how wide they are beside 2 x 1.96 standard errors, and what one row says.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "fis/fairness.h"
#include "fis/rng.h"

#define CELLS 500
#define TYPES 4 /* of rows in a cell of group and label */
#define MOST 3000

struct population {
    uint32_t classes, groups;
    double share[4], label[4][3], type[4][3][TYPES]; /* probabilities */
    float logits[4][3][TYPES][3];
};

struct sample {
    uint32_t n, h[MOST], y[MOST], g[MOST];
    float f[MOST * 3];
};

static void normalise(double *p, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += p[i];
    for (uint32_t i = 0; i < n; i++)
        p[i] /= sum;
}

/* alike: groups differ in size alone, so every gap is 0. */
static void make(struct population *p, bool alike, struct fis_rng *rng)
{
    *p = (struct population){.classes = 2 + fis_rng_below(rng, 2),
                             .groups = 2 + fis_rng_below(rng, 3)};
    for (uint32_t g = 0; g < p->groups; g++) {
        p->share[g] = .25 + fis_rng_unit(rng);
        for (uint32_t y = 0; y < p->classes; y++) {
            p->label[g][y] = .2 + fis_rng_unit(rng);
            for (uint32_t t = 0; t < TYPES; t++) {
                p->type[g][y][t] = .1 + fis_rng_unit(rng);
                for (uint32_t k = 0; k < p->classes; k++)
                    p->logits[g][y][t][k] = (float)(fis_rng_normal(rng) + (k == y ? 1 : 0));
            }
            normalise(p->type[g][y], TYPES);
        }
        normalise(p->label[g], p->classes);
        if (alike && g) {
            memcpy(p->label[g], p->label[0], sizeof p->label[0]);
            memcpy(p->type[g], p->type[0], sizeof p->type[0]);
        }
        if (g) /* the same kinds of rows in every group */
            memcpy(p->logits[g], p->logits[0], sizeof p->logits[0]);
    }
    normalise(p->share, p->groups);
}

static uint32_t pick(const double *p, uint32_t n, struct fis_rng *rng)
{
    double u = fis_rng_unit(rng);
    for (uint32_t i = 0; i + 1 < n; i++)
        if ((u -= p[i]) < 0)
            return i;
    return n - 1;
}

static void draw(const struct population *p, uint32_t n, struct sample *s, struct fis_rng *rng)
{
    s->n = n;
    for (uint32_t i = 0; i < n; i++) {
        s->g[i] = pick(p->share, p->groups, rng);
        s->y[i] = pick(p->label[s->g[i]], p->classes, rng);
        memcpy(s->f + i * p->classes,
               p->logits[s->g[i]][s->y[i]][pick(p->type[s->g[i]][s->y[i]], TYPES, rng)],
               p->classes * sizeof *s->f);
    }
    fis_predict(s->f, n, p->classes, s->h);
}

enum { ACCURACY, DP, EOP, EOD, EOD_MAX, RISK, METRICS };
static const char *const names[] = {"accuracy", "dp", "eop", "eod", "eod_max", "risk"};

static void values(const struct fis_metrics *m, double *to)
{
    const double all[] = {m->accuracy,       m->demographic_parity, m->equal_opportunity,
                          m->equalized_odds, m->equalized_odds_max, m->risk_disparity};
    memcpy(to, all, sizeof all);
}

static void intervals(const struct fis_metrics_intervals *in, struct fis_interval *to)
{
    const struct fis_interval all[] = {in->accuracy,           in->demographic_parity,
                                       in->equal_opportunity,  in->equalized_odds,
                                       in->equalized_odds_max, in->risk_disparity};
    memcpy(to, all, sizeof all);
}

static void measure(const struct population *p, const struct sample *s, double *at,
                    struct fis_interval *in)
{
    struct fis_metrics m;
    struct fis_metrics_intervals all;
    fis_metrics_eval(s->h, s->f, s->y, s->g, NULL, s->n, p->classes, p->groups, 1, &m);
    fis_metrics_enclose(s->h, s->f, s->y, s->g, s->n, p->classes, p->groups, 1, FIS_HALF_WIDTH,
                        &all);
    values(&m, at);
    intervals(&all, in);
}

/* The metrics of the population: of rows in proportion. */
static void truth(const struct population *p, double *to)
{
    enum { ROWS = 60000 };
    static uint32_t h[ROWS], y[ROWS], g[ROWS];
    static float f[ROWS * 3];
    uint32_t n = 0;
    struct fis_metrics m;
    double owed = 0;
    for (uint32_t a = 0; a < p->groups; a++)
        for (uint32_t b = 0; b < p->classes; b++)
            for (uint32_t t = 0; t < TYPES; t++) {
                owed += (ROWS - 1) * p->share[a] * p->label[a][b] * p->type[a][b][t];
                for (; n < owed; n++) {
                    g[n] = a;
                    y[n] = b;
                    memcpy(f + (size_t)n * p->classes, p->logits[a][b][t], p->classes * sizeof *f);
                }
            }
    fis_predict(f, n, p->classes, h);
    fis_metrics_eval(h, f, y, g, NULL, n, p->classes, p->groups, 1, &m);
    values(&m, to);
}

/* Populations without and with gaps in turn, 500 to 3,000 rows. The spread of the estimates over
 * further samples is what the width is held to. */
static void cover(void **state)
{
    (void)state;
    static struct sample s;
    enum { AGAIN = 12 };
    uint32_t held[METRICS] = {0}, outside = 0;
    double width[METRICS] = {0}, nominal[METRICS] = {0};
    struct fis_rng rng;
    fis_rng_seed(&rng, 1, 1);
    for (uint32_t c = 0; c < CELLS; c++) {
        struct population p;
        double real[METRICS], at[METRICS], mean[METRICS] = {0}, square[METRICS] = {0};
        struct fis_interval in[METRICS], other[METRICS];
        make(&p, c % 3 == 0, &rng);
        truth(&p, real);
        const uint32_t n = 500 + fis_rng_below(&rng, MOST - 499);
        draw(&p, n, &s, &rng);
        measure(&p, &s, at, in);
        for (int i = 0; i < METRICS; i++) {
            held[i] += in[i].low <= real[i] && real[i] <= in[i].high;
            outside += !(in[i].low <= at[i] && at[i] <= in[i].high);
            width[i] += in[i].high - in[i].low;
        }
        for (int r = 0; r < AGAIN; r++) {
            draw(&p, n, &s, &rng);
            measure(&p, &s, at, other);
            for (int i = 0; i < METRICS; i++) {
                mean[i] += at[i] / AGAIN;
                square[i] += at[i] * at[i] / AGAIN;
            }
        }
        for (int i = 0; i < METRICS; i++)
            nominal[i] += 2 * FIS_INTERVAL_Z *
                          sqrt(fmax(0, square[i] - mean[i] * mean[i]) * AGAIN / (AGAIN - 1));
    }
    for (int i = 0; i < METRICS; i++)
        print_message("%-9s %.1f %% hold the true value; mean width %.4f, nominal %.4f: x %.2f\n",
                      names[i], 100. * held[i] / CELLS, width[i] / CELLS, nominal[i] / CELLS,
                      width[i] / nominal[i]);
    assert_int_equal(outside, 0);
    for (int i = 0; i < METRICS; i++) {
        assert_true(held[i] >= .93 * CELLS);
        assert_true(width[i] < 1.6 * nominal[i]);
    }
}

/* One row of a group in the positive class: nearly nothing is known of its rate. */
static void one_row_is_wide(void **state)
{
    (void)state;
    static struct sample s;
    struct population p = {.classes = 2, .groups = 2};
    double at[METRICS];
    struct fis_interval in[METRICS];
    for (s.n = 0; s.n < 1000; s.n++) {
        const uint32_t i = s.n, y = i < 500;
        s.g[i] = i == 0 || (i >= 500 && i < 700);
        s.y[i] = y;
        s.h[i] = i == 0 || (i < 400) || i % 20 == 0;
        s.f[2 * i] = s.h[i] ? 0 : 1;
        s.f[2 * i + 1] = s.h[i] ? 1 : 0;
    }
    measure(&p, &s, at, in);
    assert_true(at[EOP] > .15 && at[EOP] < .25);
    assert_true(in[EOP].low == 0 && in[EOP].high > .55);
    assert_true(in[EOD].high - in[EOD].low > .25);
    assert_true(in[ACCURACY].high - in[ACCURACY].low < .06);
    s.g[0] = 0; /* and none: not estimable */
    measure(&p, &s, at, in);
    assert_true(isnan(at[EOP]) && isnan(in[EOP].low) && isnan(in[EOP].high) && isnan(in[EOP].se));
    assert_true(isnan(in[EOD].low) && isnan(in[EOD_MAX].high) && isfinite(in[DP].high));
}

/* Far from 0 and with many rows it is what everybody computes. */
static void large_samples_are_as_in_books(void **state)
{
    (void)state;
    static struct sample s;
    struct population p = {.classes = 2, .groups = 2};
    double at[METRICS];
    struct fis_interval in[METRICS];
    for (s.n = 0; s.n < MOST; s.n++) {
        const uint32_t i = s.n;
        s.g[i] = i % 2;
        s.y[i] = i % 3 == 0;
        s.h[i] = i % 10 < (i % 2 ? 7u : 4u);
        s.f[2 * i] = s.f[2 * i + 1] = 0;
    }
    measure(&p, &s, at, in);
    const struct fis_interval dp = in[DP];
    double rate[2] = {0};
    for (uint32_t i = 0; i < s.n; i++)
        rate[s.g[i]] += s.h[i] * 2. / s.n;
    const double se = sqrt((rate[0] * (1 - rate[0]) + rate[1] * (1 - rate[1])) * 2 / s.n);
    assert_true(at[DP] > 5 * se);
    assert_true(fabs(dp.se / se - 1) < .02);
    assert_true(fabs((dp.high - dp.low) / (2 * FIS_INTERVAL_Z * se) - 1) < .02);
}

/* The formula of fisctl init and of the trainer's start. */
static void detectable(void **state)
{
    (void)state;
    const double cells[] = {300, 100, 150, 50};
    const double z = 1.959964 + .841621;
    double dp = z * sqrt(.25 * .75 * (1. / 400 + 1. / 200));
    double eop = z * sqrt(.25 * (1. / 100 + 1. / 50)), fpr = z * sqrt(.25 * (1. / 300 + 1. / 150));
    assert_true(fabs(fis_detectable_gap(FIS_DEMOGRAPHIC_PARITY, cells, 2, 2, 1, NULL) - dp) < 1e-5);
    assert_true(fabs(fis_detectable_gap(FIS_EQUAL_OPPORTUNITY, cells, 2, 2, 1, NULL) - eop) < 1e-5);
    assert_true(fabs(fis_detectable_gap(FIS_EQUALIZED_ODDS, cells, 2, 2, 1, NULL) -
                     hypot(eop, fpr) / 2) < 1e-5);
    assert_true(isnan(fis_detectable_gap(FIS_RISK_DISPARITY, cells, 2, 2, 1, NULL)));
    const double one[] = {300, 100, 150, 1};
    assert_true(isnan(fis_detectable_gap(FIS_EQUAL_OPPORTUNITY, one, 2, 2, 1, NULL)));
    struct fis_metrics m = {.group = {{.fpr = .1, .tpr = .6}, {.fpr = .1, .tpr = .6}}};
    assert_true(fis_detectable_gap(FIS_EQUALIZED_ODDS, cells, 2, 2, 1, &m) < hypot(eop, fpr) / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cover),
        cmocka_unit_test(one_row_is_wide),
        cmocka_unit_test(large_samples_are_as_in_books),
        cmocka_unit_test(detectable),
    };
    return cmocka_run_group_tests_name("core/intervals", tests, NULL, NULL);
}
