/* The trainer machine: the life of a request. Deadlines, clocks, days, votes, late answers. */
#include <math.h>

#include "kit/role/trainer_world.h"
#include "role/trainer_view.h"

#define DAY 86400000

static void open_label_phase(struct world *w, const struct trainer_role_options *o)
{
    open_world(w, o);
    load_world(w, 200);
    start(w);
    offer(w, 200);
    idle(w);
}

static void test_requests_expire(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.label_deadline_ms = 5000;
    o.selector.in_flight = 4;
    o.selector.budget = 10;
    open_label_phase(&w, &o);
    assert_int_equal(requests(&w), 4);
    assert_true(w.output.request[0].deadline_ms == now_of(&w).wall_ms + 5000);
    w.output.ms += 3000;
    label(&w, open_id(&w, 0), 1);
    idle(&w); /* a fifth is asked */
    assert_int_equal(requests(&w), 5);
    w.output.ms += 1990;
    idle(&w); /* the first four are 5,000 old: three expire, and three others are asked */
    assert_int_equal(trainer_role_counts(w.role).expired, 3);
    assert_int_equal(requests(&w), 8);
    assert_int_equal(w.output.n_requests, 8 + 3); /* cancelled ones go out */
    struct trainer_role_counts c = trainer_role_counts(w.role);
    assert_int_equal(c.selector.open, 4);
    assert_int_equal(c.selector.charged, 4); /* without `replace` they stay charged */
    assert_int_equal(c.selector.budget_left, 2);
    assert_int_equal(entry_state(&w, open_id(&w, 1)), WIRE_EXPIRED);
    assert_false(w.output.item[number_of(open_id(&w, 1))].entry.refunded);

    /* A late answer is used, once, and is not charged twice; over a restart too. */
    restart(&w);
    assert_int_equal(label(&w, open_id(&w, 1), 1), 0);
    assert_int_equal(label(&w, open_id(&w, 1), 1), 0);
    assert_int_equal(label(&w, open_id(&w, 1), 0), -FIS_INPUT);
    c = trainer_role_counts(w.role);
    assert_int_equal(c.learner.bought, 2);
    assert_int_equal(c.late, 1);
    assert_int_equal(c.duplicates, 1);
    assert_int_equal(c.selector.charged, 4);
    close_world(&w);
}

static void test_what_expires_is_replaced(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.label_deadline_ms = 5000;
    o.replace = 1;
    o.selector.budget = 6;
    open_label_phase(&w, &o);
    assert_int_equal(requests(&w), 6);
    w.output.ms += 5000;
    idle(&w);
    assert_int_equal(requests(&w), 12);
    assert_int_equal(trainer_role_counts(w.role).selector.budget_left, 0);
    assert_true(w.output.item[number_of(open_id(&w, 1))].entry.refunded);
    /* Late answers are paid for: then there is no room for another. */
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(label(&w, open_id(&w, i), 1), 0);
    assert_int_equal(trainer_role_counts(w.role).selector.charged, 6);
    w.output.ms += 5000;
    idle(&w);
    idle(&w);
    assert_int_equal(requests(&w), 12);
    assert_int_equal(trainer_role_counts(w.role).selector.open, 0);
    close_world(&w);
}

/* The wall clock goes back and forth by hours, and nothing depends on it. */
static void test_the_wall_clock_jumps(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.label_deadline_ms = 600000;
    o.selector.in_flight = 20;
    o.selector.labels_per_round = 20;
    open_label_phase(&w, &o);
    assert_int_equal(requests(&w), 20);
    static const int64_t jumps[] = {-10800000, 21600000, -10800000};
    for (int i = 0; i < 3; i++) {
        w.output.wall_jump += jumps[i];
        for (int k = 0; k < 12; k++) {
            w.output.ms += 10000;
            idle(&w);
        }
        assert_int_equal(trainer_role_counts(w.role).expired, 0);
        assert_int_equal(w.output.n_requests, 20); /* and none is sent again */
        restart(&w); /* what was written down just after the jump is what counts */
        assert_int_equal(trainer_role_counts(w.role).expired, 0);
    }
    assert_int_equal(w.jumps, 3);
    w.output.ms += 600000 - 3 * 12 * 10010 - 10;
    idle(&w);
    assert_int_equal(trainer_role_counts(w.role).expired, 20);
    close_world(&w);
}

/* From one trainer to the next the wall clock counts, but not backwards. */
static void test_time_between_two_trainers(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.label_deadline_ms = 600000;
    open_label_phase(&w, &o);
    w.kept.ms += 400000; /* down for so long */
    restart(&w);
    idle(&w);
    assert_int_equal(trainer_role_counts(w.role).expired, 0);
    w.kept.wall_jump -= 3600000;
    restart(&w);
    idle(&w);
    assert_int_equal(trainer_role_counts(w.role).expired, 0);
    w.output.ms += 199900;
    idle(&w);
    assert_int_equal(trainer_role_counts(w.role).expired, 0);
    w.output.ms += 200;
    idle(&w);
    assert_int_equal(trainer_role_counts(w.role).expired, 16);
    close_world(&w);
}

