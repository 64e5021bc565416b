#include "kit/daemon/alarm_world.h"

/* A process of both roles that leads and in which all is well. */
static void all_is_well(struct alarm_world *w)
{
    w->cfg.selection.budget = 1000;
    w->cfg.selection.window_records = 1000;
    w->cfg.gate.min_rows = 500;
    w->cfg.gate.min_cell = 30;
    w->cfg.gate.warn_cell = 100;
    w->cfg.fairness.metric = CONFIG_EQUALIZED_ODDS;
    w->cfg.fairness.target = 0.05;
    w->cfg.alarms = (struct config_alarms){.label_age = ALARM_DAY,
                                           .starved = 15 * ALARM_MINUTE,
                                           .budget_left = 0.1,
                                           .rejected = 3,
                                           .validation_age = 90 * ALARM_DAY,
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

int alarm_world_up(void **state)
{
    struct alarm_world *w = test_calloc(1, sizeof *w);
    struct fis_error e;
    w->versions = version_log_new(&e);
    assert_non_null(w->versions);
    all_is_well(w);
    alarms_init(&w->a);
    *state = w;
    return 0;
}

int alarm_world_down(void **state)
{
    struct alarm_world *w = *state;
    version_log_free(w->versions);
    test_free(w);
    return 0;
}

void turned(void *ctx, const struct alarm *a)
{
    struct alarm_world *w = ctx;
    assert_non_null(a->name);
    w->turned++;
}

void alarm_world_pass(struct alarm_world *w, uint64_t ms, uint64_t records)
{
    for (uint64_t until = w->s.mono_ms + ms; w->s.mono_ms < until;) {
        alarms_look(&w->a, &w->s, turned, w);
        w->s.mono_ms += ALARM_SECOND;
        w->s.wall_ms += (int64_t)ALARM_SECOND;
        w->s.trainer.counts.records += records;
        w->s.scorer.counts.records += records;
    }
    alarms_look(&w->a, &w->s, turned, w);
}

const struct alarm *alarm_of(struct alarm_world *w, enum alarm_kind kind)
{
    return &w->a.all[kind];
}

bool alarm_only(struct alarm_world *w, enum alarm_kind kind)
{
    for (int i = 0; i < ALARM_COUNT; i++)
        if (w->a.all[i].on != (i == (int)kind))
            return false;
    return true;
}

bool alarm_none(struct alarm_world *w)
{
    return alarm_only(w, ALARM_COUNT);
}
