#include "kit/core/candidates.h"

static uint32_t ask_all(struct fis_selector *s, struct fis_id *ids, uint32_t *criteria)
{
    struct fis_candidate c;
    uint32_t n = 0;
    while (fis_selector_ask(s, &c, &criteria[n]))
        ids[n++] = c.id;
    return n;
}

static void selection_does_not_depend_on_order(void **state)
{
    (void)state;
    candidates_make(1);
    struct fis_id first[CANDIDATES], other[CANDIDATES];
    uint32_t criteria[CANDIDATES], n = 0;
    for (uint64_t order = 0; order < 10; order++) {
        struct fis_selector *s = candidates_selector(&fis_acquisition_fis_plus, 40, 0, 0);
        candidates_offer_all(s, order);
        uint32_t m = ask_all(s, order ? other : first, criteria);
        assert_int_equal(m, 40);
        assert_int_equal(fis_selector_limit(s), FIS_LIMIT_ROUND);
        for (uint32_t i = 0; order && i < m; i++)
            assert_int_equal(fis_id_compare(&first[i], &other[i]), 0);
        n = m;
        fis_selector_free(s);
    }
    assert_int_equal(n, 40);
}

/* The best by sorting: highest score, then smallest id, of those not taken yet. */
static uint32_t naive_best(const unsigned char *taken, uint32_t criterion)
{
    uint32_t best = CANDIDATES;
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        float score = candidates[i].scores[criterion];
        if (taken[i] || score <= FIS_NOT_A_CANDIDATE)
            continue;
        if (best == CANDIDATES || score > candidates[best].scores[criterion] ||
            (score == candidates[best].scores[criterion] &&
             fis_id_compare(&candidates[i].id, &candidates[best].id) < 0))
            best = i;
    }
    return best;
}

static void criteria_take_turns_as_a_sort_would(void **state)
{
    (void)state;
    candidates_make(2);
    unsigned char taken[CANDIDATES] = {0};
    struct fis_selector *s = candidates_selector(&fis_acquisition_fis_plus, 60, 0, 0);
    candidates_offer_all(s, 1);
    for (uint32_t i = 0; i < 60; i++) {
        struct fis_candidate c;
        uint32_t criterion = 9, want = naive_best(taken, i % 2);
        assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
        assert_int_equal(criterion, i % 2);
        assert_int_equal(fis_id_compare(&c.id, &candidates[want].id), 0);
        assert_memory_equal(c.x, candidate_features[want], sizeof candidate_features[want]);
        assert_memory_equal(c.payload, "text", 4);
        taken[want] = 1;
    }
    fis_selector_free(s);
}

/* Features in ALIKE kinds, and scores by kind (of feature, or of feature and id). */
#define ALIKE 90u

static void make_alike(uint64_t seed, bool by_id)
{
    candidates_make(seed);
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        memcpy(candidate_features[i], candidate_features[i % ALIKE], sizeof candidate_features[i]);
        candidate_features[i][2] = i % 2 ? 0.0f : -0.0f; /* the same */
        for (uint32_t k = 0; k < 2 && !by_id; k++)
            candidates[i].scores[k] = candidates[i % ALIKE].scores[k];
    }
}

/* By sorting: the best of those with candidate_features that nobody was asked about in this round.
 */
static uint32_t next_distinct(unsigned char *taken, uint32_t criterion)
{
    uint32_t best = naive_best(taken, criterion);
    for (uint32_t i = best % ALIKE; i < CANDIDATES; i += ALIKE)
        taken[i] = 1;
    return best;
}

static void one_of_equal_features_in_a_round(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct fis_selector_options o = {.criteria = {.acquisition = &fis_acquisition_fis_plus},
                                         .d = CANDIDATE_D,
                                         .labels_per_round = 30,
                                         .distinct = true};
        struct fis_error e;
        unsigned char taken[CANDIDATES] = {0};
        make_alike(seed, seed % 2);
        struct fis_selector *s = fis_selector_new(&o, &e);
        assert_non_null(s);
        candidates_offer_all(s, seed);
        for (uint32_t i = 0; i < 30; i++) {
            struct fis_candidate c;
            uint32_t criterion;
            assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
            uint32_t want = next_distinct(taken, criterion);
            assert_int_equal(fis_id_compare(&c.id, &candidates[want].id), 0);
        }
        /* Others like them wait, and have their turn in the next round. */
        candidates_offer_all(s, seed + 1);
        assert_true(fis_selector_counts(s).waiting > 0);
        fis_selector_round_begin(s, 1);
        assert_int_equal(fis_selector_counts(s).waiting, 0);
        fis_selector_free(s);
    }
}

