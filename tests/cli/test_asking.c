/*
 * Whether labels are asked for now, and why not: each reason, in the words that a person sees.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "cli/ledger_view.h"
#include "fis/mem.h"

#define DAY INT64_C(86400000)
#define NOW (20000 * DAY + 3600000)

struct world {
    struct config cfg;
    struct ledger_view v;
    struct ledger_record records[4];
    struct asking_pause pause;
};

/* Round 3 of a pipeline in which two of four labels are out, and there is more to ask for. */
static int up(void **state)
{
    struct world *w = fis_calloc(1, sizeof *w);
    assert_non_null(w);
    w->cfg.selection = (struct config_selection){.mode = CONFIG_STREAM,
                                                 .algorithm = CONFIG_FIS_PLUS,
                                                 .labels_per_round = 4,
                                                 .in_flight = 4,
                                                 .window_records = 10000,
                                                 .budget = 100,
                                                 .daily_budget = 50};
    w->v.found = true;
    w->v.state = (struct wire_trainer_state){.round = 3,
                                             .phase = WIRE_PHASE_LABEL,
                                             .clock_ms = 7200000,
                                             .wall_ms = NOW,
                                             .day = 20000,
                                             .day_asked = 10,
                                             .day_began_ms = 3600000};
    w->v.records = w->records;
    w->v.charged = 20;
    w->v.count[WIRE_REQUESTED] = w->v.n = 2;
    w->v.count[WIRE_IN_HEAP] = 7;
    for (int i = 0; i < 4; i++)
        w->records[i] = (struct ledger_record){.state = WIRE_REQUESTED, .round = 3};
    *state = w;
    return 0;
}

static int down(void **state)
{
    fis_free(*state);
    return 0;
}

static void expect(const struct world *w, enum asking_state state, const char *text)
{
    struct asking a = ledger_view_asking(&w->v, &w->cfg.selection, &w->pause, NOW);
    assert_string_equal(a.text, text);
    assert_string_equal(asking_name(a.state), asking_name(state));
}

static void it_goes_on(void **arg)
{
    struct world *w = *arg;
    expect(w, ASKING_GOES_ON, "goes on, round 3");
    /* What was set aside and has a place free again, in the paper's rounds. */
    w->records[2].state = w->records[3].state = WIRE_SET_ASIDE;
    w->v.n = 4;
    expect(w, ASKING_ROUND,
           "not now, round 3: all of its labels are requested; 2 labels are waited for");
    w->cfg.selection.algorithm = CONFIG_FIS;
    expect(w, ASKING_GOES_ON, "goes on, round 3");
}

static void paused(void **arg)
{
    struct world *w = *arg;
    w->v.state.paused = 1;
    expect(w, ASKING_PAUSED, "paused, round 3");
    strcpy(w->pause.by, "ann");
    expect(w, ASKING_PAUSED, "paused, round 3, by ann");
    strcpy(w->pause.reason, "holidays");
    expect(w, ASKING_PAUSED, "paused, round 3, by ann: holidays");
}

static void spent(void **arg)
{
    struct world *w = *arg;
    w->v.charged = 100;
    expect(w, ASKING_BUDGET_SPENT,
           "nothing more: selection.budget is spent; 2 labels are waited for");
    w->v.count[WIRE_REQUESTED] = 0;
    w->v.state.phase = WIRE_PHASE_DONE;
    expect(w, ASKING_BUDGET_SPENT, "nothing more: selection.budget is spent");
    w->v.charged = 20;
    expect(w, ASKING_DONE, "nothing more: the trainer is done");
    w->cfg.selection.rounds = 2;
    expect(w, ASKING_ROUNDS_DONE, "nothing more: selection.rounds is 2, and they are done");
}

static void the_day(void **arg)
{
    struct world *w = *arg;
    w->v.state.day_asked = 50;
    w->v.count[WIRE_REQUESTED] = w->v.n = 0;
    expect(w, ASKING_DAY_SPENT,
           "not now, round 3: selection.daily_budget is spent until 2024-10-05 00:00 (UTC)");
    /* The clock was set back since: 24 hours from the day's begin. */
    w->v.state.day = 20001;
    expect(w, ASKING_DAY_SPENT,
           "not now, round 3: selection.daily_budget is spent until 2024-10-05 00:00 (UTC)");
    w->v.state.day_began_ms = 0;
    expect(w, ASKING_DAY_SPENT,
           "not now, round 3: selection.daily_budget is spent until 2024-10-04 23:00 (UTC)");
    w->v.state.day = 19999; /* yesterday's */
    expect(w, ASKING_GOES_ON, "goes on, round 3");
}

static void candidates(void **arg)
{
    struct world *w = *arg;
    w->v.state.phase = WIRE_PHASE_COLLECT;
    w->v.state.window_records = 4200;
    expect(w, ASKING_WINDOW, "waiting: 4,200 of 10,000 records of the window, round 3");
    w->cfg.selection.window_time = 1000;
    expect(w, ASKING_WINDOW,
           "waiting: 4,200 of 10,000 records of the window, round 3; selection.window_time may end "
           "it before");
    w->cfg.selection.mode = CONFIG_POOL;
    expect(w, ASKING_WINDOW, "not now, round 3: the pool is being scanned, or has nothing new");
    w->v.state.phase = WIRE_PHASE_LABEL;
    w->v.state.window_records = 0;
    w->v.count[WIRE_IN_HEAP] = 0;
    expect(w, ASKING_NO_MORE, "not now, round 3: no candidate is left; 2 labels are waited for");
    w->v.count[WIRE_REQUESTED] = 1;
    expect(w, ASKING_NO_MORE, "not now, round 3: no candidate is left; 1 label is waited for");
    w->v.count[WIRE_REQUESTED] = 4;
    expect(w, ASKING_FULL, "not now, round 3: 4 requests open, and selection.in_flight is 4");
}

/* A window that fills while labels are out. */
static void the_next_window(void **arg)
{
    struct world *w = *arg;
    w->v.state.window_records = 7682;
    w->v.count[WIRE_REQUESTED] = w->v.n = 4;
    w->cfg.selection.in_flight = 8;
    expect(w, ASKING_ROUND,
           "not now, round 3: all of its labels are requested; 4 labels are waited for; waiting: "
           "7,682 of 10,000 records of the next window");
    w->v.count[WIRE_IN_HEAP] = 0;
    expect(w, ASKING_NO_MORE,
           "not now, round 3: no candidate is left; 4 labels are waited for; waiting: 7,682 of "
           "10,000 records of the next window");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
    const struct CMUnitTest tests[] = {
        T(it_goes_on), T(paused), T(spent), T(the_day), T(candidates), T(the_next_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
