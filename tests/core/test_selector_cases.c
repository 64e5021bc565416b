/* The life of requests, case by case. */
#include "kit/core/selector_model.h"

/* ---- cases by hand -------------------------------------------------------------------------- */
static void make_held(struct selector_model *m, uint64_t budget, uint32_t n)
{
    struct fis_error e;
    *m = (struct selector_model){.budget = budget, .allowance = UINT64_MAX};
    m->s = model_selector(m);
    for (uint32_t i = 0; i < n; i++) {
        struct fis_candidate c;
        model_candidate(m, i, &c);
        c.scores[0] = c.scores[1] = 1;
        assert_int_equal(fis_selector_offer(m->s, &c, &e), 1);
    }
}

static struct fis_id ask_one(struct fis_selector *s)
{
    struct fis_candidate c;
    uint32_t criterion;
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
    return c.id;
}

static void late_answers_are_charged_once(void **state)
{
    (void)state;
    struct selector_model m;
    struct fis_candidate c;
    make_held(&m, 2, 8);
    struct fis_id refunded = ask_one(m.s), charged_id = ask_one(m.s);
    assert_int_equal(fis_selector_limit(m.s), FIS_LIMIT_BUDGET);
    give_up_id(m.s, &refunded, true);
    give_up_id(m.s, &charged_id, false);
    assert_int_equal(fis_selector_counts(m.s).budget_left, 1);
    assert_int_equal(fis_selector_counts(m.s).charged, 1);
    struct fis_id other = ask_one(m.s);
    assert_int_equal(fis_selector_counts(m.s).budget_left, 0);
    /* The late answers: one is paid for already, the other goes over the budget. */
    assert_true(peek(m.s, &charged_id, &c));
    assert_null(c.payload);
    answer_id(m.s, &charged_id, 1);
    assert_int_equal(fis_selector_counts(m.s).charged, 1);
    answer_id(m.s, &refunded, 1);
    answer_id(m.s, &other, 1);
    struct fis_selector_counts n = fis_selector_counts(m.s);
    assert_int_equal(n.charged, 3);
    assert_int_equal(n.answered, 3);
    assert_int_equal(n.given_up, 0);
    assert_int_equal(n.budget_left, 0);
    fis_selector_free(m.s);
}

static void the_allowance_limits_what_is_asked_from_now_on(void **state)
{
    (void)state;
    struct selector_model m;
    struct fis_candidate c;
    uint32_t criterion;
    make_held(&m, 100, 8);
    fis_selector_set_allowance(m.s, 1);
    struct fis_id id = ask_one(m.s);
    give_up_id(m.s, &id, true); /* an allowance does not come back */
    assert_int_equal(fis_selector_ask(m.s, &c, &criterion), 0);
    assert_int_equal(fis_selector_limit(m.s), FIS_LIMIT_ALLOWANCE);
    fis_selector_set_allowance(m.s, UINT64_MAX);
    (void)ask_one(m.s);
    fis_selector_free(m.s);
}

static void nothing_restored_is_asked_before_it_is_scored(void **state)
{
    (void)state;
    struct selector_model m = {.budget = 9, .allowance = UINT64_MAX};
    struct fis_error e;
    struct fis_candidate c;
    uint32_t criterion;
    m.s = model_selector(&m);
    model_candidate(&m, 0, &c);
    assert_int_equal(fis_selector_restore_held(m.s, &c, &e), 0);
    assert_int_equal(fis_selector_counts(m.s).held, 1);
    assert_int_equal(fis_selector_ask(m.s, &c, &criterion), 0);
    assert_int_equal(fis_selector_limit(m.s), FIS_LIMIT_EMPTY);
    model_candidate(&m, 0, &c);
    assert_int_equal(restore_as(m.s, &c, 5, FIS_OPEN, 0, 0, false, &e), -FIS_INPUT);
    assert_int_equal(restore_as(m.s, &c, 5, FIS_CANCELLED, 0, 0, true, &e), -FIS_INPUT);
    assert_int_equal(fis_selector_counts(m.s).held, 1);
    fis_selector_free(m.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_answers_are_charged_once),
        cmocka_unit_test(the_allowance_limits_what_is_asked_from_now_on),
        cmocka_unit_test(nothing_restored_is_asked_before_it_is_scored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
