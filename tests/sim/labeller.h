/*
 * People: they read the requests and answer, more or less well. And an operator with commands.
 */
#ifndef SIM_LABELLER_H
#define SIM_LABELLER_H

#include "plan.h"

/* What people have done to one record, whichever trainer requested it. */
struct sim_case {
    bool asked, cancelled;
    uint32_t answers; /* votes that count, by different people */
    uint32_t planned;
};
struct sim_labeller {
    struct sim_world *w;
    int64_t position[SIM_PARTITIONS];
    struct sim_case cases[SIM_RECORDS_MAX];
    uint64_t sent, commands;
    bool honest; /* from now on everything that is open is answered, and well */
    bool paused; /* by the operator */
    struct byte_buffer buffer;
};
void sim_labeller_begin(struct sim_world *w);
void sim_labeller_honest(struct sim_world *w);
void sim_labeller_done(struct sim_world *w);

#endif
