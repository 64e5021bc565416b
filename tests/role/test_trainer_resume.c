/* The trainer machine going on from a ledger. */
#include "kit/role/trainer_world.h"

static void test_going_on_from_the_ledger(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.rounds = 0;
    o.selector.budget = 40;
    start_world(&w, &o, 200);
    offer(&w, 200);
    idle(&w);
    for (uint32_t i = 0; i < 16; i++)
        label(&w, open_id(&w, i), truth(open_id(&w, i)));
    idle(&w); /* round 1 is judged */
    offer(&w, 200);
    idle(&w); /* round 2 has asked */
    assert_int_equal(requests(&w), 32);
    label(&w, open_id(&w, 16), 1);
    assert_int_equal(answer(&w, open_id(&w, 18), WIRE_SKIPPED, 0, "ann"), 0);
    commit(&w);
    uint32_t versions = w.output.n_versions, round = w.output.state.round;

    restart(&w);
    assert_int_equal(w.output.n_versions, versions); /* no second warm-up */
    struct trainer_role_counts c = trainer_role_counts(w.role);
    assert_int_equal(c.selector.answered, 17);
    assert_int_equal(c.selector.open, 14);
    assert_int_equal(c.selector.round_asked, 15); /* of this round, without the skipped one */
    assert_int_equal(c.selector.budget_left, 9);
    assert_int_equal(c.learner.bought, 17);
    assert_int_equal(c.round, round);
    assert_string_equal(c.phase, "label");
    /* Answers to requests of the old instance are taken. */
    for (uint32_t i = 17; i < 32; i++)
        if (i != 18)
            assert_int_equal(label(&w, open_id(&w, i), 0), 0);
    idle(&w);
    for (int i = 0; i < 10; i++, idle(&w)) {
        offer(&w, 100);
        idle(&w);
        for (uint32_t k = 32; k < requests(&w); k++)
            (void)label(&w, open_id(&w, k), 0);
    }
    assert_int_equal(requests(&w), 41); /* the budget is exact over both lives: one was skipped */
    c = trainer_role_counts(w.role);
    assert_int_equal(c.labels, 14 + 9);
    assert_string_equal(c.phase, "done");
    close_world(&w);
}

/* Killed when all is asked and half is answered, with nothing left to buy: the labels that come
 * are still trained on and judged. */
static void test_going_on_with_the_budget_spent(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.rounds = 0;
    o.selector.budget = 16;
    start_world(&w, &o, 200);
    offer(&w, 100);
    idle(&w);
    for (uint32_t i = 0; i < 4; i++)
        label(&w, open_id(&w, i), truth(open_id(&w, i)));
    idle(&w); /* a quarter is trained on */
    assert_true(w.output.state.trained == 4);
    for (uint32_t i = 4; i < 7; i++)
        label(&w, open_id(&w, i), truth(open_id(&w, i)));
    commit(&w);

    restart(&w);
    assert_string_equal(trainer_role_counts(w.role).phase, "label");
    idle(&w);
    assert_true(w.output.state.trained == 4); /* three wait for a fourth */
    label(&w, open_id(&w, 7), 1);
    idle(&w);
    assert_true(w.output.state.trained == 8);
    for (uint32_t i = 8; i < 16; i++)
        label(&w, open_id(&w, i), truth(open_id(&w, i)));
    idle(&w);
    assert_int_equal(w.output.n_versions, 2);
    assert_int_equal(w.output.version[1].labels, 16);
    assert_string_equal(trainer_role_counts(w.role).phase, "done");
    assert_int_equal(requests(&w), 16);
    close_world(&w);
}

/* What the heap held is held again, the window goes on where it was, and the same ones are picked.
 */
static void test_the_heap_is_on_the_ledger(void **state)
{
    (void)state;
    static struct world whole, w;
    struct trainer_role_options o = small_options();
    open_world(&whole, &o);
    load_world(&whole, 200);
    start(&whole);
    offer(&whole, 60);
    offer(&whole, 40);
    idle(&whole);

    start_world(&w, &o, 200);
    offer(&w, 60);
    uint32_t held = trainer_role_counts(w.role).selector.held;
    commit(&w);
    assert_true(held > 16 && held <= 60);
    uint32_t entries = 0;
    for (uint32_t i = 0; i < MAX_IDS; i++)
        entries += w.output.item[i].entry.state == WIRE_IN_HEAP;
    assert_int_equal(entries, held);
    offer(&w, 5); /* is not committed, and comes again */
    restart(&w);
    assert_int_equal(trainer_role_counts(w.role).window, 60);
    assert_int_equal(trainer_role_counts(w.role).selector.held, held);
    offer(&w, 40);
    idle(&w);
    assert_int_equal(requests(&w), 16);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(fis_id_compare(open_id(&whole, i), open_id(&w, i)), 0);
    assert_true(w.output.tombstones > 0); /* of those that were pushed out */
    /* The ledger has what is held, and no more. */
    entries = 0;
    for (uint32_t i = 0; i < MAX_IDS; i++)
        entries += w.output.item[i].entry.state == WIRE_IN_HEAP;
    assert_int_equal(entries, trainer_role_counts(w.role).selector.held);
    close_world(&whole);
    close_world(&w);
}

