#include "daemon/trainer/trainer_status.h"

#include <stdio.h>
#include <string.h>

#include "daemon/trainer/trainer_host_impl.h"

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

void trainer_host_look(struct trainer_host *h, bool best)
{
    struct trainer_snapshot *s = &h->shown;
    const struct trainer_role *role = session_role(h->session);
    s->counts = trainer_role_counts(role);
    trainer_view(role, context_now().wall_ms, &s->view);
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
    note_changes(s, context_now().mono_ms);
}

static void show_snapshot(const struct trainer_snapshot *s, uint64_t now_ms,
                          struct trainer_status *out)
{
    out->job = s->view.job;
    out->busy = s->view.job != 0;
    out->counts = s->counts;
    out->validation = (struct trainer_validation_status){
        .rows = s->view.validation_rows,
        .groups = s->view.groups,
        .smallest_cell = s->view.smallest_cell,
        .detectable = s->view.detectable,
        .changed_ms = s->changed_ms,
    };
    out->val0 = s->view.val0;
    out->asking = s->view.asking;
    out->agreement = &s->view.agreement;
    out->label_age_ms = s->answered_ms ? (int64_t)(now_ms - s->answered_ms) : -1;
    out->control_id = s->control_id;
    out->control_text = s->control_text;
    out->control_ok = s->view.control_ok;
    out->criteria = s->criteria;
    out->n_criteria = s->n_criteria;
    out->best = s->best;
    out->n_best = s->n_best;
    out->requests = s->open;
    out->n_requests = s->n_open;
}

static void show_versions(const struct trainer_versions *v, struct trainer_role_counts *c)
{
    c->model_version = v->newest;
    c->served_version = v->served;
    c->published = v->published;
    c->rejected = v->rejected;
}

static void show_refused(struct trainer_host *h, const struct session_status *s,
                         struct trainer_status *out)
{
    for (int k = 0; k < SESSION_BAD; k++) {
        memcpy(h->dead[k].n, s->refused[k], sizeof h->dead[k].n);
        out->dead[k] = &h->dead[k];
    }
    out->dead_labels = dead_counts_sum(&h->dead[SESSION_BAD_LABELS]);
    out->dead_offers = dead_counts_sum(&h->dead[SESSION_BAD_OFFERS]);
    out->dead_commands = dead_counts_sum(&h->dead[SESSION_BAD_COMMANDS]);
}

static const char *waits(const struct kafka_side *k)
{
    const char *first = example_topic_waits(k->rows.initial_topic);
    first = first ? first : example_topic_waits(k->rows.validation_topic);
    for (int r = 0; !first && r < SESSION_READERS; r++)
        first = kafka_reader_waits(k->readers[r]);
    return first;
}

uint32_t trainer_host_status(struct trainer_host *h, struct trainer_status *out, struct lag *lags,
                             uint32_t n)
{
    struct session_status s;
    uint64_t now = context_now().mono_ms;
    session_status(h->session, &s);
    out->state = s.state;
    out->warm = s.warm;
    out->state_ms = now - s.since_ms;
    out->takeovers = s.led;
    out->waits = waits(&h->side);
    out->left_out = s.left_out;
    out->halted = s.halted ? h->halted : NULL;
    out->ledger_entries = s.entries;
    out->ledger_bytes = s.bytes;
    if (h->side.outbox)
        out->outstanding = outbox_outstanding(h->side.outbox);
    out->running = s.running;
    if (!s.running)
        return 0;
    if (!s.busy)
        trainer_host_look(h, out->want_best);
    show_snapshot(&h->shown, now, out);
    show_versions(&h->versions, &out->counts);
    out->validation.left_out = h->side.rows.left_out;
    out->validation.majority = h->side.rows.majority;
    out->unseen = h->side.rows.unseen;
    out->n_unseen = h->side.rows.n_unseen;
    out->restore_ms = s.restore_ms;
    out->read = s.read;
    show_refused(h, &s, out);
    uint32_t found = kafka_reader_lags(h->side.readers[SESSION_READ_INPUT], lags, n);
    return found +
           kafka_reader_lags(h->side.readers[SESSION_READ_COMMANDS], lags + found, n - found);
}
