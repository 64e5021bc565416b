/* Who is shown which record, and what becomes of answers: leases, votes, undo, restarts. */
#include "kit/role/label_world.h"

/* ---- who is shown what ------------------------------------------------------------------------
 */
static void oldest_first_and_nobody_the_same(void **state)
{
    struct label_world *w = *state;
    assert_string_equal(world_next(w, "ann", false), "none");
    world_asked(w, "b", 1);
    world_asked(w, "a", 1);
    assert_string_equal(world_next(w, "ann", false), "b");
    assert_string_equal(world_next(w, "ann", false), "b"); /* a page that is loaded again */
    assert_string_equal(world_next(w, "bob", false), "a");
    assert_string_equal(world_next(w, "cid", false), "others");
    struct label_progress p = world_progress(w, "cid");
    assert_int_equal(p.open, 2);
    assert_int_equal(p.mine, 0);
    assert_int_equal(p.others, 2);
    assert_int_equal(world_progress(w, "ann").mine, 1);
}

static void leases_end(void **state)
{
    struct label_world *w = *state;
    world_asked(w, "a", 1);
    assert_string_equal(world_next(w, "ann", false), "a");
    world_pass(w, WORLD_LEASE - 1);
    assert_string_equal(world_next(w, "ann", true), "a"); /* idle: it is not extended */
    assert_string_equal(world_next(w, "bob", false), "others");
    world_pass(w, 2);
    assert_string_equal(world_next(w, "ann", true), "lapsed");
    assert_string_equal(world_next(w, "ann", false), "a"); /* back, and nobody has taken it */
    world_pass(w, WORLD_LEASE + 1);
    assert_string_equal(world_next(w, "bob", false), "a");
    assert_string_equal(world_next(w, "ann", false), "others");
    assert_string_equal(world_next(w, "ann", true), "lapsed");
    assert_int_equal(world_give(w, "a", "ann", 1),
                     LABEL_HELD); /* the answer is a good one all the same */
    assert_int_equal(world_give(w, "a", "bob", 1), LABEL_DECIDED);
}

static void deadline(void **state)
{
    struct label_world *w = *state;
    struct wire_label_request r = {.id = world_id("a"),
                                   .votes = 1,
                                   .requested_at_ms = WORLD_WALL,
                                   .deadline_ms = WORLD_WALL + 1000};
    assert_int_equal(label_queue_request(w->q, &r, WORLD_WALL, (struct wire_bytes){"a", 1}, &w->e),
                     0);
    world_pass(w, 2000);
    assert_string_equal(world_next(w, "ann", false), "others");
    assert_int_equal(world_progress(w, "ann").open, 0);
    w->now.wall_ms = WORLD_WALL; /* a clock that had jumped: nothing is lost */
    assert_string_equal(world_next(w, "ann", false), "a");
}

/* ---- votes ------------------------------------------------------------------------------------
 */
static void three_votes_three_people(void **state)
{
    struct label_world *w = *state;
    world_asked(w, "a", 3);
    world_asked(w, "b", 1);
    assert_string_equal(world_next(w, "ann", false), "a");
    assert_string_equal(world_next(w, "bob", false), "a");
    assert_string_equal(world_next(w, "cid", false), "a");
    assert_string_equal(world_next(w, "dan", false), "b");
    assert_int_equal(world_give(w, "a", "ann", 1), LABEL_HELD);
    assert_string_equal(world_next(w, "ann", false), "others"); /* never twice to one */
    assert_int_equal(world_give(w, "a", "bob", -1), LABEL_HELD);
    assert_int_equal(world_give(w, "a", "cid", 0), LABEL_HELD);
    assert_int_equal(world_give(w, "a", "dan", 0), LABEL_DECIDED);
    assert_string_equal(world_next(w, "cid", false), "others");
    assert_int_equal(world_progress(w, "cid").open, 1);
    world_asked(w, "c", 2); /* an answer takes one place, and not its lease another */
    assert_string_equal(world_next(w, "ann", false), "c");
    assert_int_equal(world_give(w, "c", "ann", 1), LABEL_HELD);
    assert_string_equal(world_next(w, "bob", false), "c");
}

