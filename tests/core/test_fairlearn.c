/* Reported metrics against Fairlearn's (tests/golden/make_fairlearn.py). */
#include <math.h>
#include "kit/cmocka.h"

#include "kit/core/golden_file.h"
#include "fis/fairness.h"
#include "fis/mem.h"

static void agree(const struct golden *g, uint32_t at, const char *name, const double *ours,
                  uint32_t n)
{
    const struct golden_entry *e = golden_find(g, at, name);
    assert_non_null(e);
    assert_int_equal(e->count, n);
    for (uint32_t i = 0; i < n; i++)
        if (!(fabs(ours[i] - e->v[i]) <= 1e-12))
            fail_msg("%s: %s[%u] is %.15g, Fairlearn has %.15g", g->entry[at].name, name, i,
                     ours[i], e->v[i]);
}

static void check_groups(const struct golden *g, uint32_t at, const struct fis_metrics *m)
{
    double v[5][FIS_MAX_GROUPS];
    for (uint32_t i = 0; i < m->n_groups; i++) {
        v[0][i] = m->group[i].n;
        v[1][i] = m->group[i].accuracy;
        v[2][i] = m->group[i].positive_rate;
        v[3][i] = m->group[i].tpr;
        v[4][i] = m->group[i].fpr;
    }
    agree(g, at, "group.count", v[0], m->n_groups);
    agree(g, at, "group.accuracy", v[1], m->n_groups);
    agree(g, at, "group.rate", v[2], m->n_groups);
    agree(g, at, "group.tpr", v[3], m->n_groups);
    agree(g, at, "group.fpr", v[4], m->n_groups);
}

static void check_case(const struct golden *g, uint32_t at)
{
    const struct golden_entry *cells = golden_find(g, at, "cells");
    uint32_t n = 0, i = 0, groups = cells->count / 4;
    for (uint32_t c = 0; c < cells->count; c++)
        n += (uint32_t)cells->v[c];
    uint32_t *rows = fis_alloc(3 * (size_t)n, sizeof *rows);
    uint32_t *group = rows, *y = rows + n, *predicted = rows + 2 * (size_t)n;
    assert_non_null(rows);
    for (uint32_t c = 0; c < cells->count; c++)
        for (uint32_t j = 0; j < (uint32_t)cells->v[c]; j++, i++) {
            group[i] = c / 4;
            y[i] = c / 2 % 2;
            predicted[i] = c % 2;
        }
    struct fis_metrics m;
    fis_metrics_eval(predicted, NULL, y, group, NULL, n, 2, groups, 1, &m);
    agree(g, at, "accuracy", &m.accuracy, 1);
    agree(g, at, "balanced_accuracy", &m.balanced_accuracy, 1);
    agree(g, at, "demographic_parity", &m.demographic_parity, 1);
    agree(g, at, "equal_opportunity", &m.equal_opportunity, 1);
    agree(g, at, "equalized_odds", &m.equalized_odds, 1);
    agree(g, at, "equalized_odds_max", &m.equalized_odds_max, 1);
    check_groups(g, at, &m);
    assert_true(isnan(m.risk_disparity)); /* there are no logits */
    fis_free(rows);
}

static void all_cases(void **state)
{
    (void)state;
    uint32_t cases = 0;
    struct golden *g = golden_read("tests/golden/fairlearn.txt");
    assert_non_null(g);
    for (uint32_t i = 0; i + 1 < g->n; i++)
        if (g->entry[i].count == 0) {
            check_case(g, i);
            cases++;
        }
    assert_int_equal(cases, 22); /* 20 random ones, Adult by sex and by race */
    golden_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_cases)};
    return cmocka_run_group_tests_name("core/fairlearn", tests, NULL, NULL);
}
