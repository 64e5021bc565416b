#include "core/selector_known.h"

#include <math.h>
#include <string.h>

/* Candidates rescored at a time: enough rows for a GEMM, few enough to stay in cache. */
#define RESCORE_ROWS 256u

struct fis_selector {
    struct fis_selector_options o;
    uint32_t n_heaps;
    struct fis_heap heap[FIS_MAX_CRITERIA];
    struct known known;
    uint32_t held, open;
    uint64_t answered, asked, round;
    uint32_t round_asked, round_answered, round_by[FIS_MAX_CRITERIA];
    /* Work space of rescore. */
    float *x, *scores;
    const struct fis_id **ids;
};

static int check_options(const struct fis_selector_options *o, struct fis_error *e)
{
    if (o->criteria.algorithm < FIS_ALGORITHM_FIS_PLUS ||
        o->criteria.algorithm > FIS_ALGORITHM_ENTROPY)
        return fis_fail(e, FIS_INPUT, "selector: unknown algorithm %d", (int)o->criteria.algorithm);
    if (o->d == 0 || o->labels_per_round == 0)
        return fis_fail(e, FIS_INPUT,
                        "selector: %u features and %u labels per round; both must be at least 1",
                        o->d, o->labels_per_round);
    if (o->labels_per_round > UINT32_MAX / 2 && o->heap == 0)
        return fis_fail(e, FIS_INPUT, "selector: %u labels per round is too many",
                        o->labels_per_round);
    return 0;
}

static int make_room(struct fis_selector *s, struct fis_error *e)
{
    for (uint32_t i = 0; i < s->n_heaps; i++) {
        int r = fis_heap_init(&s->heap[i], s->o.heap, e);
        if (r < 0)
            return r;
    }
    s->x = fis_alloc((size_t)RESCORE_ROWS * s->o.d, sizeof *s->x);
    s->scores = fis_alloc(RESCORE_ROWS * FIS_MAX_CRITERIA, sizeof *s->scores);
    s->ids = fis_alloc(RESCORE_ROWS, sizeof *s->ids);
    if (!s->x || !s->scores || !s->ids)
        return fis_fail(e, FIS_NOMEM, "selector: no memory");
    return 0;
}

struct fis_selector *fis_selector_new(const struct fis_selector_options *o, struct fis_error *e)
{
    if (check_options(o, e) < 0)
        return NULL;
    struct fis_selector *s = fis_calloc(1, sizeof *s);
    if (!s) {
        fis_fail(e, FIS_NOMEM, "selector: no memory");
        return NULL;
    }
    s->o = *o;
    if (s->o.heap == 0)
        s->o.heap = 2 * o->labels_per_round;
    if (s->o.in_flight == 0)
        s->o.in_flight = o->labels_per_round;
    s->n_heaps = fis_criteria_count(o->criteria.algorithm);
    known_init(&s->known, o->d);
    if (make_room(s, e) < 0) {
        fis_selector_free(s);
        return NULL;
    }
    return s;
}

void fis_selector_free(struct fis_selector *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < FIS_MAX_CRITERIA; i++)
        fis_heap_done(&s->heap[i]);
    known_done(&s->known);
    fis_free(s->x);
    fis_free(s->scores);
    fis_free(s->ids);
    fis_free(s);
}

/* ---- the heaps ------------------------------------------------------------------------------ */

static void fill_candidate(const struct fis_selector *s, const struct entry *entry,
                           struct fis_candidate *c)
{
    const struct slot *slot = known_slot(&s->known, entry->slot);
    c->id = entry->id;
    c->x = slot->x;
    memcpy(c->scores, slot->scores, sizeof c->scores);
    c->payload = slot->payload;
    c->payload_length = slot->payload_length;
}

static void forget_held(struct fis_selector *s, struct entry *entry)
{
    known_remove(&s->known, entry);
    s->held--;
}

/* Offers a slot to every heap that its scores are good enough for. */
static void offer_slot(struct fis_selector *s, struct slot *slot)
{
    for (uint32_t i = 0; i < s->n_heaps; i++) {
        struct fis_heap_item item = {slot->scores[i], slot->number, &slot->entry->id}, evicted;
        if (slot->scores[i] <= FIS_NOT_A_CANDIDATE)
            continue;
        enum fis_heap_result r = fis_heap_offer(&s->heap[i], item, &evicted);
        if (r != FIS_HEAP_REFUSED)
            slot->heaps++;
        if (r == FIS_HEAP_REPLACED) {
            struct slot *out = known_slot(&s->known, evicted.slot);
            if (--out->heaps == 0 && out != slot)
                forget_held(s, out->entry);
        }
    }
}

static void leave_heaps(struct fis_selector *s, struct slot *slot)
{
    for (uint32_t i = 0; i < s->n_heaps && slot->heaps > 0; i++)
        for (uint32_t j = 0; j < s->heap[i].count; j++)
            if (s->heap[i].items[j].slot == slot->number) {
                fis_heap_remove(&s->heap[i], j);
                slot->heaps--;
                break;
            }
    s->held--;
}

