#include "core/fairness_cells.h"

#include "base/decimal.h"

#include <string.h>

int fairness_rows_check(const uint32_t *labels, const uint32_t *groups, uint32_t n,
                        uint32_t classes, uint32_t n_groups, uint32_t positive, struct fis_error *e)
{
    if (n == 0)
        return fis_fail(e, FIS_INPUT, "fairness: no rows");
    if (classes < 2 || classes > FIS_MAX_CLASSES)
        return fis_fail(e, FIS_INPUT, "fairness: found classes: %u, allowed 2 to %d", classes,
                        FIS_MAX_CLASSES);
    if (n_groups < 2 || n_groups > FIS_MAX_GROUPS)
        return fis_fail(e, FIS_INPUT, "fairness: %s, 2 to %d allowed",
                        DECIMAL_COUNT(n_groups, "group"), FIS_MAX_GROUPS);
    if (positive >= classes)
        return fis_fail(e, FIS_INPUT, "fairness: positive class %u, 0 to %u allowed", positive,
                        classes - 1);
    for (uint32_t i = 0; i < n; i++) {
        if (labels[i] >= classes)
            return fis_fail(e, FIS_INPUT, "fairness: row %u has class %u, 0 to %u allowed", i,
                            labels[i], classes - 1);
        if (groups[i] >= n_groups)
            return fis_fail(e, FIS_INPUT, "fairness: row %u has a group outside the %u declared", i,
                            n_groups);
    }
    return 0;
}

void fairness_cells_count(struct fairness_cells *c, const uint32_t *labels, const uint32_t *groups,
                          uint32_t n, uint32_t n_groups)
{
    memset(c->group, 0, n_groups * sizeof c->group[0]);
    memset(c->label, 0, n_groups * sizeof c->label[0]);
    for (uint32_t i = 0; i < n; i++) {
        c->group[groups[i]]++;
        c->label[groups[i]][labels[i]]++;
    }
}

/* Whether the metric looks at the rows of a group that have class k. */
static bool needs_class(enum fis_metric metric, uint32_t classes, uint32_t positive, uint32_t k)
{
    return metric == FIS_EQUALIZED_ODDS ||
           (metric == FIS_EQUAL_OPPORTUNITY && (classes > 2 || k == positive));
}

static int enough(uint32_t have, uint32_t want, uint32_t group, uint32_t class, struct fis_error *e)
{
    if (have >= want)
        return 0;
    return fis_fail(e, FIS_INPUT, "group %u, class %u: %s, %u expected", group, class,
                    DECIMAL_COUNT(have, "row"), want);
}

static int fairness_cells_check(const struct fairness_cells *c, enum fis_metric metric,
                                uint32_t classes, uint32_t n_groups, uint32_t positive,
                                uint32_t min_cell, struct fis_error *e)
{
    for (uint32_t g = 0; g < n_groups; g++) {
        if (c->group[g] < min_cell)
            return fis_fail(e, FIS_INPUT, "group %u: %s, %u expected", g,
                            DECIMAL_COUNT(c->group[g], "row"), min_cell);
        for (uint32_t k = 0; k < classes; k++) {
            int rc = needs_class(metric, classes, positive, k)
                         ? enough(c->label[g][k], min_cell, g, k, e)
                         : 0;
            if (rc)
                return rc;
        }
    }
    return 0;
}

uint32_t fairness_cells_smallest(const struct fairness_cells *c, enum fis_metric metric,
                                 uint32_t classes, uint32_t n_groups, uint32_t positive)
{
    uint32_t smallest = UINT32_MAX;
    for (uint32_t g = 0; g < n_groups; g++) {
        smallest = c->group[g] < smallest ? c->group[g] : smallest;
        for (uint32_t k = 0; k < classes; k++)
            if (needs_class(metric, classes, positive, k) && c->label[g][k] < smallest)
                smallest = c->label[g][k];
    }
    return smallest;
}

int fis_cells_check(enum fis_metric metric, const uint32_t *labels, const uint32_t *groups,
                    uint32_t n, uint32_t classes, uint32_t n_groups, uint32_t positive,
                    uint32_t min_cell, struct fis_error *e)
{
    int rc = fairness_rows_check(labels, groups, n, classes, n_groups, positive, e);
    if (rc)
        return rc;
    struct fairness_cells c;
    fairness_cells_count(&c, labels, groups, n, n_groups);
    return fairness_cells_check(&c, metric, classes, n_groups, positive, min_cell, e);
}
