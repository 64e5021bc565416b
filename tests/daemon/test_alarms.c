/* Alarms: raised after a while, gone after a while, and not before; time is an argument. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/monitor/alarms.h"
#include "fis/mem.h"

#define SECOND UINT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

struct world {
    struct config cfg;
    struct status s;
    struct alarms a;
    struct version_log *versions;
    struct wire_model model;
    struct trainer_open oldest;
    struct drift_column columns[2];
    uint32_t turned; /* calls */
};

/* A process of both roles that leads and in which all is well. */
static void all_is_well(struct world *w)
{
    w->cfg.selection.budget = 1000;
    w->cfg.selection.window_records = 1000;
    w->cfg.gate.min_rows = 500;
    w->cfg.gate.min_cell = 30;
    w->cfg.gate.warn_cell = 100;
    w->cfg.fairness.metric = CONFIG_EQUALIZED_ODDS;
    w->cfg.fairness.target = 0.05;
    w->cfg.alarms = (struct config_alarms){.label_age = DAY,
                                           .starved = 15 * MINUTE,
                                           .budget_left = 0.1,
                                           .rejected = 3,
                                           .validation_age = 90 * DAY,
                                           .drift = 0.25,
                                           .rate_moved = 0.1,
                                           .dead_letters = 0.01};
    struct status *s = &w->s;
    s->cfg = &w->cfg;
    s->started = s->broker_seen = true;
    s->mono_ms = 5000;
    s->wall_ms = 1700000000000;
    s->versions = w->versions;
    s->scorer.on = s->scorer.open = true;
    s->scorer.head_version = 1;
    s->scorer.owned = 2;
    s->trainer.on = s->trainer.running = true;
    s->trainer.state = ELECTION_LEAD;
    s->trainer.counts.phase = "collect";
    s->trainer.counts.head_version = 1;
    s->trainer.counts.selector.budget_left = 1000;
    s->trainer.validation = (struct trainer_validation_status){
        .rows = 2000, .smallest_cell = 200, .newest_ms = s->wall_ms};
    s->trainer.requests = &w->oldest;
}

static int up(void **state)
{
    struct world *w = test_calloc(1, sizeof *w);
    struct fis_error e;
    w->versions = version_log_new(&e);
    assert_non_null(w->versions);
    all_is_well(w);
    alarms_init(&w->a);
    *state = w;
    return 0;
}

static int down(void **state)
{
    struct world *w = *state;
    version_log_free(w->versions);
    test_free(w);
    return 0;
}

static void turned(void *ctx, const struct alarm *a)
{
    struct world *w = ctx;
    assert_non_null(a->name);
    w->turned++;
}

/* Time goes on, with a look each second; records come all the while when `records` is not 0. */
static void pass(struct world *w, uint64_t ms, uint64_t records)
{
    for (uint64_t until = w->s.mono_ms + ms; w->s.mono_ms < until;) {
        alarms_look(&w->a, &w->s, turned, w);
        w->s.mono_ms += SECOND;
        w->s.wall_ms += (int64_t)SECOND;
        w->s.trainer.counts.records += records;
        w->s.scorer.counts.records += records;
    }
    alarms_look(&w->a, &w->s, turned, w);
}

static const struct alarm *of(struct world *w, enum alarm_kind kind)
{
    return &w->a.all[kind];
}

/* Whether this alarm is on, and no other. */
static bool only(struct world *w, enum alarm_kind kind)
{
    for (int i = 0; i < ALARM_COUNT; i++)
        if (w->a.all[i].on != (i == (int)kind))
            return false;
    return true;
}

static bool none(struct world *w)
{
    return only(w, ALARM_COUNT);
}

