#include "role/trainer_view.h"

#include <math.h>

#include "role/trainer_impl.h"

#define BEST_MAX 64

uint32_t trainer_view_criteria(const struct trainer_role *m)
{
    return fis_criteria_count(m->o.selector.criteria.acquisition);
}

const char *trainer_view_criterion(const struct trainer_role *m, uint32_t criterion)
{
    return fis_criterion_name(m->o.selector.criteria.acquisition, criterion);
}

uint32_t trainer_view_best(const struct trainer_role *m, uint32_t criterion,
                           struct trainer_best *out, uint32_t n)
{
    struct fis_candidate best[BEST_MAX];
    n = fis_selector_best(m->selector, criterion, best, n < BEST_MAX ? n : BEST_MAX);
    for (uint32_t i = 0; i < n; i++)
        out[i] = (struct trainer_best){best[i].id, criterion, i + 1, best[i].scores[criterion]};
    return n;
}

uint32_t trainer_view_open(const struct trainer_role *m, struct trainer_open *out, uint32_t n)
{
    uint32_t i = 0;
    for (const struct fis_request *r = fis_selector_oldest(m->selector); r && i < n;
         r = r->newer, i++) {
        uint64_t clock = m->state.clock_ms;
        out[i] = (struct trainer_open){
            .id = r->id,
            .round = r->round,
            .votes = r->n_votes,
            .age_ms = clock > r->asked_at_ms ? clock - r->asked_at_ms : 0,
        };
    }
    return i;
}

static struct asking asking(const struct trainer_role *m, int64_t wall_ms)
{
    const struct wire_trainer_state *s = &m->state;
    const struct fis_selector_counts n = fis_selector_counts(m->selector);
    const struct asking_facts f = {
        .pool = m->o.pool,
        .paused = s->paused != 0,
        .warming_up = m->phase < PHASE_COLLECT,
        .done = m->phase == PHASE_DONE,
        .collecting = m->phase == PHASE_COLLECT,
        .round = s->round,
        .rounds = m->o.rounds,
        .idle_rounds = s->idle_rounds,
        .patience = m->o.idle_rounds,
        .window = s->window_records,
        .window_records = m->o.window_records,
        .window_ms = m->o.window_ms,
        .open = n.open,
        .in_flight =
            m->o.selector.in_flight ? m->o.selector.in_flight : m->o.selector.labels_per_round,
        .asked = n.round_asked,
        .per_round = m->o.selector.labels_per_round,
        .held = n.held - n.waiting,
        .budget_spent = n.budget_left == 0,
        .day_spent = m->o.daily_budget && s->day_asked >= m->o.daily_budget,
        .day_ends_ms = asking_day_ends(s->day, s->day_began_ms, s->clock_ms, wall_ms),
        .by = "",
        .pause_reason = "",
    };
    return asking_now(&f);
}

void trainer_view(const struct trainer_role *m, int64_t wall_ms, struct trainer_view *out)
{
    const struct fis_rows *v = fis_learner_validation(m->learner);
    *out = (struct trainer_view){
        .job = m->job,
        .val0 = m->phase >= PHASE_COLLECT ? fis_gate_val0(m->gate) : (double)NAN,
        .detectable = (double)NAN,
        .validation_sets = m->validation_sets,
        .control_id = m->state.control_id ? m->state.control_id : "",
        .control_text = m->state.control_text ? m->state.control_text : "",
        .control_ok = m->state.control_ok,
        .asking = asking(m, wall_ms),
    };
    agreement_look(&m->agreement, &out->agreement);
    if (!v || v->n == 0)
        return;
    out->validation_rows = v->n;
    out->groups = m->n_groups;
    out->smallest_cell = fis_gate_smallest_cell(m->gate, m->learner);
    out->detectable = fis_gate_detectable(m->gate, m->learner);
}