static int check_scores(const float *scores, uint32_t n, const struct fis_id *id,
                        struct fis_error *e)
{
    for (uint32_t i = 0; i < n; i++)
        if (!(scores[i] < INFINITY))
            return fis_fail(e, FIS_INPUT,
                            "candidate %.*s: score %u is %s; a finite number is needed",
                            (int)id->length, id->bytes, i, isnan(scores[i]) ? "NaN" : "infinite");
    return 0;
}

static int check_features(const struct fis_candidate *c, uint32_t d, struct fis_error *e)
{
    for (uint32_t i = 0; i < d; i++)
        if (!isfinite(c->x[i]))
            return fis_fail(e, FIS_INPUT, "candidate %.*s: feature %u is not finite",
                            (int)c->id.length, c->id.bytes, i);
    return 0;
}

int fis_selector_offer(struct fis_selector *s, const struct fis_candidate *c, struct fis_error *e)
{
    int wanted = 0, r = check_scores(c->scores, s->n_heaps, &c->id, e);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < s->n_heaps; i++)
        wanted |= c->scores[i] > FIS_NOT_A_CANDIDATE &&
                  fis_heap_admits(&s->heap[i], c->scores[i], &c->id);
    if (!wanted || known_find(&s->known, &c->id))
        return 0;
    if ((r = check_features(c, s->o.d, e)) < 0)
        return r;
    struct entry *entry = known_add(&s->known, c, 1, e);
    if (!entry)
        return -FIS_NOMEM;
    entry->state = KNOWN_HELD;
    s->held++;
    offer_slot(s, known_slot(&s->known, entry->slot));
    return 1;
}

/* ---- a new head ----------------------------------------------------------------------------- */

struct gathered {
    uint32_t n;
    struct slot *slot[RESCORE_ROWS];
};

static int rescore_chunk(struct fis_selector *s, const struct gathered *g, fis_rescore_fn *score,
                         void *arg, struct fis_error *e)
{
    for (uint32_t i = 0; i < g->n; i++) {
        memcpy(s->x + (size_t)i * s->o.d, g->slot[i]->x, s->o.d * sizeof *s->x);
        s->ids[i] = &g->slot[i]->entry->id;
    }
    score(arg, s->x, s->ids, g->n, s->scores);
    int result = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        float *scores = s->scores + (size_t)i * FIS_MAX_CRITERIA;
        int r = check_scores(scores, s->n_heaps, s->ids[i], e);
        for (uint32_t j = 0; r < 0 && j < s->n_heaps; j++)
            scores[j] = FIS_NOT_A_CANDIDATE; /* it is let go; the others keep their place */
        memcpy(g->slot[i]->scores, scores, sizeof g->slot[i]->scores);
        result = r < 0 ? r : result;
    }
    return result;
}

/* A record that one heap held may now be good enough for the other, so all are offered anew. */
static void refill_heaps(struct fis_selector *s)
{
    struct entry *entry, *next;
    for (uint32_t i = 0; i < s->n_heaps; i++)
        fis_heap_clear(&s->heap[i]);
    HASH_ITER(hh, s->known.table, entry, next)
    {
        if (entry->state == KNOWN_HELD) {
            struct slot *slot = known_slot(&s->known, entry->slot);
            slot->heaps = UINT32_MAX / 2; /* not to be forgotten while the others are offered */
            offer_slot(s, slot);
        }
    }
    HASH_ITER(hh, s->known.table, entry, next)
    {
        if (entry->state == KNOWN_HELD) {
            struct slot *slot = known_slot(&s->known, entry->slot);
            slot->heaps -= UINT32_MAX / 2;
            if (slot->heaps == 0)
                forget_held(s, entry);
        }
    }
}

int fis_selector_rescore(struct fis_selector *s, fis_rescore_fn *score, void *arg,
                         struct fis_error *e)
{
    struct gathered g = {0};
    int result = 0;
    for (struct entry *entry = s->known.table; entry; entry = entry->hh.next) {
        if (entry->state == KNOWN_HELD)
            g.slot[g.n++] = known_slot(&s->known, entry->slot);
        if (g.n == RESCORE_ROWS || (!entry->hh.next && g.n)) {
            int r = rescore_chunk(s, &g, score, arg, e);
            result = r < 0 ? r : result;
            g.n = 0;
        }
    }
    refill_heaps(s);
    return result;
}

/* ---- asking and answers --------------------------------------------------------------------- */

enum fis_limit fis_selector_limit(const struct fis_selector *s)
{
    if (s->o.budget && s->open + s->answered >= s->o.budget)
        return FIS_LIMIT_BUDGET;
    if (s->round_asked >= s->o.labels_per_round)
        return FIS_LIMIT_ROUND;
    if (s->open >= s->o.in_flight)
        return FIS_LIMIT_IN_FLIGHT;
    return s->held == 0 ? FIS_LIMIT_EMPTY : FIS_LIMIT_NONE;
}

/* The turn is that of the criterion that has had fewest in this round, so that what was withdrawn
 * is made good from the same criterion. */
