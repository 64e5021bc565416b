/* The scorer machine: what it offers, and when it lets offsets be committed. */
#include "kit/role/scorer_fake.h"

/* Scores of the whole population; every fifth is no EKG candidate, and ties are many. */
static float population[FAKE_RECORDS][2];

static void make_population(uint64_t seed)
{
    struct fis_rng rng;
    fis_rng_seed(&rng, seed, 0);
    for (int i = 0; i < FAKE_RECORDS; i++) {
        population[i][0] = i % 5 ? (float)fis_rng_below(&rng, 40) : FIS_NOT_A_CANDIDATE;
        population[i][1] = (float)fis_rng_below(&rng, 300);
    }
}

static int in_best(uint32_t number, int criterion)
{
    char text[16];
    struct fis_id id, other;
    uint32_t better = 0;
    fis_id_set(&id, text, (size_t)snprintf(text, sizeof text, "r%u", number));
    if (population[number][criterion] == FIS_NOT_A_CANDIDATE)
        return 0;
    for (uint32_t i = 0; i < FAKE_RECORDS; i++) {
        fis_id_set(&other, text, (size_t)snprintf(text, sizeof text, "r%u", i));
        if (population[i][criterion] > population[number][criterion] ||
            (population[i][criterion] == population[number][criterion] &&
             fis_id_compare(&other, &id) < 0))
            better++;
    }
    return better < FAKE_R;
}

static void test_offers_hold_the_best_of_all(void **state)
{
    (void)state;
    static struct fake_batch m;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        uint32_t n_scorers = (uint32_t)(1 + seed % 3), order[FAKE_RECORDS];
        struct fake fakes[3];
        struct fis_rng rng;
        make_population(seed);
        fis_rng_seed(&rng, seed, 1);
        for (uint32_t i = 0; i < FAKE_RECORDS; i++)
            order[i] = i;
        fis_rng_shuffle(&rng, order, FAKE_RECORDS);
        for (uint32_t s = 0; s < n_scorers; s++) {
            fake_open(&fakes[s], &fis_acquisition_fis_plus, 2);
            fake_new_head(&fakes[s], 1);
        }
        for (uint32_t at = 0; at < FAKE_RECORDS;) {
            struct fake *f = &fakes[fis_rng_below(&rng, n_scorers)];
            uint32_t n = 1 + fis_rng_below(&rng, 97);
            fake_batch(&m, 1);
            for (; n && at < FAKE_RECORDS; n--, at++)
                fake_add(&m, order[at], population[order[at]][0], population[order[at]][1]);
            fake_run(f, &m);
        }
        uint32_t offered = 0;
        for (uint32_t i = 0; i < FAKE_RECORDS; i++) {
            int any = 0;
            for (uint32_t s = 0; s < n_scorers; s++)
                any |= fakes[s].offered[i];
            offered += (uint32_t)any;
            if (in_best(i, 0) || in_best(i, 1))
                assert_true(any);
        }
        assert_true(offered < FAKE_RECORDS / 2); /* and thresholds do hold most of them back */
        for (uint32_t s = 0; s < n_scorers; s++)
            fake_close(&fakes[s]);
    }
}

static void test_a_new_head_drops_thresholds_and_old_scores(void **state)
{
    (void)state;
    static struct fake_batch a;
    struct fake f;
    fake_begin(&f, 1, &a);
    for (uint32_t i = 0; i < FAKE_R; i++)
        fake_add(&a, i, 10.0f, 0);
    fake_run(&f, &a);
    fake_batch(&a, 1);
    fake_add(&a, 100, 1.0f, 0);
    fake_run(&f, &a);
    assert_false(f.offered[100]); /* worse than the R that are held */

    f.batch[0] = &a.b;
    scorer_batch(f.machine, 0, &a.b);
    assert_true(f.floors[0] == 10.0f && isinf(f.floors[1])); /* there is one criterion */
    for (int again = 0; again < 2; again++) { /* the same head once more has new thresholds too */
        f.scoring = 0;
        fake_new_head(&f, 2);
        fake_scored(&f, 0, &a.b); /* by the thresholds of before: stale */
        assert_int_equal(f.scoring, 1);
        assert_true(f.floors[0] == FIS_NOT_A_CANDIDATE);
        assert_int_equal(f.sent[0], 0);
        a.b.head_version = 2;
        a.scores[0][0] = 1.0f;
    }
    fake_scored(&f, 0, &a.b);
    assert_true(f.offered[100]);
    fake_ack_all(&f, 0);
    fake_close(&f);
}

