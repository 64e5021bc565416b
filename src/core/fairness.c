/*
 * phi and its gradient. Every metric comes down to means m[g] of some quantity over one cell per
 * group, a comparison of those means, and d phi / d m[g], which a second pass spreads over the
 * rows:
 *
 *   a mean's cell   all rows of the group, its rows with y = k, or its rows with y != k
 *   a quantity      p_k, or the cross-entropy
 *   a comparison    FIS_GAP_PAIRS    phi += 1/2 sum_{i<j} (m_i - m_j)^2
 *                   FIS_GAP_OVERALL  phi += 1/2 sum_g (m_g - m)^2, m the mean over the rows of all
 *                                    the groups' cells
 *
 * For two groups both comparisons give the same direction up to its length: with shares a + b = 1
 * of the rows, m_0 - m = b (m_0 - m_1) and m_1 - m = -a (m_0 - m_1). The pair is then used for
 * both, so that the length does not hang on the shares. Risk disparity is always against the
 * overall mean, as the paper defines it. DP in pairs clips, renormalises and scales as the paper's
 * program does; DP against the overall mean needs none of that.
 */
#include "fis/fairness.h"

#include <string.h>

#include "core/fairness_cells.h"
#include "core/fairness_impl.h"
#include "core/softmax.h"

const char *fis_metric_name(enum fis_metric m)
{
    switch (m) {
    case FIS_DEMOGRAPHIC_PARITY:
        return "demographic_parity";
    case FIS_EQUAL_OPPORTUNITY:
        return "equal_opportunity";
    case FIS_EQUALIZED_ODDS:
        return "equalized_odds";
    case FIS_RISK_DISPARITY:
        return "risk_disparity";
    }
    return "unknown";
}

void fairness_plan(struct fairness_work *w, const struct fis_surrogate *s, uint32_t classes,
                   uint32_t groups)
{
    int by_label = s->metric == FIS_EQUAL_OPPORTUNITY || s->metric == FIS_EQUALIZED_ODDS;
    w->classes = classes;
    w->groups = groups;
    w->uses[ALL_ROWS] = !by_label;
    w->uses[SAME_CLASS] = by_label;
    w->uses[OTHER_CLASS] = s->metric == FIS_EQUALIZED_ODDS;
    int one = by_label && classes == 2;
    w->first = one ? s->positive : 0;
    w->last = one ? s->positive + 1 : s->metric == FIS_RISK_DISPARITY ? 1 : classes;
    for (int part = 0; part < PARTS; part++)
        if (w->uses[part])
            memset(&w->mean[part][w->first], 0, (w->last - w->first) * sizeof(struct means));
}

/* The sums of p_k (or of the cross-entropy) over every cell. */
static void add_rows(struct fairness_work *w, int risk, const float *logits, const uint32_t *labels,
                     const uint32_t *groups, uint32_t n)
{
    double p[FIS_MAX_CLASSES];
    for (uint32_t i = 0; i < n; i++) {
        double ce = softmax_row(logits + (size_t)i * w->classes, w->classes, labels[i], p);
        for (uint32_t k = w->first; k < w->last; k++) {
            enum part part = fairness_part(w, labels[i], k);
            struct means *m = &w->mean[part][k];
            if (!w->uses[part])
                continue;
            m->at[groups[i]] += risk ? ce : p[k];
            m->rows[groups[i]]++;
        }
    }
}

/* Sums become means. `slack` is the paper's n 1e-8, or 0. */
static void divide(struct fairness_work *w, double slack)
{
    for (int part = 0; part < PARTS; part++)
        for (uint32_t k = w->first; w->uses[part] && k < w->last; k++)
            for (uint32_t g = 0; g < w->groups; g++) {
                w->mean[part][k].rows[g] += slack;
                w->mean[part][k].at[g] /= w->mean[part][k].rows[g];
            }
}

/* Means become d phi / d mean; returns what they add to phi. */
static double compare_pairs(struct means *m, uint32_t groups)
{
    double phi = 0, d[FIS_MAX_GROUPS] = {0};
    for (uint32_t i = 0; i < groups; i++)
        for (uint32_t j = i + 1; j < groups; j++) {
            double c = m->at[i] - m->at[j];
            phi += c * c / 2;
            d[i] += c;
            d[j] -= c;
        }
    memcpy(m->at, d, groups * sizeof *d);
    return phi;
}

static double compare_overall(struct means *m, uint32_t groups)
{
    double phi = 0, mean = 0, rows = 0, sum = 0;
    for (uint32_t g = 0; g < groups; g++) {
        mean += m->at[g] * m->rows[g];
        rows += m->rows[g];
    }
    mean /= rows;
    for (uint32_t g = 0; g < groups; g++) {
        m->at[g] -= mean;
        phi += m->at[g] * m->at[g] / 2;
        sum += m->at[g];
    }
    for (uint32_t g = 0; g < groups; g++)
        m->at[g] -= m->rows[g] / rows * sum; /* the overall mean moves with the group's */
    return phi;
}

