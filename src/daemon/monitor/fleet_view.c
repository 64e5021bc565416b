#include "daemon/monitor/fleet_view.h"

/* Scorers that have partitions, and those of them that do not know yet how far behind they are. */
struct lags {
    uint32_t all, unknown;
};

static void add_scorer(struct fleet_sums *sum, struct lags *lags, const struct wire_process *p)
{
    const struct wire_process_scorer *s = &p->scorer;
    sum->scorers++;
    sum->scorers_ready += p->ready;
    sum->per_second += s->per_second;
    sum->records += s->records;
    lags->all += s->partitions > 0;
    lags->unknown += s->partitions > 0 && s->lag < 0;
    sum->lag += s->partitions > 0 && s->lag > 0 ? s->lag : 0;
}

static void add(struct fleet_sums *sum, struct lags *lags, const struct wire_process *p)
{
    sum->processes++;
    if (p->scores)
        add_scorer(sum, lags, p);
    sum->trainers += p->trains;
    sum->trainers_ready += p->trains && (p->ready || p->leads);
}

struct fleet_sums fleet_view_sums(const struct status *s)
{
    struct fleet_sums sum = {.leader = s->self.leads ? &s->self : NULL};
    struct lags lags = {0};
    uint64_t heard = 0;
    add(&sum, &lags, &s->self);
    for (uint32_t i = 0; i < s->n_fleet; i++) {
        const struct fleet_process *f = &s->fleet[i];
        if (fleet_silent(f, s->mono_ms)) {
            sum.silent++;
            continue;
        }
        add(&sum, &lags, &f->p);
        /* of several, for a moment, the one that reported last leads */
        if (f->p.leads && sum.leader != &s->self && f->seen_ms >= heard) {
            sum.leader = &f->p;
            heard = f->seen_ms;
        }
    }
    if (!lags.all || lags.unknown)
        sum.lag = -1;
    return sum;
}
