#include "role/asking.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/decimal.h"

#define DAY_MS INT64_C(86400000)

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

static struct asking paused(const struct asking_facts *f)
{
    const char *by = f->by[0] ? ", by " : "", *colon = f->by[0] && f->pause_reason[0] ? ": " : "";
    return say(ASKING_PAUSED, "paused, round %u%s%s%s%s", f->round, by, f->by, colon,
               colon[0] ? f->pause_reason : "");
}

/* "7,682 of 10,000 records of the window" */
static const char *window(const struct asking_facts *f, char out[96])
{
    char have[DECIMAL_GROUPED], want[DECIMAL_GROUPED];
    snprintf(out, 96, "%s of %s records of the %swindow", decimal_grouped(f->window, have),
             decimal_grouped(f->window_records, want), f->collecting ? "" : "next ");
    return out;
}

/* Records that wait meanwhile. */
static const char *next_window(const struct asking_facts *f, char out[128])
{
    char text[96];
    out[0] = 0;
    if (f->window && !f->pool && !f->done)
        snprintf(out, 128, "; waiting: %s", window(f, text));
    return out;
}

/* What follows "nothing more: " and "not now, …: " about labels that are out. */
static const char *waiting(const struct asking_facts *f, char out[192])
{
    char text[64], next[128];
    out[0] = 0;
    if (f->open)
        snprintf(out, 192, "; %.40s %s waited for%s", decimal_counted(f->open, "label", text),
                 f->open == 1 ? "is" : "are", next_window(f, next));
    else
        next_window(f, out);
    return out;
}

static struct asking day_spent(const struct asking_facts *f)
{
    char until[32];
    time_t seconds = (time_t)(f->day_ends_ms / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    strftime(until, sizeof until, "%Y-%m-%d %H:%M", &tm);
    return say(ASKING_DAY_SPENT,
               "not now, round %u: selection.daily_budget is spent until %s (UTC)", f->round,
               until);
}

static struct asking collecting(const struct asking_facts *f)
{
    char text[96];
    if (f->pool)
        return say(ASKING_WINDOW,
                   "not now, round %u: the pool is being scanned, or has nothing new", f->round);
    return say(ASKING_WINDOW, "waiting: %s, round %u%s", window(f, text), f->round,
               f->window_ms ? "; selection.window_time may end it before" : "");
}

static struct asking in_round(const struct asking_facts *f)
{
    char out[192], text[64];
    if (f->open >= f->in_flight)
        return say(ASKING_FULL, "not now, round %u: %.40s open, and selection.in_flight is %llu%s",
                   f->round, decimal_counted(f->open, "request", text),
                   (unsigned long long)f->in_flight, next_window(f, out));
    if (f->held == 0)
        return say(ASKING_NO_MORE, "not now, round %u: no candidate is left%s", f->round,
                   waiting(f, out));
    if (f->open && f->asked >= f->per_round)
        return say(ASKING_ROUND, "not now, round %u: all of its labels are requested%s", f->round,
                   waiting(f, out));
    return say(ASKING_GOES_ON, "goes on, round %u", f->round);
}

int64_t asking_day_ends(int64_t day, uint64_t day_began_ms, uint64_t clock_ms, int64_t wall_ms)
{
    int64_t today = wall_ms / DAY_MS, passed = (int64_t)(clock_ms - day_began_ms);
    if (day < today || passed >= DAY_MS)
        return wall_ms;
    /* A day of the future (the clock was set back) is no nearer than 24 hours from its begin. */
    int64_t midnight = day == today ? (day + 1) * DAY_MS : INT64_MAX;
    int64_t a_day_later = wall_ms + DAY_MS - passed;
    return midnight < a_day_later ? midnight : a_day_later;
}

struct asking asking_now(const struct asking_facts *f)
{
    char out[192];
    if (f->warming_up)
        return say(ASKING_WARM_UP, "not yet: the first model is being trained");
    if (f->paused)
        return paused(f);
    if (f->done && f->rounds && f->round > f->rounds)
        return say(ASKING_ROUNDS_DONE, "nothing more: selection.rounds is %u, and they are done%s",
                   f->rounds, waiting(f, out));
    if (f->budget_spent)
        return say(ASKING_BUDGET_SPENT, "nothing more: selection.budget is spent%s",
                   waiting(f, out));
    if (f->done && f->patience && f->idle_rounds >= f->patience)
        return say(ASKING_PATIENCE,
                   "nothing more: %s in a row published nothing (selection.patience); fisctl "
                   "labels resume goes on%s",
                   DECIMAL_COUNT(f->idle_rounds, "round"), waiting(f, out));
    if (f->done)
        return say(ASKING_DONE, "nothing more: the trainer is done%s", waiting(f, out));
    if (f->day_spent)
        return day_spent(f);
    return f->collecting ? collecting(f) : in_round(f);
}

const char *asking_name(enum asking_state state)
{
    static const char *const names[] = {[ASKING_GOES_ON] = "goes_on",
                                        [ASKING_PAUSED] = "paused",
                                        [ASKING_ROUNDS_DONE] = "rounds_done",
                                        [ASKING_BUDGET_SPENT] = "budget_spent",
                                        [ASKING_PATIENCE] = "patience",
                                        [ASKING_DONE] = "done",
                                        [ASKING_DAY_SPENT] = "daily_budget_spent",
                                        [ASKING_WINDOW] = "window",
                                        [ASKING_FULL] = "in_flight",
                                        [ASKING_NO_MORE] = "no_candidates",
                                        [ASKING_ROUND] = "round_asked",
                                        [ASKING_WARM_UP] = "warm_up"};
    return names[state];
}