static uint32_t whose_turn(const struct fis_selector *s)
{
    uint32_t turn = FIS_MAX_CRITERIA;
    for (uint32_t i = 0; i < s->n_heaps; i++)
        if (s->heap[i].count && (turn == FIS_MAX_CRITERIA || s->round_by[i] < s->round_by[turn]))
            turn = i;
    return turn;
}

static void count_request(struct fis_selector *s, struct entry *entry, uint32_t criterion)
{
    entry->state = KNOWN_OPEN;
    entry->criterion = criterion;
    entry->round = s->round;
    s->open++;
    s->asked++;
    s->round_asked++;
    s->round_by[criterion]++;
}

int fis_selector_ask(struct fis_selector *s, struct fis_candidate *c, uint32_t *criterion)
{
    if (fis_selector_limit(s) != FIS_LIMIT_NONE)
        return 0;
    uint32_t turn = whose_turn(s);
    int best = fis_heap_best(&s->heap[turn]);
    struct slot *slot = known_slot(&s->known, s->heap[turn].items[best].slot);
    leave_heaps(s, slot);
    count_request(s, slot->entry, turn);
    fill_candidate(s, slot->entry, c);
    *criterion = turn;
    return 1;
}

static void count_answer(struct fis_selector *s, struct entry *entry, uint32_t label)
{
    entry->label = label;
    s->open--;
    s->answered++;
    if (entry->round == s->round)
        s->round_answered++;
}

enum fis_answer fis_selector_answer(struct fis_selector *s, const struct fis_id *id, uint32_t label,
                                    struct fis_candidate *c, uint32_t *criterion)
{
    struct entry *entry = known_find(&s->known, id);
    if (!entry || entry->state == KNOWN_HELD || entry->state == KNOWN_WITHDRAWN)
        return FIS_ANSWER_UNKNOWN;
    if (entry->state != KNOWN_OPEN)
        return entry->label == label ? FIS_ANSWER_DUPLICATE : FIS_ANSWER_CONTRADICTION;
    entry->state = KNOWN_ANSWERED;
    count_answer(s, entry, label);
    fill_candidate(s, entry, c);
    *criterion = entry->criterion;
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

/* Its place in the round is free again, and the criterion's turn with it. */
static void free_place(struct fis_selector *s, const struct entry *entry)
{
    if (entry->round != s->round)
        return;
    s->round_asked--;
    s->round_by[entry->criterion]--;
}

void fis_selector_not_kept(struct fis_selector *s, const struct fis_id *id)
{
    struct entry *entry = known_find(&s->known, id);
    if (!entry || entry->not_kept || entry->state == KNOWN_HELD || entry->state == KNOWN_OPEN ||
        entry->state == KNOWN_WITHDRAWN)
        return;
    entry->not_kept = 1;
    free_place(s, entry);
}

int fis_selector_withdraw(struct fis_selector *s, const struct fis_id *id)
{
    struct entry *entry = known_find(&s->known, id);
    if (!entry || entry->state != KNOWN_OPEN)
        return 0;
    known_drop_slot(&s->known, entry);
    entry->state = KNOWN_WITHDRAWN;
    s->open--;
    s->asked--;
    free_place(s, entry);
    return 1;
}

/* ---- state ---------------------------------------------------------------------------------- */

int fis_selector_restore(struct fis_selector *s, const struct fis_candidate *c, uint32_t criterion,
                         int64_t label, struct fis_error *e)
{
    struct entry *entry = known_find(&s->known, &c->id);
    if (criterion >= s->n_heaps || label > UINT32_MAX)
        return fis_fail(e, FIS_INPUT, "restored request %.*s: criterion %u, label %lld: no such",
                        (int)c->id.length, c->id.bytes, criterion, (long long)label);
    if (entry && entry->state != KNOWN_HELD && !(entry->state == KNOWN_OPEN && label >= 0))
        return 0; /* known already: told twice is told once */
    if (!entry && !(entry = known_add(&s->known, c, label < 0, e)))
        return -FIS_NOMEM;
    if (entry->state == KNOWN_HELD)
        leave_heaps(s, known_slot(&s->known, entry->slot));
    if (entry->state != KNOWN_OPEN)
        count_request(s, entry, criterion);
    if (label >= 0) {
        count_answer(s, entry, (uint32_t)label);
        known_drop_slot(&s->known, entry);
        entry->state = KNOWN_DONE;
    }
    return 0;
}

void fis_selector_round_begin(struct fis_selector *s)
{
    s->round++;
    s->round_asked = s->round_answered = 0;
    memset(s->round_by, 0, sizeof s->round_by);
}

struct fis_selector_counts fis_selector_counts(const struct fis_selector *s)
{
    uint64_t used = s->open + s->answered;
    return (struct fis_selector_counts){
        .held = s->held,
        .open = s->open,
        .round_asked = s->round_asked,
        .round_answered = s->round_answered,
        .asked = s->asked,
        .answered = s->answered,
        .budget_left = s->o.budget == 0      ? UINT64_MAX
                       : used >= s->o.budget ? 0
                                             : s->o.budget - used,
    };
}
