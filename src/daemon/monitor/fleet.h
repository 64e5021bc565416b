/*
 * The processes of the pipeline: each writes what it does to the topic `fleet` (wire/process.h)
 * every FLEET_INTERVAL_MS, at once when that changes, and when it ends, and reads what the others
 * do. So every page links to every process, without one that would have to be there for it. A
 * process without the role trainer also reads `models` here: what is served is for all to see.
 *
 * It is for show only. What it cannot read or write is a text (fleet_trouble), and hinders nothing.
 *
 * Thread: the loop. Owns: a consumer, a producer, and what it read.
 */
#ifndef DAEMON_FLEET_H
#define DAEMON_FLEET_H

#include "daemon/context/context.h"
#include "wire/process.h"

#define FLEET_INTERVAL_MS 5000u
#define FLEET_MAX 128         /* others that are remembered */
#define FLEET_KEEP_MS 600000u /* since its last message; as long as the topic keeps it */

struct fleet_process {
    struct wire_process p;
    uint64_t seen_ms; /* runtime clock */
};
bool fleet_silent(const struct fleet_process *f, uint64_t now_ms);

struct fleet;
int fleet_open(struct fleet **out, struct context *ctx, struct fis_error *e) FIS_MUST_CHECK;
/* Reads what there is. NULL is fine. */
void fleet_turn(struct fleet *f);
/* Once a second: `self` is what this process does now. `quiet`: no broker is reached, so that
 * trouble is not reported again. NULL is fine. */
void fleet_tick(struct fleet *f, const struct wire_process *self, bool quiet);
/* Reports that it ends; waits for half a second at most. NULL is fine. */
void fleet_leave(struct fleet *f, const struct wire_process *self);
void fleet_close(struct fleet *f); /* blocks for seconds at most; NULL is fine */

/* The others, without those that have ended; valid until the next turn or tick. */
const struct fleet_process *fleet_others(const struct fleet *f, uint32_t *n);
const char *fleet_trouble(const struct fleet *f); /* "": none */

#endif