/* A scorer has no size of its own: it offers what the trainer has room for. */
static void test_thresholds_are_of_as_many_as_the_trainer_holds(void **state)
{
    (void)state;
    static struct fake_batch a;
    struct wire_head head = {.version = 1};
    struct fake f;
    fake_begin(&f, 1, &a);
    for (uint32_t heap = 1; heap <= 4 * FAKE_R; heap = heap == 1 ? 4 * FAKE_R : heap + 1) {
        head.version++;
        head.selection.heap = heap;
        assert_int_equal(scorer_head(f.machine, &head, NULL), 0);
        memset(f.offered, 0, sizeof f.offered);
        fake_batch(&a, head.version);
        for (uint32_t i = 0; i < 3 * FAKE_R; i++)
            fake_add(&a, i, (float)i, 0);
        fake_run(&f, &a);
        for (uint32_t i = 0; i < 3 * FAKE_R; i++)
            assert_int_equal(f.offered[i], i + heap >= 3 * FAKE_R);
    }
    fake_close(&f);
}

static void test_what_better_ones_of_its_batch_push_out_is_not_offered(void **state)
{
    (void)state;
    static struct fake_batch a;
    struct fake f;
    fake_begin(&f, 1, &a);
    for (uint32_t i = 0; i < 3 * FAKE_R; i++)
        fake_add(&a, i, (float)i, 0); /* each better than all before it */
    fake_run(&f, &a);
    for (uint32_t i = 0; i < 3 * FAKE_R; i++)
        assert_int_equal(f.offered[i], i >= 2 * FAKE_R);
    assert_int_equal(scorer_counts(f.machine)->offered, FAKE_R);
    fake_close(&f);
}

static void test_what_comes_of_batches_goes_out_by_pieces(void **state)
{
    (void)state;
    static struct fake_batch a, b;
    struct fake f;
    fake_begin(&f, 2, &a);
    fake_batch(&b, 1);
    for (uint32_t i = 0; i < 5; i++) {
        fake_add(&a, i, 1.0f, 0);
        fake_add(&b, 10 + i, 2.0f, 0);
    }
    fake_add_bad(&b, WIRE_BAD);
    f.batch[0] = &a.b;
    f.batch[1] = &b.b;
    scorer_batch(f.machine, 0, &a.b);
    scorer_batch(f.machine, 1, &b.b);
    scorer_scored(f.machine, 1, &b.b);
    scorer_scored(f.machine, 0, &a.b);
    assert_int_equal(f.sent[0] + f.sent[1], 0);
    assert_int_equal(scorer_send(f.machine, 4), 4);
    assert_int_equal(f.sent[1], 4); /* what raised the thresholds first */
    fake_new_head(&f, 2);
    scorer_acked(f.machine, 1, 1);
    f.sent[1]--;
    assert_int_equal(scorer_send(f.machine, 4), 4);
    assert_int_equal(f.sent[1], 5);
    assert_int_equal(f.sent[0], 2);
    fake_ack_all(&f, 1); /* and that of the older batch is still going out */
    fake_ack_all(&f, 0);
    assert_int_equal(f.n_progress, 0);
    assert_int_equal(scorer_send(f.machine, 4), 3);
    assert_int_equal(f.n_progress, 2);
    assert_int_equal(scorer_send(f.machine, 4), 0);
    assert_int_equal(f.n_released, 0);
    fake_ack_all(&f, 0);
    fake_ack_all(&f, 1);
    assert_int_equal(f.n_released, 2);
    assert_true(scorer_idle(f.machine));
    for (uint32_t i = 0; i < 5; i++)
        assert_true(f.offered[i] && f.offered[10 + i]);
    fake_close(&f);
}

static void test_one_id_takes_one_place(void **state)
{
    (void)state;
    static struct fake_batch a;
    struct fake f;
    fake_begin(&f, 1, &a);
    for (uint32_t i = 0; i < 3 * FAKE_R; i++)
        fake_add(&a, 7, 10.0f, 0); /* the same record again and again */
    fake_add(&a, 8, 1.0f, 0);
    fake_run(&f, &a);
    assert_true(f.offered[8]);
    fake_close(&f);
}

static void test_stopping_takes_no_new_batch(void **state)
{
    (void)state;
    static struct fake_batch a;
    struct fake f;
    fake_begin(&f, 2, &a);
    fake_add(&a, 1, 1.0f, 0);
    f.batch[0] = &a.b;
    scorer_batch(f.machine, 0, &a.b);
    scorer_stop(f.machine);
    assert_int_equal(scorer_free_slot(f.machine), -1);
    assert_false(scorer_idle(f.machine));
    fake_scored(&f, 0, &a.b);
    fake_ack_all(&f, 0);
    assert_true(scorer_idle(f.machine));
    fake_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offers_hold_the_best_of_all),
        cmocka_unit_test(test_thresholds_are_of_as_many_as_the_trainer_holds),
        cmocka_unit_test(test_a_new_head_drops_thresholds_and_old_scores),
        cmocka_unit_test(test_what_better_ones_of_its_batch_push_out_is_not_offered),
        cmocka_unit_test(test_what_comes_of_batches_goes_out_by_pieces),
        cmocka_unit_test(test_one_id_takes_one_place),
        cmocka_unit_test(test_stopping_takes_no_new_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