/* All of the best are alike: the round goes on with what comes after them, and ends. */
static void copies_do_not_fill_the_heaps(void **state)
{
    (void)state;
    struct fis_selector_options o = {.criteria = {.acquisition = &fis_acquisition_entropy},
                                     .d = CANDIDATE_D,
                                     .labels_per_round = 8,
                                     .distinct = true};
    struct fis_error e;
    struct fis_id ids[CANDIDATES];
    uint32_t criteria[CANDIDATES];
    candidates_make(3);
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        candidates[i].scores[0] = i < CANDIDATES - 5 ? 100 : (float)i / CANDIDATES;
        memcpy(candidate_features[i], candidate_features[i < CANDIDATES - 5 ? 0 : i],
               sizeof candidate_features[i]);
    }
    struct fis_selector *s = fis_selector_new(&o, &e);
    assert_non_null(s);
    candidates_offer_all(s, 1);
    assert_int_equal(fis_selector_counts(s).held, 6);
    assert_int_equal(ask_all(s, ids, criteria), 6);
    assert_int_equal(fis_id_compare(&ids[0], &candidates[0].id), 0);
    candidates_offer_all(s, 2); /* one more of the copies is held, and waits */
    assert_int_equal(fis_selector_counts(s).held, 1);
    assert_int_equal(fis_selector_counts(s).waiting, 1);
    assert_int_equal(fis_selector_limit(s), FIS_LIMIT_EMPTY);
    fis_selector_round_begin(s, 1);
    assert_int_equal(ask_all(s, ids, criteria), 1);
    fis_selector_free(s);
}

static void held_once_even_in_both_heaps(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_selector *s = candidates_selector(&fis_acquisition_fis_plus, 4, 0, 0);
    candidates_make(3);
    candidates[0].scores[0] = candidates[0].scores[1] = 5;
    assert_int_equal(fis_selector_offer(s, &candidates[0], &e), 1);
    assert_int_equal(fis_selector_offer(s, &candidates[0], &e), 0);
    assert_int_equal(fis_selector_counts(s).held, 1);
    struct fis_candidate c;
    uint32_t criterion;
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 0);
    assert_int_equal(fis_selector_limit(s), FIS_LIMIT_EMPTY);
    assert_int_equal(fis_selector_offer(s, &candidates[0], &e), 0); /* asked for: never again */
    fis_selector_free(s);
}

static void starved_criterion_leaves_its_turn_and_resumes_it(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_candidate c;
    uint32_t criterion;
    struct fis_selector *s = candidates_selector(&fis_acquisition_fis_plus, 8, 0, 0);
    candidates_make(4);
    for (uint32_t i = 0; i < 20; i++) {
        candidates[i].scores[0] = FIS_NOT_A_CANDIDATE;
        assert_int_equal(fis_selector_offer(s, &candidates[i], &e) >= 0, 1);
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
        assert_int_equal(criterion, 1);
    }
    for (uint32_t i = 20; i < 30; i++) {
        candidates[i].scores[0] = 1;
        candidates[i].scores[1] = FIS_NOT_A_CANDIDATE;
        assert_int_equal(fis_selector_offer(s, &candidates[i], &e), 1);
    }
    uint32_t by[2] = {0, 2};
    while (fis_selector_ask(s, &c, &criterion))
        by[criterion]++;
    assert_int_equal(by[0], 4);
    assert_int_equal(by[1], 4);
    fis_selector_free(s);
}

static void bad_candidates_are_refused(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_selector *s = candidates_selector(&fis_acquisition_fis_plus, 4, 0, 0);
    candidates_make(8);
    candidates[0].scores[1] = NAN;
    assert_int_equal(fis_selector_offer(s, &candidates[0], &e), -FIS_INPUT);
    candidates[0].scores[1] = INFINITY;
    assert_int_equal(fis_selector_offer(s, &candidates[0], &e), -FIS_INPUT);
    candidates[0].scores[1] = 1;
    candidate_features[0][2] = NAN;
    assert_int_equal(fis_selector_offer(s, &candidates[0], &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "rec-0"));
    assert_int_equal(fis_selector_counts(s).held, 0);
    fis_selector_free(s);
}

