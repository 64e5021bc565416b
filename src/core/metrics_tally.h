/*
 * Counts that every reported metric and its interval are a function of: one pass over the rows
 * fills them. Private to core.
 */
#ifndef CORE_METRICS_TALLY_H
#define CORE_METRICS_TALLY_H

#include "fis/fairness.h"

struct metrics_tally {
    uint32_t n_groups, classes, positive;
    bool has_loss;
    uint32_t rows[FIS_MAX_GROUPS];
    double loss[FIS_MAX_GROUPS], square[FIS_MAX_GROUPS]; /* sums of cross-entropy, and of squares */
    /* [group * classes + class] */
    uint32_t label[FIS_MAX_GROUPS * FIS_MAX_CLASSES];
    uint32_t predicted[FIS_MAX_GROUPS * FIS_MAX_CLASSES];
    uint32_t hit[FIS_MAX_GROUPS * FIS_MAX_CLASSES]; /* label and prediction are both the class */
};

void metrics_tally_clear(struct metrics_tally *t, uint32_t classes, uint32_t n_groups,
                         uint32_t positive, bool has_loss);

static inline void metrics_tally_add(struct metrics_tally *t, uint32_t group, uint32_t label,
                                     uint32_t prediction, double loss)
{
    uint32_t at = group * t->classes;
    t->rows[group]++;
    t->loss[group] += loss;
    t->square[group] += loss * loss;
    t->label[at + label]++;
    t->predicted[at + prediction]++;
    t->hit[at + label] += label == prediction;
}

/* What follows from a tally; NaN where not estimable. */
struct metrics_scalars {
    double accuracy, demographic_parity, equal_opportunity, tpr_gap, fpr_gap, equalized_odds,
        equalized_odds_max, risk_disparity;
};
void metrics_scalars_of(const struct metrics_tally *t, struct metrics_scalars *out);

#endif
