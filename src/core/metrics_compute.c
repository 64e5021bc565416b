#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/metrics_tally.h"
#include "core/softmax.h"

void metrics_tally_clear(struct metrics_tally *t, uint32_t classes, uint32_t n_groups,
                         uint32_t positive, bool has_loss)
{
    assert(classes >= 2 && classes <= FIS_MAX_CLASSES);
    assert(n_groups >= 1 && n_groups <= FIS_MAX_GROUPS && positive < classes);
    size_t cells = (size_t)n_groups * classes * sizeof t->label[0];
    t->classes = classes;
    t->n_groups = n_groups;
    t->positive = positive;
    t->has_loss = has_loss;
    memset(t->rows, 0, n_groups * sizeof t->rows[0]);
    memset(t->loss, 0, n_groups * sizeof t->loss[0]);
    memset(t->square, 0, n_groups * sizeof t->square[0]);
    memset(t->label, 0, cells);
    memset(t->predicted, 0, cells);
    memset(t->hit, 0, cells);
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

enum rate { POSITIVE_RATE, TRUE_POSITIVE_RATE, FALSE_POSITIVE_RATE };

static double rate_of(const struct metrics_tally *t, enum rate rate, uint32_t g, uint32_t k)
{
    uint32_t at = g * t->classes + k, label = t->label[at], predicted = t->predicted[at];
    if (rate == POSITIVE_RATE)
        return ratio(predicted, t->rows[g]);
    if (rate == TRUE_POSITIVE_RATE)
        return ratio(t->hit[at], label);
    return ratio(predicted - t->hit[at], t->rows[g] - label);
}

/* The largest gap between groups, over `positive` for two classes and over every class for more;
 * NaN as soon as one rate is. */
static double widest_gap(const struct metrics_tally *t, enum rate rate)
{
    double widest = 0;
    uint32_t from = t->classes == 2 ? t->positive : 0;
    uint32_t to = t->classes == 2 ? t->positive + 1 : t->classes;
    for (uint32_t k = from; k < to; k++) {
        double low = INFINITY, high = -INFINITY;
        for (uint32_t g = 0; g < t->n_groups; g++) {
            double r = rate_of(t, rate, g, k);
            if (isnan(r))
                return NAN;
            low = r < low ? r : low;
            high = r > high ? r : high;
        }
        widest = high - low > widest ? high - low : widest;
    }
    return widest;
}

static double risk_disparity(const struct metrics_tally *t)
{
    double loss = 0, rows = 0, widest = 0;
    for (uint32_t g = 0; g < t->n_groups; g++) {
        loss += t->loss[g];
        rows += t->rows[g];
    }
    for (uint32_t g = 0; t->has_loss && g < t->n_groups; g++) {
        double gap = fabs(ratio(t->loss[g], t->rows[g]) - ratio(loss, rows));
        if (isnan(gap))
            return NAN;
        widest = gap > widest ? gap : widest;
    }
    return t->has_loss ? widest : NAN;
}

static uint32_t total(const uint32_t *counts, const struct metrics_tally *t, uint32_t k)
{
    uint32_t sum = 0;
    for (uint32_t g = 0; g < t->n_groups; g++)
        sum += counts[g * t->classes + k];
    return sum;
}

static uint32_t hits_of_group(const struct metrics_tally *t, uint32_t g)
{
    uint32_t hits = 0;
    for (uint32_t k = 0; k < t->classes; k++)
        hits += t->hit[g * t->classes + k];
    return hits;
}

void metrics_scalars_of(const struct metrics_tally *t, struct metrics_scalars *out)
{
    double hits = 0, rows = 0;
    for (uint32_t g = 0; g < t->n_groups; g++) {
        hits += hits_of_group(t, g);
        rows += t->rows[g];
    }
    out->accuracy = ratio(hits, rows);
    out->demographic_parity = widest_gap(t, POSITIVE_RATE);
    out->tpr_gap = out->equal_opportunity = widest_gap(t, TRUE_POSITIVE_RATE);
    out->fpr_gap = widest_gap(t, FALSE_POSITIVE_RATE);
    out->equalized_odds = (out->tpr_gap + out->fpr_gap) / 2;
    out->equalized_odds_max = isnan(out->equalized_odds) ? NAN : fmax(out->tpr_gap, out->fpr_gap);
    out->risk_disparity = risk_disparity(t);
}

static void per_class(const struct metrics_tally *t, struct fis_metrics *out)
{
    double sum = 0, occur = 0;
    for (uint32_t k = 0; k < t->classes; k++) {
        out->recall[k] = ratio(total(t->hit, t, k), total(t->label, t, k));
        if (!isnan(out->recall[k])) {
            sum += out->recall[k];
            occur++;
        }
        out->predicted_classes += total(t->predicted, t, k) > 0;
    }
    out->balanced_accuracy = ratio(sum, occur);
}

static void per_group(const struct metrics_tally *t, struct fis_metrics *out)
{
    for (uint32_t g = 0; g < t->n_groups; g++) {
        struct fis_group_metrics *m = &out->group[g];
        m->n = t->rows[g];
        m->accuracy = ratio(hits_of_group(t, g), t->rows[g]);
        m->positive_rate = rate_of(t, POSITIVE_RATE, g, t->positive);
        m->tpr = rate_of(t, TRUE_POSITIVE_RATE, g, t->positive);
        m->fpr = rate_of(t, FALSE_POSITIVE_RATE, g, t->positive);
    }
}

void fis_metrics_eval(const uint32_t *predictions, const float *logits, const uint32_t *labels,
                      const uint32_t *groups, const uint32_t *rows, uint32_t n, uint32_t classes,
                      uint32_t n_groups, uint32_t positive, struct fis_metrics *out)
{
    struct metrics_tally t; /* some 50 KB of stack */
    struct metrics_scalars s;
    double p[FIS_MAX_CLASSES];
    metrics_tally_clear(&t, classes, n_groups, positive, logits != NULL);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t r = rows ? rows[i] : i;
        assert(groups[r] < n_groups && labels[r] < classes && predictions[r] < classes);
        double loss = logits ? softmax_row(logits + (size_t)r * classes, classes, labels[r], p) : 0;
        metrics_tally_add(&t, groups[r], labels[r], predictions[r], loss);
    }
    metrics_scalars_of(&t, &s);
    memset(out, 0, sizeof *out);
    out->n = n;
    out->n_groups = n_groups;
    out->classes = classes;
    out->accuracy = s.accuracy;
    out->demographic_parity = s.demographic_parity;
    out->equal_opportunity = s.equal_opportunity;
    out->equalized_odds = s.equalized_odds;
    out->equalized_odds_max = s.equalized_odds_max;
    out->risk_disparity = s.risk_disparity;
    per_class(&t, out);
    per_group(&t, out);
}

double fis_metrics_of(const struct fis_metrics *m, enum fis_metric metric)
{
    switch (metric) {
    case FIS_DEMOGRAPHIC_PARITY:
        return m->demographic_parity;
    case FIS_EQUAL_OPPORTUNITY:
        return m->equal_opportunity;
    case FIS_EQUALIZED_ODDS:
        return m->equalized_odds;
    case FIS_RISK_DISPARITY:
        return m->risk_disparity;
    }
    return NAN;
}

void fis_metrics_none(struct fis_metrics *out)
{
    *out = (struct fis_metrics){.accuracy = NAN,
                                .balanced_accuracy = NAN,
                                .demographic_parity = NAN,
                                .equal_opportunity = NAN,
                                .equalized_odds = NAN,
                                .equalized_odds_max = NAN,
                                .risk_disparity = NAN};
}

void fis_predict(const float *logits, uint32_t n, uint32_t classes, uint32_t *predictions)
{
    for (uint32_t i = 0; i < n; i++, logits += classes) {
        predictions[i] = 0;
        for (uint32_t k = 1; k < classes; k++)
            if (logits[k] > logits[predictions[i]])
                predictions[i] = k;
    }
}
