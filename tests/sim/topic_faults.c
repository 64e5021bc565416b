/* What others do to the topics: transactions that stay open, messages that are none of the
 * pipeline's, partitions that are added. */
#include <string.h>

#include "sim_check.h"
#include "sim_faults.h"
#include "plan.h"

static int64_t between(struct sim_world *w, int64_t low, int64_t high)
{
    return sim_between(w, SIM_RNG_BROKER, low, high);
}

static bool chance(struct sim_world *w, double p)
{
    return sim_chance(w, SIM_RNG_BROKER, p);
}

/* ---- foreign messages ---------------------------------------------------------------------- */

static const enum sim_topic written[] = {SIM_CANDIDATES, SIM_LABELS, SIM_CONTROL, SIM_REQUESTS,
                                         SIM_LEDGER,     SIM_HEADS,  SIM_MODELS,  SIM_RECORDS};
#define WRITTEN (sizeof written / sizeof written[0])

static struct wire_bytes text(const char *s)
{
    return (struct wire_bytes){s, strlen(s)};
}

/* Neither JSON nor protobuf. */
static struct wire_bytes junk(struct sim_world *w)
{
    static const char *const values[] = {"{", "\xff\xff", "none of yours"};
    return text(values[between(w, 0, 2)]);
}

static int32_t some_partition(struct sim_world *w, enum sim_topic t)
{
    return (int32_t)sim_below(w, SIM_RNG_BROKER, w->broker->partitions[t]);
}

static void write_one(struct sim_world *w)
{
    enum sim_topic t = written[between(w, 0, WRITTEN - 2)]; /* records belong to the user */
    sim_fault_count(w, SIM_FOREIGN_MESSAGE);
    sim_note(w, "others", "a message on %s", sim_topic_names[t]);
    int32_t p = sim_of_memory(t) ? 0 : some_partition(w, t);
    sim_append_foreign(w->broker, t, p, text("zz"), junk(w));
}

struct hold {
    int32_t epoch;
    bool commit;
};

static void let_go(struct sim_world *w, void *arg)
{
    const struct hold *h = arg;
    enum sim_code code = sim_txn_end(w->broker, SIM_FOREIGN_ID, h->epoch, h->commit);
    sim_note(w, "others", "transaction ended: %d", (int)code);
}

/* It is held open, for longer than the broker allows now and then. */
static void hold_open(struct sim_world *w)
{
    static const enum sim_topic held[] = {SIM_LEDGER, SIM_HEADS,   SIM_MODELS, SIM_CANDIDATES,
                                          SIM_LABELS, SIM_CONTROL, SIM_RECORDS};
    struct hold *h = sim_alloc(w, sizeof *h);
    enum sim_topic t = held[chance(w, .5) ? 0 : between(w, 0, 6)];
    bool abort = t == SIM_RECORDS || t == SIM_LEDGER || t == SIM_HEADS || t == SIM_MODELS;
    *h = (struct hold){sim_txn_init(w->broker, SIM_FOREIGN_ID), !abort && chance(w, .5)};
    sim_txn_append(w->broker, SIM_FOREIGN_ID, h->epoch, t, some_partition(w, t), text("zz"),
                   junk(w), NULL);
    sim_fault_count(w, SIM_OPEN_TRANSACTION);
    int64_t ms = chance(w, .8) ? between(w, 100, 20000) : between(w, 20000, 70000);
    sim_note(w, "others", "a transaction is open on %s for %lld ms", sim_topic_names[t],
             (long long)ms);
    sim_send_at(w, w->now + ms, SIM_NOBODY, let_go, h);
}

static void disturb(struct sim_world *w, void *arg)
{
    (void)arg;
    if (w->faults->over)
        return;
    if (sim_broker_is_up(w)) {
        if (chance(w, .5))
            write_one(w);
        else
            hold_open(w);
    }
    sim_at(w, w->now + between(w, 200, 15000), SIM_NOBODY, disturb, NULL);
}

/* ---- partitions ---------------------------------------------------------------------------- */

static void grow(struct sim_world *w, void *arg)
{
    static const enum sim_topic grown[] = {SIM_LABELS, SIM_RECORDS, SIM_REQUESTS, SIM_CANDIDATES};
    enum sim_topic t = grown[between(w, 0, 3)];
    (void)arg;
    if (w->faults->over)
        return;
    if (w->broker->partitions[t] < SIM_PARTITIONS) {
        sim_add_partition(w->broker, t);
        sim_fault_count(w, SIM_PARTITION_ADDED);
        sim_note(w, "others", "%s has %u partitions now", sim_topic_names[t],
                 w->broker->partitions[t]);
    }
    sim_at(w, w->now + between(w, 500, 30000), SIM_NOBODY, grow, NULL);
}

/* ---- a wrong policy ------------------------------------------------------------------------ */

