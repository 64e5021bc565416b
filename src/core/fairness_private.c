/* The cells of phi with noise on them. What follows from them is as private as they are. */
#include "core/direction_private.h"
#include "core/softmax.h"

#include <math.h>
#include <string.h>

static uint32_t columns(const struct fairness_work *w)
{
    return w->uses[ALL_ROWS] ? 1 : w->classes;
}

/* What one row adds to the sums has a length of 1 at most (its probabilities sum to 1), and so has
 * what it adds to the counts; replacing it takes one such vector away and adds another. */
void private_cells_add(struct private_cells *c, const struct fis_surrogate *s, const float *logits,
                       const uint32_t *labels, const uint32_t *groups, uint32_t n, uint32_t classes,
                       uint32_t n_groups)
{
    double p[FIS_MAX_CLASSES];
    struct fairness_work *w = &c->sums;
    int risk = s->metric == FIS_RISK_DISPARITY;
    fairness_plan(w, s, classes, n_groups);
    memset(c->rows, 0, sizeof c->rows);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t g = groups[i];
        double ce = softmax_row(logits + (size_t)i * classes, classes, labels[i], p);
        double loss = (ce < PRIVATE_LOSS_MAX ? ce : PRIVATE_LOSS_MAX) / PRIVATE_LOSS_MAX;
        c->rows[g][columns(w) == 1 ? 0 : labels[i]]++;
        for (uint32_t k = w->first; k < w->last; k++) {
            enum part part = fairness_part(w, labels[i], k);
            if (w->uses[part])
                w->mean[part][k].at[g] += risk ? loss : p[k];
        }
    }
}

static double rows_of(const struct private_cells *c, int part, uint32_t k, uint32_t g)
{
    double all = 0;
    if (part == ALL_ROWS)
        return c->rows[g][0];
    if (part == SAME_CLASS)
        return c->rows[g][k];
    for (uint32_t y = 0; y < c->sums.classes; y++)
        all += y == k ? 0 : c->rows[g][y];
    return all;
}

static void add_noise(struct private_cells *c, double deviation, struct chacha_normal *noise)
{
    struct fairness_work *w = &c->sums;
    for (uint32_t g = 0; g < w->groups; g++)
        for (uint32_t y = 0; y < columns(w); y++)
            c->rows[g][y] += deviation * chacha_normal(noise);
    for (int part = 0; part < PARTS; part++)
        for (uint32_t k = w->first; w->uses[part] && k < w->last; k++)
            for (uint32_t g = 0; g < w->groups; g++)
                w->mean[part][k].at[g] += deviation * chacha_normal(noise);
}

static double share(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

void private_cells_weights(struct private_cells *c, const struct fis_surrogate *s, double deviation,
                           struct chacha_normal *noise)
{
    struct fairness_work *w = &c->sums;
    double least = noise && 2 * deviation > 1 ? 2 * deviation : 1;
    double unit = s->metric == FIS_RISK_DISPARITY ? PRIVATE_LOSS_MAX : 1;
    if (noise)
        add_noise(c, deviation, noise);
    for (int part = 0; part < PARTS; part++)
        for (uint32_t k = w->first; w->uses[part] && k < w->last; k++)
            for (uint32_t g = 0; g < w->groups; g++) {
                struct means *m = &w->mean[part][k];
                double rows = rows_of(c, part, k, g);
                m->rows[g] = rows > least ? rows : least;
                m->at[g] = unit * share(m->at[g] / m->rows[g]);
            }
    (void)fairness_compare(w, s);
}

double private_weight(const struct fairness_work *w, uint32_t label, uint32_t group)
{
    double sum = 0;
    for (uint32_t k = w->first; k < w->last; k++) {
        enum part part = fairness_part(w, label, k);
        const struct means *m = &w->mean[part][k];
        double u = w->uses[part] ? m->at[group] / m->rows[group] : 0;
        sum += u * u;
    }
    return sqrt(sum);
}

double private_largest_weight(const struct fairness_work *w)
{
    double largest = 0;
    for (uint32_t g = 0; g < w->groups; g++)
        for (uint32_t y = 0; y < w->classes; y++) {
            double u = private_weight(w, y, g);
            largest = u > largest ? u : largest;
        }
    return largest;
}
