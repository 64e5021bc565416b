/* The trainer machine: rounds, budget, labels. */
#include "kit/role/trainer_world.h"

static void test_rounds_to_the_end(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    start_world(&w, &o, 200);
    assert_int_equal(w.output.n_versions, 1);
    assert_true(w.output.version[0].served);
    assert_string_equal(w.output.version[0].reason, "first");
    run_rounds(&w);
    struct trainer_role_counts c = trainer_role_counts(w.role);
    assert_string_equal(c.phase, "done");
    assert_int_equal(c.labels, 48); /* three rounds of sixteen, and not one more */
    assert_int_equal(requests(&w), 48);
    assert_int_equal(w.output.n_versions, 4);
    assert_int_equal(c.published + c.rejected, 4);
    assert_int_equal(w.output.version[3].labels, 48);
    assert_true(w.output.heads >= 1 + 3 * 4);
    assert_true(w.output.floors_sent >= 3);
    close_world(&w);
}

static void test_the_budget_is_exact(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.rounds = 0;
    o.selector.budget = 37; /* in the middle of the third round */
    start_world(&w, &o, 200);
    run_rounds(&w);
    assert_int_equal(requests(&w), 37);
    assert_int_equal(trainer_role_counts(w.role).labels, 37);
    assert_string_equal(trainer_role_counts(w.role).phase, "done");
    close_world(&w);
}

static void test_the_in_flight_limit_holds(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.selector.in_flight = 5;
    start_world(&w, &o, 200);
    offer(&w, 100);
    idle(&w);
    assert_int_equal(requests(&w), 5);
    idle(&w);
    assert_int_equal(requests(&w), 5);
    label(&w, open_id(&w, 0), 0);
    label(&w, open_id(&w, 1), 1);
    idle(&w);
    assert_int_equal(requests(&w), 7);
    close_world(&w);
}

/* The first records after a quiet time are not the best of a window by themselves. */
static void test_a_window_begins_with_its_first_candidate(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.window_records = 1000;
    o.window_ms = 5000;
    start_world(&w, &o, 200);
    w.output.ms += 60000;
    idle(&w);
    offer(&w, 4);
    idle(&w);
    w.output.ms += 4000;
    offer(&w, 96);
    idle(&w);
    assert_int_equal(requests(&w), 0);
    w.output.ms += 1000;
    idle(&w);
    assert_int_equal(requests(&w), 16);
    close_world(&w);
}

static void test_labels_that_nobody_requested(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    struct fis_id nobody;
    start_world(&w, &o, 200);
    offer(&w, 100);
    idle(&w);
    fis_id_set(&nobody, "r4000", 5);
    assert_int_equal(label(&w, &nobody, 1), -FIS_INPUT);
    assert_int_equal(label(&w, open_id(&w, 0), 1), 0);
    assert_int_equal(label(&w, open_id(&w, 0), 1), 0);          /* again: counts once */
    assert_int_equal(label(&w, open_id(&w, 0), 0), -FIS_INPUT); /* contradicts */
    struct trainer_role_counts c = trainer_role_counts(w.role);
    assert_int_equal(c.labels, 1);
    assert_int_equal(c.duplicates, 1);
    assert_int_equal(c.learner.bought, 1);
    struct fis_error e;
    struct wire_label skip = {.id = *open_id(&w, 1), .status = WIRE_SKIPPED};
    assert_int_equal(trainer_role_label(w.role, &skip, now_of(&w), &e), 0);
    c = trainer_role_counts(w.role);
    assert_int_equal(c.skipped, 1);
    assert_int_equal(c.learner.bought, 1);
    assert_int_equal(entry_state(&w, open_id(&w, 1)), WIRE_SKIPPED_BY_PERSON);
    close_world(&w);
}

static void test_a_round_ends_at_its_deadline(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.round_deadline_ms = 1000;
    start_world(&w, &o, 200);
    offer(&w, 100);
    idle(&w);
    label(&w, open_id(&w, 0), 1);
    idle(&w);
    assert_int_equal(w.output.n_versions, 1);
    w.output.wall_jump -= 10000000; /* it does not depend on the wall clock */
    idle(&w);
    assert_int_equal(w.output.n_versions, 1);
    w.output.ms += 1000;
    idle(&w);
    assert_int_equal(w.output.n_versions, 2);
    assert_int_equal(label(&w, open_id(&w, 1), 1), 0); /* late, but paid for */
    assert_int_equal(trainer_role_counts(w.role).labels, 2);
    close_world(&w);
}

