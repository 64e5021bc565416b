#include "sim_process.h"

#include "sim_faults.h"

static bool is_trainer(const struct sim_world *w, int process)
{
    return process < (int)w->plan->trainers;
}

bool sim_process_up(const struct sim_world *w, int process)
{
    return w->life[process].alive;
}

void sim_process_start(struct sim_world *w, int process)
{
    struct sim_life *l = &w->life[process];
    if (l->alive)
        return;
    l->alive = true;
    l->suspended_until = 0;
    /* No two machines count from the same moment; after a reboot neither does one. */
    l->mono_base = (uint64_t)sim_between(w, SIM_RNG_NET, 1, 1000000);
    if (is_trainer(w, process))
        sim_trainer_start(w, process);
    else
        sim_scorer_start(w, process);
}

void sim_process_crash(struct sim_world *w, int process)
{
    struct sim_life *l = &w->life[process];
    if (!l->alive)
        return;
    if (is_trainer(w, process))
        sim_trainer_drop(w, process);
    else
        sim_scorer_drop(w, process);
    l->alive = false;
    l->life++;
}

void sim_process_term(struct sim_world *w, int process)
{
    if (!w->life[process].alive)
        return;
    if (is_trainer(w, process))
        sim_trainer_term(w, process);
    else
        sim_scorer_term(w, process);
}

bool sim_process_quiet(const struct sim_world *w, int process)
{
    return is_trainer(w, process) ? sim_trainer_quiet(w, process) : sim_scorer_quiet(w, process);
}

void sim_processes_done(struct sim_world *w)
{
    for (int i = 0; i < SIM_PROCESSES; i++)
        if (w->life[i].alive)
            sim_process_crash(w, i);
}
