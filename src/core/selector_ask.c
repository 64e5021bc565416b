/* Requests and their answers. */
#include <assert.h>
#include <string.h>

#include "base/planted.h"
#include "core/selector_impl.h"

/* ---- from state to state -------------------------------------------------------------------- */

static void take_place(struct fis_selector *s, struct entry *entry)
{
    if (entry->placed || entry->r.round != s->round)
        return;
    entry->placed = true;
    s->round_asked++;
    s->round_by[entry->r.criterion]++;
}

/* Its place in the round is free again, and the criterion's turn with it. */
static void free_place(struct fis_selector *s, struct entry *entry)
{
    if (entry->placed && entry->r.round == s->round) {
        s->round_asked--;
        s->round_by[entry->r.criterion]--;
    }
    entry->placed = false;
}

static void set_round(struct fis_selector *s, struct entry *entry, uint32_t round)
{
    if (entry->r.round != round)
        free_place(s, entry);
    entry->r.round = round;
}

static bool is_charged(const struct fis_request *r)
{
    return fis_is_answered(r->state) || (fis_is_given_up(r->state) && !r->refunded);
}

static void drop(struct fis_selector *s, struct entry *entry, enum request_needs needs)
{
    if (needs == NEEDS_NOTHING)
        known_drop_slot(&s->known, entry);
    else if (needs == NEEDS_FEATURES)
        known_drop_payload(&s->known, entry);
}

void selector_move(struct fis_selector *s, struct entry *entry, enum request_event event)
{
    struct fis_request *r = &entry->r;
    const struct request_traits *old = request_traits(r->state);
    bool charged = is_charged(r) || (PLANTED(late_uncharged) && fis_is_given_up(r->state));
    bool held = fis_is_held(r->state);
    r->state = (uint8_t)request_next(r->state, event);
    const struct request_traits *new = request_traits(r->state);
    s->counts[old->count]--;
    s->counts[new->count]++;
    if (old->list != new->list) {
        known_unlink(&s->known, old->list, entry);
        known_link(&s->known, new->list, entry);
    }
    s->charged += is_charged(r) && !charged;
    if (held != fis_is_held(r->state))
        alike_hold(s, entry, !held);
    if (new->place)
        take_place(s, entry);
    if (!new->place || (s->o.rounds_of_kept && r->state == FIS_SET_ASIDE))
        free_place(s, entry);
    drop(s, entry, new->needs);
    if (r->state == FIS_NONE)
        known_remove(&s->known, entry);
}

/* ---- asking --------------------------------------------------------------------------------- */

static uint64_t budget_left(const struct fis_selector *s)
{
    uint64_t used = (PLANTED(budget_late) ? 0 : s->counts[COUNT_OPEN]) + s->charged;
    if (s->o.budget == 0)
        return UINT64_MAX;
    return used < s->o.budget ? s->o.budget - used : 0;
}

/* The best of a heap that does not wait for the next round; -1: none. */
static int best_of(const struct fis_selector *s, uint32_t i)
{
    const struct fis_heap *h = &s->heap[i];
    int best = -1;
    if (!s->waiting)
        return fis_heap_best(h);
    for (uint32_t j = 0; j < h->count; j++)
        if ((best < 0 || fis_heap_compare(&h->items[j], &h->items[best]) < 0) &&
            !alike_waits(s, known_slot(&s->known, h->items[j].slot)->entry))
            best = (int)j;
    return best;
}

/* The turn is that of the criterion that has had fewest in this round, so that what was given up is
 * made good from the same criterion. FIS_MAX_CRITERIA: there is none to ask
 * for. */
static uint32_t whose_turn(const struct fis_selector *s)
{
    uint32_t turn = FIS_MAX_CRITERIA;
    for (uint32_t i = 0; i < s->n_heaps; i++)
        if ((s->only == 0 || s->only == i + 1) &&
            (turn == FIS_MAX_CRITERIA || s->round_by[i] < s->round_by[turn]) &&
            (s->waiting ? best_of(s, i) >= 0 : s->heap[i].count > 0))
            turn = i;
    return turn;
}

enum fis_limit fis_selector_limit(const struct fis_selector *s)
{
    if (budget_left(s) == 0)
        return FIS_LIMIT_BUDGET;
    if (s->allowance == 0)
        return FIS_LIMIT_ALLOWANCE;
    if (s->round_asked >= s->o.labels_per_round)
        return FIS_LIMIT_ROUND;
    if (s->counts[COUNT_OPEN] >= s->o.in_flight)
        return FIS_LIMIT_IN_FLIGHT;
    return whose_turn(s) == FIS_MAX_CRITERIA ? FIS_LIMIT_EMPTY : FIS_LIMIT_NONE;
}