static void a_vote_has_a_name(void **state)
{
    struct label_world *w = *state;
    world_asked(w, "a", 2);
    world_on_topic(w, "a", "", 1); /* refused by the trainer: it is nobody's */
    world_on_topic(w, "a", "ann", 1);
    world_on_topic(w, "a", "ann", 1);
    assert_string_equal(world_next(w, "ann", false), "others");
    assert_string_equal(world_next(w, "bob", false), "a");
    world_on_topic(w, "a", "cid", 0); /* by another tool, meanwhile */
    assert_string_equal(world_next(w, "bob", true), "lapsed");
    assert_string_equal(world_next(w, "bob", false), "none");
}

/* ---- answers ----------------------------------------------------------------------------------
 */
static void held_changed_and_taken_back(void **state)
{
    struct label_world *w = *state;
    uint64_t token;
    world_asked(w, "a", 1);
    world_asked(w, "b", 1);
    assert_string_equal(world_next(w, "ann", false), "a");
    assert_int_equal(world_give(w, "a", "ann", 1), LABEL_HELD);
    assert_string_equal(world_next(w, "ann", false), "b");
    assert_int_equal(world_progress(w, "ann").done, 1);
    assert_int_equal(world_undo(w, "a", "bob"), LABEL_UNKNOWN);
    assert_int_equal(world_undo(w, "a", "ann"), LABEL_HELD);
    assert_int_equal(world_progress(w, "ann").done, 0);
    assert_string_equal(world_next(w, "ann", false), "a"); /* what was taken back comes first */
    assert_string_equal(world_next(w, "bob", false), "others");
    assert_int_equal(world_give(w, "a", "ann", 0), LABEL_HELD);
    assert_int_equal(world_give(w, "a", "ann", 1), LABEL_HELD); /* changed */
    assert_int_equal(world_give(w, "a", "ann", 0), LABEL_HELD);
    world_pass(w, WORLD_HOLD - 1);
    assert_string_equal(world_sent(w, &token), "");
    world_pass(w, 1);
    assert_string_equal(world_sent(w, &token), "a ann 0");
    assert_string_equal(world_sent(w, &token), "");
    assert_int_equal(world_give(w, "a", "ann", 0), LABEL_SENDING);
    assert_int_equal(world_undo(w, "a", "ann"), LABEL_SENDING);
    assert_int_equal(world_give(w, "a", "ann", 1), LABEL_CONTRADICTS);
    label_queue_sent(w->q, token, true, false);
    assert_int_equal(world_give(w, "a", "ann", 0), LABEL_RECORDED);
    assert_int_equal(world_give(w, "a", "ann", 1), LABEL_CONTRADICTS);
    assert_int_equal(world_give(w, "a", "bob", 1), LABEL_DECIDED);
    assert_int_equal(world_give(w, "x", "ann", 1), LABEL_UNKNOWN);
    assert_int_equal(label_queue_pending(w->q), 0);
    assert_string_equal(world_next(w, "ann", false), "b");
}

/* As the protocol allows: a label after skipped and unsure, and not the other way. */
static void a_label_after_a_skip(void **state)
{
    struct label_world *w = *state;
    uint64_t token, second;
    world_asked(w, "a", 1);
    assert_int_equal(world_give(w, "a", "ann", -1), LABEL_HELD);
    world_pass(w, WORLD_HOLD);
    assert_string_equal(world_sent(w, &token), "a ann -1");
    assert_int_equal(world_give(w, "a", "ann", 1), LABEL_HELD); /* while the skip is under way */
    world_pass(w, WORLD_HOLD);
    assert_string_equal(world_sent(w, &second), "a ann 1");
    label_queue_sent(w->q, token, true, false); /* the skip's report is of no answer now */
    assert_int_equal(world_give(w, "a", "ann", 1), LABEL_SENDING);
    label_queue_sent(w->q, second, true, false);
    assert_int_equal(world_give(w, "a", "ann", 1), LABEL_RECORDED);
    assert_int_equal(world_give(w, "a", "ann", -2), LABEL_CONTRADICTS);
    assert_int_equal(world_progress(w, "ann").done, 1);
}