static void flip_scores(void *arg, const float *x, const struct fis_id *const *ids, uint32_t n,
                        float *scores)
{
    const uint32_t *poisoned = arg;
    (void)ids;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t record = (uint32_t)x[i * CANDIDATE_D] / 10;
        scores[i * FIS_MAX_CRITERIA] = record % 2 ? (float)record : FIS_NOT_A_CANDIDATE;
        scores[i * FIS_MAX_CRITERIA + 1] = record == *poisoned ? NAN : -(float)record;
    }
}

static void a_new_head_reorders_all(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_candidate c;
    uint32_t criterion, nobody = CANDIDATES, poisoned = 0;
    struct fis_selector *s = candidates_selector(&fis_acquisition_fis_plus, 20, 0, 0);
    candidates_make(9);
    /* One heap of 40 each; 0..39 are held by entropy alone at first. */
    for (uint32_t i = 0; i < 40; i++) {
        candidates[i].scores[0] = FIS_NOT_A_CANDIDATE;
        candidates[i].scores[1] = (float)i;
        assert_int_equal(fis_selector_offer(s, &candidates[i], &e), 1);
    }
    assert_int_equal(fis_selector_rescore(s, flip_scores, &nobody, &e), 0);
    assert_int_equal(fis_selector_counts(s).held, 40);
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
    assert_int_equal(criterion, 0);
    assert_int_equal(fis_id_compare(&c.id, &candidates[39].id), 0);
    assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
    assert_int_equal(criterion, 1);
    assert_int_equal(fis_id_compare(&c.id, &candidates[0].id), 0);
    poisoned = 1;
    assert_int_equal(fis_selector_rescore(s, flip_scores, &poisoned, &e), -FIS_INPUT);
    assert_int_equal(fis_selector_counts(s).held, 37);
    fis_selector_free(s);
}

static void restored_state_asks_nobody_twice(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_candidate c;
    struct fis_selector *s = candidates_selector(&fis_acquisition_fis_plus, 4, 0, 5);
    candidates_make(10);
    candidates[2].scores[0] = candidates[2].scores[1] = 99;
    assert_int_equal(fis_selector_offer(s, &candidates[2], &e), 1);
    assert_int_equal(restore_as(s, &candidates[0], 0, FIS_OPEN, 0, 0, false, &e), 0);
    assert_int_equal(restore_as(s, &candidates[0], 0, FIS_OPEN, 0, 0, false, &e), 0);
    assert_int_equal(restore_as(s, &candidates[1], 1, FIS_ACCEPTED, 0, 1, false, &e), 0);
    assert_int_equal(restore_as(s, &candidates[1], 1, FIS_EXPIRED, 0, 1, false, &e),
                     0); /* before it */
    assert_int_equal(restore_as(s, &candidates[2], 1, FIS_OPEN, 0, 0, false, &e), 0);
    assert_int_equal(restore_as(s, &candidates[3], 7, FIS_OPEN, 0, 0, false, &e), -FIS_INPUT);
    struct fis_selector_counts n = fis_selector_counts(s);
    assert_int_equal(n.held, 0);
    assert_int_equal(n.open, 2);
    assert_int_equal(n.answered, 1);
    assert_int_equal(n.budget_left, 2);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(fis_selector_offer(s, &candidates[i], &e), 0);
    assert_true(peek(s, &candidates[0].id, &c));
    assert_memory_equal(c.x, candidate_features[0], sizeof candidate_features[0]);
    answer_id(s, &candidates[0].id, 1);
    assert_int_equal(state_of(s, &candidates[1].id), FIS_ACCEPTED);
    fis_selector_free(s);
}

static void offers_do_not_allocate_once_full(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_selector *s = candidates_selector(&fis_acquisition_fis_plus, 8, 0, 0);
    candidates_make(11);
    for (uint32_t i = 0; i < CANDIDATES; i++)
        candidates[i].payload_length = 0;
    candidates_offer_all(s, 1);
    uint64_t before = fis_mem_count();
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        candidates[i].scores[1] += 100;
        assert_true(fis_selector_offer(s, &candidates[i], &e) >= 0);
    }
    assert_int_equal(fis_mem_count(), before);
    fis_selector_free(s);
}

