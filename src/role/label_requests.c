/* Requests for labels, and what becomes of them. */
#include "role/trainer_impl.h"

#include <stdio.h>

#include "base/planted.h"

/* A great many are asked for over several calls, so that what is sent between two has a bound. */
#define ASK_AT_ONCE 4096

/* Of a request that is made now; one that is open keeps its number. */
static uint8_t votes_required(const struct trainer_role *m)
{
    return m->o.votes > 1 ? (uint8_t)m->o.votes : 1;
}

/* The entry of a request, with its features when they are known, and as long as it is open with
 * the record, to be sent again. */
static struct wire_ledger_entry entry_of(const struct trainer_role *m, const struct fis_request *r)
{
    struct fis_candidate c;
    struct wire_ledger_entry entry = {
        .id = r->id,
        .state = trainer_ledger_state(r->state),
        .criterion = r->criterion,
        .round = r->round,
        .asked_at_ms = r->asked_at_ms,
        .refunded = r->refunded,
        .votes = r->votes,
        .n_votes = r->n_votes,
        .required = r->required,
    };
    if (fis_selector_features(m->selector, r, &c)) {
        const unsigned char *payload = c.payload;
        entry.x = c.x;
        entry.d = fis_shape_inputs(&m->shape);
        if (r->state == FIS_OPEN && c.payload_length) {
            entry.encoding = (enum wire_encoding)payload[0];
            entry.record = (struct wire_bytes){payload + 1, c.payload_length - 1};
        }
    }
    return entry;
}

static void write_entry(struct trainer_role *m, const struct wire_ledger_entry *entry)
{
    m->dirty = true;
    m->out.ledger(m->out.ctx, entry);
}

/* ---- asking --------------------------------------------------------------------------------- */

static uint64_t allowance(const struct trainer_role *m)
{
    uint64_t limit = m->o.daily_budget, asked = m->state.day_asked;
    if (m->state.paused)
        return 0;
    if (limit == 0)
        return UINT64_MAX;
    return asked < limit ? limit - asked : 0;
}

void trainer_choose_criterion(struct trainer_role *m)
{
    const struct fis_acquisition *a = m->o.selector.criteria.acquisition;
    fis_selector_set_only(m->selector, m->state.undetectable ? a->for_accuracy : 0);
}

const char *trainer_saved(const struct trainer_role *m, char out[32])
{
    uint64_t left = fis_selector_counts(m->selector).budget_left;
    const uint64_t done = m->state.round; /* it is over, and the next has not begun */
    if (m->o.rounds) {
        const uint64_t rounds = m->o.rounds > done ? m->o.rounds - done : 0;
        const uint64_t labels = rounds * m->o.selector.labels_per_round;
        left = labels < left ? labels : left;
    }
    if (left == UINT64_MAX)
        snprintf(out, 32, "no limit");
    else
        snprintf(out, 32, "%llu", (unsigned long long)left);
    return out;
}

bool trainer_must_wait(const struct trainer_role *m)
{
    struct fis_selector_counts n = fis_selector_counts(m->selector);
    return allowance(m) == 0 && n.held > n.waiting && n.budget_left > 0 &&
           n.round_asked < m->o.selector.labels_per_round;
}

/* A round that ends without it waits for it all the same. */
static int64_t deadline(const struct trainer_role *m, int64_t wall_ms)
{
    return m->o.label_deadline_ms ? wall_ms + (int64_t)m->o.label_deadline_ms : 0;
}

static void send_request(struct trainer_role *m, const struct fis_request *q,
                         const struct fis_candidate *c, struct trainer_time now)
{
    const unsigned char *payload = c->payload;
    int64_t waited = (int64_t)(m->state.clock_ms - q->asked_at_ms);
    struct wire_label_request r = {
        .id = q->id,
        .round = q->round,
        .criterion = fis_criterion_name(m->o.selector.criteria.acquisition, q->criterion),
        .head_version = m->state.head_version,
        .requested_at_ms = now.wall_ms - waited,
        .deadline_ms = deadline(m, now.wall_ms - waited),
        .encoding = (enum wire_encoding)payload[0],
        .record = {payload + 1, c->payload_length - 1},
        .votes = q->required,
    };
    m->out.request(m->out.ctx, &r);
}

