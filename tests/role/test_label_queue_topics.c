/* The labelling queue, and what the topics say besides: withdrawals, restarts, other tools,
 * agreement. */
#include "kit/role/label_world.h"

static void withdrawn(struct label_world *w, const char *id, const char *reason)
{
    struct wire_label_request r = {.id = world_id(id), .cancelled = true, .reason = reason};
    assert_int_equal(label_queue_request(w->q, &r, w->now.wall_ms, (struct wire_bytes){0}, &w->e),
                     0);
}

/* ---- what the topics say ----------------------------------------------------------------------
 */
static void withdrawals(void **state)
{
    struct label_world *w = *state;
    uint64_t token;
    world_asked(w, "a", 1);
    world_asked(w, "b", 3);
    assert_string_equal(world_next(w, "ann", false), "a");
    withdrawn(w, "a", "expired");
    assert_string_equal(world_next(w, "ann", true), "lapsed");
    assert_string_equal(world_next(w, "ann", false), "b");
    assert_int_equal(world_give(w, "a", "ann", 1), LABEL_HELD); /* late answers are used */
    withdrawn(w, "b", "decided");
    assert_int_equal(world_give(w, "b", "ann", 1), LABEL_DECIDED);
    world_pass(w, WORLD_HOLD);
    assert_string_equal(world_sent(w, &token), "a ann 1");
    world_asked(w, "c", 1);
    world_give(w, "c", "ann", 1);
    withdrawn(w, "c", "cancelled");
    assert_int_equal(world_undo(w, "c", "ann"), LABEL_HELD);
    assert_string_equal(world_next(w, "ann", false), "none");
    withdrawn(w, "never-seen", "expired");
    assert_string_equal(world_next(w, "ann", false), "none");
}

/* A restart reads both topics: what is answered is not shown, what is not is. */
static void as_after_a_restart(void **state)
{
    struct label_world *w = *state;
    world_on_topic(w, "b", "ann", 1); /* before its request, which is read beside it */
    world_asked(w, "a", 1);
    world_asked(w, "b", 1);
    world_asked(w, "c", 2);
    world_on_topic(w, "c", "ann", 0);
    assert_string_equal(world_next(w, "ann", false), "a");
    assert_string_equal(world_next(w, "bob", false), "c");
    assert_int_equal(world_progress(w, "ann").done, 2);
    assert_int_equal(world_give(w, "b", "ann", 1), LABEL_RECORDED); /* whose page repeats it */
}

/* A label that nobody had asked for is refused by the trainer: the request stays open. */
static void too_early(void **state)
{
    struct label_world *w = *state;
    world_on_topic(w, "a", "ann", 1);
    world_on_topic(w, "b", "ann", 1);
    world_pass(w, 3600 * 1000);
    world_asked(w, "a", 1);
    world_asked(w, "b", 2);
    assert_string_equal(world_next(w, "ann", false), "a");
    assert_int_equal(world_give(w, "a", "ann", 0), LABEL_HELD);
    assert_string_equal(world_next(w, "ann", false), "b");
    assert_int_equal(world_give(w, "b", "ann", 0), LABEL_HELD);
    assert_int_equal(world_give(w, "b", "bob", 0), LABEL_HELD);
    assert_int_equal(world_progress(w, "ann").done, 2);
}

/* The operator has open requests sent again: what was answered before did not arrive. Votes are
 * kept: the trainer counts them, and the same people are not asked again. */
static void sent_again(void **state)
{
    struct label_world *w = *state;
    world_asked(w, "a", 1);
    world_asked(w, "b", 2);
    world_on_topic(w, "a", "ann", 1);
    world_on_topic(w, "b", "ann", 1);
    assert_string_equal(world_next(w, "ann", false), "others");
    world_pass(w, 30000); /* answers of the last minute may be under way */
    struct wire_label_request r = {.id = world_id("a"), .votes = 1, .requested_at_ms = WORLD_WALL};
    assert_int_equal(
        label_queue_request(w->q, &r, w->now.wall_ms, (struct wire_bytes){"a", 1}, &w->e), 0);
    assert_string_equal(world_next(w, "ann", false), "others");
    world_pass(w, 60000);
    assert_int_equal(
        label_queue_request(w->q, &r, w->now.wall_ms, (struct wire_bytes){"a", 1}, &w->e), 0);
    r = (struct wire_label_request){.id = world_id("b"), .votes = 2, .requested_at_ms = WORLD_WALL};
    assert_int_equal(
        label_queue_request(w->q, &r, w->now.wall_ms, (struct wire_bytes){"b", 1}, &w->e), 0);
    assert_string_equal(world_next(w, "ann", false), "a");
    world_give(w, "a", "ann", 1);
    assert_string_equal(world_next(w, "ann", false), "others");
    assert_string_equal(world_next(w, "bob", false), "b");
}

static void another_tool_is_quicker(void **state)
{
    struct label_world *w = *state;
    uint64_t token;
    world_asked(w, "a", 1);
    world_asked(w, "b", 1);
    world_give(w, "a", "ann", 1);
    world_on_topic(w, "a", "zoe", 0);
    assert_int_equal(world_give(w, "a", "ann", 1), LABEL_DECIDED);
    world_pass(w, WORLD_HOLD);
    assert_string_equal(world_sent(w, &token), "");
    world_give(w, "b", "ann", 1); /* its own label is read before the report comes */
    world_pass(w, WORLD_HOLD);
    assert_string_equal(world_sent(w, &token), "b ann 1");
    world_on_topic(w, "b", "ann", 1);
    assert_int_equal(world_give(w, "b", "ann", 1), LABEL_RECORDED);
    label_queue_sent(w->q, token, true, false);
    assert_int_equal(label_queue_pending(w->q), 0);
}

static void agreement(void **state)
{
    struct label_world *w = *state;
    uint64_t token;
    world_asked(w, "a", 2);
    world_asked(w, "b", 2);
    world_on_topic(w, "a", "ann", 1);
    world_on_topic(w, "b", "ann", 0);
    world_give(w, "a", "bob", 1);
    world_give(w, "b", "bob", -1);
    assert_int_equal(label_queue_agreement(w->q)->records, 0); /* not recorded yet */
    world_pass(w, WORLD_HOLD);
    while (*world_sent(w, &token))
        label_queue_sent(w->q, token, true, false);
    assert_int_equal(label_queue_agreement(w->q)->records, 1);
    world_give(w, "b", "bob", 0); /* after the skip */
    world_pass(w, WORLD_HOLD);
    world_sent(w, &token);
    label_queue_sent(w->q, token, true, false);
    assert_int_equal(label_queue_agreement(w->q)->records, 2);
    assert_true(agreement_alpha(label_queue_agreement(w->q)) == 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        T(withdrawals), T(as_after_a_restart),      T(too_early),
        T(sent_again),  T(another_tool_is_quicker), T(agreement),
    };
    return cmocka_run_group_tests_name("role/label_queue", tests, NULL, NULL);
}
