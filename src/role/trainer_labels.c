/* Requests for labels, and what becomes of them. */
#include "role/trainer_impl.h"

#include "base/planted.h"

/* A great many are asked for over several calls, so that what is sent between two has a bound. */
#define ASK_AT_ONCE 4096

/* Of a request that is made now; one that is open goes by what it says. */
static uint32_t votes_wanted(const struct trainer_role *m)
{
    return m->o.votes > 1 ? m->o.votes : 1;
}

/* The entry of a request, as it is now; c: its features, when they are known. */
static void write_entry(struct trainer_role *m, const struct trainer_request *r,
                        const struct fis_candidate *c, uint32_t criterion)
{
    struct wire_ledger_entry entry = {
        .id = r->id,
        .state = r->state,
        .criterion = criterion,
        .round = r->round,
        .asked_at_ms = r->asked_at_ms,
        .refunded = r->refunded,
        .votes = r->votes,
        .n_votes = r->n_votes,
        .wanted = r->wanted,
    };
    if (c) {
        entry.x = c->x;
        entry.d = fis_shape_inputs(&m->shape);
    }
    m->dirty = 1;
    m->out.ledger(m->out.ctx, &entry);
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

int trainer_must_wait(const struct trainer_role *m)
{
    struct fis_selector_counts n = fis_selector_counts(m->selector);
    return allowance(m) == 0 && n.held > 0 && n.budget_left > 0 &&
           n.round_asked < m->o.selector.labels_per_round;
}

/* A round that ends without it waits for it all the same. */
static int64_t deadline(const struct trainer_role *m, int64_t wall_ms)
{
    return m->o.label_deadline_ms ? wall_ms + (int64_t)m->o.label_deadline_ms : 0;
}

static void send_request(struct trainer_role *m, const struct fis_candidate *c, uint32_t criterion,
                         struct trainer_time now)
{
    struct trainer_request *q =
        trainer_request_add(&m->requests, &c->id, WIRE_REQUESTED, m->state.clock_ms);
    if (!q) {
        fis_fail(&m->failed, FIS_NOMEM, "trainer: no memory for another request");
        return;
    }
    q->round = m->state.round;
    q->wanted = votes_wanted(m);
    const unsigned char *payload = c->payload;
    struct wire_label_request r = {
        .id = c->id,
        .round = m->state.round,
        .criterion = fis_criterion_name(m->o.selector.criteria.acquisition, criterion),
        .head_version = m->state.head_version,
        .requested_at_ms = now.wall_ms,
        .deadline_ms = deadline(m, now.wall_ms),
        .encoding = (enum wire_encoding)payload[0],
        .record = {payload + 1, c->payload_length - 1},
        .votes = q->wanted,
    };
    m->out.request(m->out.ctx, &r);
    write_entry(m, q, c, criterion);
    m->state.day_asked++;
}

void trainer_ask(struct trainer_role *m, struct trainer_time now)
{
    struct fis_candidate c;
    uint32_t criterion, asked = 0;
    fis_selector_set_allowance(m->selector, allowance(m));
    while (asked < ASK_AT_ONCE && m->failed.kind == FIS_OK &&
           fis_selector_ask(m->selector, &c, &criterion)) {
        send_request(m, &c, criterion, now);
        asked++;
    }
    if (!asked)
        return;
    m->window.asked = 1;
    trainer_note(m, "asked", "labels=%u open=%u", asked, fis_selector_counts(m->selector).open);
    if (m->o.daily_budget && m->state.day_asked >= m->o.daily_budget)
        trainer_note(m, "daily_budget", "spent=%llu text=\"nothing more is asked for today\"",
                     (unsigned long long)m->state.day_asked);
}

/* ---- giving up ------------------------------------------------------------------------------ */

static void send_cancelled(struct trainer_role *m, const struct trainer_request *q,
                           const char *reason, struct trainer_time now)
{
    struct wire_label_request r = {
        .id = q->id,
        .round = q->round,
        .head_version = m->state.head_version,
        .requested_at_ms = now.wall_ms,
        .votes = q->wanted,
        .cancelled = 1,
        .reason = reason,
    };
    m->out.request(m->out.ctx, &r);
}

void trainer_give_up(struct trainer_role *m, struct trainer_request *r,
                     enum wire_ledger_state state, int refund, const char *reason,
                     struct trainer_time now)
{
    struct fis_candidate c;
    uint32_t criterion = 0;
    int known = fis_selector_peek(m->selector, &r->id, &c, &criterion);
    fis_selector_expire(m->selector, &r->id, refund);
    trainer_request_close(&m->requests, r);
    r->state = state;
    r->refunded = refund;
    write_entry(m, r, known ? &c : NULL, criterion);
    if (reason)
        send_cancelled(m, r, reason, now);
    m->counts.expired += state == WIRE_EXPIRED;
    m->counts.skipped += state == WIRE_SKIPPED_BY_PERSON;
    m->counts.cancelled += state == WIRE_CANCELLED;
    m->counts.tied += state == WIRE_TIED;
}

void trainer_expire(struct trainer_role *m, struct trainer_time now)
{
    uint64_t limit = m->o.label_deadline_ms, clock = m->state.clock_ms;
    struct trainer_request *r;
    uint32_t n = 0;
    if (!limit)
        return;
    for (; (r = m->requests.oldest) && clock > r->asked_at_ms && clock - r->asked_at_ms >= limit;
         n++)
        trainer_give_up(m, r, WIRE_EXPIRED, m->o.replace, "expired", now);
    if (n)
        trainer_note(m, "expired", "labels=%u open=%u", n, fis_selector_counts(m->selector).open);
}

void trainer_role_labels_lost(struct trainer_role *m, uint64_t n, struct trainer_time now)
{
    uint32_t open = 0;
    trainer_tick(m, now);
    for (; m->requests.oldest; open++)
        trainer_give_up(m, m->requests.oldest, WIRE_EXPIRED, m->o.replace, "expired", now);
    trainer_note(m, "labels_lost",
                 "labels=%llu expired=%u text=\"answers were gone before they were read\"",
                 (unsigned long long)n, open);
}

/* ---- answers -------------------------------------------------------------------------------- */

int trainer_counts_kept(const struct trainer_role *m)
{
    return m->o.selector.criteria.acquisition->as_published;
}

void trainer_count_label(struct trainer_role *m, const struct fis_id *id, uint32_t y, int kept)
{
    m->this_round.bought++;
    m->this_round.kept += kept != 0;
    m->this_round.by_class[y]++;
    if (!kept && trainer_counts_kept(m))
        fis_selector_not_kept(m->selector, id);
}

/* The label is decided: it is trained on, and counts in this round. Whoever was asked besides and
 * cannot change it any more need not look. */
static int take_label(struct trainer_role *m, struct trainer_request *r, uint32_t y,
                      struct trainer_time now, struct fis_error *e)
{
    struct fis_candidate c;
    uint32_t criterion, index;
    if (!fis_selector_peek(m->selector, &r->id, &c, &criterion))
        return fis_refuse(e, FIS_CODE_NOT_ASKED,
                          "it was given up, and its features are no longer known");
    int rc = fis_learner_add_bought(m->learner, c.x, y, &index, e);
    if (PLANTED(label_twice))
        rc = fis_learner_add_bought(m->learner, c.x, y, &index, e);
    if (rc < 0)
        return rc;
    fis_selector_answer(m->selector, &r->id, y, &c, &criterion);
    int kept = trainer_check(m, index) > 0;
    struct wire_ledger_entry entry = {
        .id = r->id,
        .state = kept ? WIRE_ACCEPTED : WIRE_SET_ASIDE,
        .class_index = y,
        .criterion = criterion,
        .round = m->state.round,
        .x = c.x,
        .d = fis_shape_inputs(&m->shape),
        .asked_at_ms = r->asked_at_ms,
        .votes = r->votes,
        .n_votes = r->n_votes,
        .wanted = r->wanted,
    };
    m->out.ledger(m->out.ctx, &entry);
    m->dirty = 1;
    m->counts.labels++;
    m->counts.late += r->state != WIRE_REQUESTED;
    m->untrained++;
    trainer_count_label(m, &r->id, y, kept);
    fis_selector_release(m->selector, &entry.id);
    if (r->state == WIRE_REQUESTED && r->n_votes < r->wanted)
        send_cancelled(m, r, "decided", now);
    trainer_request_remove(&m->requests, r);
    return 0;
}

/* An answer to what is decided already. Where several people are asked a dissenting one is no
 * fault: it was under way, or it is read a second time after topics were brought back. */
static int answer_again(struct trainer_role *m, const struct wire_label *l, struct fis_error *e)
{
    struct fis_candidate c;
    uint32_t criterion;
    if (votes_wanted(m) == 1 && l->status == WIRE_LABELLED &&
        fis_selector_answer(m->selector, &l->id, l->class_index, &c, &criterion) ==
            FIS_ANSWER_CONTRADICTION &&
        !PLANTED(contradiction_taken))
        return fis_refuse(e, FIS_CODE_CONTRADICTION,
                          "label \"%s\" contradicts an earlier answer for this id",
                          m->o.schema->classes[l->class_index]);
    m->counts.duplicates++;
    return 0;
}

static const char *annotator_of(const struct wire_label *l)
{
    return l->annotator ? l->annotator : "";
}

/* Whether the vote is a new one: 1, or 0 (the same person said the same before), or INPUT. */
static int check_vote(const struct trainer_request *r, const struct wire_label *l,
                      struct fis_error *e)
{
    int several = r->wanted > 1;
    if (several && !*annotator_of(l))
        return fis_refuse(e, FIS_CODE_BAD_FIELD,
                          "the answer does not say whose it is; %u people are asked for each label",
                          r->wanted);
    const struct wire_vote *before = trainer_request_vote_of(r, annotator_of(l));
    if (!several && l->status != WIRE_LABELLED && r->state == WIRE_SKIPPED_BY_PERSON)
        return 0;
    if (!before || (before->status != WIRE_LABELLED && l->status == WIRE_LABELLED))
        return r->n_votes < WIRE_VOTES || before
                   ? 1
                   : fis_refuse(e, FIS_CODE_CONTRADICTION, "more than %d answers for this id",
                                WIRE_VOTES);
    if (before->status != WIRE_LABELLED)
        return 0;
    if (l->status == WIRE_LABELLED && l->class_index == before->class_index)
        return 0;
    return fis_refuse(e, FIS_CODE_CONTRADICTION,
                      "the answer contradicts an earlier one of the same annotator");
}

static int cast_vote(struct trainer_request *r, const struct wire_label *l, struct trainer_time now,
                     struct fis_error *e)
{
    struct wire_vote vote = {
        .annotator = annotator_of(l),
        .status = l->status,
        .class_index = l->status == WIRE_LABELLED ? l->class_index : 0,
        .at_ms = l->labelled_at_ms ? l->labelled_at_ms : now.wall_ms,
    };
    /* Who could not say before and can now has changed his mind, and that counts. */
    struct wire_vote *before = trainer_request_vote_of(r, annotator_of(l));
    if (!before)
        return trainer_request_vote(r, &vote, e);
    vote.annotator = before->annotator;
    *before = vote;
    return 0;
}

/* All who were asked have answered, and there is no label in it. */
static void no_label(struct trainer_role *m, struct trainer_request *r, int tied,
                     struct trainer_time now)
{
    if (tied)
        trainer_note(m, "tied", "votes=%u text=\"no answer has the most votes\"", r->n_votes);
    trainer_give_up(m, r, tied ? WIRE_TIED : WIRE_SKIPPED_BY_PERSON, !tied, NULL, now);
}

int trainer_role_label(struct trainer_role *m, const struct wire_label *l, struct trainer_time now,
                       struct fis_error *e)
{
    struct fis_candidate c;
    uint32_t y, criterion = 0;
    trainer_tick(m, now);
    if (l->status == WIRE_LABELLED && l->class_index >= m->o.schema->n_classes)
        return fis_refuse(e, FIS_CODE_UNKNOWN_CLASS, "class %u; there are %u", l->class_index,
                          m->o.schema->n_classes);
    if (fis_selector_state(m->selector, &l->id) == FIS_ANSWERED)
        return answer_again(m, l, e);
    struct trainer_request *r = trainer_request_find(&m->requests, &l->id);
    if (!r)
        return fis_refuse(e, FIS_CODE_NOT_ASKED, "nobody asked for a label of this id");
    int known = fis_selector_peek(m->selector, &l->id, &c, &criterion);
    if (!known && l->status == WIRE_LABELLED)
        return fis_refuse(e, FIS_CODE_NOT_ASKED,
                          "it was given up, and its features are no longer known");
    int rc = check_vote(r, l, e);
    m->counts.duplicates += rc == 0;
    if (rc <= 0 || (rc = cast_vote(r, l, now, e)) < 0)
        return rc;
    enum trainer_decision d = trainer_request_decide(r, &y);
    if (d == TRAINER_DECIDED)
        return take_label(m, r, y, now, e);
    if (d != TRAINER_UNDECIDED && r->state == WIRE_REQUESTED)
        no_label(m, r, d == TRAINER_TIED, now);
    else
        write_entry(m, r, known ? &c : NULL, criterion);
    return 0;
}