static void send_first(struct trainer_role *m, const struct fis_candidate *c,
                       struct trainer_time now)
{
    struct fis_request *q = fis_selector_find(m->selector, &c->id);
    q->required = votes_required(m);
    struct wire_ledger_entry entry = entry_of(m, q);
    send_request(m, q, c, now);
    write_entry(m, &entry);
    m->state.day_asked++;
}

bool trainer_resend(struct trainer_role *m, const struct fis_request *q, struct trainer_time now)
{
    struct fis_candidate c;
    if (!fis_selector_features(m->selector, q, &c) || !c.payload_length)
        return false;
    send_request(m, q, &c, now);
    return true;
}

void trainer_ask(struct trainer_role *m, struct trainer_time now)
{
    struct fis_candidate c;
    uint32_t criterion, asked = 0;
    fis_selector_set_allowance(m->selector, allowance(m));
    fis_selector_set_clock(m->selector, m->state.clock_ms);
    while (asked < ASK_AT_ONCE && m->failed.kind == FIS_OK &&
           fis_selector_ask(m->selector, &c, &criterion)) {
        send_first(m, &c, now);
        asked++;
    }
    if (!asked)
        return;
    m->window.asked = true;
    trainer_note(m, "asked", "labels=%u open=%u", asked, fis_selector_counts(m->selector).open);
    if (m->o.daily_budget && m->state.day_asked >= m->o.daily_budget)
        trainer_note(m, "daily_budget", "spent=%llu text=\"no more labels are requested today\"",
                     (unsigned long long)m->state.day_asked);
}

/* ---- giving up ------------------------------------------------------------------------------ */

void trainer_send_cancelled(struct trainer_role *m, const struct fis_request *q, const char *reason,
                            struct trainer_time now)
{
    struct wire_label_request r = {
        .id = q->id,
        .round = q->round,
        .head_version = m->state.head_version,
        .requested_at_ms = now.wall_ms,
        .votes = q->required,
        .cancelled = 1,
        .reason = reason,
    };
    m->out.request(m->out.ctx, &r);
}

void trainer_give_up(struct trainer_role *m, struct fis_request *r, enum fis_request_state how,
                     bool refund, const char *reason, struct trainer_time now)
{
    fis_selector_give_up(m->selector, r, how, refund);
    struct wire_ledger_entry entry = entry_of(m, r);
    write_entry(m, &entry);
    if (reason)
        trainer_send_cancelled(m, r, reason, now);
    m->counts.expired += how == FIS_EXPIRED;
    m->counts.skipped += how == FIS_SKIPPED;
    m->counts.cancelled += how == FIS_CANCELLED;
    m->counts.tied += how == FIS_TIED;
}

void trainer_expire(struct trainer_role *m, struct trainer_time now)
{
    uint64_t limit = m->o.label_deadline_ms, clock = m->state.clock_ms;
    struct fis_request *r;
    uint32_t n = 0;
    if (!limit)
        return;
    for (; (r = fis_selector_oldest(m->selector)) && clock > r->asked_at_ms &&
           clock - r->asked_at_ms >= limit;
         n++)
        trainer_give_up(m, r, FIS_EXPIRED, m->o.replace, "expired", now);
    if (n)
        trainer_note(m, "expired", "labels=%u open=%u", n, fis_selector_counts(m->selector).open);
}

void trainer_role_labels_lost(struct trainer_role *m, uint64_t n, struct trainer_time now)
{
    struct fis_request *r;
    uint32_t open = 0;
    trainer_tick(m, now);
    for (; (r = fis_selector_oldest(m->selector)); open++)
        trainer_give_up(m, r, FIS_EXPIRED, m->o.replace, "expired", now);
    trainer_note(m, "labels_lost",
                 "labels=%llu expired=%u text=\"answers were deleted before they were read\"",
                 (unsigned long long)n, open);
}

/* ---- answers -------------------------------------------------------------------------------- */

bool trainer_counts_kept(const struct trainer_role *m)
{
    return m->o.selector.criteria.acquisition->as_published;
}

void trainer_count_label(struct trainer_role *m, uint32_t y, bool kept)
{
    m->this_round.bought++;
    m->this_round.kept += kept;
    m->this_round.by_class[y]++;
}

/* The label is decided: it is trained on, and counts in this round. Whom else was asked and
 * cannot change it any more need not look. */