static void test_a_day_has_a_budget(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.daily_budget = 10;
    o.rounds = 0;
    open_world(&w, &o);
    load_world(&w, 200);
    w.output.wall_jump = 20 * (int64_t)DAY - 1000000000 - 3600000; /* an hour to midnight */
    start(&w);
    offer(&w, 200);
    idle(&w);
    assert_int_equal(requests(&w), 10);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(label(&w, open_id(&w, i), 1), 0);
    for (int i = 0; i < 5; i++)
        idle(&w);
    assert_int_equal(requests(&w), 10); /* nothing is out, and the round waits all the same */
    assert_string_equal(trainer_role_counts(w.role).phase, "label");
    assert_int_equal(w.output.n_versions, 1);
    restart(&w);
    idle(&w);
    assert_int_equal(requests(&w), 10);
    w.output.ms += 3600000; /* midnight */
    idle(&w);
    assert_int_equal(requests(&w), 16); /* the rest of the round */
    for (uint32_t i = 10; i < 16; i++)
        assert_int_equal(label(&w, open_id(&w, i), 1), 0);
    offer(&w, 100);
    for (int i = 0; i < 5; i++)
        idle(&w);
    assert_int_equal(requests(&w), 20);
    /* Back before midnight, and over it again: the same day, the same budget. */
    w.output.wall_jump -= 2 * 3600000;
    idle(&w);
    w.output.ms += 3 * 3600000;
    idle(&w);
    assert_int_equal(requests(&w), 20);
    /* A clock that stands at a date gives a day's budget in 24 hours. */
    for (int i = 0; i < 24; i++) {
        w.output.ms += 3600000;
        w.output.wall_jump -= 3600000;
        idle(&w);
    }
    assert_int_equal(requests(&w), 30);
    close_world(&w);
}

static void test_a_skip_is_not_an_answer(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.selector.budget = 16;
    open_label_phase(&w, &o);
    struct fis_id id = *open_id(&w, 3);
    for (int twice = 0; twice < 2; twice++)
        assert_int_equal(answer(&w, &id, WIRE_SKIPPED, 0, "ann"), 0);
    struct trainer_role_counts c = trainer_role_counts(w.role);
    assert_int_equal(c.skipped, 1);
    assert_int_equal(c.duplicates, 1);
    assert_int_equal(c.learner.bought, 0);
    assert_int_equal(c.selector.budget_left, 1);
    const struct item *i = &w.output.item[number_of(&id)];
    assert_int_equal(i->entry.state, WIRE_SKIPPED_BY_PERSON);
    assert_int_equal(i->entry.n_votes, 1); /* who and when */
    assert_string_equal(i->annotator[0], "ann");
    assert_true(i->votes[0].at_ms == now_of(&w).wall_ms);
    idle(&w);
    assert_int_equal(requests(&w), 17); /* another one in its place */
    restart(&w);
    assert_int_equal(answer(&w, &id, WIRE_SKIPPED, 0, "ann"), 0);
    for (int twice = 0; twice < 2; twice++)
        assert_int_equal(answer(&w, &id, WIRE_LABELLED, 1, "ann"), 0); /* he has seen it now */
    assert_int_equal(answer(&w, &id, WIRE_SKIPPED, 0, "ann"), 0);
    c = trainer_role_counts(w.role);
    assert_int_equal(c.learner.bought, 1);
    assert_int_equal(c.labels, 1);
    close_world(&w);
}

static uint32_t withdrawn(const struct world *w, const struct fis_id *id)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->output.n_requests; i++)
        n += w->output.request[i].cancelled && fis_id_compare(&w->output.request[i].id, id) == 0;
    return n;
}

/* Of what people answered, whatever became of it; the same after a restart. */
static void check_agreement(struct world *w, uint64_t records, double alpha)
{
    static struct trainer_view v;
    for (int i = 0; i < 2; i++) {
        trainer_view(w->role, now_of(w).wall_ms, &v);
        assert_int_equal(v.agreement.records, records);
        assert_true(fabs(v.agreement.alpha - alpha) < 1e-12);
        commit(w);
        restart(w);
    }
}

