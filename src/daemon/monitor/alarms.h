/*
 * What needs a person: a list of conditions over the status, each with a name that stays the same
 * for ever. An alarm is raised when its condition has held for a while and goes when it has not
 * held for a while, on a threshold that lies a little nearer: what hovers at a limit does not ring
 * again and again. Time is the status's monotonic clock, so a wall clock that jumps raises nothing.
 *
 * Figures that this process cannot know (a standby's labels, a scorer's versions) raise nothing.
 *
 * Thread: the loop. Owns: itself, no memory behind it.
 */
#ifndef DAEMON_ALARMS_H
#define DAEMON_ALARMS_H

#include "daemon/monitor/status.h"

#define ALARM_TEXT 320
#define ALARM_MINUTES 5 /* what dead letters are counted over */

struct alarm {
    const char *name, *severity; /* "warning", "critical" */
    const char *advice;          /* what to do about it */
    bool on;
    bool held;             /* the condition, when it was last looked at */
    uint64_t turned_ms;    /* since when `held` is what it is; monotonic */
    int64_t since_ms;      /* wall clock, when it was raised */
    char text[ALARM_TEXT]; /* what was found, and what is allowed; while it is on */
};

enum alarm_kind {
    ALARM_BROKER_AWAY,
    ALARM_NOT_WORKING,
    ALARM_LABELS_STARVED,
    ALARM_LABELS_STUCK,
    ALARM_BUDGET_LOW,
    ALARM_DAILY_BUDGET_LOW,
    ALARM_GATE_REJECTING,
    ALARM_UNFAIR,
    ALARM_VALIDATION_SMALL,
    ALARM_VALIDATION_STALE,
    ALARM_DRIFT,
    ALARM_CATEGORIES_UNSEEN,
    ALARM_NO_BETTER,
    ALARM_GROUP_RATE_MOVED,
    ALARM_DEAD_LETTERS,
    ALARM_REGISTRY_AWAY,
    ALARM_WEBHOOK_FAILS,
    ALARM_LEFT_OUT,
    ALARM_HALTED,
    ALARM_COUNT
};

struct alarms {
    struct alarm all[ALARM_COUNT];
    uint64_t looked_ms;
    /* Labels: when the count of requests last rose, and what was counted then. */
    uint64_t asked, asked_ms, asked_records;
    uint64_t records, records_ms; /* when records last came */
    /* Messages that could not be used and that were read, at the begin of each of the last minutes.
     */
    struct {
        uint64_t dead, read;
    } minutes[ALARM_MINUTES];
    uint32_t n_minutes;
    uint64_t minute_ms;
};

void alarms_init(struct alarms *a);
/* One look; to be called about once a second. `turned`, when given, is called for each alarm that
 * was raised or went. */
void alarms_look(struct alarms *a, const struct status *s,
                 void (*turned)(void *ctx, const struct alarm *alarm), void *ctx);
/* The reference, a table in Markdown. */
void alarms_write_markdown(FILE *out);

#endif
