/* The trainer machine when training blows up, and when validation rows change. */
#include <math.h>

#include "kit/role/trainer_world.h"

static void set_validation(struct world *w, uint32_t n, uint32_t n_groups, int flip, int expected)
{
    struct fis_error e;
    struct fis_rng r;
    static float x[600 * D];
    static uint32_t y[600], g[600];
    fis_rng_seed(&r, 2, 3);
    for (uint32_t i = 0; i < n; i++) {
        y[i] = small_draw(&r, x + i * D, &g[i]);
        y[i] = flip && i % 3 == 0 ? !y[i] : y[i];
        g[i] = n_groups == 3 && i % 5 == 0 ? 2 : n_groups == 1 ? 0 : g[i];
    }
    struct fis_rows rows = {n, D, x, y, g};
    assert_int_equal(trainer_role_validation(w->role, &rows, n_groups, &e), expected);
}

static void test_validation_rows_change(void **state)
{
    (void)state;
    static struct world w, after;
    struct trainer_role_options o = small_options();
    o.rounds = 10;
    o.learner.learn_validation = 0;
    start_world(&w, &o, 200);
    double val0 = w.output.state.val0;
    set_validation(&w, 500, 1, 0, -FIS_INPUT); /* nothing to compare: what was there stays */
    set_validation(&w, 0, 2, 0, -FIS_INPUT);
    play_round(&w);
    assert_int_equal(w.output.n_versions, 2);
    assert_true(w.output.state.val0 == val0);
    double served = w.output.state.served_accuracy;

    /* A third of the labels is wrong now: nothing could keep the old VAL_0. */
    set_validation(&w, 599, 3, 1, 0);
    play_round(&w);
    double moved = w.output.state.val0 - val0;
    assert_true(moved < -.1);
    assert_true(fabs(moved - (w.output.state.served_accuracy - served)) < 1e-9 ||
                w.output.version[2].served);
    play_round(&w); /* judged on the new rows, by the new VAL_0 */
    assert_string_not_equal(w.output.version[3].reason, "below_floor");
    assert_int_equal(w.output.version[3].rows, 599);

    /* The rows changed while it was down: the same rule. */
    open_world(&after, &o);
    load_world(&after, 200);
    restore(&after, &w);
    start(&after);
    assert_true(after.output.state.val0 - w.output.state.val0 > .1);
    close_world(&after);
    open_world(&after, &o);
    load_world(&after, 200);
    set_validation(&after, 599, 3, 1, 0);
    restore(&after, &w);
    start(&after);
    assert_true(after.output.state.val0 == w.output.state.val0); /* the same rows: to the bit */
    close_world(&after);
    close_world(&w);
}

/* Training that blows up, in whatever way, is a round lost and no more. */
static void test_rates_that_are_absurd(void **state)
{
    (void)state;
    static const float rates[] = {1e6f, 1e9f, 1e12f, 1e18f, 1e30f};
    static struct world before, after;
    struct trainer_role_options o = small_options();
    open_world(&before, &o);
    load_world(&before, 200);
    start(&before);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        o.learner.learning_rate = rates[i];
        o.learner.weight_decay = 5e-4f; /* with such rates, what makes the weights explode */
        open_world(&after, &o);
        load_world(&after, 200);
        restore(&after, &before);
        start(&after);
        play_round(&after);
        assert_int_equal(after.output.n_versions, 2);
        assert_false(after.output.version[1].served);
        assert_memory_equal(after.output.head, before.output.head,
                            sizeof after.output.head); /* back to the anchor */
        assert_string_equal(after.output.version[1].reason, "not_finite");
        close_world(&after);
    }
    close_world(&before);
}

static void test_a_round_that_diverges_is_rejected(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    start_world(&w, &o, 200);
    float served[64], head[64];
    memcpy(served, w.output.served, sizeof served);
    offer(&w, 100);
    idle(&w);
    memcpy(head, w.output.head, sizeof head);
    /* One absurd record among the answers, as if it had been bought. */
    struct wire_ledger_entry absurd = {.state = WIRE_ACCEPTED, .d = D};
    float x[D] = {3e38f, -3e38f, 3e38f};
    struct fis_error e;
    absurd.x = x;
    fis_id_set(&absurd.id, "r4001", 5);
    for (int i = 0; i < 64; i++) {
        fis_id_set(&absurd.id, "r4001", 5);
        absurd.id.bytes[4] = (char)('0' + i);
        assert_int_equal(trainer_role_restore_entry(w.role, &absurd, &e), 0);
    }
    for (uint32_t i = 0; i < 16; i++)
        label(&w, open_id(&w, i), 1);
    idle(&w);
    assert_int_equal(w.output.n_versions, 2);
    assert_false(w.output.version[1].served);
    assert_string_equal(w.output.version[1].reason, "not_finite");
    assert_memory_equal(served, w.output.served, sizeof served);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_validation_rows_change),
        cmocka_unit_test(test_rates_that_are_absurd),
        cmocka_unit_test(test_a_round_that_diverges_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
