/* Alarms: raised after a while, gone after a while, and not before; time is an argument. */
#include "kit/daemon/alarm_world.h"

static void quiet_when_all_is_well(void **state)
{
    struct alarm_world *w = *state;
    /* Windows fill, and labels are asked for. */
    for (int i = 0; i < 20; i++) {
        alarm_world_pass(w, 5 * ALARM_MINUTE, 3);
        w->s.trainer.counts.selector.asked += 10;
    }
    assert_true(alarm_none(w));
    assert_int_equal(w->turned, 0);
    for (int i = 0; i < ALARM_COUNT; i++) {
        assert_non_null(w->a.all[i].advice);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(w->a.all[i].name, w->a.all[k].name);
    }
}

static void broker_and_readiness(void **state)
{
    struct alarm_world *w = *state;
    w->s.broker_seen = false;
    snprintf(w->s.broker_trouble, sizeof w->s.broker_trouble, "connection refused");
    alarm_world_pass(w, 29 * ALARM_SECOND, 0);
    assert_true(alarm_none(w));
    alarm_world_pass(w, 2 * ALARM_SECOND, 0);
    assert_true(alarm_only(w, ALARM_BROKER_AWAY));
    assert_string_equal(alarm_of(w, ALARM_BROKER_AWAY)->text,
                        "no broker is reached: connection refused");
    assert_string_equal(alarm_of(w, ALARM_BROKER_AWAY)->severity, "critical");
    w->s.broker_seen = true;
    alarm_world_pass(w, 6 * ALARM_SECOND, 0);
    assert_true(alarm_none(w));
    w->s.scorer.owned = 0;
    alarm_world_pass(w, 119 * ALARM_SECOND, 0);
    assert_true(alarm_none(w));
    alarm_world_pass(w, 2 * ALARM_SECOND, 0);
    assert_true(alarm_only(w, ALARM_NOT_WORKING));
    w->s.stopping = true;
    alarm_world_pass(w, 10 * ALARM_SECOND, 0);
    assert_true(alarm_none(w));
}

static void flapping_rings_once(void **state)
{
    struct alarm_world *w = *state;
    for (int i = 0; i < 50; i++) { /* never away for long enough */
        w->s.broker_seen = i % 2;
        alarm_world_pass(w, 20 * ALARM_SECOND, 1);
    }
    assert_int_equal(w->turned, 0);
    w->s.broker_seen = false;
    alarm_world_pass(w, ALARM_MINUTE, 1);
    for (int i = 0; i < 50; i++) { /* never back for long enough */
        w->s.broker_seen = i % 2;
        alarm_world_pass(w, 3 * ALARM_SECOND, 1);
    }
    assert_int_equal(w->turned, 1);
    assert_true(alarm_of(w, ALARM_BROKER_AWAY)->on);
}

static void starved_without_records_or_candidates(void **state)
{
    struct alarm_world *w = *state;
    alarm_world_pass(w, 14 * ALARM_MINUTE, 0);
    assert_true(alarm_none(w));
    alarm_world_pass(w, 2 * ALARM_MINUTE, 0);
    assert_true(alarm_only(w, ALARM_LABELS_STARVED));
    assert_non_null(strstr(alarm_of(w, ALARM_LABELS_STARVED)->text, "no record has been scored"));
    w->s.trainer.counts.selector.open = 3;
    alarm_world_pass(w, 3 * ALARM_SECOND, 0);
    assert_true(alarm_none(w));
    /* Records come, a window is not full after an hour: that is slow, not starved. */
    w->s.trainer.counts.selector.open = 0;
    for (int i = 0; i < 60; i++) {
        alarm_world_pass(w, ALARM_MINUTE, 0);
        w->s.trainer.counts.records += 10;
    }
    assert_true(alarm_none(w));
    /* Two windows' records came, and none of them is asked for. */
    alarm_world_pass(w, 16 * ALARM_MINUTE, 100);
    assert_true(alarm_only(w, ALARM_LABELS_STARVED));
    assert_non_null(strstr(alarm_of(w, ALARM_LABELS_STARVED)->text, "records scored since"));
    /* With the budget spent or the labelling paused there is nothing to ask for. */
    w->s.trainer.counts.paused = 1;
    alarm_world_pass(w, 3 * ALARM_SECOND, 100);
    assert_true(alarm_none(w));
    alarm_world_pass(w, ALARM_HOUR, 0);
    assert_true(alarm_none(w));
}

