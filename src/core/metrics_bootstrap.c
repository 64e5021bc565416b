#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/metrics_tally.h"
#include "core/softmax.h"
#include "fis/mem.h"

enum { ACCURACY, PARITY, OPPORTUNITY, ODDS, RISK, SERIES };

/* A row as the tally needs it: its cross-entropy is worked out once, not at every draw. */
struct drawn {
    double loss;
    uint32_t group, label, prediction;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Quantile of sorted values, linear between neighbours. */
static double quantile(const double *sorted, uint32_t n, double q)
{
    double at = q * (n - 1);
    uint32_t low = (uint32_t)at, high = low + 1 < n ? low + 1 : low;
    return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

/* Sorts the values that are not NaN to the front of `v` and sums them up. */
static struct fis_interval interval(double *v, uint32_t n, double level)
{
    uint32_t kept = 0;
    double mean = 0, square = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!isnan(v[i]))
            v[kept++] = v[i];
    if (kept < 2)
        return (struct fis_interval){NAN, NAN, NAN};
    qsort(v, kept, sizeof *v, by_value);
    for (uint32_t i = 0; i < kept; i++)
        mean += v[i] / kept;
    for (uint32_t i = 0; i < kept; i++)
        square += (v[i] - mean) * (v[i] - mean);
    return (struct fis_interval){quantile(v, kept, (1 - level) / 2),
                                 quantile(v, kept, (1 + level) / 2), sqrt(square / (kept - 1))};
}

static void resample(struct metrics_tally *t, const struct drawn *rows, uint32_t n,
                     struct fis_rng *rng, double *values, uint32_t stride)
{
    struct metrics_scalars s;
    metrics_tally_clear(t, t->classes, t->n_groups, t->positive, t->has_loss);
    for (uint32_t i = 0; i < n; i++) {
        const struct drawn *r = &rows[fis_rng_below(rng, n)];
        metrics_tally_add(t, r->group, r->label, r->prediction, r->loss);
    }
    metrics_scalars_of(t, &s);
    values[ACCURACY * stride] = s.accuracy;
    values[PARITY * stride] = s.demographic_parity;
    values[OPPORTUNITY * stride] = s.equal_opportunity;
    values[ODDS * stride] = s.equalized_odds;
    values[RISK * stride] = s.risk_disparity;
}

int fis_metrics_bootstrap(const uint32_t *predictions, const float *logits, const uint32_t *labels,
                          const uint32_t *groups, uint32_t n, uint32_t classes, uint32_t n_groups,
                          uint32_t positive, uint32_t resamples, struct fis_rng *rng,
                          struct fis_metrics_intervals *out, struct fis_error *e)
{
    struct metrics_tally t;
    double p[FIS_MAX_CLASSES];
    metrics_tally_clear(&t, classes, n_groups, positive, logits != NULL);
    struct drawn *rows = fis_alloc(n, sizeof *rows);
    double *values = fis_alloc((size_t)SERIES * resamples, sizeof *values);
    if (!rows || !values) {
        fis_free(rows);
        fis_free(values);
        return fis_fail(e, FIS_NOMEM, "bootstrap: no memory for %u rows", n);
    }
    for (uint32_t i = 0; i < n; i++) {
        assert(groups[i] < n_groups && labels[i] < classes && predictions[i] < classes);
        double loss = logits ? softmax_row(logits + (size_t)i * classes, classes, labels[i], p) : 0;
        rows[i] = (struct drawn){loss, groups[i], labels[i], predictions[i]};
    }
    for (uint32_t i = 0; i < resamples; i++)
        resample(&t, rows, n, rng, values + i, resamples);
    const double level = 0.95;
    out->level = level;
    out->accuracy = interval(values + (size_t)ACCURACY * resamples, resamples, level);
    out->demographic_parity = interval(values + (size_t)PARITY * resamples, resamples, level);
    out->equal_opportunity = interval(values + (size_t)OPPORTUNITY * resamples, resamples, level);
    out->equalized_odds = interval(values + (size_t)ODDS * resamples, resamples, level);
    out->risk_disparity = interval(values + (size_t)RISK * resamples, resamples, level);
    fis_free(rows);
    fis_free(values);
    return 0;
}
