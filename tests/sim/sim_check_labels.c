/* Requests and answers, record by record: each asked for once at most, each delivered answer used
 * once, each refused one in dead-letter. Written from the contract of the labels' life. */
#include <stdio.h>
#include <string.h>

#include "sim_check_impl.h"
#include "wire/json_codec.h"
#include "wire/protobuf_codec.h"

int check_fact_of(const struct sim_check *c, struct wire_bytes bytes)
{
    struct fis_id id;
    if (fis_id_set(&id, bytes.data, bytes.length) < 0)
        return -1;
    const struct sim_record *r = sim_record_by_id(c->w, &id);
    return r ? (int)(r - c->w->data->records) : -1;
}

bool check_answered(const struct check_fact *f)
{
    return f->state == WIRE_ACCEPTED || f->state == WIRE_SET_ASIDE;
}

struct check_tally check_count(const struct sim_check *c)
{
    struct check_tally t = {0};
    for (uint32_t i = 0; i < c->w->plan->records; i++) {
        const struct check_fact *f = &c->facts[i];
        t.held += f->in_heap;
        if (!f->asked)
            continue;
        t.open += f->state == WIRE_REQUESTED;
        t.answered += check_answered(f);
        t.withdrawn += f->state != WIRE_REQUESTED && !check_answered(f);
        t.charged += f->state != WIRE_REQUESTED && !f->refunded;
    }
    t.charged += c->forgotten_charged;
    return t;
}

/* ---- entries ------------------------------------------------------------------------------- */

static struct check_request *request_of(struct sim_check *c, int fact, bool cancelled)
{
    struct check_unit *u = &c->unit;
    for (uint32_t i = 0; i < u->n_requests; i++)
        if (u->requests[i].fact == fact && u->requests[i].cancelled == cancelled &&
            !u->requests[i].matched)
            return &u->requests[i];
    return NULL;
}

static uint32_t places(const struct sim_check *c, uint32_t round)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->w->plan->records; i++) {
        const struct check_fact *f = &c->facts[i];
        n += f->asked && f->round == round &&
             (f->state == WIRE_REQUESTED || f->state == WIRE_ACCEPTED ||
              (f->state == WIRE_SET_ASIDE && c->w->plan->algorithm != &fis_acquisition_fis));
    }
    return n;
}

/* The newest limits: none is stricter than the older ones but by in_flight. */
static const struct trainer_role_options *newest(const struct sim_check *c)
{
    return &c->w->data->trainer[c->w->data->limits];
}

static void check_limits(struct sim_check *c, int fact, uint32_t round)
{
    const struct sim_plan *p = c->w->plan;
    struct check_tally t = check_count(c);
    uint32_t in_flight = p->in_flight ? p->in_flight : p->labels_per_round;
    uint64_t budget = newest(c)->selector.budget;
    uint32_t now = newest(c)->selector.in_flight;
    in_flight = now > in_flight ? now : in_flight;
    SIM_MUST(c->w, !budget || t.charged + t.open < budget,
             "guarantee 3: record %d is asked for with %llu labels charged and %u open: the budget "
             "is %llu",
             fact, (unsigned long long)t.charged, t.open, (unsigned long long)budget);
    SIM_MUST(c->w, t.open < in_flight, "record %d is asked for with %u open; in flight may be %u",
             fact, t.open, in_flight);
    SIM_MUST(c->w, places(c, round) < p->labels_per_round,
             "record %d is asked for, but round %u has its %u labels", fact, round,
             p->labels_per_round);
    SIM_MUST(c->w, c->unit.resumes, "record %d is asked for while asking is paused", fact);
}

static void ask(struct sim_check *c, int fact, const struct wire_ledger_entry *entry)
{
    struct check_fact *f = &c->facts[fact];
    struct check_request *r = request_of(c, fact, false);
    SIM_MUST(c->w, r,
             "guarantee 3: the ledger says that record %d was asked for; no request says "
             "so in the same unit",
             fact);
    r->matched = true;
    check_limits(c, fact, entry->round);
    /* Letters that came before nobody asked; which came before, the ledger does not say. */
    for (uint32_t i = 0; i < c->unit.n_letters; i++)
        if (c->unit.letters[i].fact == fact)
            c->unit.letters[i].outcome = LETTER_EITHER;
    *f = (struct check_fact){.asked = true,
                             .state = WIRE_REQUESTED,
                             .round = entry->round,
                             .asked_round = entry->round,
                             .asked_clock = entry->asked_at_ms,
                             .asked_at = c->unit.about->began,
                             .asked_term = c->term};
    c->unit.asked[c->unit.n_asked++] = (struct check_ask){fact, entry->round, entry->criterion,
                                                          r->head_version, entry->asked_at_ms};
    c->totals.requests++;
    c->round_of_last_ask = entry->round;
    c->asked_at = c->w->now;
}