static void stuck_requests(void **state)
{
    struct alarm_world *w = *state;
    w->s.trainer.counts.selector.open = 17;
    w->s.trainer.n_requests = 1;
    w->oldest.age_ms = ALARM_DAY - 1;
    alarm_world_pass(w, ALARM_MINUTE, 1);
    assert_true(alarm_none(w));
    w->oldest.age_ms = 3 * ALARM_DAY;
    alarm_world_pass(w, 12 * ALARM_SECOND, 1);
    assert_true(alarm_only(w, ALARM_LABELS_STUCK));
    assert_string_equal(alarm_of(w, ALARM_LABELS_STUCK)->text,
                        "open: 17 requests, the oldest for 3 days; alarms.label_age is 24 hours");
    w->cfg.alarms.label_age = 0;
    alarm_world_pass(w, 2 * ALARM_SECOND, 1);
    assert_true(alarm_none(w));
}

static void budget(void **state)
{
    struct alarm_world *w = *state;
    uint64_t *left = &w->s.trainer.counts.selector.budget_left;
    *left = 100;
    alarm_world_pass(w, ALARM_MINUTE, 1);
    assert_true(alarm_none(w));
    *left = 99;
    alarm_world_pass(w, 2 * ALARM_SECOND, 1);
    assert_true(alarm_only(w, ALARM_BUDGET_LOW));
    *left = 105; /* given back: too few for the alarm to go */
    alarm_world_pass(w, ALARM_MINUTE, 1);
    assert_true(alarm_only(w, ALARM_BUDGET_LOW));
    *left = 0;
    alarm_world_pass(w, ALARM_SECOND, 1);
    assert_string_equal(
        alarm_of(w, ALARM_BUDGET_LOW)->text,
        "left of selection.budget: 0 of 1,000 labels: no more labels are requested");
    *left = UINT64_MAX;
    w->cfg.selection.budget = 0;
    alarm_world_pass(w, 12 * ALARM_SECOND, 1);
    assert_true(alarm_none(w));
}

static void daily_budget(void **state)
{
    struct alarm_world *w = *state;
    uint64_t *asked = &w->s.trainer.counts.day_asked;
    w->cfg.selection.daily_budget = 50;
    *asked = 45;
    alarm_world_pass(w, ALARM_MINUTE, 1);
    assert_true(alarm_none(w));
    *asked = 46;
    alarm_world_pass(w, 2 * ALARM_SECOND, 1);
    assert_true(alarm_only(w, ALARM_DAILY_BUDGET_LOW));
    assert_string_equal(alarm_of(w, ALARM_DAILY_BUDGET_LOW)->text,
                        "left of selection.daily_budget: 4 of 50 labels for this day (UTC)");
    *asked = 51; /* the limit was lowered in between */
    alarm_world_pass(w, ALARM_SECOND, 1);
    assert_string_equal(alarm_of(w, ALARM_DAILY_BUDGET_LOW)->text,
                        "left of selection.daily_budget: 0 of 50 labels: no more labels are "
                        "requested on this day (UTC)");
    w->s.trainer.counts.selector.budget_left = 0;
    alarm_world_pass(w, 12 * ALARM_SECOND, 1);
    assert_true(alarm_only(w, ALARM_BUDGET_LOW));
    w->s.trainer.counts.selector.budget_left = 1000;
    *asked = 0; /* the next day */
    alarm_world_pass(w, 12 * ALARM_SECOND, 1);
    assert_true(alarm_none(w));
}

