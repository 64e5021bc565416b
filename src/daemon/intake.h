/*
 * Intake: what was taken from the trainer's input topics, and what of it may be committed.
 *
 * A message that comes again (after a rebalance the consumer goes back to the last commit) is
 * known by its place and not handed over twice. Offsets of a plain topic may be committed as they
 * are taken. Those of the held topic (candidates) may be committed only when the role will not
 * need them again after a restart: up to where the window began whose round is not over.
 *
 * Thread: the loop. Owns: a place per partition.
 */
#ifndef DAEMON_INTAKE_H
#define DAEMON_INTAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "fis/error.h"
#include "role/trainer.h"

struct intake_place {
    uint32_t topic;
    int32_t partition;
    int64_t taken;  /* next offset to be taken */
    int64_t window; /* held: where the next window begins */
    int64_t commit; /* next offset for the group; -1: none yet */
    int64_t told;   /* the last that intake_next gave out */
};

struct intake {
    struct intake_place *places;
    uint32_t count, capacity, last;
    uint32_t held; /* the topic that is held */
    bool free;     /* nothing is held any more */
};

void intake_init(struct intake *in, uint32_t held_topic);
void intake_done(struct intake *in);

/* 1: new, it is to be handed over; 0: it was taken before. */
int intake_take(struct intake *in, uint32_t topic, int32_t partition, int64_t offset,
                struct fis_error *e) FIS_MUST_CHECK;
void intake_window(struct intake *in, enum trainer_window what);
/* The next place whose commit has moved since it was last told, or NULL. */
const struct intake_place *intake_next(struct intake *in);

#endif
