/* Krippendorff's alpha against the field's library, and taking answers out again. */
#include "role/agreement.h"

#include <math.h>
#include <stdio.h>

#include "kit/cmocka.h"
#include "kit/core/golden_file.h"
#include "wire/types.h"

#define PEOPLE 8

static uint32_t column(const struct golden *g, uint32_t at, uint32_t record,
                       struct fis_vote votes[PEOPLE])
{
    static const char *const names[PEOPLE] = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"};
    const double *size = golden_find(g, at, "size")->v, *v = golden_find(g, at, "answers")->v;
    uint32_t people = (uint32_t)size[0], records = (uint32_t)size[1], n = 0;
    for (uint32_t i = 0; i < people; i++) {
        double answer = v[i * records + record];
        bool labelled = answer >= 0;
        if (labelled || record % 2) /* a skipped one is a missing one */
            votes[n++] = (struct fis_vote){names[i], labelled ? WIRE_LABELLED : WIRE_SKIPPED,
                                           labelled ? (uint32_t)answer : 0, 0};
    }
    return n;
}

static void near(double found, double expected)
{
    if (isnan(expected))
        assert_true(isnan(found));
    else
        assert_true(fabs(found - expected) < 1e-9);
}

static void check(const struct agreement *a, const struct golden *g, uint32_t at)
{
    const struct golden_entry *by_class = golden_find(g, at, "class");
    const struct golden_entry *without = golden_find(g, at, "without");
    near(agreement_alpha(a), golden_find(g, at, "alpha")->v[0]);
    for (uint32_t k = 0; k < by_class->count; k++)
        near(agreement_of_class(a, k), by_class->v[k]);
    for (uint32_t i = 0; i < a->n_people; i++)
        near(agreement_without(a, &a->people[i]), without->v[a->people[i].name[1] - '0']);
}

static void fill(struct agreement *a, const struct golden *g, uint32_t at)
{
    struct fis_vote votes[PEOPLE];
    struct fis_error e;
    uint32_t records = (uint32_t)golden_find(g, at, "size")->v[1];
    for (uint32_t r = 0; r < records; r++)
        assert_int_equal(agreement_add(a, votes, column(g, at, r, votes), &e), 0);
}

static void as_the_library(void **state)
{
    (void)state;
    struct golden *g = golden_read("tests/golden/krippendorff.txt");
    uint32_t cases = 0;
    assert_non_null(g);
    for (uint32_t i = 0; i + 1 < g->n; i++) {
        struct agreement a = {0};
        if (g->entry[i].count)
            continue;
        fill(&a, g, i);
        check(&a, g, i);
        agreement_done(&a);
        cases++;
    }
    assert_int_equal(cases, 30);
    golden_free(g);
}

/* What was changed is taken out and put in again: nothing is left of what it was. */
static void taken_out(void **state)
{
    (void)state;
    struct golden *g = golden_read("tests/golden/krippendorff.txt");
    struct fis_vote votes[PEOPLE];
    struct agreement a = {0};
    assert_non_null(g);
    fill(&a, g, 6); /* another table before, which is taken out as a whole */
    fill(&a, g, 0);
    for (uint32_t r = 0; r < (uint32_t)golden_find(g, 6, "size")->v[1]; r++)
        agreement_take(&a, votes, column(g, 6, r, votes));
    near(agreement_alpha(&a), golden_find(g, 0, "alpha")->v[0]);
    agreement_done(&a);
    golden_free(g);
}

static void pairs(void **state)
{
    (void)state;
    struct agreement a = {0};
    struct fis_error e;
    const struct fis_vote one[] = {{"ann", 0, 1, 0}, {"bob", 0, 1, 0}, {"cid", 0, 0, 0}};
    const struct fis_vote two[] = {{"ann", 0, 0, 0}, {"bob", 0, 0, 0}, {"cid", WIRE_UNSURE, 0, 0}};
    assert_int_equal(agreement_add(&a, one, 3, &e), 0);
    assert_int_equal(agreement_add(&a, two, 3, &e), 0);
    assert_int_equal(agreement_add(&a, one, 1, &e), 0); /* nobody to compare with */
    assert_int_equal(a.records, 2);
    assert_int_equal(a.n_people, 3);
    near(agreement_share(&a.people[0]), 2. / 3);
    near(agreement_share(&a.people[2]), 0);
    assert_int_equal(a.people[2].answers, 1);
    agreement_done(&a);
}

/* More people than are followed: the whole has them all. */
static void many_people(void **state)
{
    (void)state;
    struct agreement a = {0};
    struct fis_error e;
    char name[16];
    for (int i = 0; i < AGREEMENT_PEOPLE + 20; i++) {
        snprintf(name, sizeof name, "n%d", i);
        const struct fis_vote votes[] = {{"first", 0, (uint32_t)i % 2, 0},
                                         {name, 0, (uint32_t)(i / 2) % 2, 0}};
        assert_int_equal(agreement_add(&a, votes, 2, &e), 0);
    }
    assert_int_equal(a.n_people, AGREEMENT_PEOPLE);
    assert_int_equal(a.records, AGREEMENT_PEOPLE + 20);
    assert_true(isfinite(agreement_alpha(&a)));
    agreement_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_library),
        cmocka_unit_test(taken_out),
        cmocka_unit_test(pairs),
        cmocka_unit_test(many_people),
    };
    return cmocka_run_group_tests_name("role/agreement", tests, NULL, NULL);
}