static void quiet_when_all_is_well(void **state)
{
    struct world *w = *state;
    /* Windows fill, and labels are asked for. */
    for (int i = 0; i < 20; i++) {
        pass(w, 5 * MINUTE, 3);
        w->s.trainer.counts.selector.asked += 10;
    }
    assert_true(none(w));
    assert_int_equal(w->turned, 0);
    for (int i = 0; i < ALARM_COUNT; i++) {
        assert_non_null(w->a.all[i].advice);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(w->a.all[i].name, w->a.all[k].name);
    }
}

static void broker_and_readiness(void **state)
{
    struct world *w = *state;
    w->s.broker_seen = false;
    snprintf(w->s.broker_trouble, sizeof w->s.broker_trouble, "connection refused");
    pass(w, 29 * SECOND, 0);
    assert_true(none(w));
    pass(w, 2 * SECOND, 0);
    assert_true(only(w, ALARM_BROKER_AWAY));
    assert_string_equal(of(w, ALARM_BROKER_AWAY)->text, "no broker is reached: connection refused");
    assert_string_equal(of(w, ALARM_BROKER_AWAY)->severity, "critical");
    w->s.broker_seen = true;
    pass(w, 6 * SECOND, 0);
    assert_true(none(w));
    w->s.scorer.owned = 0;
    pass(w, 119 * SECOND, 0);
    assert_true(none(w));
    pass(w, 2 * SECOND, 0);
    assert_true(only(w, ALARM_NOT_WORKING));
    w->s.stopping = true;
    pass(w, 10 * SECOND, 0);
    assert_true(none(w));
}

static void flapping_rings_once(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 50; i++) { /* never away for long enough */
        w->s.broker_seen = i % 2;
        pass(w, 20 * SECOND, 1);
    }
    assert_int_equal(w->turned, 0);
    w->s.broker_seen = false;
    pass(w, MINUTE, 1);
    for (int i = 0; i < 50; i++) { /* never back for long enough */
        w->s.broker_seen = i % 2;
        pass(w, 3 * SECOND, 1);
    }
    assert_int_equal(w->turned, 1);
    assert_true(of(w, ALARM_BROKER_AWAY)->on);
}

static void starved_without_records_or_candidates(void **state)
{
    struct world *w = *state;
    pass(w, 14 * MINUTE, 0);
    assert_true(none(w));
    pass(w, 2 * MINUTE, 0);
    assert_true(only(w, ALARM_LABELS_STARVED));
    assert_non_null(strstr(of(w, ALARM_LABELS_STARVED)->text, "no record has been scored"));
    w->s.trainer.counts.selector.open = 3;
    pass(w, 3 * SECOND, 0);
    assert_true(none(w));
    /* Records come, a window is not full after an hour: that is slow, not starved. */
    w->s.trainer.counts.selector.open = 0;
    for (int i = 0; i < 60; i++) {
        pass(w, MINUTE, 0);
        w->s.trainer.counts.records += 10;
    }
    assert_true(none(w));
    /* Two windows' records came, and none of them is asked for. */
    pass(w, 16 * MINUTE, 100);
    assert_true(only(w, ALARM_LABELS_STARVED));
    assert_non_null(strstr(of(w, ALARM_LABELS_STARVED)->text, "records scored since"));
    /* With the budget spent or the labelling paused there is nothing to ask for. */
    w->s.trainer.counts.paused = 1;
    pass(w, 3 * SECOND, 100);
    assert_true(none(w));
    pass(w, HOUR, 0);
    assert_true(none(w));
}

static void stuck_requests(void **state)
{
    struct world *w = *state;
    w->s.trainer.counts.selector.open = 17;
    w->s.trainer.n_requests = 1;
    w->oldest.age_ms = DAY - 1;
    pass(w, MINUTE, 1);
    assert_true(none(w));
    w->oldest.age_ms = 3 * DAY;
    pass(w, 12 * SECOND, 1);
    assert_true(only(w, ALARM_LABELS_STUCK));
    assert_string_equal(
        of(w, ALARM_LABELS_STUCK)->text,
        "17 requests are open, the oldest for 3 days; alarms.label_age is 24 hours");
    w->cfg.alarms.label_age = 0;
    pass(w, 2 * SECOND, 1);
    assert_true(none(w));
}