static void forget(struct sim_world *w, void *arg)
{
    enum sim_topic t = chance(w, .6) ? SIM_LEDGER : chance(w, .5) ? SIM_HEADS : SIM_MODELS;
    int64_t end = sim_stable_end(w->broker, t, 0);
    (void)arg;
    if (w->faults->over)
        return;
    if (end > 0) {
        sim_delete_before(w->broker, t, 0, between(w, 0, end));
        sim_fault_count(w, SIM_MEMORY_DELETED);
        sim_note(w, "others", "%s begins at %lld now", sim_topic_names[t],
                 (long long)sim_log_start(w->broker, t, 0));
        sim_check_forgotten(w);
    }
    sim_at(w, w->now + between(w, 500, 30000), SIM_NOBODY, forget, NULL);
}

/* ---- lost tails ---------------------------------------------------------------------------- */

static bool may_cut(const struct sim_world *w, enum sim_topic t)
{
    bool may = !sim_open_on(w->broker, t);
    for (uint32_t p = 0; p < w->broker->partitions[t]; p++)
        may &= w->broker->logs[t][p].made < SIM_CUTS - 1;
    return may;
}

/* The memory's: what is gone a trainer has to notice at its next message there, or when it starts.
 */
static void cut_memory(struct sim_world *w, void *arg)
{
    enum sim_topic t = chance(w, .4) ? SIM_LEDGER : chance(w, .5) ? SIM_HEADS : SIM_MODELS;
    (void)arg;
    if (w->faults->over)
        return;
    int64_t start = sim_log_start(w->broker, t, 0), end = sim_end(w->broker, t, 0);
    if (may_cut(w, t) && !w->broker->n_hanging && end > start) {
        sim_lose_tail(w->broker, t, 0, between(w, end - 6 > start ? end - 6 : start, end - 1));
        sim_fault_count(w, SIM_MEMORY_CUT);
        sim_note(w, "others", "%s ends at %lld now", sim_topic_names[t],
                 (long long)sim_end(w->broker, t, 0));
        sim_check_memory_cut(w);
    }
    sim_at(w, w->now + between(w, 5000, 40000), SIM_NOBODY, cut_memory, NULL);
}

static bool loses_end(struct sim_world *w)
{
    if (w->faults->over || !w->plan->hanging || !chance(w, .5))
        return false;
    sim_fault_count(w, SIM_HANGS);
    sim_note(w, "broker", "the end of a transaction is lost");
    return true;
}

void sim_faults_unflushed(struct sim_world *w, enum sim_topic t, int32_t p)
{
    if (w->faults->over || !w->plan->cutting || t != SIM_CANDIDATES || !may_cut(w, t) ||
        !chance(w, w->plan->pool ? .15 : .01))
        return;
    sim_lose_tail(w->broker, t, p, sim_end(w->broker, t, p) - 1);
    sim_fault_count(w, SIM_TAIL_LOST);
    sim_check_cut(w, t, false);
}

/* What was not flushed is lost, with acknowledged messages among it; or the topic is deleted and
 * created again. */
static void cut(struct sim_world *w, void *arg)
{
    enum sim_topic t = chance(w, .6) ? SIM_LABELS : SIM_CANDIDATES;
    bool recreated = chance(w, .4);
    (void)arg;
    if (w->faults->over)
        return;
    int32_t p = some_partition(w, t);
    if (may_cut(w, t)) {
        int64_t start = sim_log_start(w->broker, t, p), end = sim_end(w->broker, t, p);
        if (recreated)
            sim_recreate(w->broker, t);
        else
            sim_lose_tail(w->broker, t, p, between(w, end - 6 > start ? end - 6 : start, end));
        sim_fault_count(w, recreated ? SIM_RECREATED : SIM_TAIL_LOST);
        sim_note(w, "others", "%s/%d ends at %lld now%s", sim_topic_names[t], p,
                 (long long)sim_end(w->broker, t, p), recreated ? ", recreated" : "");
        sim_check_cut(w, t, recreated);
    }
    sim_at(w, w->now + between(w, 5000, 40000), SIM_NOBODY, cut, NULL);
}

void sim_topic_faults_begin(struct sim_world *w)
{
    if (!w->plan->faulty)
        return;
    w->broker->loses_end = loses_end;
    if (w->plan->foreign)
        sim_at(w, between(w, 100, 8000), SIM_NOBODY, disturb, NULL);
    if (w->plan->deleting)
        sim_at(w, between(w, 1000, 30000), SIM_NOBODY, forget, NULL);
    if (w->plan->cutting)
        sim_at(w, between(w, 1000, 30000), SIM_NOBODY, cut, NULL);
    if (w->plan->tails)
        sim_at(w, between(w, 1000, 30000), SIM_NOBODY, cut_memory, NULL);
    if (w->plan->growing)
        sim_at(w, between(w, 100, 20000), SIM_NOBODY, grow, NULL);
}