/*
 * The paper's DP: H[g,k] clipped to [1e-3, 1], divided by its sum over k, compared in pairs with
 * c = (H[i,k] - H[j,k]) / (M (M-1) K). Means become d phi / d mean through all of it.
 */
static double compare_paper_dp(struct fairness_work *w)
{
    double total[FIS_MAX_GROUPS] = {0}, phi = 0;
    double scale = 1.0 / ((double)w->groups * (w->groups - 1) * w->classes);
    uint8_t inside[FIS_MAX_GROUPS][FIS_MAX_CLASSES];
    struct means *mean = w->mean[ALL_ROWS];
    double shares[FIS_MAX_GROUPS][FIS_MAX_CLASSES];
    for (uint32_t k = 0; k < w->classes; k++)
        for (uint32_t g = 0; g < w->groups; g++) {
            double *h = &mean[k].at[g];
            inside[g][k] = *h >= 1e-3 && *h <= 1;
            *h = *h < 1e-3 ? 1e-3 : *h > 1 ? 1 : *h;
            total[g] += *h;
        }
    for (uint32_t k = 0; k < w->classes; k++) {
        for (uint32_t g = 0; g < w->groups; g++)
            shares[g][k] = (mean[k].at[g] /= total[g]);
        phi += scale * scale * compare_pairs(&mean[k], w->groups);
    }
    for (uint32_t g = 0; g < w->groups; g++) {
        double along = 0;
        for (uint32_t k = 0; k < w->classes; k++)
            along += mean[k].at[g] * shares[g][k];
        for (uint32_t k = 0; k < w->classes; k++)
            mean[k].at[g] = inside[g][k] ? scale * scale * (mean[k].at[g] - along) / total[g] : 0;
    }
    return phi;
}

double fairness_compare(struct fairness_work *w, const struct fis_surrogate *s)
{
    double phi = 0;
    int pairs = s->form == FIS_GAP_PAIRS || w->groups == 2;
    if (s->metric == FIS_DEMOGRAPHIC_PARITY && pairs)
        return compare_paper_dp(w);
    for (int part = 0; part < PARTS; part++)
        for (uint32_t k = w->first; w->uses[part] && k < w->last; k++)
            phi += pairs && s->metric != FIS_RISK_DISPARITY
                       ? compare_pairs(&w->mean[part][k], w->groups)
                       : compare_overall(&w->mean[part][k], w->groups);
    return phi;
}

void fairness_row_gradient(const struct fairness_work *w, int risk, const float *logits,
                           uint32_t label, uint32_t group, float *d)
{
    double p[FIS_MAX_CLASSES], u[FIS_MAX_CLASSES] = {0}, along = 0;
    (void)softmax_row(logits, w->classes, label, p);
    for (uint32_t k = w->first; k < w->last; k++) {
        enum part part = fairness_part(w, label, k);
        const struct means *m = &w->mean[part][k];
        u[k] = w->uses[part] ? m->at[group] / m->rows[group] : 0;
        along += p[k] * u[k];
    }
    for (uint32_t k = 0; k < w->classes; k++)
        d[k] = (float)(risk ? u[0] * (p[k] - (k == label)) : p[k] * (u[k] - along));
}

int fis_surrogate_eval(const struct fis_surrogate *s, const float *logits, const uint32_t *labels,
                       const uint32_t *groups, uint32_t n, uint32_t classes, uint32_t n_groups,
                       double *phi, float *dlogits, struct fis_error *e)
{
    struct fairness_work w;
    if (s->metric < FIS_DEMOGRAPHIC_PARITY || s->metric > FIS_RISK_DISPARITY)
        return fis_fail(e, FIS_INPUT, "fairness: metric number %d is unknown", (int)s->metric);
    int risk = s->metric == FIS_RISK_DISPARITY;
    int rc = s->min_cell
                 ? fis_cells_check(s->metric, labels, groups, n, classes, n_groups, s->positive,
                                   s->min_cell, e)
                 : fairness_rows_check(labels, groups, n, classes, n_groups, s->positive, e);
    if (rc)
        return rc;
    fairness_plan(&w, s, classes, n_groups);
    add_rows(&w, risk, logits, labels, groups, n);
    divide(&w, s->min_cell ? 0 : n * 1e-8);
    *phi = fairness_compare(&w, s);
    for (uint32_t i = 0; dlogits && i < n; i++)
        fairness_row_gradient(&w, risk, logits + (size_t)i * classes, labels[i], groups[i],
                              dlogits + (size_t)i * classes);
    return 0;
}
