/* How many rows each group, and each label within a group, has; private to core. */
#ifndef CORE_FAIRNESS_CELLS_H
#define CORE_FAIRNESS_CELLS_H

#include <stdbool.h>

#include "fis/fairness.h"

struct fairness_cells {
    uint32_t group[FIS_MAX_GROUPS];
    uint32_t label[FIS_MAX_GROUPS][FIS_MAX_CLASSES];
};

/* INPUT unless there are rows, and classes, groups, labels and `positive` are in range. */
int fairness_rows_check(const uint32_t *labels, const uint32_t *groups, uint32_t n,
                        uint32_t classes, uint32_t n_groups, uint32_t positive,
                        struct fis_error *e) FIS_MUST_CHECK;

/* Rows must have passed fairness_rows_check. */
void fairness_cells_count(struct fairness_cells *c, const uint32_t *labels, const uint32_t *groups,
                          uint32_t n, uint32_t n_groups);

/* Rows of the smallest cell that the metric needs. */
uint32_t fairness_cells_smallest(const struct fairness_cells *c, enum fis_metric metric,
                                 uint32_t classes, uint32_t n_groups, uint32_t positive);

#endif
