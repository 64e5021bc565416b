#include "sim_faults.h"

#include "labeller.h"
#include "sim_process.h"

const char *const sim_fault_names[SIM_FAULT_KINDS] = {"crash",
                                                      "crash before commit",
                                                      "crash after commit",
                                                      "stop",
                                                      "suspension",
                                                      "broker down",
                                                      "rebalance",
                                                      "wall clock jump",
                                                      "compaction",
                                                      "retention",
                                                      "delivered twice",
                                                      "slow job",
                                                      "commit refused",
                                                      "command",
                                                      "open transaction",
                                                      "foreign message",
                                                      "partition added",
                                                      "memory deleted",
                                                      "tail lost",
                                                      "topic recreated",
                                                      "send failed",
                                                      "reload",
                                                      "hanging transaction",
                                                      "memory cut"};

void sim_fault_count(struct sim_world *w, enum sim_fault f)
{
    w->faults->counts[f]++;
}

static bool chance(struct sim_world *w, double p)
{
    return !w->faults->over && w->plan->faulty && sim_chance(w, SIM_RNG_FAULTS, p);
}

static int64_t between(struct sim_world *w, int64_t low, int64_t high)
{
    return sim_between(w, SIM_RNG_FAULTS, low, high);
}

static int someone(struct sim_world *w)
{
    /* Trainers have more to lose. */
    uint32_t n = w->plan->trainers, all = (uint32_t)sim_processes(w);
    return (int)sim_below(w, SIM_RNG_FAULTS, sim_chance(w, SIM_RNG_FAULTS, .4) ? n : all);
}

/* ---- processes ----------------------------------------------------------------------------- */

struct blow {
    int process;
    uint32_t life;
    enum sim_fault kind;
};

static void restart(struct sim_world *w, void *arg)
{
    const struct blow *b = arg;
    if (sim_process_up(w, b->process)) {
        if (w->life[b->process].life == b->life) /* it takes its time to stop */
            sim_at(w, w->now + 500, SIM_NOBODY, restart, arg);
        return;
    }
    sim_note(w, "faults", "process %d starts", b->process);
    sim_process_start(w, b->process);
}

static void restart_in(struct sim_world *w, struct blow *b)
{
    int64_t after =
        sim_chance(w, SIM_RNG_FAULTS, .7) ? between(w, 50, 3000) : between(w, 3000, 20000);
    sim_at(w, w->now + after, SIM_NOBODY, restart, b);
}

void sim_faults_restart(struct sim_world *w, int process)
{
    struct blow *b = sim_alloc(w, sizeof *b);
    *b = (struct blow){process, w->life[process].life, SIM_TERM};
    sim_at(w, w->now + sim_between(w, SIM_RNG_BROKER, 100, 5000), SIM_NOBODY, restart, b);
}

static void blow(struct sim_world *w, void *arg)
{
    struct blow *b = arg;
    struct sim_life *l = &w->life[b->process];
    if (!l->alive || l->life != b->life)
        return;
    sim_note(w, "faults", "process %d: %s", b->process, sim_fault_names[b->kind]);
    sim_fault_count(w, b->kind);
    sim_process_crash(w, b->process);
    bool all_lost = b->kind == SIM_CRASH_BEFORE_COMMIT || sim_chance(w, SIM_RNG_FAULTS, .5);
    int64_t until = all_lost ? w->now : w->now + between(w, 0, 100);
    if (!sim_broker_is_up(w)) /* some wait for it: what was sent later must not overtake them */
        until = w->now - 1;
    sim_cut(w, b->process, until);
    restart_in(w, b);
}

static struct blow *new_blow(struct sim_world *w, int process, enum sim_fault kind)
{
    struct blow *b = sim_alloc(w, sizeof *b);
    *b = (struct blow){process, w->life[process].life, kind};
    return b;
}

static void terminate(struct sim_world *w, int process)
{
    if (!sim_process_up(w, process))
        return;
    sim_note(w, "faults", "process %d is asked to stop", process);
    sim_fault_count(w, SIM_TERM);
    sim_process_term(w, process);
    restart_in(w, new_blow(w, process, SIM_TERM));
}