static bool was_given(const struct sim_check *c, enum wire_control_kind kind, int fact)
{
    for (uint32_t i = 0; i < c->unit.n_controls; i++) {
        const struct wire_control *k = &c->unit.controls[i].c;
        struct wire_bytes id = {k->record.bytes, k->record.length};
        if (k->kind == kind && check_fact_of(c, id) == fact)
            return true;
    }
    return false;
}

/* Nothing expires before its time, whatever the clocks of the machines say. Over a takeover the
 * wall clock is all there is; if that was changed, nothing can be promised. */
static void check_expiry(struct sim_check *c, int fact)
{
    const struct check_fact *f = &c->facts[fact];
    int64_t waited = c->w->now - f->asked_at;
    int64_t limit = (int64_t)newest(c)->label_deadline_ms;
    bool sure = f->asked_term == c->term || c->w->faults->counts[SIM_WALL_JUMP] == 0;
    if (c->unit.lost)
        return; /* nobody knows what was check_answered */
    SIM_MUST(c->w, limit, "record %d expired, but there is no deadline", fact);
    SIM_MUST(c->w, !sure || waited >= limit,
             "record %d expired after %lld ms; the deadline is %lld", fact, (long long)waited,
             (long long)limit);
}

static void give_up(struct sim_check *c, int fact, const struct wire_ledger_entry *entry)
{
    struct check_fact *f = &c->facts[fact];
    struct check_request *r = request_of(c, fact, true);
    SIM_MUST(c->w, r, "record %d was given up; no withdrawal was sent", fact);
    r->matched = true;
    if (entry->state == WIRE_EXPIRED)
        check_expiry(c, fact);
    else
        SIM_MUST(c->w, was_given(c, WIRE_CONTROL_CANCEL, fact),
                 "record %d was cancelled, but not by a command", fact);
    bool refund = entry->state == WIRE_CANCELLED || c->w->plan->replace;
    SIM_MUST(c->w, (entry->refunded != 0) == refund, "record %d was given up: refunded is %d", fact,
             entry->refunded);
    f->state = entry->state;
    f->refunded = entry->refunded;
}

static void compare(struct sim_check *c, int fact, const struct wire_ledger_entry *entry)
{
    struct check_fact *f = &c->facts[fact];
    if (entry->state == WIRE_SET_ASIDE && f->state == WIRE_ACCEPTED)
        f->state = WIRE_SET_ASIDE; /* which of the two is the machine's own business */
    SIM_MUST(c->w, f->state == entry->state && f->n_votes == entry->n_votes,
             "guarantee 4: record %d is in state %d with %u votes; by its answers it should be in "
             "state %d with %u",
             fact, (int)entry->state, entry->n_votes, (int)f->state, f->n_votes);
    SIM_MUST(c->w, !check_answered(f) || entry->class_index == f->class_index,
             "guarantee 4: record %d has class %u; its answers say %u", fact, entry->class_index,
             f->class_index);
    SIM_MUST(c->w, (f->refunded != 0) == (entry->refunded != 0), "record %d: refunded is %d", fact,
             entry->refunded);
    f->round = check_answered(f) ? entry->round : f->round;
    c->totals.answers += check_answered(f);
}

/* People who cannot change the label any more get a withdrawal, and nobody else does. */
static void check_ledger(struct sim_check *c, int fact, enum wire_ledger_state before)
{
    const struct check_fact *f = &c->facts[fact];
    if (before != WIRE_REQUESTED || !check_answered(f) || f->n_votes >= c->w->plan->votes)
        return;
    struct check_request *r = request_of(c, fact, true);
    SIM_MUST(c->w, r, "record %d is decided by %u of %u votes; no withdrawal was sent", fact,
             f->n_votes, c->w->plan->votes);
    r->matched = true;
}

/* A letter of the unit in which the record was asked for: whether it came before is seen from what
 * the entry says. */
static bool late_letter(struct sim_check *c, int fact)
{
    for (uint32_t i = 0; i < c->unit.n_letters; i++) {
        struct check_letter *l = &c->unit.letters[i];
        if (l->fact != fact || l->outcome != LETTER_EITHER || l->dead)
            continue;
        if (check_apply(c, &c->facts[fact], l) == LETTER_USED) {
            l->outcome = LETTER_USED;
            return true;
        }
    }
    return false;
}

/* ---- what is forgotten --------------------------------------------------------------------- */

struct wire_forgotten check_mark_of(const struct sim_check *c, uint32_t fact)
{
    struct wire_forgotten f = {.salt = {c->salt, c->salt_length}};
    wire_forgotten_mark(f.salt, &c->w->data->records[fact].id, f.mark);
    return f;
}

/* What came for it before it was forgotten is judged by what it was then. */
static void last_letters(struct sim_check *c, int fact)
{
    for (uint32_t i = 0; i < c->unit.n_letters; i++) {
        struct check_letter *l = &c->unit.letters[i];
        if (l->fact == fact && l->outcome == LETTER_WAITS)
            l->outcome = check_apply(c, &c->facts[fact], l);
        SIM_MUST(c->w, l->fact != fact || l->outcome != LETTER_USED || l->dead == false,
                 "simulator: a letter that was used is dead");
    }
}

