/* A small learner and its gate, always the same: what checkpoints are written from and read into.
 */
#ifndef FUZZ_SMALL_LEARNER_H
#define FUZZ_SMALL_LEARNER_H

#include "fis/gate.h"
#include "fis/learner.h"

struct fuzz_learner {
    struct fis_learner *learner;
    struct fis_gate *gate;
    struct fis_direction_options directions;
    float *params; /* a slab, for the gate to write to */
};
/* Warmed up, judged for the first time, in the middle of its first round. */
void fuzz_learner_make(struct fuzz_learner *l);
/* Directions, review, some steps, a verdict: what a learner does once it has been restored. */
void fuzz_learner_go_on(struct fuzz_learner *l);

#endif