static void suspend(struct sim_world *w, int process)
{
    int64_t ms = between(w, 200, 25000);
    if (!sim_process_up(w, process))
        return;
    sim_note(w, "faults", "process %d is suspended for %lld ms", process, (long long)ms);
    sim_fault_count(w, SIM_SUSPEND);
    if (w->life[process].suspended_until < w->now + ms)
        w->life[process].suspended_until = w->now + ms;
}

/* ---- the rest of the world ----------------------------------------------------------------- */

static void broker_up(struct sim_world *w, void *arg)
{
    (void)arg;
    if (!sim_broker_is_up(w))
        return;
    sim_note(w, "faults", "broker is up");
    sim_group_up(w->broker);
}

static void broker_down(struct sim_world *w)
{
    int64_t ms =
        sim_chance(w, SIM_RNG_FAULTS, .9) ? between(w, 200, 15000) : between(w, 15000, 70000);
    sim_note(w, "faults", "broker is down for %lld ms", (long long)ms);
    sim_fault_count(w, SIM_BROKER_DOWN);
    if (w->broker_down_until < w->now + ms) /* what waits, waits for the end */
        w->broker_down_until = w->now + ms;
    sim_at(w, w->broker_down_until, SIM_NOBODY, broker_up, NULL);
}

static void jump(struct sim_world *w, int process)
{
    int64_t ms = between(w, 1, 10800000) * (sim_chance(w, SIM_RNG_FAULTS, .5) ? 1 : -1);
    sim_note(w, "faults", "wall clock of process %d jumps by %lld s", process,
             (long long)(ms / 1000));
    sim_fault_count(w, SIM_WALL_JUMP);
    w->life[process].wall_shift += ms;
    if (ms > 0)
        w->faults->wall_jumped += ms;
}

static void compact(struct sim_world *w)
{
    if (!w->plan->compacted)
        return;
    sim_fault_count(w, SIM_COMPACTION);
    sim_compact(w->broker, SIM_LEDGER, 0);
    sim_compact(w->broker, SIM_HEADS, 0);
    sim_compact(w->broker, SIM_MODELS, 0);
}

/* Old candidates, labels and records that were read go; and some that were not. */
static void retain(struct sim_world *w)
{
    static const enum sim_topic topics[] = {SIM_CANDIDATES, SIM_LABELS, SIM_RECORDS};
    bool unread = w->plan->losing && sim_chance(w, SIM_RNG_FAULTS, .3);
    for (int i = 0; i < 3; i++) {
        enum sim_topic t = topics[i];
        enum sim_group_id g = t == SIM_RECORDS ? SIM_SCORERS : SIM_TRAINERS;
        for (int32_t p = 0; p < (int32_t)w->broker->partitions[t]; p++) {
            int64_t at = sim_group_committed(w->broker, g, t, p);
            at = unread ? sim_stable_end(w->broker, t, p) : at;
            if (at > 0 && (t != SIM_RECORDS || !w->plan->pool))
                sim_delete_before(w->broker, t, p, between(w, 0, at));
        }
    }
    sim_fault_count(w, SIM_RETENTION);
}

/* Candidates go soon after they came: what ends a scan of the pool may be among them. */
static void wither(struct sim_world *w, void *arg)
{
    (void)arg;
    if (w->faults->over)
        return;
    for (int32_t p = 0; p < (int32_t)w->broker->partitions[SIM_CANDIDATES]; p++)
        sim_delete_before(w->broker, SIM_CANDIDATES, p,
                          sim_stable_end(w->broker, SIM_CANDIDATES, p));
    sim_fault_count(w, SIM_RETENTION);
    sim_at(w, w->now + between(w, 50, 800), SIM_NOBODY, wither, NULL);
}

static void rebalance(struct sim_world *w)
{
    enum sim_group_id g = sim_chance(w, SIM_RNG_FAULTS, .5) ? SIM_SCORERS : SIM_TRAINERS;
    sim_note(w, "faults", "rebalance of the group of %s",
             sim_topic_names[w->broker->groups[g].topic]);
    sim_fault_count(w, SIM_REBALANCE);
    sim_group_stir(w->broker, g);
}

