/* Intervals of the reported metrics, from counts alone. fis/fairness.h has the formulas. */
#include <assert.h>
#include <math.h>

#include "core/metrics_tally.h"
#include "core/normal.h"
#include "core/softmax.h"

#define FEW_ROWS 30 /* of a group: its spread is at least that of all */

/* A rate or mean with its limits. */
struct limits {
    double at, low, high;
};

/* Wilson's score interval of x of n (1927); holds x / n. */
static struct limits wilson(double x, double n, double z)
{
    const double p = x / n, q = z * z / n, center = (p + q / 2) / (1 + q);
    const double half = z / (1 + q) * sqrt((p * (1 - p) + q / 4) / n);
    return (struct limits){p, fmax(0, fmin(p, center - half)), fmin(1, fmax(p, center + half))};
}

/* a less b, of independent estimates (Newcombe's hybrid, 1998, method 10; MOVER, Zou and Donner
 * 2008). */
static struct limits difference(struct limits a, struct limits b)
{
    const double d = a.at - b.at;
    return (struct limits){d, d - hypot(a.at - a.low, b.high - b.at),
                           d + hypot(a.high - a.at, b.at - b.low)};
}

/* Student's t in place of z, by the expansion of Cornish and Fisher. */
static double student(double z, double freedom)
{
    const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z, f = 4 * freedom;
    return z + (z3 + z) / f + (5 * z5 + 16 * z3 + 3 * z) / (6 * f * f) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (6 * f * f * f);
}

static double variance(double sum, double square, double n)
{
    return n > 1 ? fmax(0, (square - sum * sum / n) / (n - 1)) : 0;
}

/* ---- the largest of many differences -------------------------------------------------------- */

enum kind { POSITIVE_RATE, TRUE_POSITIVE_RATE, FALSE_POSITIVE_RATE, EXCESS_RISK };

/* Every difference is there with both signs. */
struct widest {
    double at, high;    /* the largest difference, the largest upper limit */
    double low, low_at; /* the largest lower limit, and the difference that it is of */
    double contenders;  /* differences that may be the largest: their upper limits reach `low` */
};

typedef void take_fn(struct widest *w, struct limits d);

static void take(struct widest *w, struct limits d)
{
    w->at = fmax(w->at, d.at);
    w->high = fmax(w->high, d.high);
    if (!(d.low > w->low))
        return;
    w->low = d.low;
    w->low_at = d.at;
}

static void count(struct widest *w, struct limits d)
{
    w->contenders += d.high >= w->low;
}

static struct limits rate(const struct metrics_tally *t, enum kind kind, uint32_t g, uint32_t k,
                          double z)
{
    const uint32_t at = g * t->classes + k, label = t->label[at], predicted = t->predicted[at];
    if (kind == POSITIVE_RATE)
        return wilson(predicted, t->rows[g], z);
    if (kind == TRUE_POSITIVE_RATE)
        return wilson(t->hit[at], label, z);
    return wilson(predicted - t->hit[at], t->rows[g] - label, z);
}

static void each_pair(const struct metrics_tally *t, enum kind kind, double z, take_fn *to,
                      struct widest *w)
{
    const uint32_t from = t->classes == 2 ? t->positive : 0;
    const uint32_t end = t->classes == 2 ? t->positive + 1 : t->classes;
    struct limits of[FIS_MAX_GROUPS];
    for (uint32_t k = from; k < end; k++) {
        for (uint32_t g = 0; g < t->n_groups; g++)
            of[g] = rate(t, kind, g, k, z);
        for (uint32_t a = 0; a < t->n_groups; a++)
            for (uint32_t b = 0; b < t->n_groups; b++)
                if (a != b)
                    to(w, difference(of[a], of[b]));
    }
}

/* A group's mean loss less the mean of all: the others' share of the difference from theirs. */
static void each_risk(const struct metrics_tally *t, double z, take_fn *to, struct widest *w)
{
    double sum = 0, square = 0, n = 0;
    for (uint32_t g = 0; g < t->n_groups; g++) {
        sum += t->loss[g];
        square += t->square[g];
        n += t->rows[g];
    }
    for (uint32_t g = 0; g < t->n_groups; g++) {
        const double own = t->rows[g], rest = n - own, share = rest / n;
        const double others = variance(sum - t->loss[g], square - t->square[g], rest);
        double spread = variance(t->loss[g], t->square[g], own);
        if (own < FEW_ROWS)
            spread = fmax(spread, variance(sum, square, n));
        const double d = share * (t->loss[g] / own - (sum - t->loss[g]) / rest);
        const double half = share * hypot(student(z, fmax(1, own - 1)) * sqrt(spread / own),
                                          student(z, fmax(1, rest - 1)) * sqrt(others / rest));
        to(w, (struct limits){d, d - half, d + half});
        to(w, (struct limits){-d, -d - half, -d + half});
    }
}