static void dead_letters(void **state)
{
    struct alarm_world *w = *state;
    w->s.trainer.counts.selector.open = 1;
    w->s.scorer.counts.refused = 500; /* long ago */
    alarm_world_pass(w, 10 * ALARM_MINUTE, 1);
    assert_true(alarm_none(w));
    w->s.scorer.counts.refused += 9; /* few */
    alarm_world_pass(w, ALARM_MINUTE, 0);
    assert_true(alarm_none(w));
    w->s.trainer.dead_labels += 20;
    w->s.trainer.read += 20;
    alarm_world_pass(w, 7 * ALARM_SECOND, 1);
    assert_true(alarm_only(w, ALARM_DEAD_LETTERS));
    alarm_world_pass(w, 8 * ALARM_MINUTE, 1);
    assert_true(alarm_none(w));
    /* Answers of which most are there already: they were read, too. */
    w->s.trainer.counts.duplicates += 3000;
    w->s.trainer.read += 3028;
    w->s.trainer.dead_labels += 28;
    alarm_world_pass(w, 8 * ALARM_MINUTE, 0);
    assert_true(alarm_none(w));
    w->s.trainer.read += 1000;
    w->s.trainer.dead_labels += 28;
    alarm_world_pass(w, 7 * ALARM_SECOND, 0);
    assert_true(alarm_only(w, ALARM_DEAD_LETTERS));
    assert_string_equal(alarm_of(w, ALARM_DEAD_LETTERS)->text,
                        "28 of 1,000 messages in the last five minutes were refused; the "
                        "dead-letter topic has them with the reason");
    alarm_world_pass(w, 8 * ALARM_MINUTE, 0);
    assert_true(alarm_none(w));
    /* Null values are read as well. */
    w->s.scorer.counts.tombstones += 5000;
    w->s.scorer.counts.refused += 28;
    alarm_world_pass(w, 8 * ALARM_MINUTE, 0);
    assert_true(alarm_none(w));
    /* Of very many records some may be bad. */
    for (int i = 0; i < 600; i++) {
        alarm_world_pass(w, ALARM_SECOND, 10000);
        w->s.scorer.counts.refused += 10;
    }
    assert_true(alarm_none(w));
}

static void a_webhook_that_keeps_failing(void **state)
{
    struct alarm_world *w = *state;
    w->s.webhook = (struct webhook_status){.on = true, .waiting = 7, .why = "status 503"};
    alarm_world_pass(w, 59 * ALARM_SECOND, 3);
    assert_true(alarm_none(w)); /* one attempt may fail */
    alarm_world_pass(w, 3 * ALARM_SECOND, 3);
    assert_true(alarm_only(w, ALARM_WEBHOOK_FAILS));
    assert_string_equal(alarm_of(w, ALARM_WEBHOOK_FAILS)->text,
                        "version 7 is not delivered to webhook.url: status 503; it is tried again");
    w->s.webhook.waiting = 0;
    alarm_world_pass(w, 3 * ALARM_SECOND, 3);
    assert_true(alarm_none(w));
}

/* Another trainer leads: what this one knows of labels and validation is nothing. */
static void a_standby_is_quiet(void **state)
{
    struct alarm_world *w = *state;
    w->s.trainer.running = false;
    w->s.trainer.state = ELECTION_STANDBY;
    w->s.trainer.warm = true;
    w->s.trainer.validation = (struct trainer_validation_status){0};
    w->s.trainer.counts = (struct trainer_role_counts){.phase = "warm-up"};
    alarm_world_pass(w, 2 * ALARM_DAY, 0);
    assert_true(alarm_none(w));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, alarm_world_up, alarm_world_down)
    const struct CMUnitTest tests[] = {
        T(quiet_when_all_is_well), T(broker_and_readiness),
        T(flapping_rings_once),    T(starved_without_records_or_candidates),
        T(stuck_requests),         T(budget),
        T(daily_budget),           T(dead_letters),
        T(a_standby_is_quiet),     T(a_webhook_that_keeps_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