static void budget(void **state)
{
    struct world *w = *state;
    uint64_t *left = &w->s.trainer.counts.selector.budget_left;
    *left = 100;
    pass(w, MINUTE, 1);
    assert_true(none(w));
    *left = 99;
    pass(w, 2 * SECOND, 1);
    assert_true(only(w, ALARM_BUDGET_LOW));
    *left = 105; /* given back: too few for the alarm to go */
    pass(w, MINUTE, 1);
    assert_true(only(w, ALARM_BUDGET_LOW));
    *left = 0;
    pass(w, SECOND, 1);
    assert_string_equal(of(w, ALARM_BUDGET_LOW)->text,
                        "0 of selection.budget's 1000 labels are left: no more labels are requested");
    *left = UINT64_MAX;
    w->cfg.selection.budget = 0;
    pass(w, 12 * SECOND, 1);
    assert_true(none(w));
}

static void daily_budget(void **state)
{
    struct world *w = *state;
    uint64_t *asked = &w->s.trainer.counts.day_asked;
    w->cfg.selection.daily_budget = 50;
    *asked = 45;
    pass(w, MINUTE, 1);
    assert_true(none(w));
    *asked = 46;
    pass(w, 2 * SECOND, 1);
    assert_true(only(w, ALARM_DAILY_BUDGET_LOW));
    assert_string_equal(of(w, ALARM_DAILY_BUDGET_LOW)->text,
                        "4 of selection.daily_budget's 50 labels are left for this day (UTC)");
    *asked = 51; /* the limit was lowered in between */
    pass(w, SECOND, 1);
    assert_string_equal(of(w, ALARM_DAILY_BUDGET_LOW)->text,
                        "0 of selection.daily_budget's 50 labels are left: no more labels are "
                        "requested on this day (UTC)");
    w->s.trainer.counts.selector.budget_left = 0;
    pass(w, 12 * SECOND, 1);
    assert_true(only(w, ALARM_BUDGET_LOW));
    w->s.trainer.counts.selector.budget_left = 1000;
    *asked = 0; /* the next day */
    pass(w, 12 * SECOND, 1);
    assert_true(none(w));
}

/* A version with these rates of group 0 and 1, and this gap. */
static void add_version_as(struct world *w, int served, const char *reason, double rate, double gap)
{
    struct wire_model *m = &w->model;
    m->version++;
    m->served = served;
    m->verdict = served ? "publish" : "reject";
    m->reason = reason;
    m->reason_text = "";
    m->metric = "equalized_odds";
    m->algorithm = "fis+";
    m->metrics.n = 2000;
    m->metrics.n_groups = 2;
    m->metrics.equalized_odds = gap;
    m->metrics.group[0] = (struct fis_group_metrics){.n = 1000, .positive_rate = 0.4};
    m->metrics.group[1] = (struct fis_group_metrics){.n = 1000, .positive_rate = rate};
    version_log_add(w->versions, m);
}

static void add_version(struct world *w, int served, double rate, double gap)
{
    add_version_as(w, served, served ? "fairer" : "below_floor", rate, gap);
}