static void test_a_deadline_without_a_label_judges_nothing(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.round_deadline_ms = 1000;
    start_world(&w, &o, 200);
    offer(&w, 100);
    idle(&w);
    for (int i = 0; i < 5; i++) {
        w.output.ms += 1000;
        idle(&w);
    }
    assert_int_equal(w.output.n_versions, 1);
    label(&w, open_id(&w, 0), 1);
    idle(&w);
    assert_int_equal(w.output.n_versions, 1);
    w.output.ms += 1000;
    idle(&w);
    assert_int_equal(w.output.n_versions, 2);
    /* What is still out does not hold up a round that has its labels. */
    offer(&w, 100);
    idle(&w);
    for (uint32_t i = 1; i < 16; i++)
        assert_int_equal(label(&w, open_id(&w, i), 1), 0);
    idle(&w);
    idle(&w);
    assert_int_equal(label(&w, open_id(&w, 16), 1), 0);
    idle(&w);
    assert_int_equal(w.output.n_versions, 3);
    close_world(&w);
}

static void test_rounds_of_fis_count_kept_labels(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.selector.criteria.acquisition = &fis_acquisition_fis;
    o.selector.criteria.strategy = 1;
    o.publication = &publication_mixed;
    o.learner.mix = .9f;
    o.selector.labels_per_round = 8;
    o.selector.heap = 400;
    o.window_records = 400;
    o.rounds = 1;
    start_world(&w, &o, 200);
    offer(&w, 400);
    idle(&w);
    uint32_t kept = 0, answered = 0;
    for (; answered < requests(&w) && w.output.n_versions == 1; answered++, idle(&w), idle(&w)) {
        struct trainer_role_counts c = trainer_role_counts(w.role);
        assert_true(kept + c.selector.open <= 8); /* never more than r could be kept */
        assert_int_equal(label(&w, open_id(&w, answered), truth(open_id(&w, answered))), 0);
        kept += entry_state(&w, open_id(&w, answered)) == WIRE_ACCEPTED;
    }
    assert_int_equal(w.output.n_versions, 2);
    assert_true(answered > kept);
    assert_true(kept == 8 || trainer_role_counts(w.role).selector.held == 0);
    assert_true(kept > 0);
    close_world(&w);
}

static void test_starts_that_are_refused(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    struct fis_error e;
    open_world(&w, &o);
    load_world(&w, 0);
    assert_int_equal(trainer_role_start(w.role, now_of(&w), &e), -FIS_FATAL);
    assert_non_null(strstr(e.text, "initial"));
    close_world(&w);

    o.learner.learning_rate = 3e38f; /* the warm-up diverges */
    open_world(&w, &o);
    load_world(&w, 200);
    assert_int_equal(trainer_role_start(w.role, now_of(&w), &e), 0);
    trainer_role_job(w.role);
    assert_true(trainer_role_job_done(w.role, now_of(&w), &e) < 0);
    assert_non_null(strstr(e.text, "finite"));
    assert_int_equal(w.output.heads, 0);
    close_world(&w);
}

/* As run_rounds, but leaves records for more. */
static void some_rounds(struct world *w)
{
    for (int i = 0; i < 8; i++) {
        offer(w, 100);
        idle(w);
        for (uint32_t k = 0; k < requests(w); k++, idle(w))
            assert_int_equal(label(w, open_id(w, k), truth(open_id(w, k))), 0);
    }
}

static void test_other_limits_while_it_runs(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.rounds = 0;
    o.selector.budget = 20;
    start_world(&w, &o, 200);
    some_rounds(&w);
    assert_int_equal(requests(&w), 20);
    assert_string_equal(trainer_role_counts(w.role).phase, "done");

    o.selector.budget = 50; /* more: it goes on, and not over it */
    trainer_role_adjust(w.role, &o, now_of(&w));
    assert_string_equal(trainer_role_counts(w.role).phase, "collect");
    some_rounds(&w);
    assert_int_equal(requests(&w), 50);
    assert_int_equal(trainer_role_counts(w.role).labels, 50);
    assert_string_equal(trainer_role_counts(w.role).phase, "done");

    o.selector.budget = 10; /* less than was spent: nothing more */
    trainer_role_adjust(w.role, &o, now_of(&w));
    some_rounds(&w);
    assert_int_equal(requests(&w), 50);

    o.selector.budget = 0; /* no budget, but no rounds left either */
    o.rounds = 1;
    trainer_role_adjust(w.role, &o, now_of(&w));
    assert_string_equal(trainer_role_counts(w.role).phase, "done");
    o.rounds = 0;
    trainer_role_adjust(w.role, &o, now_of(&w));
    assert_string_equal(trainer_role_counts(w.role).phase, "collect");
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds_to_the_end),
        cmocka_unit_test(test_the_budget_is_exact),
        cmocka_unit_test(test_the_in_flight_limit_holds),
        cmocka_unit_test(test_a_window_begins_with_its_first_candidate),
        cmocka_unit_test(test_labels_that_nobody_requested),
        cmocka_unit_test(test_a_round_ends_at_its_deadline),
        cmocka_unit_test(test_a_deadline_without_a_label_judges_nothing),
        cmocka_unit_test(test_rounds_of_fis_count_kept_labels),
        cmocka_unit_test(test_starts_that_are_refused),
        cmocka_unit_test(test_other_limits_while_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