/* Progress that is reported twice, or in other pieces, closes no window early. */
static void test_records_are_counted_once(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    struct wire_range r = {1, 100, 140, 30, 8, 2};
    struct wire_progress p = {.scorer = "s", .ranges = &r, .n_ranges = 1};
    start_world(&w, &o, 200);
    trainer_role_progress(w.role, &p);
    trainer_role_progress(w.role, &p);
    assert_int_equal(trainer_role_counts(w.role).window, 30);
    commit(&w);
    restart(&w);
    trainer_role_progress(w.role, &p);
    assert_int_equal(trainer_role_counts(w.role).window, 30);
    r = (struct wire_range){1, 120, 160, 40, 0, 0}; /* half of it is new */
    trainer_role_progress(w.role, &p);
    assert_int_equal(trainer_role_counts(w.role).window, 50);
    r = (struct wire_range){2, 0, 20, 20, 0, 0};
    trainer_role_progress(w.role, &p);
    assert_int_equal(trainer_role_counts(w.role).window, 70);
    r = (struct wire_range){1, 160, 161, 1, 0, 0};
    trainer_role_progress(w.role, &p);
    assert_int_equal(trainer_role_counts(w.role).window, 71);
    assert_false(trainer_role_due(w.role));
    r = (struct wire_range){1, 170, 200, 29, 0, 0}; /* over a gap */
    trainer_role_progress(w.role, &p);
    assert_true(trainer_role_due(w.role));
    close_world(&w);
}

/* fis+ has two criteria, random has one; a ledger of the first is read by the second. */
static void test_going_on_with_another_algorithm(void **state)
{
    (void)state;
    static struct world before, after;
    struct trainer_role_options o = small_options();
    struct fis_error e;
    open_world(&before, &o);
    load_world(&before, 200);
    start(&before);
    offer(&before, 100);
    idle(&before);
    o.selector.criteria.acquisition = &fis_acquisition_random;
    o.publication = &publication_mixed;
    open_world(&after, &o);
    load_world(&after, 200);
    restore(&after, &before);
    /* The checkpoint is of another publication: training starts from the anchor. */
    struct wire_bytes learner = {before.output.checkpoint, before.output.learner}, gate = {"", 0};
    assert_int_equal(trainer_role_restore_checkpoint(after.role, learner, gate, &e), -FIS_INPUT);
    start(&after);
    assert_int_equal(trainer_role_counts(after.role).selector.open, 16);
    assert_memory_equal(after.output.head, before.output.head, sizeof after.output.head);
    close_world(&before);
    close_world(&after);
}

static void test_ledgers_that_do_not_fit(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    struct fis_error e;
    float x[D + 1] = {0};
    open_world(&w, &o);
    load_world(&w, 200);
    struct wire_ledger_entry entry = {.state = WIRE_REQUESTED, .x = x, .d = D + 1};
    fis_id_set(&entry.id, "r1", 2);
    assert_true(trainer_role_restore_entry(w.role, &entry, &e) < 0);
    assert_int_equal(e.kind, FIS_FATAL);
    assert_non_null(strstr(e.text, "4 features"));
    entry = (struct wire_ledger_entry){.id = entry.id, .state = WIRE_REQUESTED};
    assert_true(trainer_role_restore_entry(w.role, &entry, &e) < 0);
    assert_int_equal(e.kind, FIS_FATAL);
    entry = (struct wire_ledger_entry){
        .id = entry.id, .state = WIRE_ACCEPTED, .x = x, .d = D, .class_index = 2};
    assert_true(trainer_role_restore_entry(w.role, &entry, &e) < 0);
    assert_int_equal(e.kind, FIS_FATAL);
    entry = (struct wire_ledger_entry){.id = entry.id, .state = WIRE_SKIPPED_BY_PERSON};
    assert_int_equal(trainer_role_restore_entry(w.role, &entry, &e), 0); /* has no features */
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_going_on_from_the_ledger),
        cmocka_unit_test(test_going_on_with_the_budget_spent),
        cmocka_unit_test(test_the_heap_is_on_the_ledger),
        cmocka_unit_test(test_records_are_counted_once),
        cmocka_unit_test(test_going_on_with_another_algorithm),
        cmocka_unit_test(test_ledgers_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
