/*
 * The programs of the world: the real machines with the least around them that a process must
 * have. Trainers are processes 0 .. trainers-1, scorers follow.
 */
#ifndef SIM_PROCESS_H
#define SIM_PROCESS_H

#include "plan.h"

void sim_process_start(struct sim_world *w, int process);
void sim_process_crash(struct sim_world *w, int process); /* at once, wherever it is */
void sim_process_term(struct sim_world *w, int process);  /* asked to stop in good order */
bool sim_process_up(const struct sim_world *w, int process);
bool sim_process_quiet(const struct sim_world *w, int process); /* nothing left to do */
static inline int sim_processes(const struct sim_world *w)
{
    return (int)(w->plan->trainers + w->plan->scorers);
}
/* Ends all, for the end of a run. */
void sim_processes_done(struct sim_world *w);

/* ---- sim_scorer.c -------------------------------------------------------------------------- */
void sim_scorer_start(struct sim_world *w, int process);
void sim_scorer_drop(struct sim_world *w, int process); /* as the kernel does */
void sim_scorer_term(struct sim_world *w, int process);
bool sim_scorer_quiet(const struct sim_world *w, int process);

/* ---- sim_trainer.c ------------------------------------------------------------------------- */
void sim_trainer_start(struct sim_world *w, int process);
void sim_trainer_drop(struct sim_world *w, int process);
void sim_trainer_reload(struct sim_world *w, int process); /* to the limits in force */
void sim_trainer_term(struct sim_world *w, int process);
bool sim_trainer_quiet(const struct sim_world *w, int process);
const struct trainer_role *sim_trainer_leading(const struct sim_world *w); /* NULL: nobody */

#endif
