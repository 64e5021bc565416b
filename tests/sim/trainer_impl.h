/* Inside a trainer process: trainer.c (leading, following, life) and trainer_work.c (what a leader
 * does in a turn). */
#ifndef SIM_TRAINER_IMPL_H
#define SIM_TRAINER_IMPL_H

#include "client.h"
#include "plan.h"
#include "session/election.h"
#include "session/memory.h"
#include "role/trainer_wire.h"

struct sim_trainer;
struct sim_trainer_job {
    struct sim_trainer *t;
    uint32_t term;
};

struct sim_trainer {
    struct sim_world *w;
    int process;
    char name[16];
    uint32_t term; /* rises whenever everything is let go */
    struct election leader;
    struct sim_seat seat;
    bool in_group;

    struct memory *memory;
    int64_t follow_at[MEMORY_TOPICS], ends[MEMORY_TOPICS];

    struct sim_txn txn;
    bool txn_ready, committing, dirty;
    struct trainer_wire wire;
    struct fis_encoder *encoder;
    struct trainer_role *role;
    uint32_t validation; /* which rows the role has */
    bool running, job_ran, wants_pool, unit_open;
    struct sim_trainer_job *job;

    int64_t from[SIM_TOPICS][SIM_PARTITIONS];     /* of the unit that is open */
    int64_t position[SIM_TOPICS][SIM_PARTITIONS]; /* -1: not read */
    /* [gone, first) was deleted before it was read. */
    int64_t gone[SIM_TOPICS][SIM_PARTITIONS], first[SIM_TOPICS][SIM_PARTITIONS];
    int64_t commit_at, began;                     /* of the unit that is open: virtual time */
    struct fis_arena arena;
};

/* The validation rows as they are now, to the role. */
int sim_trainer_validate(struct sim_trainer *t, struct fis_error *e);
void sim_trainer_job(struct sim_world *w, void *arg);
void sim_trainer_work(struct sim_trainer *t, struct trainer_time now);
bool sim_trainer_at_rest(const struct sim_trainer *t);

#endif
