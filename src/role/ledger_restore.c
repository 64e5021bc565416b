/* The trainer role going on where another stopped: its state, the ledger's entries, the anchor. */
#include "role/trainer_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/planted.h"

static int restore_counted(struct trainer_role *m, const struct wire_trainer_state *s,
                           struct fis_error *e)
{
    if (!s->n_counted)
        return 0;
    struct wire_counted *counted = fis_alloc(s->n_counted, sizeof *counted);
    if (!counted)
        return fis_fail(e, FIS_NOMEM, "trainer: no memory for %u partitions", s->n_counted);
    memcpy(counted, s->counted, s->n_counted * sizeof *counted);
    fis_free(m->counted);
    m->counted = counted;
    return 0;
}

static void set_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
}

int trainer_role_restore_state(struct trainer_role *m, const struct wire_trainer_state *s,
                               const float *anchor, const float *served, struct trainer_time now,
                               struct fis_error *e)
{
    if (!isfinite(s->val0))
        return fis_fail(e, FIS_FATAL, "ledger: VAL_0 is not finite");
    int rc = restore_counted(m, s, e);
    if (rc)
        return rc;
    m->state = *s;
    m->state.counted = NULL;
    m->state.model_version -= PLANTED(version_forgotten);
    m->state.paused = s->paused && !PLANTED(pause_forgotten);
    m->state.window_records = PLANTED(window_forgotten) ? 0 : s->window_records;
    set_text(m->control_id, sizeof m->control_id, s->control_id);
    set_text(m->control_text, sizeof m->control_text, s->control_text);
    /* From one trainer to the next the wall clock counts, but never backwards. */
    if (now.wall_ms > s->wall_ms)
        m->state.clock_ms += (uint64_t)(now.wall_ms - s->wall_ms);
    trainer_tick(m, now);
    fis_selector_round_begin(m->selector, s->round);
    memcpy(m->published, served, fis_shape_params(&m->shape) * sizeof *served);
    fis_learner_set_anchor(m->learner, anchor);
    trainer_restore_privacy(m, s);
    fis_gate_restore(m->gate, s->val0, served, s->looks);
    fis_gate_hold(m->gate, s->pinned != 0);
    trainer_choose_criterion(m);
    m->restored = true;
    return 0;
}

int trainer_role_restore_base(struct trainer_role *m, struct fis_trees *served, struct fis_error *e)
{
    return trainer_serve_base(m, served, e);
}

int trainer_role_restore_checkpoint(struct trainer_role *m, struct wire_bytes learner,
                                    struct wire_bytes gate, struct fis_error *e)
{
    int rc = fis_learner_load(m->learner, learner.data, learner.length, e);
    if (rc < 0)
        return rc;
    m->restored_anchor = true;
    return fis_gate_load(m->gate, gate.data, gate.length, e);
}

/* ---- entries -------------------------------------------------------------------------------- */

static bool is_bought(enum wire_ledger_state s)
{
    return s == WIRE_ACCEPTED || s == WIRE_SET_ASIDE;
}

/* What was given up may have no features; then a late answer cannot be used. */
static bool needs_features(enum wire_ledger_state s)
{
    return is_bought(s) || s == WIRE_REQUESTED || s == WIRE_IN_HEAP;
}

static int check_entry(const struct trainer_role *m, const struct wire_ledger_entry *entry,
                       struct fis_error *e)
{
    uint32_t d = fis_shape_inputs(&m->shape);
    if ((needs_features(entry->state) || entry->d) && entry->d != d)
        return fis_fail(e, FIS_FATAL,
                        "ledger: an entry has %s, this pipeline has %u: the columns were changed",
                        DECIMAL_COUNT(entry->d, "feature"), d);
    if (is_bought(entry->state) && entry->class_index >= m->o.schema->n_classes)
        return fis_fail(e, FIS_FATAL,
                        "ledger: an entry has class %u, this pipeline has %u classes: they were "
                        "changed",
                        entry->class_index, m->o.schema->n_classes);
    return 0;
}

/* It was askable when it came, but sizes and columns may be others since. */
static bool still_askable(struct trainer_role *m, const struct wire_ledger_entry *entry)
{
    struct fis_error why;
    if (!m->out.askable || !m->out.askable(m->out.ctx, entry->encoding, entry->record, &why))
        return true;
    if (entry->state == WIRE_IN_HEAP)
        trainer_note(m, "left_out", "text=\"a record that was held cannot be asked for now: %s\"",
                     why.text);
    return false;
}