static void test_votes(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.votes = 3;
    o.selector.budget = 16;
    open_label_phase(&w, &o);
    struct fis_id a = *open_id(&w, 0), b = *open_id(&w, 1), c = *open_id(&w, 2),
                  d = *open_id(&w, 3);
    assert_int_equal(answer(&w, &a, WIRE_LABELLED, 1, ""), -FIS_INPUT); /* whose? */
    assert_int_equal(answer(&w, &a, WIRE_LABELLED, 1, "ann"), 0);
    assert_int_equal(answer(&w, &a, WIRE_LABELLED, 1, "ann"), 0);          /* counts once */
    assert_int_equal(answer(&w, &a, WIRE_LABELLED, 0, "ann"), -FIS_INPUT); /* contradicts himself */
    assert_int_equal(trainer_role_counts(w.role).learner.bought, 0);
    commit(&w);
    restart(&w); /* between two votes */
    assert_int_equal(answer(&w, &a, WIRE_LABELLED, 1, "ann"), 0);
    assert_int_equal(trainer_role_counts(w.role).learner.bought, 0);
    uint32_t before = withdrawn(&w, &a);
    assert_int_equal(answer(&w, &a, WIRE_LABELLED, 1, "bob"), 0); /* cannot be caught up with */
    assert_int_equal(withdrawn(&w, &a), before + 1);              /* and cyd need not look */
    assert_int_equal(trainer_role_counts(w.role).learner.bought, 1);
    assert_int_equal(answer(&w, &a, WIRE_LABELLED, 1, "cyd"), 0);
    assert_int_equal(answer(&w, &a, WIRE_LABELLED, 0, "dan"), 0); /* was under way */
    assert_int_equal(trainer_role_counts(w.role).learner.bought, 1);
    assert_int_equal(trainer_role_counts(w.role).duplicates, 3);

    answer(&w, &b, WIRE_LABELLED, 1, "ann");
    answer(&w, &b, WIRE_LABELLED, 0, "bob");
    answer(&w, &b, WIRE_UNSURE, 0, "cyd");
    assert_int_equal(entry_state(&w, &b), WIRE_TIED);
    assert_int_equal(w.tied, 1);
    assert_int_equal(trainer_role_counts(w.role).selector.charged, 2);
    commit(&w);
    restart(&w);
    assert_int_equal(answer(&w, &b, WIRE_LABELLED, 0, "dan"), 0); /* one more breaks the tie */
    assert_int_equal(trainer_role_counts(w.role).learner.bought, 2);
    assert_int_equal(w.output.item[number_of(&b)].entry.class_index, 0);
    assert_int_equal(w.output.item[number_of(&b)].entry.n_votes, 4);

    for (int i = 0; i < 3; i++)
        assert_int_equal(
            answer(&w, &c, WIRE_SKIPPED, 0, (const char *const[]){"ann", "bob", "cyd"}[i]), 0);
    assert_int_equal(entry_state(&w, &c), WIRE_SKIPPED_BY_PERSON);
    assert_int_equal(trainer_role_counts(w.role).selector.charged, 2); /* refunded */
    answer(&w, &d, WIRE_SKIPPED, 0, "ann");
    answer(&w, &d, WIRE_LABELLED, 1, "bob");
    assert_int_equal(entry_state(&w, &d), WIRE_REQUESTED);
    answer(&w, &d, WIRE_SKIPPED, 0, "cyd");
    assert_int_equal(trainer_role_counts(w.role).learner.bought, 3);
    assert_int_equal(requests(&w), 16); /* records are asked for, not votes */
    check_agreement(&w, 2, 1. / 3);     /* 1, 1 and 1, 0, 0 */
    close_world(&w);
}

/* What a person was shown holds: another number of votes is for later requests. */
static void test_another_number_of_votes(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.votes = 2;
    open_label_phase(&w, &o);
    struct fis_id a = *open_id(&w, 0), b = *open_id(&w, 1);
    answer(&w, &a, WIRE_LABELLED, 1, "ann");
    commit(&w);
    w.o.votes = 1;
    restart(&w);
    assert_int_equal(trainer_role_counts(w.role).learner.bought, 0);
    assert_int_equal(answer(&w, &a, WIRE_LABELLED, 1, "bob"), 0);
    assert_int_equal(trainer_role_counts(w.role).learner.bought, 1);
    answer(&w, &b, WIRE_LABELLED, 0, "ann");
    assert_int_equal(trainer_role_counts(w.role).learner.bought, 1);
    assert_int_equal(answer(&w, &b, WIRE_LABELLED, 0, "bob"), 0);
    assert_int_equal(trainer_role_counts(w.role).learner.bought, 2);
    close_world(&w);
}

static void test_labels_that_were_lost(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.replace = 1;
    open_label_phase(&w, &o);
    label(&w, open_id(&w, 0), 1);
    trainer_role_labels_lost(w.role, 40, now_of(&w));
    struct trainer_role_counts c = trainer_role_counts(w.role);
    assert_int_equal(c.selector.open, 0);
    assert_int_equal(c.expired, 15);
    assert_int_equal(c.selector.charged, 1);
    idle(&w);
    assert_int_equal(requests(&w), 16 + 15); /* others, within the budget and the round */
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_expire),
        cmocka_unit_test(test_what_expires_is_replaced),
        cmocka_unit_test(test_the_wall_clock_jumps),
        cmocka_unit_test(test_time_between_two_trainers),
        cmocka_unit_test(test_a_day_has_a_budget),
        cmocka_unit_test(test_a_skip_is_not_an_answer),
        cmocka_unit_test(test_votes),
        cmocka_unit_test(test_another_number_of_votes),
        cmocka_unit_test(test_labels_that_were_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
