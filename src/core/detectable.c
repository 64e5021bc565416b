/* The smallest gap that rows can tell from none. */
#include <math.h>

#include "core/normal.h"
#include "fis/fairness.h"

#define LEVEL .05
#define POWER .8

enum part { ALL, OF_CLASS, OF_OTHERS };

struct cells {
    const double *rows; /* [n_groups][classes] */
    uint32_t classes, n_groups;
};

static double cell(const struct cells *c, enum part part, uint32_t g, uint32_t k)
{
    double sum = 0;
    for (uint32_t l = 0; l < c->classes; l++)
        if (part == ALL || (part == OF_CLASS) == (l == k))
            sum += c->rows[g * c->classes + l];
    return sum;
}

static double smallest(const struct cells *c, enum part part, uint32_t k, double rate)
{
    double two[2] = {INFINITY, INFINITY};
    for (uint32_t g = 0; g < c->n_groups; g++) {
        const double n = cell(c, part, g, k);
        if (n < two[0]) {
            two[1] = two[0];
            two[0] = n;
        } else if (n < two[1]) {
            two[1] = n;
        }
    }
    rate = fmin(fmax(rate, .5 / two[0]), 1 - .5 / two[0]); /* 0 of n is no certainty */
    const double gap = (normal_upper(LEVEL / 2) + normal_upper(1 - POWER)) *
                       sqrt(rate * (1 - rate) * (1 / two[0] + 1 / two[1]));
    return two[0] > 0 && gap < 1 ? gap : NAN;
}

/* What a model does in the part, over all groups; NAN: it has not been measured. */
static double model_rate(const struct cells *c, const struct fis_metrics *m, enum part part,
                         uint32_t k)
{
    double sum = 0, rows = 0;
    for (uint32_t g = 0; g < c->n_groups; g++) {
        const struct fis_group_metrics *of = &m->group[g];
        const double n = cell(c, part, g, k);
        sum += n * (part == ALL ? of->positive_rate : part == OF_CLASS ? of->tpr : of->fpr);
        rows += n;
    }
    return sum / rows;
}

static double label_rate(const struct cells *c, uint32_t k)
{
    double of_class = 0, rows = 0;
    for (uint32_t g = 0; g < c->n_groups; g++) {
        of_class += cell(c, OF_CLASS, g, k);
        rows += cell(c, ALL, g, k);
    }
    return of_class / rows;
}

/* The largest over the classes that the metric looks at: it is the one that decides. */
static double of_part(const struct cells *c, enum part part, uint32_t positive,
                      const struct fis_metrics *m)
{
    double largest = 0;
    const bool two = c->classes == 2;
    for (uint32_t k = two ? positive : 0; k < (two ? positive + 1 : c->classes); k++) {
        double rate = two && m ? model_rate(c, m, part, k) : NAN;
        if (isnan(rate))
            rate = part == ALL ? label_rate(c, k) : .5;
        const double gap = smallest(c, part, k, rate);
        if (isnan(gap))
            return NAN;
        largest = fmax(largest, gap);
    }
    return largest;
}

double fis_detectable_gap(enum fis_metric metric, const double *rows, uint32_t classes,
                          uint32_t n_groups, uint32_t positive, const struct fis_metrics *m)
{
    const struct cells c = {rows, classes, n_groups};
    switch (metric) {
    case FIS_DEMOGRAPHIC_PARITY:
        return of_part(&c, ALL, positive, m);
    case FIS_EQUAL_OPPORTUNITY:
        return of_part(&c, OF_CLASS, positive, m);
    case FIS_EQUALIZED_ODDS:
        return hypot(of_part(&c, OF_CLASS, positive, m), of_part(&c, OF_OTHERS, positive, m)) / 2;
    case FIS_RISK_DISPARITY:
        break;
    }
    return NAN;
}