/* As trainer_role_offer makes it; NULL: no memory. */
static unsigned char *payload_of(const struct wire_ledger_entry *entry, struct fis_error *e)
{
    size_t n = entry->record.length;
    unsigned char *payload = fis_alloc(n + 1, 1);
    if (!payload) {
        fis_fail(e, FIS_NOMEM, "trainer: no memory for the ledger");
        return NULL;
    }
    payload[0] = (unsigned char)entry->encoding;
    if (n)
        memcpy(payload + 1, entry->record.data, n);
    return payload;
}

static int restore_held(struct trainer_role *m, const struct wire_ledger_entry *entry,
                        struct fis_error *e)
{
    if (!still_askable(m, entry))
        return 0;
    unsigned char *payload = payload_of(entry, e);
    if (!payload)
        return -FIS_NOMEM;
    struct fis_candidate c = {.id = entry->id,
                              .x = entry->x,
                              .payload = payload,
                              .payload_length = entry->record.length + 1};
    int rc = fis_selector_restore_held(m->selector, &c, e);
    fis_free(payload);
    return rc;
}

/* Of an open request, for it to be sent again. */
static int restore_record(struct trainer_role *m, struct fis_request *r,
                          const struct wire_ledger_entry *entry, struct fis_error *e)
{
    if (r->state != FIS_OPEN || !entry->encoding || !still_askable(m, entry))
        return 0;
    unsigned char *payload = payload_of(entry, e);
    int rc = payload
                 ? fis_selector_set_payload(m->selector, r, payload, entry->record.length + 1, e)
                 : -(int)FIS_NOMEM;
    fis_free(payload);
    return rc;
}

static int restore_votes(struct fis_request *r, const struct wire_ledger_entry *entry,
                         struct fis_error *e)
{
    int rc = 0;
    r->required = (uint8_t)entry->required;
    for (uint32_t i = 0; rc == 0 && i < entry->n_votes && !PLANTED(votes_forgotten); i++)
        rc = vote_add(r, &entry->votes[i], e);
    return rc;
}

/* The labels of the round that were trained on already: as far as state.trained goes. */
static void restore_progress(struct trainer_role *m)
{
    double bought = (double)m->this_round.bought;
    if (bought <= m->state.trained)
        m->steps_done = trainer_share_of_steps(m, trainer_round_progress(m));
    else
        m->untrained++;
}

static int restore_label(struct trainer_role *m, const struct wire_ledger_entry *entry,
                         struct fis_error *e)
{
    uint32_t index;
    int rc = fis_learner_add_bought(m->learner, trainer_based(m, m->trees, entry->x, 1),
                                    entry->class_index, &index, e);
    if (rc < 0 || entry->round != m->state.round)
        return rc;
    trainer_count_label(m, entry->class_index, entry->state == WIRE_ACCEPTED);
    restore_progress(m);
    return 0;
}

static int restore_request(struct trainer_role *m, const struct wire_ledger_entry *entry,
                           struct fis_error *e)
{
    /* The algorithm may be another one now, with fewer criteria. */
    uint32_t criteria = fis_criteria_count(m->o.selector.criteria.acquisition);
    struct fis_request *r,
        as = {
            .id = entry->id,
            .state = (uint8_t)trainer_request_state(entry->state),
            .criterion = (uint8_t)(entry->criterion < criteria ? entry->criterion : 0),
            .class_index = entry->class_index,
            .round = entry->round,
            .asked_at_ms = entry->asked_at_ms,
            .refunded = entry->refunded != 0,
        };
    int rc = fis_selector_restore(m->selector, &as, entry->d ? entry->x : NULL, &r, e);
    if (rc < 0)
        return rc;
    if (is_bought(entry->state))
        return restore_label(m, entry, e);
    rc = restore_record(m, r, entry, e);
    return rc < 0 ? rc : restore_votes(r, entry, e);
}

int trainer_role_restore_entry(struct trainer_role *m, const struct wire_ledger_entry *entry,
                               struct fis_error *e)
{
    int rc = check_entry(m, entry, e);
    if (!rc)
        rc = agreement_add(&m->agreement, entry->votes, entry->n_votes, e);
    if (rc)
        return rc;
    return entry->state == WIRE_IN_HEAP ? restore_held(m, entry, e) : restore_request(m, entry, e);
}

int trainer_role_restore_forgotten(struct trainer_role *m, const struct wire_forgotten *f,
                                   struct fis_error *e)
{
    int rc = forgotten_add(&m->forgotten, f, e);
    if (rc > 0 && f->charged && !PLANTED(forgotten_refunded))
        fis_selector_charge(m->selector, 1);
    return rc < 0 ? rc : 0;
}
