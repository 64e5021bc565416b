/*
 * How long a turn of the loop takes, from one wait for events to the next: what happens meanwhile
 * waits so long. Thread: the loop's.
 */
#ifndef DAEMON_LOOP_WATCH_H
#define DAEMON_LOOP_WATCH_H

#include <stdbool.h>
#include <uv.h>

#include "daemon/context/histogram.h"

struct loop_watch {
    uv_prepare_t prepare;
    uint64_t last, last_idle, last_cpu; /* ns */
    bool skip;
    struct histogram seconds, cpu_seconds; /* by the clock; of the thread's processor time */
};

/* Before the loop runs for the first time. */
void loop_watch_start(struct loop_watch *w, uv_loop_t *loop);
/* The turn that runs is not counted: nothing waits for the loop yet. */
void loop_watch_skip(struct loop_watch *w);
void loop_watch_stop(struct loop_watch *w); /* closes its handle */
void loop_watch_say(const struct loop_watch *w);

#endif
