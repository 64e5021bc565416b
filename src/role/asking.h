/*
 * Whether labels are requested now, and if not, why: from what the trainer or its ledger knows and
 * the limits of the configuration. fisd and fisctl say it in the same words.
 * Thread: any. Owns: nothing.
 */
#ifndef ROLE_ASKING_H
#define ROLE_ASKING_H

#include <stdbool.h>
#include <stdint.h>

enum asking_state {
    ASKING_GOES_ON,
    ASKING_PAUSED,
    ASKING_ROUNDS_DONE,
    ASKING_BUDGET_SPENT,
    ASKING_PATIENCE, /* so many rounds published nothing */
    ASKING_DONE, /* says the trainer, for none of the reasons that this configuration knows */
    ASKING_DAY_SPENT,
    ASKING_WINDOW,  /* candidates are collected */
    ASKING_FULL,    /* as many requests are open as may be */
    ASKING_NO_MORE, /* candidates in this round */
    ASKING_ROUND,   /* all of the round's labels are requested */
    ASKING_WARM_UP, /* there is no model yet */
    ASKING_STATES
};

struct asking {
    enum asking_state state;
    char text[256]; /* in a few words, for people */
};

/* Numbers of records, labels and requests. */
struct asking_facts {
    bool pool, paused, warming_up, done;
    bool collecting;                            /* the window, or the scan of the pool */
    uint32_t round, rounds;                     /* rounds: limit; 0: none */
    uint32_t idle_rounds, patience;             /* patience: limit; 0: none */
    uint64_t window, window_records, window_ms; /* window_ms: limit; 0: none */
    uint64_t open, in_flight;                   /* requests; in_flight: their limit */
    uint64_t asked, per_round;                  /* asked: requests that take a place of the round */
    uint64_t held;                              /* candidates */
    bool budget_spent, day_spent;
    int64_t day_ends_ms;           /* with day_spent: wall clock */
    const char *by, *pause_reason; /* with paused; "": not known */
};

/* When a day of requests is over, by the wall clock: at midnight (UTC), or 24 hours after it began
 * on the pipeline's clock. `day`: UTC days since 1970. wall_ms itself: it is over. */
int64_t asking_day_ends(int64_t day, uint64_t day_began_ms, uint64_t clock_ms, int64_t wall_ms);

struct asking asking_now(const struct asking_facts *f);
const char *asking_name(enum asking_state state); /* "goes_on", "paused", … */

#endif