static void storm(struct sim_world *w, void *arg)
{
    (void)arg;
    if (w->faults->over)
        return;
    int process = someone(w);
    uint32_t what = sim_below(w, SIM_RNG_FAULTS, 100);
    if (what < 34)
        blow(w, new_blow(w, process, SIM_CRASH));
    else if (what < 42)
        terminate(w, process);
    else if (what < 54)
        suspend(w, process);
    else if (what < 62)
        broker_down(w);
    else if (what < 74)
        rebalance(w);
    else if (what < 82)
        jump(w, process);
    else if (what < 92)
        compact(w);
    else
        retain(w);
    sim_at(w, w->now + between(w, 100, 6000), SIM_NOBODY, storm, NULL);
}

/* Transactions that are open for too long are ended by the broker, dead or alive as their clients
 * are. */
static void housekeeping(struct sim_world *w, void *arg)
{
    (void)arg;
    if (sim_broker_is_up(w)) {
        sim_txn_expire(w->broker);
        sim_group_tick(w->broker);
    }
    sim_at(w, w->now + 1000, SIM_NOBODY, housekeeping, NULL);
}

/* ---- what the clients ask ------------------------------------------------------------------ */

bool sim_faults_twice(struct sim_world *w)
{
    if (!chance(w, .02))
        return false;
    sim_fault_count(w, SIM_TWICE);
    return true;
}

void sim_faults_commit(struct sim_world *w, int process, int64_t arrives)
{
    if (!chance(w, w->faults->commit_crash))
        return;
    enum sim_fault kind =
        sim_chance(w, SIM_RNG_FAULTS, .5) ? SIM_CRASH_BEFORE_COMMIT : SIM_CRASH_AFTER_COMMIT;
    /* Scheduled behind the commit's arrival, so at the same time it comes after it. */
    int64_t at = kind == SIM_CRASH_BEFORE_COMMIT ? arrives - 1 : arrives;
    sim_at(w, at, SIM_NOBODY, blow, new_blow(w, process, kind));
}

bool sim_faults_refuse(struct sim_world *w)
{
    if (!chance(w, .01))
        return false;
    sim_fault_count(w, SIM_COMMIT_REFUSED);
    return true;
}

static bool send_fails(struct sim_world *w, double p)
{
    if (w->faults->over || !w->plan->failing || !sim_chance(w, SIM_RNG_BROKER, p))
        return false;
    sim_fault_count(w, SIM_SEND_FAILED);
    return true;
}

bool sim_faults_send(struct sim_world *w)
{
    return send_fails(w, .001);
}

bool sim_faults_undelivered(struct sim_world *w)
{
    return send_fails(w, .002);
}

int64_t sim_faults_job_ms(struct sim_world *w)
{
    if (!chance(w, .1))
        return sim_between(w, SIM_RNG_NET, 1, 200);
    sim_fault_count(w, SIM_SLOW_JOB);
    return between(w, 1000, 20000);
}

static void reload_one(struct sim_world *w, void *arg)
{
    sim_fault_count(w, SIM_RELOAD);
    sim_trainer_reload(w, (int)(intptr_t)arg);
}

static void reload(struct sim_world *w, void *arg)
{
    (void)arg;
    w->data->limits = 1;
    for (int i = 0; i < (int)w->plan->trainers; i++)
        if (sim_process_up(w, i))
            sim_at(w, w->now + sim_between(w, SIM_RNG_BROKER, 0, 3000), i, reload_one,
                   (void *)(intptr_t)i);
}

void sim_faults_begin(struct sim_world *w)
{
    w->faults = sim_alloc(w, sizeof *w->faults);
    w->faults->commit_crash = sim_chance(w, SIM_RNG_FAULTS, .5) ? .03 : 0;
    if (w->plan->faulty)
        sim_at(w, between(w, 500, 8000), SIM_NOBODY, storm, NULL);
    if (w->plan->faulty && w->plan->losing && w->plan->pool)
        sim_at(w, between(w, 500, 8000), SIM_NOBODY, wither, NULL);
    sim_topic_faults_begin(w);
    if (w->plan->reload_at)
        sim_at(w, w->plan->reload_at, SIM_NOBODY, reload, NULL);
    sim_at(w, 1000, SIM_NOBODY, housekeeping, NULL);
}

void sim_faults_end(struct sim_world *w)
{
    w->faults->over = true; /* suspensions and an outage that began come to their ends */
    sim_note(w, "faults", "no more faults: everything is brought up");
    for (int i = 0; i < sim_processes(w); i++)
        sim_process_start(w, i);
}