static void gate_and_fairness(void **state)
{
    struct world *w = *state;
    add_version(w, 1, 0.3, 0.051);
    pass(w, 3 * SECOND, 1);
    assert_true(only(w, ALARM_UNFAIR));
    assert_string_equal(
        of(w, ALARM_UNFAIR)->text,
        "the served version 1 has equalized_odds 0.051; fairness.target is 0.050");
    add_version(w, 1, 0.3, 0.048); /* within, but hardly: it stays on */
    pass(w, 2 * MINUTE, 1);
    assert_true(only(w, ALARM_UNFAIR));
    add_version(w, 1, 0.3, 0.03);
    pass(w, 2 * MINUTE, 1);
    assert_true(none(w));
    for (int i = 0; i < 2; i++)
        add_version(w, 0, 0.3, 0.3);
    pass(w, MINUTE, 1);
    assert_true(none(w));
    for (int i = 0; i < 17; i++) /* as the operator wants it */
        add_version_as(w, 0, "pinned", 0.3, 0.3);
    pass(w, MINUTE, 1);
    assert_true(none(w));
    add_version(w, 0, 0.3, 0.3);
    add_version_as(w, 0, "pinned", 0.3, 0.3);
    pass(w, 2 * SECOND, 1);
    assert_true(only(w, ALARM_GATE_REJECTING));
    assert_string_equal(of(w, ALARM_GATE_REJECTING)->text,
                        "3 versions in a row were rejected, the newest as below_floor");
    add_version(w, 1, 0.3, 0.03);
    pass(w, 2 * SECOND, 1);
    assert_true(none(w));
}

static void group_rate(void **state)
{
    struct world *w = *state;
    add_version(w, 1, 0.30, 0.01);
    add_version(w, 1, 0.36, 0.01);
    pass(w, MINUTE, 1);
    assert_true(none(w));
    add_version(w, 1, 0.42, 0.01); /* two small steps */
    pass(w, 2 * SECOND, 1);
    assert_true(only(w, ALARM_GROUP_RATE_MOVED));
    assert_non_null(strstr(of(w, ALARM_GROUP_RATE_MOVED)->text,
                           "group 1 went from 0.300 in version 1 to 0.420 in version 3"));
    for (int i = 0; i < 5; i++)
        add_version(w, 1, 0.42, 0.01);
    pass(w, 2 * MINUTE, 1);
    assert_true(none(w));
    /* Of few rows a large move is chance. */
    w->model.metrics.n_groups = 1;
    for (int i = 0; i < 2; i++) {
        w->model.version++;
        w->model.served = 1;
        w->model.metrics.group[0] =
            (struct fis_group_metrics){.n = 20, .positive_rate = i ? 0.5 : 0.3};
        version_log_add(w->versions, &w->model);
    }
    pass(w, MINUTE, 1);
    assert_true(none(w));
}

static void validation(void **state)
{
    struct world *w = *state;
    struct trainer_validation_status *v = &w->s.trainer.validation;
    v->rows = 499;
    pass(w, 3 * SECOND, 1);
    assert_true(only(w, ALARM_VALIDATION_SMALL));
    assert_non_null(strstr(of(w, ALARM_VALIDATION_SMALL)->text, "gate.min_rows is 500"));
    v->rows = 2000;
    v->smallest_cell = 99;
    pass(w, 3 * SECOND, 1);
    assert_string_equal(of(w, ALARM_VALIDATION_SMALL)->text,
                        "99 rows to judge by in the smallest group and class that equalized_odds "
                        "needs; below gate.warn_cell, 100, verdicts are uncertain");
    v->smallest_cell = 29;
    w->cfg.fairness.metric = CONFIG_DEMOGRAPHIC_PARITY;
    pass(w, 3 * SECOND, 1);
    assert_string_equal(of(w, ALARM_VALIDATION_SMALL)->text,
                        "29 rows to judge by in the smallest group that demographic_parity needs, "
                        "gate.min_cell is 30: no version after the first is published");
    v->smallest_cell = 100;
    pass(w, 3 * SECOND, 1);
    assert_true(none(w));
    v->newest_ms = w->s.wall_ms - (int64_t)(100 * DAY);
    pass(w, 59 * SECOND, 1);
    assert_true(none(w)); /* a wall clock that jumped for a while */
    pass(w, 2 * SECOND, 1);
    assert_true(only(w, ALARM_VALIDATION_STALE));
    assert_non_null(strstr(of(w, ALARM_VALIDATION_STALE)->text, "100 days old"));
    v->newest_ms = w->s.wall_ms + (int64_t)DAY; /* of the future: no age */
    pass(w, 2 * SECOND, 1);
    assert_true(none(w));
}

