#include "daemon/monitor/fleet_view.h"

static void add(struct fleet_sums *sum, const struct wire_process *p)
{
    sum->processes++;
    if (p->scores) {
        sum->scorers++;
        sum->scorers_ready += p->ready;
        sum->per_second += p->scorer.per_second;
        sum->records += p->scorer.records;
        /* one without partitions has none behind */
        if (p->scorer.partitions)
            sum->lag = p->scorer.lag < 0 || sum->lag == -2
                           ? -2
                           : (sum->lag < 0 ? 0 : sum->lag) + p->scorer.lag;
    }
    if (p->trains) {
        sum->trainers++;
        sum->trainers_ready += p->ready || p->leads;
    }
}

struct fleet_sums fleet_view_sums(const struct status *s)
{
    struct fleet_sums sum = {.lag = -1, .leader = s->self.leads ? &s->self : NULL};
    uint64_t heard = 0;
    add(&sum, &s->self);
    for (uint32_t i = 0; i < s->n_fleet; i++) {
        const struct fleet_process *f = &s->fleet[i];
        if (fleet_silent(f, s->mono_ms)) {
            sum.silent++;
            continue;
        }
        add(&sum, &f->p);
        /* of several, for a moment, the one that reported last leads */
        if (f->p.leads && sum.leader != &s->self && f->seen_ms >= heard) {
            sum.leader = &f->p;
            heard = f->seen_ms;
        }
    }
    sum.lag = sum.lag < 0 ? -1 : sum.lag;
    return sum;
}
