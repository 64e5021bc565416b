/* The trainer machine going on from a ledger. */
#include "trainer_world.h"

static void test_going_on_from_the_ledger(void **state)
{
    (void)state;
    static struct world before, after;
    struct trainer_role_options o = options();
    struct fis_error e;
    o.rounds = 0;
    o.selector.budget = 40;
    open_world(&before, &o);
    load_world(&before, 200);
    start(&before);
    offer(&before, 200);
    idle(&before);
    for (uint32_t i = 0; i < 16; i++)
        label(&before, &before.open[i], truth(&before.open[i]));
    idle(&before); /* round 1 is judged */
    offer(&before, 200);
    idle(&before); /* round 2 has asked */
    assert_int_equal(before.n_requests, 32);
    label(&before, &before.open[16], 1);
    struct wire_label skip = {.id = before.open[18], .status = WIRE_SKIPPED};
    assert_int_equal(trainer_role_label(before.role, &skip, &e), 0);

    open_world(&after, &o);
    load_world(&after, 200);
    restore(&after, &before);
    start(&after);
    assert_int_equal(after.n_versions, 0); /* no second warm-up */
    struct trainer_role_counts c = trainer_role_counts(after.role);
    assert_int_equal(c.selector.answered, 17);
    assert_int_equal(c.selector.open, 14);
    assert_int_equal(c.selector.round_asked, 15); /* of this round, without the skipped one */
    assert_int_equal(c.selector.budget_left, 9);
    assert_int_equal(c.learner.bought, 17);
    assert_int_equal(c.round, before.state.round);
    /* Answers to requests of the old instance are taken. */
    for (uint32_t i = 17; i < 32; i++)
        assert_int_equal(label(&after, &before.open[i], 0), i == 18 ? -FIS_INPUT : 0);
    after.n_records = before.n_records;
    run_rounds(&after);
    assert_int_equal(after.n_requests, 9); /* the budget is exact over both lives */
    assert_int_equal(trainer_role_counts(after.role).labels, 14 + 9);
    close_world(&before);
    close_world(&after);
}

/* Killed when all is asked and half is answered, with nothing left to buy: the labels that come
 * are still trained on and judged. */
static void test_going_on_with_the_budget_spent(void **state)
{
    (void)state;
    static struct world before, after;
    struct trainer_role_options o = options();
    o.rounds = 0;
    o.selector.budget = 16;
    open_world(&before, &o);
    load_world(&before, 200);
    start(&before);
    offer(&before, 100);
    idle(&before);
    for (uint32_t i = 0; i < 4; i++)
        label(&before, &before.open[i], truth(&before.open[i]));
    idle(&before); /* a quarter is trained on */
    assert_true(before.state.trained == 4);
    for (uint32_t i = 4; i < 7; i++)
        label(&before, &before.open[i], truth(&before.open[i]));

    open_world(&after, &o);
    load_world(&after, 200);
    restore(&after, &before);
    start(&after);
    assert_string_equal(trainer_role_counts(after.role).phase, "collect");
    idle(&after);
    assert_string_equal(trainer_role_counts(after.role).phase, "label");
    assert_true(after.state.trained == 4); /* three wait for a fourth */
    label(&after, &before.open[7], 1);
    idle(&after);
    assert_true(after.state.trained == 8);
    for (uint32_t i = 8; i < 16; i++)
        label(&after, &before.open[i], truth(&before.open[i]));
    idle(&after);
    assert_int_equal(after.n_versions, 1);
    assert_int_equal(after.version[0].labels, 16);
    assert_string_equal(trainer_role_counts(after.role).phase, "done");
    assert_int_equal(after.n_requests, 0);
    close_world(&before);
    close_world(&after);
}

/* The window's candidates come again, and the same ones are picked. */
static void test_the_window_is_read_again(void **state)
{
    (void)state;
    static struct world before, whole, after;
    struct trainer_role_options o = options();
    open_world(&whole, &o);
    load_world(&whole, 200);
    start(&whole);
    offer(&whole, 100);
    assert_int_equal(whole.windows, 1); /* at the start of the first round */
    idle(&whole);
    assert_int_equal(whole.window, TRAINER_WINDOW_CLOSED);

    open_world(&before, &o);
    load_world(&before, 200);
    start(&before);
    offer(&before, 60); /* and that is the end of it */
    open_world(&after, &o);
    load_world(&after, 200);
    restore(&after, &before);
    start(&after);
    assert_int_equal(trainer_role_counts(after.role).window, 0);
    offer(&after, 100);
    idle(&after);
    assert_int_equal(after.n_requests, 16);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(fis_id_compare(&whole.open[i], &after.open[i]), 0);
    for (uint32_t i = 0; i < 16; i++)
        label(&after, &after.open[i], truth(&after.open[i]));
    idle(&after);
    assert_int_equal(after.window, TRAINER_WINDOW_DONE);
    close_world(&whole);
    close_world(&before);
    close_world(&after);
}

/* fis+ has two criteria, random has one; a ledger of the first is read by the second. */
static void test_going_on_with_another_algorithm(void **state)
{
    (void)state;
    static struct world before, after;
    struct trainer_role_options o = options();
    open_world(&before, &o);
    load_world(&before, 200);
    start(&before);
    offer(&before, 100);
    idle(&before);
    o.selector.criteria.algorithm = FIS_ALGORITHM_RANDOM;
    o.learner.copies = FIS_COPIES_PLAIN;
    open_world(&after, &o);
    load_world(&after, 200);
    restore(&after, &before);
    start(&after);
    assert_int_equal(trainer_role_counts(after.role).selector.open, 16);
    close_world(&before);
    close_world(&after);
}

static void test_ledgers_that_do_not_fit(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = options();
    struct fis_error e;
    float x[D + 1] = {0};
    open_world(&w, &o);
    load_world(&w, 200);
    struct wire_ledger_entry entry = {.state = WIRE_REQUESTED, .x = x, .d = D + 1};
    fis_id_set(&entry.id, "r1", 2);
    assert_true(trainer_role_restore_entry(w.role, &entry, &e) < 0);
    assert_int_equal(e.class, FIS_FATAL);
    assert_non_null(strstr(e.text, "4 features"));
    entry = (struct wire_ledger_entry){.id = entry.id, .state = WIRE_REQUESTED};
    assert_true(trainer_role_restore_entry(w.role, &entry, &e) < 0);
    assert_int_equal(e.class, FIS_FATAL);
    entry = (struct wire_ledger_entry){
        .id = entry.id, .state = WIRE_ACCEPTED, .x = x, .d = D, .class_index = 2};
    assert_true(trainer_role_restore_entry(w.role, &entry, &e) < 0);
    assert_int_equal(e.class, FIS_FATAL);
    entry = (struct wire_ledger_entry){.id = entry.id, .state = WIRE_SKIPPED_BY_PERSON};
    assert_int_equal(trainer_role_restore_entry(w.role, &entry, &e), 0); /* has no features */
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_going_on_from_the_ledger),
        cmocka_unit_test(test_going_on_with_the_budget_spent),
        cmocka_unit_test(test_the_window_is_read_again),
        cmocka_unit_test(test_going_on_with_another_algorithm),
        cmocka_unit_test(test_ledgers_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