static void drift(void **state)
{
    struct world *w = *state;
    struct scorer_drift *d = &w->s.scorer.drift;
    w->columns[0] = (struct drift_column){"income", 0.24};
    *d = (struct scorer_drift){.rows = 900, .all = 2, .n = 2, .columns = w->columns};
    pass(w, 3 * MINUTE, 1);
    assert_true(none(w));
    w->columns[0].psi = 0.31;
    d->above = 1;
    pass(w, 59 * SECOND, 1);
    assert_true(none(w));
    pass(w, 2 * SECOND, 1);
    assert_true(only(w, ALARM_DRIFT));
    assert_non_null(strstr(of(w, ALARM_DRIFT)->text, "column income"));
    w->columns[0].psi = 0.24;
    pass(w, 3 * MINUTE, 1);
    assert_true(only(w, ALARM_DRIFT));
    d->n = 0; /* another head: not measured yet */
    pass(w, 2 * MINUTE, 1);
    assert_true(none(w));
}

static void dead_letters(void **state)
{
    struct world *w = *state;
    w->s.trainer.counts.selector.open = 1;
    w->s.scorer.counts.refused = 500; /* long ago */
    pass(w, 10 * MINUTE, 1);
    assert_true(none(w));
    w->s.scorer.counts.refused += 9; /* few */
    pass(w, MINUTE, 0);
    assert_true(none(w));
    w->s.trainer.dead_labels += 20;
    w->s.trainer.read += 20;
    pass(w, 7 * SECOND, 1);
    assert_true(only(w, ALARM_DEAD_LETTERS));
    pass(w, 8 * MINUTE, 1);
    assert_true(none(w));
    /* Answers of which most are there already: they were read, too. */
    w->s.trainer.counts.duplicates += 3000;
    w->s.trainer.read += 3028;
    w->s.trainer.dead_labels += 28;
    pass(w, 8 * MINUTE, 0);
    assert_true(none(w));
    w->s.trainer.read += 1000;
    w->s.trainer.dead_labels += 28;
    pass(w, 7 * SECOND, 0);
    assert_true(only(w, ALARM_DEAD_LETTERS));
    assert_string_equal(of(w, ALARM_DEAD_LETTERS)->text,
                        "28 of the last five minutes' 1000 messages were refused; the "
                        "dead-letter topic has them with the reason");
    pass(w, 8 * MINUTE, 0);
    assert_true(none(w));
    /* Null values are read as well. */
    w->s.scorer.counts.tombstones += 5000;
    w->s.scorer.counts.refused += 28;
    pass(w, 8 * MINUTE, 0);
    assert_true(none(w));
    /* Of very many records some may be bad. */
    for (int i = 0; i < 600; i++) {
        pass(w, SECOND, 10000);
        w->s.scorer.counts.refused += 10;
    }
    assert_true(none(w));
}

/* Another trainer leads: what this one knows of labels and validation is nothing. */
static void a_standby_is_quiet(void **state)
{
    struct world *w = *state;
    w->s.trainer.running = false;
    w->s.trainer.state = ELECTION_STANDBY;
    w->s.trainer.warm = true;
    w->s.trainer.validation = (struct trainer_validation_status){0};
    w->s.trainer.counts = (struct trainer_role_counts){.phase = "warm-up"};
    pass(w, 2 * DAY, 0);
    assert_true(none(w));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
    const struct CMUnitTest tests[] = {
        T(quiet_when_all_is_well),
        T(broker_and_readiness),
        T(flapping_rings_once),
        T(starved_without_records_or_candidates),
        T(stuck_requests),
        T(budget),
        T(daily_budget),
        T(gate_and_fairness),
        T(group_rate),
        T(validation),
        T(drift),
        T(dead_letters),
        T(a_standby_is_quiet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