static int run_out_of_memory(uint64_t allow)
{
    struct fis_selector_options o = {.criteria = {.acquisition = &fis_acquisition_fis_plus},
                                     .d = CANDIDATE_D,
                                     .labels_per_round = 150};
    struct fis_error e;
    int bad = 0;
    fis_mem_refuse_after(allow);
    struct fis_selector *s = fis_selector_new(&o, &e);
    for (uint32_t i = 0; s && i < CANDIDATES; i++)
        if (fis_selector_offer(s, &candidates[i], &e) < 0) {
            assert_int_equal(e.kind, FIS_NOMEM);
            bad = 1;
        }
    fis_mem_refuse_after(UINT64_MAX);
    if (s) { /* it goes on working after a refusal */
        struct fis_candidate c;
        uint32_t criterion;
        candidates_offer_all(s, 1);
        assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
    }
    bad |= !s;
    fis_selector_free(s);
    return bad;
}

static void every_refused_allocation_is_survived(void **state)
{
    (void)state;
    candidates_make(12);
    uint64_t allow = 0;
    while (run_out_of_memory(allow))
        assert_true(++allow < 5000);
    assert_true(allow > 100);
}

static void criteria_follow_their_formulas(void **state)
{
    (void)state;
    struct fis_id id;
    assert_int_equal(fis_id_set(&id, "x", 1), 0);
    const float p[3] = {.5f, .3f, .2f}, acc[3] = {-1, -1, 2}, fair[3] = {-2, 3, -4};
    const double h = -(.5 * log(.5) + .3 * log(.3) + .2 * log(.2));
    float s[FIS_MAX_CRITERIA];
    struct fis_criteria c = {.acquisition = &fis_acquisition_fis_plus, .strategy = 2};
    fis_criteria_score(&c, &id, p, acc, fair, 3, s);
    assert_float_equal(s[0], 1.0, 1e-6); /* .5 * 2: label 1 has the wrong sign, 2 harms accuracy */
    assert_float_equal(s[1], h, 1e-6);
    c.acquisition = &fis_acquisition_product;
    fis_criteria_score(&c, &id, p, acc, fair, 3, s);
    assert_float_equal(s[0], h, 1e-6);
    assert_true(s[1] <= FIS_NOT_A_CANDIDATE);
    c.acquisition = &fis_acquisition_fis;
    fis_criteria_score(&c, &id, p, acc, fair, 3, s);
    assert_float_equal(s[0], 2.0, 1e-6);
    const float none[3] = {1, 1, 1};
    fis_criteria_score(&c, &id, p, none, fair, 3, s);
    assert_true(s[0] <= FIS_NOT_A_CANDIDATE);
    c.acquisition = &fis_acquisition_ekg;
    fis_criteria_score(&c, &id, p, none, fair, 3, s);
    assert_true(s[0] <= FIS_NOT_A_CANDIDATE);
    c.acquisition = &fis_acquisition_random;
    fis_criteria_score(&c, &id, p, acc, fair, 3, s);
    assert_true(s[0] >= 0 && s[0] < 1);
    const float bad[3] = {NAN, .5f, .5f};
    c.acquisition = &fis_acquisition_fis_plus;
    fis_criteria_score(&c, &id, bad, acc, fair, 3, s);
    assert_true(isnan(s[0]) && isnan(s[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selection_does_not_depend_on_order),
        cmocka_unit_test(criteria_take_turns_as_a_sort_would),
        cmocka_unit_test(one_of_equal_features_in_a_round),
        cmocka_unit_test(copies_do_not_fill_the_heaps),
        cmocka_unit_test(held_once_even_in_both_heaps),
        cmocka_unit_test(starved_criterion_leaves_its_turn_and_resumes_it),
        cmocka_unit_test(bad_candidates_are_refused),
        cmocka_unit_test(a_new_head_reorders_all),
        cmocka_unit_test(restored_state_asks_nobody_twice),
        cmocka_unit_test(offers_do_not_allocate_once_full),
        cmocka_unit_test(every_refused_allocation_is_survived),
        cmocka_unit_test(criteria_follow_their_formulas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
