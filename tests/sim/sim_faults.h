/*
 * What goes wrong: crashes and restarts, stops in good order, suspensions, an unreachable broker,
 * rebalances, clocks that jump, compaction, messages that arrive twice, commands of an operator.
 * All of it until the plan's chaos_ms; then everything is brought up, and must come to rest.
 */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

#include "broker.h"

enum sim_fault {
    SIM_CRASH,
    SIM_CRASH_BEFORE_COMMIT,
    SIM_CRASH_AFTER_COMMIT,
    SIM_TERM,
    SIM_SUSPEND,
    SIM_BROKER_DOWN,
    SIM_REBALANCE,
    SIM_WALL_JUMP,
    SIM_COMPACTION,
    SIM_RETENTION,
    SIM_TWICE,
    SIM_SLOW_JOB,
    SIM_COMMIT_REFUSED,
    SIM_COMMAND,
    SIM_OPEN_TRANSACTION,
    SIM_FOREIGN_MESSAGE,
    SIM_PARTITION_ADDED,
    SIM_MEMORY_DELETED,
    SIM_TAIL_LOST,
    SIM_RECREATED,
    SIM_SEND_FAILED,
    SIM_RELOAD,
    SIM_HANGS,
    SIM_MEMORY_CUT,
    SIM_FAULT_KINDS
};
extern const char *const sim_fault_names[SIM_FAULT_KINDS];

struct sim_faults {
    uint64_t counts[SIM_FAULT_KINDS];
    bool over;
    double commit_crash; /* chance at each commit */
    int64_t wall_jumped; /* forward, in all */
};

void sim_faults_begin(struct sim_world *w);
void sim_faults_end(struct sim_world *w);                  /* everything up, nothing new */
void sim_faults_restart(struct sim_world *w, int process); /* it ends by itself, and is started */
bool sim_faults_twice(struct sim_world *w);
void sim_faults_commit(struct sim_world *w, int process, int64_t arrives);
bool sim_faults_refuse(struct sim_world *w);      /* this commit is to fail, and may be aborted */
bool sim_faults_send(struct sim_world *w);        /* this message is to be refused at once */
bool sim_faults_undelivered(struct sim_world *w); /* … is to be lost on its way */
int64_t sim_faults_job_ms(struct sim_world *w);
void sim_fault_count(struct sim_world *w, enum sim_fault f);

/* topic_faults.c: what others do to the topics */
void sim_topic_faults_begin(struct sim_world *w);
/* A message that came is lost at once now and then, and acknowledged. */
void sim_faults_unflushed(struct sim_world *w, enum sim_topic t, int32_t partition);

#endif