static int take_label(struct trainer_role *m, struct fis_request *r, uint32_t y,
                      struct trainer_time now, struct fis_error *e)
{
    uint32_t index;
    struct wire_ledger_entry entry = entry_of(m, r);
    const float *x = trainer_based(m, m->trees, entry.x, 1);
    int rc = fis_learner_add_bought(m->learner, x, y, &index, e);
    if (PLANTED(label_twice))
        rc = fis_learner_add_bought(m->learner, x, y, &index, e);
    if (rc < 0)
        return rc;
    bool kept = trainer_check(m, index);
    entry.state = kept ? WIRE_ACCEPTED : WIRE_SET_ASIDE;
    entry.class_index = y;
    entry.round = m->state.round;
    entry.refunded = false;
    entry.encoding = 0;
    entry.record = (struct wire_bytes){0};
    write_entry(m, &entry);
    m->counts.labels++;
    m->counts.late += r->state != FIS_OPEN;
    m->untrained++;
    trainer_count_label(m, y, kept);
    if (r->state == FIS_OPEN && r->n_votes < r->required)
        trainer_send_cancelled(m, r, "decided", now);
    fis_selector_answer(m->selector, r, y, kept);
    return 0;
}

/* An answer to what is decided already. Where several people are asked a dissenting one is no
 * fault: it was under way, or it is read a second time after topics were brought back. */
static int answer_again(struct trainer_role *m, const struct fis_request *r,
                        const struct wire_label *l, struct fis_error *e)
{
    if (votes_required(m) == 1 && l->status == WIRE_LABELLED && l->class_index != r->class_index &&
        !PLANTED(contradiction_taken))
        return fis_refuse(e, FIS_CODE_CONTRADICTION,
                          "label \"%s\" contradicts an earlier answer for this id",
                          m->o.schema->classes[l->class_index]);
    m->counts.duplicates++;
    return 0;
}

/* All who were asked have answered, and there is no label in it. */
static void no_label(struct trainer_role *m, struct fis_request *r, bool tied,
                     struct trainer_time now)
{
    if (tied)
        trainer_note(m, "tied", "votes=%u text=\"no answer has the most votes\"", r->n_votes);
    trainer_give_up(m, r, tied ? FIS_TIED : FIS_SKIPPED, !tied, NULL, now);
}

static int count_votes(struct trainer_role *m, struct fis_request *r, struct trainer_time now,
                       struct fis_error *e)
{
    uint32_t y;
    enum votes_verdict verdict = votes_count(r, &y);
    if (verdict == VOTES_DECIDED)
        return take_label(m, r, y, now, e);
    if (verdict != VOTES_UNDECIDED && r->state == FIS_OPEN) {
        no_label(m, r, verdict == VOTES_TIED, now);
        return 0;
    }
    struct wire_ledger_entry entry = entry_of(m, r);
    write_entry(m, &entry);
    return 0;
}

static int cast(struct trainer_role *m, struct fis_request *r, const struct wire_label *l,
                int64_t wall_ms, struct fis_error *e)
{
    agreement_take(&m->agreement, r->votes, r->n_votes);
    int rc = vote_cast(r, l, wall_ms, e);
    return rc ? rc : agreement_add(&m->agreement, r->votes, r->n_votes, e);
}

int trainer_role_label(struct trainer_role *m, const struct wire_label *l, struct trainer_time now,
                       struct fis_error *e)
{
    struct fis_candidate c;
    trainer_tick(m, now);
    if (l->status == WIRE_LABELLED && l->class_index >= m->o.schema->n_classes)
        return fis_refuse(e, FIS_CODE_UNKNOWN_CLASS, "class %u; there are %u", l->class_index,
                          m->o.schema->n_classes);
    struct fis_request *r = fis_selector_find(m->selector, &l->id);
    if (!r || r->state < FIS_OPEN)
        return fis_refuse(e, FIS_CODE_NOT_ASKED, "no label was requested for this id");
    if (fis_is_answered(r->state))
        return answer_again(m, r, l, e);
    if (l->status == WIRE_LABELLED && !fis_selector_features(m->selector, r, &c))
        return fis_refuse(e, FIS_CODE_NOT_ASKED,
                          "its request was given up, and its features are no longer known");
    int rc = vote_check(r, l, e);
    m->counts.duplicates += rc == 0;
    if (rc <= 0 || (rc = cast(m, r, l, now.wall_ms, e)) < 0)
        return rc;
    return count_votes(m, r, now, e);
}
