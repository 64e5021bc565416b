/* Metrics of hard predictions on rows whose labels and groups are noisy. */
#include <math.h>
#include <string.h>

#include "fis/loss.h"
#include "lab/noise_model.h"

/* Rows of true group g and class k that are predicted j, by their posteriors. */
struct cells {
    const struct lab_noise_model *m;
    const double *at; /* [M][K][K] */
    double loss[FIS_MAX_GROUPS];
    uint32_t positive;
};

static double cell(const struct cells *c, uint32_t g, uint32_t k, uint32_t j)
{
    return c->at[((size_t)g * c->m->classes + k) * c->m->classes + j];
}

/* Sums over the groups from..to-1, over true classes (same: k alone, other: all but k, both), over
 * predictions (j, or all for j = K). */
static double sum_of(const struct cells *c, uint32_t from, uint32_t to, uint32_t k, int same,
                     int other, uint32_t j)
{
    const uint32_t classes = c->m->classes;
    double sum = 0;
    for (uint32_t g = from; g < to; g++)
        for (uint32_t y = 0; y < classes; y++)
            for (uint32_t h = 0; (y == k ? same : other) && h < classes; h++)
                sum += j == classes || h == j ? cell(c, g, y, h) : 0;
    return sum;
}

/* A rate of less than half a row is nothing. */
static double rate(double part, double whole)
{
    return whole >= .5 ? part / whole : NAN;
}

/* P(predicted k) of group g, given the true classes that count. */
static double rate_of(const struct cells *c, uint32_t g, uint32_t k, int same, int other)
{
    return rate(sum_of(c, g, g + 1, k, same, other, k),
                sum_of(c, g, g + 1, k, same, other, c->m->classes));
}

static double widest_gap(const struct cells *c, int same, int other)
{
    const int two = c->m->classes == 2;
    double widest = 0;
    for (uint32_t k = two ? c->positive : 0; k < (two ? c->positive + 1 : c->m->classes); k++) {
        double low = INFINITY, high = -INFINITY;
        for (uint32_t g = 0; g < c->m->groups; g++) {
            const double r = rate_of(c, g, k, same, other);
            if (isnan(r))
                return NAN;
            low = fmin(low, r);
            high = fmax(high, r);
        }
        widest = fmax(widest, high - low);
    }
    return widest;
}

static double hits(const struct cells *c, uint32_t from, uint32_t to)
{
    double sum = 0;
    for (uint32_t g = from; g < to; g++)
        for (uint32_t k = 0; k < c->m->classes; k++)
            sum += cell(c, g, k, k);
    return sum;
}

static double rows_of(const struct cells *c, uint32_t from, uint32_t to)
{
    return sum_of(c, from, to, 0, 1, 1, c->m->classes);
}

static double risk_disparity(const struct cells *c)
{
    const uint32_t groups = c->m->groups;
    double loss = 0, widest = 0;
    for (uint32_t g = 0; g < groups; g++)
        loss += c->loss[g];
    for (uint32_t g = 0; g < groups; g++) {
        const double rows = rows_of(c, g, g + 1);
        if (!(rows >= .5))
            return NAN;
        widest = fmax(widest, fabs(c->loss[g] / rows - loss / rows_of(c, 0, groups)));
    }
    return widest;
}

/* ---- counting ------------------------------------------------------------------------------- */

/* The posteriors of row r: of its class [K], and its group [M]. */
struct row {
    double class[FIS_MAX_CLASSES], group[FIS_MAX_GROUPS];
};

static void look_at_row(const struct lab_noise_model *m, uint32_t source, uint32_t label,
                        uint32_t group, struct row *to)
{
    const float *classes = m->class_posterior, *groups = m->group_posterior;
    for (uint32_t k = 0; k < m->classes; k++)
        to->class[k] = classes ? (double)classes[(size_t)source * m->classes + k] : k == label;
    for (uint32_t g = 0; g < m->groups; g++)
        to->group[g] = groups ? (double)groups[(size_t)source * m->groups + g] : g == group;
}

static void count(struct cells *c, double *cells, const struct row *r, uint32_t predicted,
                  const float *logits)
{
    const uint32_t classes = c->m->classes;
    double loss = 0;
    for (uint32_t k = 0; logits && k < classes; k++)
        if (r->class[k] > 0)
            loss += r->class[k] * fis_cross_entropy(logits, &k, NULL, 1, classes, NULL);
    for (uint32_t g = 0; g < c->m->groups; g++) {
        c->loss[g] += r->group[g] * loss;
        for (uint32_t k = 0; k < classes; k++)
            cells[((size_t)g * classes + k) * classes + predicted] += r->group[g] * r->class[k];
    }
}

static void fill(const struct cells *c, struct fis_metrics *out)
{
    const uint32_t groups = c->m->groups, classes = c->m->classes;
    double recalls = 0, occur = 0;
    out->accuracy = rate(hits(c, 0, groups), rows_of(c, 0, groups));
    out->demographic_parity = widest_gap(c, 1, 1);
    const double tpr = out->equal_opportunity = widest_gap(c, 1, 0), fpr = widest_gap(c, 0, 1);
    out->equalized_odds = (tpr + fpr) / 2;
    out->equalized_odds_max = isnan(out->equalized_odds) ? NAN : fmax(tpr, fpr);
    for (uint32_t k = 0; k < classes; k++) {
        out->recall[k] =
            rate(sum_of(c, 0, groups, k, 1, 0, k), sum_of(c, 0, groups, k, 1, 0, classes));
        if (!isnan(out->recall[k])) {
            recalls += out->recall[k];
            occur++;
        }
    }
    out->balanced_accuracy = occur > 0 ? recalls / occur : NAN;
    for (uint32_t g = 0; g < groups; g++) {
        const double rows = rows_of(c, g, g + 1);
        out->group[g].n = rows > 0 ? (uint32_t)lround(rows) : 0;
        out->group[g].accuracy = rate(hits(c, g, g + 1), rows);
        out->group[g].positive_rate = rate_of(c, g, c->positive, 1, 1);
        out->group[g].tpr = rate_of(c, g, c->positive, 1, 0);
        out->group[g].fpr = rate_of(c, g, c->positive, 0, 1);
    }
}

void lab_noise_measure(void *arg, const uint32_t *predictions, const float *logits,
                       const uint32_t *labels, const uint32_t *groups, const uint32_t *source,
                       const uint32_t *rows, uint32_t n, uint32_t classes, uint32_t n_groups,
                       uint32_t positive, struct fis_metrics *out)
{
    const struct lab_noise_model *m = arg;
    uint8_t predicted[FIS_MAX_CLASSES] = {0};
    struct cells c = {.m = m, .at = m->cells, .positive = positive};
    struct row row;
    memset(m->cells, 0, (size_t)n_groups * classes * classes * sizeof *m->cells);
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t r = rows ? rows[i] : i;
        predicted[predictions[r]] = 1;
        if (m->trimmed && m->trimmed[source[r]])
            continue;
        out->n++;
        look_at_row(m, source[r], labels[r], groups[r], &row);
        count(&c, m->cells, &row, predictions[r], logits ? logits + (size_t)r * classes : NULL);
    }
    out->n_groups = n_groups;
    out->classes = classes;
    for (uint32_t k = 0; k < classes; k++)
        out->predicted_classes += predicted[k];
    fill(&c, out);
    out->risk_disparity = logits ? risk_disparity(&c) : NAN;
}
