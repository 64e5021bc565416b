#include "sim_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim_check.h"
#include "labeller.h"
#include "sim_process.h"

/* In virtual time: everything must have come to rest by then. */
#define REST_WITHIN_MS 900000
#define TRACE_LINES 60

static void start_one(struct sim_world *w, void *arg)
{
    sim_process_start(w, (int)(intptr_t)arg);
}

static void begin(struct sim_world *w)
{
    char text[320];
    w->broker = sim_broker_new(w);
    sim_plan_make(w);
    sim_plan_text(w->plan, text, sizeof text);
    sim_note(w, "plan", "%s", text);
    sim_check_begin(w);
    sim_labeller_begin(w);
    sim_faults_begin(w);
    for (int i = 0; i < sim_processes(w); i++)
        sim_at(w, sim_between(w, SIM_RNG_NET, 0, 2000), SIM_NOBODY, start_one, (void *)(intptr_t)i);
}

static bool quiet(const struct sim_world *w)
{
    for (int i = 0; i < sim_processes(w); i++)
        if (!sim_process_up(w, i) || !sim_process_quiet(w, i))
            return false;
    return sim_trainer_leading(w) && sim_check_at_rest(w);
}

static void live(struct sim_world *w)
{
    while (!w->halted && sim_step(w, w->plan->chaos_ms))
        ;
    if (w->halted)
        return;
    sim_faults_end(w);
    sim_labeller_honest(w);
    int64_t end = w->now + REST_WITHIN_MS, look = w->now;
    do {
        look += 500;
        while (!w->halted && sim_step(w, look))
            ;
        if (w->halted)
            return;
        w->halted = w->now >= end && sim_check_excuses(w); /* scorers wait for a head, say */
        if (w->now >= end && !w->halted)
            sim_check_not_at_rest(w);
    } while (!w->halted && !quiet(w));
    if (w->halted)
        return;
    sim_note(w, "sim", "everything has come to rest");
    sim_check_end(w);
}

static void report(const struct sim_world *w, const char *planted)
{
    char plan[320] = "";
    if (w->plan)
        sim_plan_text(w->plan, plan, sizeof plan);
    printf("\nseed %llu: %s\n  plan: %s\n  the last of the trace:\n", (unsigned long long)w->seed,
           w->violation, plan);
    if (!w->trace->live)
        sim_trace_print(w->trace, TRACE_LINES);
    printf("  again: make sim SEED=%llu SEEDS=1 TRACE=1%s%s\n", (unsigned long long)w->seed,
           planted ? " PLANT=" : "", planted ? planted : "");
    fflush(stdout);
}

static void add(struct sim_totals *t, const struct sim_world *w)
{
    t->seeds++;
    t->steps += w->steps;
    t->virtual_ms += w->now;
    t->halts += w->halted;
    for (int i = 0; i < SIM_FAULT_KINDS; i++)
        t->faults[i] += w->faults->counts[i];
    sim_check_add(w, t);
}

bool sim_run(uint64_t seed, bool trace, const char *planted, struct sim_totals *totals,
             uint64_t *hash)
{
    struct sim_world *w = malloc(sizeof *w);
    static struct sim_trace lines;
    if (!w)
        abort();
    lines.live = trace;
    lines.next = 0;
    lines.hash = 0;
    sim_world_init(w, seed, &lines);
    bool good = setjmp(w->out) == 0;
    if (good) {
        begin(w);
        live(w);
        sim_processes_done(w);
        add(totals, w);
    } else {
        report(w, planted);
    }
    *hash = lines.hash;
    sim_check_done(w);
    sim_labeller_done(w);
    sim_world_done(w);
    free(w);
    return good;
}
