/*
 * Whether labels are asked for now, and if not, why: from what the ledger says and the limits of
 * the configuration. No clock, no output.
 * Thread: any. Owns: nothing.
 */
#ifndef CLI_ASKING_H
#define CLI_ASKING_H

#include "cli/ledger_view.h"
#include "config/config.h"

enum asking_state {
    ASKING_GOES_ON,
    ASKING_PAUSED,
    ASKING_ROUNDS_DONE,
    ASKING_BUDGET_SPENT,
    ASKING_DONE, /* says the trainer, for none of the reasons that this configuration knows */
    ASKING_DAY_SPENT,
    ASKING_WINDOW,  /* candidates are collected */
    ASKING_FULL,    /* as many requests are open as may be */
    ASKING_NO_MORE, /* candidates in this round */
    ASKING_ROUND,   /* all of the round's labels are asked for */
};

struct asking {
    enum asking_state state;
    char text[256]; /* in a few words, for people */
};

/* Who has paused it; by[0] is 0 when that is not known. */
struct asking_pause {
    char by[128], reason[256];
};

struct asking asking_now(const struct config *cfg, const struct ledger_view *v,
                         const struct asking_pause *pause, int64_t wall_ms);
const char *asking_name(enum asking_state state); /* "goes_on", "paused", … */

#endif