static void kafka_refuses_or_is_away(void **state)
{
    struct label_world *w = *state;
    uint64_t token;
    world_asked(w, "a", 1);
    assert_int_equal(world_give(w, "a", "ann", 1), LABEL_HELD);
    world_pass(w, WORLD_HOLD);
    assert_string_equal(world_sent(w, &token), "a ann 1");
    label_queue_sent(w->q, token, false, true);
    assert_int_equal(label_queue_pending(w->q), 1);
    assert_string_equal(world_next(w, "bob", false), "none");
    assert_string_equal(world_sent(w, &token), "a ann 1");
    label_queue_sent(w->q, token, false, false);
    assert_int_equal(label_queue_pending(w->q), 0);
    assert_string_equal(world_next(w, "bob", false), "a"); /* nobody has answered it */
}

/* The end of the process: what is held goes out at once. */
static void all_at_the_end(void **state)
{
    struct label_world *w = *state;
    struct wire_label l;
    uint64_t token;
    world_asked(w, "a", 1);
    world_asked(w, "b", 1);
    world_give(w, "a", "ann", 1);
    world_give(w, "b", "bob", 0);
    assert_true(label_queue_send(w->q, true, w->now, &l, &token));
    assert_true(label_queue_send(w->q, true, w->now, &l, &token));
    assert_false(label_queue_send(w->q, true, w->now, &l, &token));
    assert_int_equal(label_queue_pending(w->q), 2);
}

/* ---- all of it at random -----------------------------------------------------------------------
 */

/* Many people, and a broker that is away now and then: nobody is shown what they have answered, a
 * request has no more live leases than places, and every answer is sent once. */
#define PEOPLE 6

#define RECORDS 40

struct truth {
    uint32_t votes[RECORDS], recorded[RECORDS];
    bool answered[RECORDS][PEOPLE], sent[RECORDS][PEOPLE];
    int shown_to[PEOPLE]; /* -1: nothing */
    uint64_t shown_ms[PEOPLE];
};

static void hand_out(struct label_world *w, struct truth *t, int p)
{
    static const char *const names[] = {"p0", "p1", "p2", "p3", "p4", "p5"};
    const char *text = world_next(w, names[p], false);
    t->shown_to[p] = *text == 'r' ? atoi(text + 1) : -1;
    t->shown_ms[p] = w->now.mono_ms;
    if (t->shown_to[p] < 0)
        return;
    int r = t->shown_to[p];
    uint32_t live = t->recorded[r];
    assert_false(t->answered[r][p]);
    for (int o = 0; o < PEOPLE; o++)
        live += t->shown_to[o] == r && w->now.mono_ms - t->shown_ms[o] < WORLD_LEASE;
    assert_true(live <= t->votes[r]);
}

static void deliver(struct label_world *w, struct truth *t, struct fis_rng *rng)
{
    uint64_t token;
    const char *text;
    while (*(text = world_sent(w, &token))) {
        int r = atoi(text + 1), p = strchr(text, ' ')[2] - '0';
        bool ok = fis_rng_unit(rng) < .8;
        assert_true(t->answered[r][p]); /* not what was taken back */
        assert_false(ok && t->sent[r][p]);
        t->sent[r][p] |= ok;
        label_queue_sent(w->q, token, ok, true);
        if (!ok)
            return; /* it is due at once: later */
    }
}