static void each(const struct metrics_tally *t, enum kind kind, double z, take_fn *to,
                 struct widest *w)
{
    if (kind == EXCESS_RISK)
        each_risk(t, z, to, w);
    else
        each_pair(t, kind, z, to, w);
}

static struct widest widest(const struct metrics_tally *t, enum kind kind, double z)
{
    struct widest w = {.at = -INFINITY, .high = -INFINITY, .low = -INFINITY};
    each(t, kind, z, take, &w);
    each(t, kind, z, count, &w);
    return w;
}

/* ---- intervals ------------------------------------------------------------------------------ */

static struct fis_interval interval(double low, double at, double high, double z)
{
    return (struct fis_interval){fmax(0, low), high, (high - at) / z};
}

/* z for lower limits that hold for so many differences together (Bonferroni). */
static double together(double z, double differences)
{
    return differences > 1 ? normal_upper(normal_tail(z) / differences) : z;
}

static struct fis_interval of_one(const struct metrics_tally *t, enum kind kind, double z)
{
    const struct widest w = widest(t, kind, z);
    return interval(widest(t, kind, together(z, w.contenders)).low, w.at, w.high, z);
}

static void of_odds(const struct metrics_tally *t, double z, struct fis_interval *mean,
                    struct fis_interval *larger)
{
    const struct widest a = widest(t, TRUE_POSITIVE_RATE, z), b = widest(t, FALSE_POSITIVE_RATE, z);
    double beyond = together(z, a.contenders * b.contenders);
    struct widest c = widest(t, TRUE_POSITIVE_RATE, beyond),
                  d = widest(t, FALSE_POSITIVE_RATE, beyond);
    *mean = interval((c.low_at + d.low_at - hypot(c.low_at - c.low, d.low_at - d.low)) / 2,
                     (a.at + b.at) / 2, (a.at + b.at + hypot(a.high - a.at, b.high - b.at)) / 2, z);
    beyond = together(z, a.contenders + b.contenders);
    c = widest(t, TRUE_POSITIVE_RATE, beyond);
    d = widest(t, FALSE_POSITIVE_RATE, beyond);
    *larger = interval(fmax(c.low, d.low), fmax(a.at, b.at), fmax(a.high, b.high), z);
}

static void add_rows(struct metrics_tally *t, const uint32_t *predictions, const float *logits,
                     const uint32_t *labels, const uint32_t *groups, uint32_t n)
{
    double p[FIS_MAX_CLASSES];
    for (uint32_t i = 0; i < n; i++) {
        assert(groups[i] < t->n_groups && labels[i] < t->classes && predictions[i] < t->classes);
        const float *row = logits ? logits + (size_t)i * t->classes : NULL;
        metrics_tally_add(t, groups[i], labels[i], predictions[i],
                          row ? softmax_row(row, t->classes, labels[i], p) : 0);
    }
}

void fis_metrics_enclose(const uint32_t *predictions, const float *logits, const uint32_t *labels,
                         const uint32_t *groups, uint32_t n, uint32_t classes, uint32_t n_groups,
                         uint32_t positive, struct fis_half_width z,
                         struct fis_metrics_intervals *out)
{
    const struct fis_interval none = {NAN, NAN, NAN};
    struct metrics_tally t;
    struct metrics_scalars s;
    metrics_tally_clear(&t, classes, n_groups, positive, logits != NULL);
    add_rows(&t, predictions, logits, labels, groups, n);
    metrics_scalars_of(&t, &s);
    *out = (struct fis_metrics_intervals){FIS_INTERVAL_LEVEL, none, none, none, none, none, none};
    if (!isnan(s.accuracy)) {
        const struct limits a = wilson(s.accuracy * n, n, z.accuracy);
        out->accuracy = (struct fis_interval){a.low, a.high, (a.high - a.low) / (2 * z.accuracy)};
    }
    if (!isnan(s.demographic_parity))
        out->demographic_parity = of_one(&t, POSITIVE_RATE, z.gap);
    if (!isnan(s.equal_opportunity))
        out->equal_opportunity = of_one(&t, TRUE_POSITIVE_RATE, z.gap);
    if (!isnan(s.equalized_odds))
        of_odds(&t, z.gap, &out->equalized_odds, &out->equalized_odds_max);
    if (isfinite(s.risk_disparity))
        out->risk_disparity = of_one(&t, EXCESS_RISK, z.gap);
}

const struct fis_interval *fis_interval_of(const struct fis_metrics_intervals *in,
                                           enum fis_metric metric)
{
    static const struct fis_interval none = {NAN, NAN, NAN};
    switch (metric) {
    case FIS_DEMOGRAPHIC_PARITY:
        return &in->demographic_parity;
    case FIS_EQUAL_OPPORTUNITY:
        return &in->equal_opportunity;
    case FIS_EQUALIZED_ODDS:
        return &in->equalized_odds;
    case FIS_RISK_DISPARITY:
        return &in->risk_disparity;
    }
    return &none;
}
