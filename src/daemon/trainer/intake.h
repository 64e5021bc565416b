/*
 * Intake: how far each partition of the trainer's input was taken, and what of that the next
 * commit has to say. A message that comes again is known by its place and not handed over twice.
 *
 * Thread: the loop. Owns: a place per partition.
 */
#ifndef DAEMON_INTAKE_H
#define DAEMON_INTAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "fis/error.h"

struct intake_place {
    uint32_t topic;
    int32_t partition;
    int64_t next; /* offset to be taken next, and to be committed */
    int64_t told; /* the last that intake_next gave out; -1: none */
};

struct intake {
    struct intake_place *places;
    uint32_t count, capacity, last;
};

void intake_init(struct intake *in);
void intake_done(struct intake *in);

/* 1: new, it is to be handed over; 0: it was taken before. */
int intake_take(struct intake *in, uint32_t topic, int32_t partition, int64_t offset,
                struct fis_error *e) FIS_MUST_CHECK;
/* The partition goes on at `offset`, which may be before what was taken (another topic of the same
 * name). */
int intake_move(struct intake *in, uint32_t topic, int32_t partition, int64_t offset,
                struct fis_error *e) FIS_MUST_CHECK;
/* The next place that has moved since it was last told, or NULL. */
const struct intake_place *intake_next(struct intake *in);
/* All places are to be told once more: what is committed and never moves would expire. */
void intake_again(struct intake *in);

#endif
