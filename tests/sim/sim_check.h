/*
 * What must hold. The checker reads what stands on the topics, as a stranger would, and keeps
 * tallies of its own; it knows the machines only by what they wrote, but for one thing: what a
 * trainer says it counts after it went on from the ledger must be what the ledger says.
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "plan.h"
#include "sim_run.h"

struct sim_label {
    int32_t partition;
    struct sim_entry m;
};

/* What a trainer's unit followed from: the input it took since its last commit. */
struct sim_about {
    int process;
    int64_t from[SIM_TOPICS][SIM_PARTITIONS]; /* -1: this partition was not read */
    int64_t next[SIM_TOPICS][SIM_PARTITIONS];
    /* [gone, first) was deleted before it was read; what lies before that was read. */
    int64_t gone[SIM_TOPICS][SIM_PARTITIONS], first[SIM_TOPICS][SIM_PARTITIONS];
    /* The log had lost its tail, and was read from its beginning. */
    bool cut[SIM_TOPICS][SIM_PARTITIONS];
    struct sim_label *labels; /* that were taken, in this order */
    uint32_t n_labels;
    int64_t wall_ms;
    int64_t began;    /* virtual: what it sent was sent after this */
    int64_t commands; /* where control ended when this leader began to read it */
};

void sim_check_begin(struct sim_world *w);
/* A trainer went on from the ledger, or began: before it takes any input. */
void sim_check_restored(struct sim_world *w, const struct trainer_role *role);
/* Messages of the memory were deleted, or cut off: what is left counts from now on. */
void sim_check_forgotten(struct sim_world *w);
void sim_check_memory_cut(struct sim_world *w); /* one of its topics has lost its tail */
void sim_check_halted(struct sim_world *w);     /* the leader has noticed, and commits no more */
/* A log of the input has lost its tail; or the topic was recreated. */
void sim_check_cut(struct sim_world *w, enum sim_topic t, bool recreated);
/* Is something missing without which no trainer may go on? */
bool sim_check_excuses(const struct sim_world *w);
/* Everything has come to rest. */
void sim_check_end(struct sim_world *w);
void sim_check_done(struct sim_world *w);
void sim_check_add(const struct sim_world *w, struct sim_totals *t);
bool sim_check_at_rest(const struct sim_world *w); /* nothing is left to be done, by the topics */
_Noreturn void sim_check_not_at_rest(struct sim_world *w); /* says what is missing */

#endif