static void at_random(void **state)
{
    struct label_world *w = *state;
    static const char *const names[] = {"p0", "p1", "p2", "p3", "p4", "p5"};
    struct truth t = {0};
    struct fis_rng rng;
    char id[16];
    fis_rng_seed(&rng, 7, 0);
    for (int p = 0; p < PEOPLE; p++)
        t.shown_to[p] = -1;
    for (int r = 0; r < RECORDS; r++) {
        t.votes[r] = 1 + (uint32_t)r % 3;
        snprintf(id, sizeof id, "r%d", r);
        world_asked(w, id, t.votes[r]);
    }
    for (int step = 0; step < 20000; step++) {
        int p = (int)(fis_rng_unit(&rng) * PEOPLE);
        world_pass(w, (uint64_t)(fis_rng_unit(&rng) * 900));
        hand_out(w, &t, p);
        int r = t.shown_to[p];
        if (r >= 0 && fis_rng_unit(&rng) < .5) {
            snprintf(id, sizeof id, "r%d", r);
            assert_int_equal(world_give(w, id, names[p], r % 2), LABEL_HELD);
            t.answered[r][p] = true;
            t.recorded[r]++;
            t.shown_to[p] = -1;
            if (fis_rng_unit(&rng) < .2) {
                assert_int_equal(world_undo(w, id, names[p]), LABEL_HELD);
                t.answered[r][p] = false;
                t.recorded[r]--;
                t.shown_to[p] = r;
                t.shown_ms[p] = w->now.mono_ms;
            }
        }
        deliver(w, &t, &rng);
    }
    for (int r = 0; r < RECORDS; r++) {
        uint32_t arrived = 0;
        for (int p = 0; p < PEOPLE; p++)
            arrived += t.sent[r][p];
        assert_int_equal(arrived, t.votes[r]);
    }
    assert_int_equal(label_queue_pending(w->q), 0);
    assert_string_equal(world_next(w, "p0", false), "none");
}

/* ---- no memory --------------------------------------------------------------------------------
 */
static int scenario(void *arg, struct fis_error *e)
{
    struct label_queue *q = label_queue_new(&(struct label_queue_options){WORLD_LEASE, WORLD_HOLD});
    struct wire_label_request r = {.id = world_id("a"), .votes = 1, .requested_at_ms = WORLD_WALL};
    struct wire_label l = world_answer("a", "ann", 1), other = world_answer("b", "zoe", 1), out;
    struct trainer_time now = {1000, WORLD_WALL};
    enum label_next what;
    enum label_outcome outcome;
    struct label_task task;
    uint64_t left, token;
    int rc = q ? 0 : fis_fail(e, FIS_NOMEM, "no queue");
    (void)arg;
    if (!rc)
        rc = label_queue_label(q, &other, WORLD_WALL, e);
    if (!rc)
        rc = label_queue_request(q, &r, WORLD_WALL, (struct wire_bytes){"x", 1}, e);
    if (!rc)
        rc = label_queue_next(q, "ann", false, now, &what, &task, e);
    if (!rc)
        rc = label_queue_answer(q, &l, now, &outcome, &left, e);
    if (!rc)
        rc = label_queue_undo(q, &l.id, "ann", now, &outcome, e);
    if (!rc)
        rc = label_queue_answer(q, &l, now, &outcome, &left, e);
    if (!rc && label_queue_send(q, true, now, &out, &token))
        label_queue_sent(q, token, true, false);
    if (!rc)
        assert_int_equal(label_queue_pending(q), 0);
    label_queue_free(q);
    return rc;
}

static void no_memory(void **state)
{
    (void)state;
    assert_true(oom_run(scenario, NULL) > 8);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        T(oldest_first_and_nobody_the_same),
        T(leases_end),
        T(deadline),
        T(three_votes_three_people),
        T(a_vote_has_a_name),
        T(held_changed_and_taken_back),
        T(a_label_after_a_skip),
        T(kafka_refuses_or_is_away),
        T(all_at_the_end),
        T(at_random),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("role/label_queue", tests, NULL, NULL);
}
