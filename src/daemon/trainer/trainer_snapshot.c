#include "daemon/trainer/trainer_snapshot.h"

#include <stdio.h>

static void note_changes(struct trainer_snapshot *s, uint64_t now_ms)
{
    const struct trainer_role_counts *c = &s->counts;
    uint64_t answers = c->labels + c->duplicates + c->skipped + c->tied;
    if (answers != s->answers)
        s->answered_ms = now_ms;
    s->answers = answers;
    if (s->view.validation_sets != s->validation_sets)
        s->changed_ms = now_ms;
    s->validation_sets = s->view.validation_sets;
}

static void take_best(struct trainer_snapshot *s, const struct trainer_role *role)
{
    s->n_best = 0;
    for (uint32_t i = 0; i < s->n_criteria; i++)
        s->n_best += trainer_view_best(role, i, s->best + s->n_best, STATUS_BEST);
}

void trainer_snapshot_take(struct trainer_snapshot *s, const struct trainer_role *role,
                           uint64_t now_ms, bool best)
{
    s->counts = trainer_role_counts(role);
    trainer_view(role, &s->view);
    snprintf(s->control_id, sizeof s->control_id, "%s", s->view.control_id);
    snprintf(s->control_text, sizeof s->control_text, "%s", s->view.control_text);
    s->view.control_id = s->control_id;
    s->view.control_text = s->control_text;
    s->n_criteria = trainer_view_criteria(role);
    for (uint32_t i = 0; i < s->n_criteria; i++)
        s->criteria[i] = trainer_view_criterion(role, i);
    if (best)
        take_best(s, role);
    s->n_open = trainer_view_open(role, s->open, STATUS_REQUESTS);
    note_changes(s, now_ms);
}

void trainer_snapshot_show(const struct trainer_snapshot *s, uint64_t now_ms,
                           struct trainer_status *out)
{
    out->job = s->view.job;
    out->busy = s->view.job != 0;
    out->counts = s->counts;
    out->validation = (struct trainer_validation_status){
        .rows = s->view.validation_rows,
        .groups = s->view.groups,
        .smallest_cell = s->view.smallest_cell,
        .changed_ms = s->changed_ms,
    };
    out->val0 = s->view.val0;
    out->label_age_ms = s->answered_ms ? (int64_t)(now_ms - s->answered_ms) : -1;
    out->control_id = s->control_id;
    out->control_text = s->control_text;
    out->control_ok = s->view.control_ok != 0;
    out->criteria = s->criteria;
    out->n_criteria = s->n_criteria;
    out->best = s->best;
    out->n_best = s->n_best;
    out->requests = s->open;
    out->n_requests = s->n_open;
}
