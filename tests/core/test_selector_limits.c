/* Requests of the selector: what ends them, and how many there may be. */
#include "kit/core/candidates.h"

static void an_answer_ends_a_request(void **state)
{
    (void)state;
    struct fis_candidate c;
    uint32_t criterion;
    struct fis_selector *s = candidates_selector(&fis_acquisition_entropy, 4, 2, 3);
    candidates_make(5);
    for (uint32_t i = 0; i < CANDIDATES; i++)
        candidates[i].scores[0] = candidates[i].scores[1];
    candidates_offer_all(s, 0);
    fis_selector_set_clock(s, 77);
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
    struct fis_request *r = fis_selector_find(s, &c.id);
    assert_ptr_equal(fis_selector_oldest(s), r);
    assert_int_equal(r->asked_at_ms, 77);
    fis_selector_answer(s, r, 1, false);
    assert_int_equal(r->state, FIS_SET_ASIDE);
    assert_int_equal(r->class_index, 1);
    assert_null(fis_selector_oldest(s));
    assert_false(fis_selector_features(s, r, &c));
    struct fis_selector_counts n = fis_selector_counts(s);
    assert_int_equal(n.open, 0);
    assert_int_equal(n.answered, 1);
    assert_int_equal(n.round_answered, 1);
    assert_int_equal(n.budget_left, 2);
    fis_selector_free(s);
}

static void open_requests_are_listed_by_age(void **state)
{
    (void)state;
    static const uint64_t asked_at[] = {30, 10, 20, 10};
    static const uint32_t order[] = {1, 3, 2, 0};
    struct fis_error e;
    struct fis_request *r;
    struct fis_selector *s = candidates_selector(&fis_acquisition_fis_plus, 4, 0, 0);
    candidates_make(5);
    for (uint32_t i = 0; i < 4; i++) {
        struct fis_request as = {
            .id = candidates[i].id, .state = FIS_OPEN, .asked_at_ms = asked_at[i]};
        assert_int_equal(fis_selector_restore(s, &as, candidates[i].x, &r, &e), 0);
    }
    r = fis_selector_oldest(s);
    for (uint32_t i = 0; i < 4; i++, r = r->newer)
        assert_int_equal(fis_id_compare(&r->id, &candidates[order[i]].id), 0);
    assert_null(r);
    fis_selector_give_up(s, fis_selector_find(s, &candidates[3].id), FIS_TIED, false);
    assert_int_equal(fis_id_compare(&fis_selector_oldest(s)->newer->id, &candidates[2].id), 0);
    fis_selector_free(s);
}

static void limits_hold_and_withdrawal_gives_back(void **state)
{
    (void)state;
    struct fis_candidate c;
    struct fis_error e;
    uint32_t criterion;
    struct fis_selector *s = candidates_selector(&fis_acquisition_fis_plus, 4, 2, 3);
    candidates_make(6);
    candidates_offer_all(s, 0);
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
    struct fis_id first = c.id;
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
    assert_int_equal(fis_selector_limit(s), FIS_LIMIT_IN_FLIGHT);
    fis_selector_set_in_flight(s, 3);
    assert_int_equal(fis_selector_limit(s), FIS_LIMIT_NONE);
    fis_selector_set_in_flight(s, 1); /* the two that are open stay */
    assert_int_equal(fis_selector_limit(s), FIS_LIMIT_IN_FLIGHT);
    assert_int_equal(fis_selector_counts(s).open, 2);
    fis_selector_set_in_flight(s, 0); /* as many as a round has */
    assert_int_equal(fis_selector_limit(s), FIS_LIMIT_NONE);
    fis_selector_set_in_flight(s, 2);
    give_up_id(s, &first, true);
    assert_int_equal(state_of(s, &first), FIS_EXPIRED);
    assert_int_equal(fis_selector_counts(s).budget_left, 2);
    assert_int_equal(fis_selector_counts(s).round_asked, 1);
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
    assert_int_equal(criterion, 0); /* candidates good from the criterion that lost one */
    assert_int_not_equal(fis_id_compare(&c.id, &first), 0);
    answer_id(s, &c.id, 0);
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
    assert_int_equal(fis_selector_limit(s), FIS_LIMIT_BUDGET);
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 0);
    for (uint32_t i = 0; i < CANDIDATES; i++)
        if (fis_id_compare(&candidates[i].id, &first) == 0)
            assert_int_equal(fis_selector_offer(s, &candidates[i], &e), 0);
    fis_selector_free(s);
}

static void labels_set_aside_free_their_place_in_rounds_of_kept(void **state)
{
    (void)state;
    struct fis_candidate c;
    uint32_t criterion;
    struct fis_selector_options o = {.criteria = {.acquisition = &fis_acquisition_entropy},
                                     .d = CANDIDATE_D,
                                     .labels_per_round = 2,
                                     .budget = 4,
                                     .rounds_of_kept = true};
    struct fis_error e;
    struct fis_selector *s = fis_selector_new(&o, &e);
    candidates_make(8);
    candidates_offer_all(s, 0);
    for (uint32_t i = 0; i < 3; i++) {
        while (fis_selector_ask(s, &c, &criterion))
            assert_true(fis_selector_counts(s).round_asked <= 2);
        fis_selector_answer(s, fis_selector_find(s, &c.id), 1, false);
        assert_int_equal(fis_selector_counts(s).round_asked, 1);
        assert_int_equal(fis_selector_counts(s).answered, i + 1); /* paid for all the same */
    }
    assert_int_equal(fis_selector_counts(s).budget_left, 0);
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 0);
    answer_id(s, &fis_selector_oldest(s)->id, 1); /* kept: its place is taken */
    assert_int_equal(fis_selector_counts(s).round_asked, 1);
    fis_selector_free(s);
}

static void answers_count_in_the_round_in_which_they_come(void **state)
{
    (void)state;
    struct fis_candidate c;
    uint32_t criterion;
    struct fis_selector *s = candidates_selector(&fis_acquisition_fis_plus, 2, 8, 0);
    candidates_make(7);
    candidates_offer_all(s, 0);
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
    struct fis_id late = c.id;
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
    struct fis_id skipped = c.id;
    fis_selector_round_begin(s, 1);
    answer_id(s, &late, 0);
    give_up_id(s, &skipped, true);
    assert_int_equal(fis_selector_counts(s).round_answered, 1);
    assert_int_equal(fis_selector_counts(s).round_asked, 1); /* it takes a place of two */
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 0);
    assert_int_equal(fis_selector_limit(s), FIS_LIMIT_ROUND);
    assert_int_equal(fis_selector_counts(s).answered, 1);
    fis_selector_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_ends_a_request),
        cmocka_unit_test(open_requests_are_listed_by_age),
        cmocka_unit_test(limits_hold_and_withdrawal_gives_back),
        cmocka_unit_test(labels_set_aside_free_their_place_in_rounds_of_kept),
        cmocka_unit_test(answers_count_in_the_round_in_which_they_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