/* The tombstone of a record that a command takes out of everything. */
static void forget(struct sim_check *c, int fact)
{
    struct check_fact *f = &c->facts[fact];
    bool open = f->asked && f->state == WIRE_REQUESTED;
    struct check_request *r = open ? request_of(c, fact, true) : NULL;
    SIM_MUST(c->w, !open || r, "record %d was forgotten; no withdrawal was sent", fact);
    if (r)
        r->matched = true;
    last_letters(c, fact);
    if (f->asked && check_answered(f)) { /* the checkpoint was of rows that it was one of */
        c->copies = (struct wire_bytes){0};
        c->checkpoint++;
    }
    c->forgotten_charged += f->asked && (open || !f->refunded);
    c->window_unsure = true;
    c->was_held[fact] = false;
    c->unit.forgotten = fact;
    if (f->asked) { /* what the unit asks for was selected before */
        c->unit.gone = fact;
        c->unit.gone_round = f->asked_round;
    }
    *f = (struct check_fact){.forgotten = true};
    c->totals.forgotten++;
}

void check_forgotten(struct sim_check *c, const struct wire_forgotten *f)
{
    struct check_unit *u = &c->unit;
    SIM_MUST(c->w, u->forgotten >= 0, "the ledger has a mark of a record that is not forgotten");
    if (!c->salt_length) {
        memcpy(c->salt, f->salt.data, f->salt.length);
        c->salt_length = f->salt.length;
    }
    const struct wire_forgotten own = check_mark_of(c, (uint32_t)u->forgotten);
    SIM_MUST(c->w,
             !memcmp(own.mark, f->mark, WIRE_MARK) && f->salt.length == c->salt_length &&
                 !memcmp(f->salt.data, c->salt, c->salt_length),
             "the mark of record %d is that of another", u->forgotten);
    u->forgotten = -1;
}

/* Of what compaction leaves: nothing is keyed by its id, and no value has it. */
static void check_log(const struct sim_check *c, enum sim_topic t, const struct fis_id *id)
{
    const struct sim_log *log = &c->w->broker->logs[t][0];
    const struct sim_entry *last = NULL;
    for (uint32_t i = 0; i < log->n; i++) {
        const struct sim_entry *m = &log->entries[i];
        if (m->foreign || !sim_readable(c->w->broker, m))
            continue;
        if (m->key.length == id->length && !memcmp(m->key.data, id->bytes, id->length))
            last = m;
    }
    SIM_MUST(c->w, !last || !last->value.data, "%s still has record %.*s, which was forgotten",
             sim_topic_names[t], (int)id->length, id->bytes);
}

void check_forgotten_end(const struct sim_check *c)
{
    for (uint32_t i = 0; i < c->w->plan->records; i++)
        if (c->facts[i].forgotten)
            for (int t = 0; t < SIM_TOPICS; t++)
                if (t == SIM_LEDGER || t == SIM_HEADS || t == SIM_MODELS)
                    check_log(c, (enum sim_topic)t, &c->w->data->records[i].id);
}

void check_entry(struct sim_check *c, const struct wire_message *m,
                 const struct wire_ledger_entry *entry)
{
    int fact = check_fact_of(c, m->key);
    SIM_MUST(c->w, fact >= 0, "the ledger has %.*s, of which there is no record",
             (int)m->key.length, (const char *)m->key.data);
    struct check_fact *f = &c->facts[fact];
    enum wire_ledger_state before = f->state;
    SIM_MUST(c->w, !entry || !f->forgotten, "the ledger has record %d again, which was forgotten",
             fact);
    if (!entry && was_given(c, WIRE_CONTROL_FORGET, fact) && check_mark_follows(c)) {
        forget(c, fact);
        return;
    }
    if (!entry || entry->state == WIRE_IN_HEAP) {
        SIM_MUST(c->w, !f->asked, "guarantee 3: the ledger forgets that record %d was asked for",
                 fact);
        /* Reported again: it left and came back, maybe after this unit's requests. */
        c->was_held[fact] &= !entry;
        f->in_heap = entry != NULL;
    } else if (!f->asked) {
        SIM_MUST(c->w, entry->state == WIRE_REQUESTED, "record %d was never asked for", fact);
        ask(c, fact, entry);
    } else if (f->state == WIRE_REQUESTED && entry->n_votes == f->n_votes &&
               (entry->state == WIRE_EXPIRED || entry->state == WIRE_CANCELLED)) {
        give_up(c, fact, entry);
    } else {
        SIM_MUST(c->w, !request_of(c, fact, false), "guarantee 3: record %d is asked for again",
                 fact);
        SIM_MUST(c->w, check_next_change(c, fact) || late_letter(c, fact),
                 "guarantee 4: the ledger's entry of record %d (state %d) follows from no answer",
                 fact, (int)entry->state);
        compare(c, fact, entry);
        check_ledger(c, fact, before);
    }
}
