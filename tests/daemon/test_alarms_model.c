/* Alarms about models: the gate, fairness, rates of groups, validation, drift. */
#include "kit/daemon/alarm_world.h"

/* A version with these rates of group 0 and 1, and this gap. */
static void add_version_as(struct alarm_world *w, int served, const char *reason, double rate,
                           double gap)
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

static void add_version(struct alarm_world *w, int served, double rate, double gap)
{
    add_version_as(w, served, served ? "fairer" : "below_floor", rate, gap);
}

static void gate_and_fairness(void **state)
{
    struct alarm_world *w = *state;
    add_version(w, 1, 0.3, 0.051);
    alarm_world_pass(w, 3 * ALARM_SECOND, 1);
    assert_true(alarm_only(w, ALARM_UNFAIR));
    assert_string_equal(alarm_of(w, ALARM_UNFAIR)->text,
                        "the served version 1 has equalized_odds 0.051; fairness.target is 0.050");
    add_version(w, 1, 0.3, 0.048); /* within, but hardly: it stays on */
    alarm_world_pass(w, 2 * ALARM_MINUTE, 1);
    assert_true(alarm_only(w, ALARM_UNFAIR));
    add_version(w, 1, 0.3, 0.03);
    alarm_world_pass(w, 2 * ALARM_MINUTE, 1);
    assert_true(alarm_none(w));
    for (int i = 0; i < 2; i++)
        add_version(w, 0, 0.3, 0.3);
    alarm_world_pass(w, ALARM_MINUTE, 1);
    assert_true(alarm_none(w));
    for (int i = 0; i < 17; i++) /* as the operator has decided */
        add_version_as(w, 0, "pinned", 0.3, 0.3);
    alarm_world_pass(w, ALARM_MINUTE, 1);
    assert_true(alarm_none(w));
    add_version(w, 0, 0.3, 0.3);
    add_version_as(w, 0, "pinned", 0.3, 0.3);
    alarm_world_pass(w, 2 * ALARM_SECOND, 1);
    assert_true(alarm_only(w, ALARM_GATE_REJECTING));
    assert_string_equal(alarm_of(w, ALARM_GATE_REJECTING)->text,
                        "rejected in a row: 3 versions, the newest as below_floor");
    add_version(w, 1, 0.3, 0.03);
    alarm_world_pass(w, 2 * ALARM_SECOND, 1);
    assert_true(alarm_none(w));
}

static void group_rate(void **state)
{
    struct alarm_world *w = *state;
    add_version(w, 1, 0.30, 0.01);
    add_version(w, 1, 0.36, 0.01);
    alarm_world_pass(w, ALARM_MINUTE, 1);
    assert_true(alarm_none(w));
    add_version(w, 1, 0.42, 0.01); /* two small steps */
    alarm_world_pass(w, 2 * ALARM_SECOND, 1);
    assert_true(alarm_only(w, ALARM_GROUP_RATE_MOVED));
    assert_non_null(strstr(alarm_of(w, ALARM_GROUP_RATE_MOVED)->text,
                           "group 1 went from 0.300 in version 1 to 0.420 in version 3"));
    for (int i = 0; i < 5; i++)
        add_version(w, 1, 0.42, 0.01);
    alarm_world_pass(w, 2 * ALARM_MINUTE, 1);
    assert_true(alarm_none(w));
    /* Of few rows a large move is chance. */
    w->model.metrics.n_groups = 1;
    for (int i = 0; i < 2; i++) {
        w->model.version++;
        w->model.served = 1;
        w->model.metrics.group[0] =
            (struct fis_group_metrics){.n = 20, .positive_rate = i ? 0.5 : 0.3};
        version_log_add(w->versions, &w->model);
    }
    alarm_world_pass(w, ALARM_MINUTE, 1);
    assert_true(alarm_none(w));
}

static void validation(void **state)
{
    struct alarm_world *w = *state;
    struct trainer_validation_status *v = &w->s.trainer.validation;
    v->rows = 499;
    alarm_world_pass(w, 3 * ALARM_SECOND, 1);
    assert_true(alarm_only(w, ALARM_VALIDATION_SMALL));
    assert_non_null(strstr(alarm_of(w, ALARM_VALIDATION_SMALL)->text, "gate.min_rows is 500"));
    v->rows = 2000;
    v->smallest_cell = 99;
    alarm_world_pass(w, 3 * ALARM_SECOND, 1);
    assert_string_equal(alarm_of(w, ALARM_VALIDATION_SMALL)->text,
                        "99 rows to judge by in the smallest group and class that equalized_odds "
                        "needs; below gate.warn_cell, 100, verdicts are uncertain");
    v->smallest_cell = 29;
    w->cfg.fairness.metric = CONFIG_DEMOGRAPHIC_PARITY;
    alarm_world_pass(w, 3 * ALARM_SECOND, 1);
    assert_string_equal(alarm_of(w, ALARM_VALIDATION_SMALL)->text,
                        "29 rows to judge by in the smallest group that demographic_parity needs, "
                        "gate.min_cell is 30: no version after the first is published");
    v->smallest_cell = 100;
    alarm_world_pass(w, 3 * ALARM_SECOND, 1);
    assert_true(alarm_none(w));
    v->newest_ms = w->s.wall_ms - (int64_t)(100 * ALARM_DAY);
    alarm_world_pass(w, 59 * ALARM_SECOND, 1);
    assert_true(alarm_none(w)); /* a wall clock that jumped for a while */
    alarm_world_pass(w, 2 * ALARM_SECOND, 1);
    assert_true(alarm_only(w, ALARM_VALIDATION_STALE));
    assert_non_null(strstr(alarm_of(w, ALARM_VALIDATION_STALE)->text, "100 days old"));
    v->newest_ms = w->s.wall_ms + (int64_t)ALARM_DAY; /* of the future: no age */
    alarm_world_pass(w, 2 * ALARM_SECOND, 1);
    assert_true(alarm_none(w));
}

static void drift(void **state)
{
    struct alarm_world *w = *state;
    struct scorer_drift *d = &w->s.scorer.drift;
    w->columns[0] = (struct drift_column){"income", 0.24};
    *d = (struct scorer_drift){.rows = 900, .all = 2, .n = 2, .columns = w->columns};
    alarm_world_pass(w, 3 * ALARM_MINUTE, 1);
    assert_true(alarm_none(w));
    w->columns[0].psi = 0.31;
    d->above = 1;
    alarm_world_pass(w, 59 * ALARM_SECOND, 1);
    assert_true(alarm_none(w));
    alarm_world_pass(w, 2 * ALARM_SECOND, 1);
    assert_true(alarm_only(w, ALARM_DRIFT));
    assert_non_null(strstr(alarm_of(w, ALARM_DRIFT)->text, "column income"));
    w->columns[0].psi = 0.24;
    alarm_world_pass(w, 3 * ALARM_MINUTE, 1);
    assert_true(alarm_only(w, ALARM_DRIFT));
    d->n = 0; /* another head: not measured yet */
    alarm_world_pass(w, 2 * ALARM_MINUTE, 1);
    assert_true(alarm_none(w));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, alarm_world_up, alarm_world_down)
    const struct CMUnitTest tests[] = {
        T(gate_and_fairness),
        T(group_rate),
        T(validation),
        T(drift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
