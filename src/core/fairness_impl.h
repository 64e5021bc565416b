/* The sums that phi is made of; private to core. fairness.c says how they fit together. */
#ifndef CORE_FAIRNESS_WORK_H
#define CORE_FAIRNESS_WORK_H

#include "fis/fairness.h"

enum part { ALL_ROWS, SAME_CLASS, OTHER_CLASS, PARTS };

struct means {
    double at[FIS_MAX_GROUPS]; /* sums at first, then means, then d phi / d mean */
    double rows[FIS_MAX_GROUPS];
};

/* One entry per class and part; the cross-entropy uses entry 0 of ALL_ROWS. Some 200 KB. */
struct fairness_work {
    uint32_t classes, groups;
    int uses[PARTS];
    uint32_t first, last; /* the classes that have constraints: first <= k < last */
    struct means mean[PARTS][FIS_MAX_CLASSES];
};

void fairness_plan(struct fairness_work *w, const struct fis_surrogate *s, uint32_t classes,
                   uint32_t groups);
static inline enum part fairness_part(const struct fairness_work *w, uint32_t label, uint32_t k)
{
    return w->uses[ALL_ROWS] ? ALL_ROWS : label == k ? SAME_CLASS : OTHER_CLASS;
}
/* Means become d phi / d mean; returns phi. */
double fairness_compare(struct fairness_work *w, const struct fis_surrogate *s);
/* d phi / d logits [K] of one row, given d phi / d mean of every cell. */
void fairness_row_gradient(const struct fairness_work *w, int risk, const float *logits,
                           uint32_t label, uint32_t group, float *d);

#endif
