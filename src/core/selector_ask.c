/* Requests and their answers. */
#include "core/selector_impl.h"

#include <string.h>

#include "base/planted.h"

/* ---- asking --------------------------------------------------------------------------------- */

static uint64_t budget_left(const struct fis_selector *s)
{
    uint64_t used = (PLANTED(budget_late) ? 0 : s->open) + s->charged;
    if (s->o.budget == 0)
        return UINT64_MAX;
    return used < s->o.budget ? s->o.budget - used : 0;
}

/* The turn is that of the criterion that has had fewest in this round, so that what was withdrawn
 * is made good from the same criterion. FIS_MAX_CRITERIA: the heaps are empty. */
static uint32_t whose_turn(const struct fis_selector *s)
{
    uint32_t turn = FIS_MAX_CRITERIA;
    for (uint32_t i = 0; i < s->n_heaps; i++)
        if (s->heap[i].count && (turn == FIS_MAX_CRITERIA || s->round_by[i] < s->round_by[turn]))
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
    if (s->open >= s->o.in_flight)
        return FIS_LIMIT_IN_FLIGHT;
    return whose_turn(s) == FIS_MAX_CRITERIA ? FIS_LIMIT_EMPTY : FIS_LIMIT_NONE;
}

void fis_selector_set_allowance(struct fis_selector *s, uint64_t n)
{
    s->allowance = n;
}

static void take_place(struct fis_selector *s, struct entry *entry)
{
    if (entry->placed && entry->round == s->round)
        return;
    entry->placed = 1;
    entry->round = s->round;
    s->round_asked++;
    s->round_by[entry->criterion]++;
}

/* Its place in the round is free again, and the criterion's turn with it. */
static void free_place(struct fis_selector *s, struct entry *entry)
{
    if (entry->placed && entry->round == s->round) {
        s->round_asked--;
        s->round_by[entry->criterion]--;
    }
    entry->placed = 0;
}

void selector_count_request(struct fis_selector *s, struct entry *entry, uint32_t criterion,
                            int placed)
{
    entry->state = KNOWN_OPEN;
    entry->criterion = criterion;
    s->open++;
    if (placed)
        take_place(s, entry);
}

int fis_selector_ask(struct fis_selector *s, struct fis_candidate *c, uint32_t *criterion)
{
    if (fis_selector_limit(s) != FIS_LIMIT_NONE)
        return 0;
    uint32_t turn = whose_turn(s);
    int best = fis_heap_best(&s->heap[turn]);
    struct entry *entry = known_slot(&s->known, s->heap[turn].items[best].slot)->entry;
    selector_let_go(s, entry);
    selector_count_request(s, entry, turn, 1);
    if (s->allowance != UINT64_MAX)
        s->allowance--;
    selector_fill(s, entry, c);
    *criterion = turn;
    return 1;
}

/* ---- answers -------------------------------------------------------------------------------- */

void selector_count_answer(struct fis_selector *s, struct entry *entry, uint32_t label, int placed)
{
    if (entry->state == KNOWN_OPEN)
        s->open--;
    else
        s->withdrawn--;
    s->charged += !entry->charged && !(PLANTED(late_uncharged) && entry->state != KNOWN_OPEN);
    s->answered++;
    entry->charged = 1;
    entry->label = label;
    entry->state = KNOWN_ANSWERED;
    if (!placed)
        return;
    take_place(s, entry);
    s->round_answered++;
}

enum fis_answer fis_selector_answer(struct fis_selector *s, const struct fis_id *id, uint32_t label,
                                    struct fis_candidate *c, uint32_t *criterion)
{
    struct entry *entry = known_find(&s->known, id);
    if (entry && (entry->state == KNOWN_ANSWERED || entry->state == KNOWN_DONE))
        return entry->label == label ? FIS_ANSWER_DUPLICATE : FIS_ANSWER_CONTRADICTION;
    if (!fis_selector_peek(s, id, c, criterion))
        return FIS_ANSWER_UNKNOWN;
    selector_count_answer(s, entry, label, 1);
    return FIS_ANSWER_ACCEPTED;
}

void fis_selector_release(struct fis_selector *s, const struct fis_id *id)
{
    struct entry *entry = known_find(&s->known, id);
    if (!entry || entry->state != KNOWN_ANSWERED)
        return;
    known_drop_slot(&s->known, entry);
    entry->state = KNOWN_DONE;
}

void fis_selector_not_kept(struct fis_selector *s, const struct fis_id *id)
{
    struct entry *entry = known_find(&s->known, id);
    if (entry && (entry->state == KNOWN_ANSWERED || entry->state == KNOWN_DONE))
        free_place(s, entry);
}

void selector_count_withdrawal(struct fis_selector *s, struct entry *entry, int refund)
{
    free_place(s, entry);
    known_drop_payload(&s->known, entry);
    entry->state = KNOWN_WITHDRAWN;
    entry->charged = !refund;
    s->charged += !refund;
    s->withdrawn++;
    s->open--;
}

int fis_selector_expire(struct fis_selector *s, const struct fis_id *id, int refund)
{
    struct entry *entry = known_find(&s->known, id);
    if (!entry || entry->state != KNOWN_OPEN)
        return 0;
    selector_count_withdrawal(s, entry, refund);
    return 1;
}

/* ---- looking -------------------------------------------------------------------------------- */

enum fis_known fis_selector_state(const struct fis_selector *s, const struct fis_id *id)
{
    static const enum fis_known shown[] = {
        [KNOWN_NEW] = FIS_UNKNOWN,         [KNOWN_HELD] = FIS_HELD,
        [KNOWN_GONE] = FIS_UNKNOWN,        [KNOWN_OPEN] = FIS_OPEN,
        [KNOWN_DONE] = FIS_ANSWERED,       [KNOWN_ANSWERED] = FIS_ANSWERED,
        [KNOWN_WITHDRAWN] = FIS_WITHDRAWN,
    };
    const struct entry *entry = known_find(&s->known, id);
    return entry ? shown[entry->state] : FIS_UNKNOWN;
}

int fis_selector_peek(const struct fis_selector *s, const struct fis_id *id,
                      struct fis_candidate *c, uint32_t *criterion)
{
    const struct entry *entry = known_find(&s->known, id);
    if (!entry || entry->slot == NO_SLOT ||
        (entry->state != KNOWN_OPEN && entry->state != KNOWN_WITHDRAWN))
        return 0;
    selector_fill(s, entry, c);
    *criterion = entry->criterion;
    return 1;
}

void fis_selector_round_begin(struct fis_selector *s)
{
    s->round++;
    s->round_asked = s->round_answered = 0;
    memset(s->round_by, 0, sizeof s->round_by);
}

void fis_selector_set_budget(struct fis_selector *s, uint64_t budget)
{
    s->o.budget = budget;
}

void fis_selector_set_in_flight(struct fis_selector *s, uint32_t in_flight)
{
    s->o.in_flight = in_flight ? in_flight : s->o.labels_per_round;
}

struct fis_selector_counts fis_selector_counts(const struct fis_selector *s)
{
    return (struct fis_selector_counts){
        .held = s->held,
        .open = s->open,
        .round_asked = s->round_asked,
        .round_answered = s->round_answered,
        .asked = s->open + s->answered + s->withdrawn,
        .answered = s->answered,
        .withdrawn = s->withdrawn,
        .charged = s->charged,
        .budget_left = budget_left(s),
    };
}
