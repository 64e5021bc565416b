#include "cli/asking.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "cli/screen.h"

static struct asking say(enum asking_state state, const char *format, ...) FIS_PRINTF(2, 3);
static struct asking say(enum asking_state state, const char *format, ...)
{
    struct asking a = {.state = state};
    va_list args;
    va_start(args, format);
    vsnprintf(a.text, sizeof a.text, format, args);
    va_end(args);
    return a;
}

static struct asking paused(const struct ledger_view *v, const struct asking_pause *p)
{
    const char *by = p->by[0] ? ", by " : "", *colon = p->by[0] && p->reason[0] ? ": " : "";
    return say(ASKING_PAUSED, "paused, round %u%s%s%s%s", v->state.round, by, p->by, colon,
               colon[0] ? p->reason : "");
}

/* What is behind "nothing more: " and "not now, …: " about the labels that are still out. */
static const char *waiting(const struct ledger_view *v, char out[64])
{
    char text[64];
    uint64_t open = v->count[WIRE_REQUESTED];
    out[0] = 0;
    if (open)
        snprintf(out, 64, "; %.40s %s waited for", screen_count(open, "label", text),
                 open == 1 ? "is" : "are");
    return out;
}

static struct asking day_spent(const struct ledger_view *v, int64_t wall_ms)
{
    char until[32];
    time_t seconds = (time_t)(ledger_view_renewed_at(v, wall_ms) / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    strftime(until, sizeof until, "%Y-%m-%d %H:%M", &tm);
    return say(ASKING_DAY_SPENT,
               "not now, round %u: selection.daily_budget is spent until %s (UTC)", v->state.round,
               until);
}

static struct asking collecting(const struct config_selection *s, const struct ledger_view *v)
{
    char have[SCREEN_NUMBER], want[SCREEN_NUMBER];
    if (s->mode == CONFIG_POOL)
        return say(ASKING_WINDOW,
                   "not now, round %u: the pool is being scanned, or has nothing new",
                   v->state.round);
    return say(ASKING_WINDOW, "not now, round %u: the window has %s of %s records%s",
               v->state.round, screen_number(v->state.window_records, have),
               screen_number(s->window_records, want),
               s->window_time ? "; selection.window_time may end it before" : "");
}

/* Requests that take a place of the round: open ones, and labels that count in it. */
static uint64_t asked_in_round(const struct config_selection *s, const struct ledger_view *v)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        const struct ledger_record *r = &v->records[i];
        bool counts = r->state == WIRE_REQUESTED || r->state == WIRE_ACCEPTED ||
                      (r->state == WIRE_SET_ASIDE && s->algorithm != CONFIG_FIS);
        n += counts && r->round == v->state.round;
    }
    return n;
}

static struct asking in_round(const struct config_selection *s, const struct ledger_view *v)
{
    char out[64], text[64];
    uint64_t open = v->count[WIRE_REQUESTED];
    if (open >= s->in_flight)
        return say(ASKING_FULL, "not now, round %u: %.40s open, and selection.in_flight is %u",
                   v->state.round, screen_count(open, "request", text), s->in_flight);
    if (v->count[WIRE_IN_HEAP] == 0)
        return say(ASKING_NO_MORE, "not now, round %u: no candidate is left%s", v->state.round,
                   waiting(v, out));
    if (open && asked_in_round(s, v) >= s->labels_per_round)
        return say(ASKING_ROUND, "not now, round %u: all of its labels are asked for%s",
                   v->state.round, waiting(v, out));
    return say(ASKING_GOES_ON, "goes on, round %u", v->state.round);
}

struct asking asking_now(const struct config *cfg, const struct ledger_view *v,
                         const struct asking_pause *pause, int64_t wall_ms)
{
    const struct config_selection *s = &cfg->selection;
    char out[64];
    bool done = v->state.phase == WIRE_PHASE_DONE;
    if (v->state.paused)
        return paused(v, pause);
    if (done && s->rounds && v->state.round > s->rounds)
        return say(ASKING_ROUNDS_DONE, "nothing more: selection.rounds is %u, and they are done%s",
                   s->rounds, waiting(v, out));
    if (s->budget && v->charged >= s->budget)
        return say(ASKING_BUDGET_SPENT, "nothing more: selection.budget is spent%s",
                   waiting(v, out));
    if (done)
        return say(ASKING_DONE, "nothing more: the trainer is done%s", waiting(v, out));
    if (s->daily_budget && ledger_view_today(v, wall_ms) >= s->daily_budget)
        return day_spent(v, wall_ms);
    return v->state.phase == WIRE_PHASE_COLLECT ? collecting(s, v) : in_round(s, v);
}

const char *asking_name(enum asking_state state)
{
    static const char *const names[] = {[ASKING_GOES_ON] = "goes_on",
                                        [ASKING_PAUSED] = "paused",
                                        [ASKING_ROUNDS_DONE] = "rounds_done",
                                        [ASKING_BUDGET_SPENT] = "budget_spent",
                                        [ASKING_DONE] = "done",
                                        [ASKING_DAY_SPENT] = "daily_budget_spent",
                                        [ASKING_WINDOW] = "window",
                                        [ASKING_FULL] = "in_flight",
                                        [ASKING_NO_MORE] = "no_candidates",
                                        [ASKING_ROUND] = "round_asked"};
    return names[state];
}