void selector_open(struct fis_selector *s, struct entry *entry, uint32_t criterion, uint32_t round,
                   uint64_t asked_at_ms)
{
    selector_leave_heaps(s, entry);
    alike_ask(s, entry, round);
    entry->r.criterion = (uint8_t)criterion;
    entry->r.round = round;
    entry->r.asked_at_ms = asked_at_ms;
    selector_move(s, entry, REQUEST_ASK);
}

bool fis_selector_ask(struct fis_selector *s, struct fis_candidate *c, uint32_t *criterion)
{
    if (fis_selector_limit(s) != FIS_LIMIT_NONE)
        return false;
    uint32_t turn = whose_turn(s);
    int best = best_of(s, turn);
    struct entry *entry = known_slot(&s->known, s->heap[turn].items[best].slot)->entry;
    selector_open(s, entry, turn, s->round, s->clock_ms);
    if (s->allowance != UINT64_MAX)
        s->allowance--;
    selector_fill(s, entry, c);
    *criterion = turn;
    return true;
}

/* ---- what becomes of it --------------------------------------------------------------------- */

void selector_answer(struct fis_selector *s, struct entry *entry, uint32_t class_index, bool kept,
                     uint32_t round)
{
    set_round(s, entry, round);
    alike_ask(s, entry, round);
    entry->r.class_index = class_index;
    selector_move(s, entry, kept ? REQUEST_ACCEPT : REQUEST_SET_ASIDE);
    entry->r.refunded = false;
    known_drop_votes(entry);
    s->round_answered += round == s->round;
}

void fis_selector_answer(struct fis_selector *s, struct fis_request *r, uint32_t class_index,
                         bool kept)
{
    selector_answer(s, entry_of(r), class_index, kept, s->round);
}

void fis_selector_give_up(struct fis_selector *s, struct fis_request *r, enum fis_request_state how,
                          bool refund)
{
    assert(fis_is_given_up(how));
    r->refunded = refund;
    selector_move(s, entry_of(r), request_event_to(how));
}

void fis_selector_forget(struct fis_selector *s, struct fis_request *r)
{
    s->charged += r->state == FIS_OPEN;
    selector_leave_heaps(s, entry_of(r));
    selector_move(s, entry_of(r), REQUEST_FORGET);
}

void fis_selector_charge(struct fis_selector *s, uint64_t n)
{
    s->charged += n;
}

/* ---- looking -------------------------------------------------------------------------------- */

struct fis_request *fis_selector_find(const struct fis_selector *s, const struct fis_id *id)
{
    struct entry *entry = known_find(&s->known, id);
    return entry ? &entry->r : NULL;
}

struct fis_request *fis_selector_oldest(const struct fis_selector *s)
{
    return s->known.list[LIST_OPEN].first;
}

bool fis_selector_features(const struct fis_selector *s, const struct fis_request *r,
                           struct fis_candidate *c)
{
    if (entry_of(r)->slot == NO_SLOT)
        return false;
    selector_fill(s, entry_of(r), c);
    return true;
}

/* ---- limits and counts ---------------------------------------------------------------------- */

void fis_selector_set_allowance(struct fis_selector *s, uint64_t n)
{
    s->allowance = n;
}

void fis_selector_set_clock(struct fis_selector *s, uint64_t ms)
{
    s->clock_ms = ms;
}

void fis_selector_round_begin(struct fis_selector *s, uint32_t round)
{
    s->round = round;
    s->round_asked = s->round_answered = 0;
    memset(s->round_by, 0, sizeof s->round_by);
    alike_round(s);
}

void fis_selector_set_budget(struct fis_selector *s, uint64_t budget)
{
    s->o.budget = budget;
}

void fis_selector_set_only(struct fis_selector *s, uint32_t criterion)
{
    s->only = criterion <= s->n_heaps ? criterion : 0;
}

void fis_selector_set_in_flight(struct fis_selector *s, uint32_t in_flight)
{
    s->o.in_flight = in_flight ? in_flight : s->o.labels_per_round;
}

struct fis_selector_counts fis_selector_counts(const struct fis_selector *s)
{
    const uint64_t *n = s->counts;
    return (struct fis_selector_counts){
        .held = (uint32_t)n[COUNT_HELD],
        .waiting = s->waiting,
        .open = (uint32_t)n[COUNT_OPEN],
        .round_asked = s->round_asked,
        .round_answered = s->round_answered,
        .asked = n[COUNT_OPEN] + n[COUNT_ANSWERED] + n[COUNT_GIVEN_UP],
        .answered = n[COUNT_ANSWERED],
        .given_up = n[COUNT_GIVEN_UP],
        .charged = s->charged,
        .budget_left = budget_left(s),
    };
}
