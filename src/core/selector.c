#include "core/selector_impl.h"

#include <math.h>
#include <string.h>

#include "base/planted.h"

static int check_options(const struct fis_selector_options *o, struct fis_error *e)
{
    if (!o->criteria.acquisition)
        return fis_fail(e, FIS_INPUT, "selector: no acquisition is named");
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
        int rc = fis_heap_init(&s->heap[i], s->o.heap, e);
        if (rc < 0)
            return rc;
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
    s->allowance = UINT64_MAX;
    s->n_heaps = fis_criteria_count(o->criteria.acquisition);
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
    alike_done(s);
    known_done(&s->known);
    fis_free(s->x);
    fis_free(s->scores);
    fis_free(s->ids);
    fis_free(s);
}

/* ---- the heaps ------------------------------------------------------------------------------ */

void selector_fill(const struct fis_selector *s, const struct entry *entry, struct fis_candidate *c)
{
    const struct slot *slot = known_slot(&s->known, entry->slot);
    c->id = entry->r.id;
    c->x = slot->x;
    memcpy(c->scores, slot->scores, sizeof c->scores);
    c->payload = slot->payload;
    c->payload_length = slot->payload_length;
}

static struct fis_heap_item item_of(const struct slot *slot, uint32_t i)
{
    return (struct fis_heap_item){slot->scores[i], slot->number, &slot->entry->r.id};
}

/* Heap i holds the slot no more. */
static void left_heap(struct fis_selector *s, struct slot *slot, uint32_t i)
{
    struct alike *a = alike_find(s, slot->entry->features);
    slot->heaps &= ~(1u << i);
    if (a && a->slot[i] == slot->number)
        a->slot[i] = NO_SLOT;
}

static void evicted_by(struct fis_selector *s, struct slot *slot, uint32_t i)
{
    left_heap(s, slot, i);
    if (slot->heaps == 0)
        selector_move(s, slot->entry, REQUEST_EVICT);
}

static void remove_from_heap(struct fis_selector *s, const struct slot *slot, uint32_t i)
{
    for (uint32_t j = 0; j < s->heap[i].count; j++)
        if (s->heap[i].items[j].slot == slot->number) {
            fis_heap_remove(&s->heap[i], j);
            return;
        }
}

/* The one that heap i holds of those with the same features; NULL: none but itself. */
static struct slot *same_in_heap(const struct fis_selector *s, uint64_t features, uint32_t number,
                                 uint32_t i)
{
    const struct alike *a = alike_find(s, features);
    return a && a->slot[i] != NO_SLOT && a->slot[i] != number ? known_slot(&s->known, a->slot[i])
                                                              : NULL;
}

static void offer_to_heap(struct fis_selector *s, struct slot *slot, uint32_t i)
{
    struct fis_heap_item item = item_of(slot, i), evicted;
    if (slot->scores[i] <= FIS_NOT_A_CANDIDATE)
        return;
    struct slot *same = same_in_heap(s, slot->entry->features, slot->number, i);
    if (same) {
        struct fis_heap_item other = item_of(same, i);
        if (fis_heap_compare(&item, &other) > 0)
            return;
        remove_from_heap(s, same, i);
        evicted_by(s, same, i);
    }
    enum fis_heap_result r = fis_heap_offer(&s->heap[i], item, &evicted);
    if (r == FIS_HEAP_REFUSED)
        return;
    slot->heaps |= 1u << i;
    struct alike *a = alike_find(s, slot->entry->features);
    if (a)
        a->slot[i] = slot->number;
    if (r == FIS_HEAP_REPLACED)
        evicted_by(s, known_slot(&s->known, evicted.slot), i);
}

static void offer_slot(struct fis_selector *s, struct slot *slot)
{
    for (uint32_t i = 0; i < s->n_heaps; i++)
        offer_to_heap(s, slot, i);
}

/* Heap i, that was full, has room for one: the best of what only other heaps hold. So a heap holds
 * the best of all candidates held, at any time; what is held is then all that there is to know of
 * the heaps, and a restored selector goes on as this one does. */
static void fill_up(struct fis_selector *s, uint32_t i)
{
    struct fis_heap_item best = {.id = NULL};
    for (uint32_t other = 0; other < s->n_heaps; other++)
        for (uint32_t j = 0; j < s->heap[other].count; j++) {
            const struct slot *slot = known_slot(&s->known, s->heap[other].items[j].slot);
            struct fis_heap_item item = item_of(slot, i);
            if (!(slot->heaps & 1u << i) && (!best.id || fis_heap_compare(&item, &best) < 0) &&
                !same_in_heap(s, slot->entry->features, slot->number, i))
                best = item;
        }
    if (best.id)
        offer_to_heap(s, known_slot(&s->known, best.slot), i);
}

/* Of a heap that is not full, what it does not hold has the features of the slot. */
static void leave_heaps(struct fis_selector *s, struct slot *slot)
{
    const struct alike *a = alike_find(s, slot->entry->features);
    uint32_t left = 0;
    bool others = a && a->held > 1;
    for (uint32_t i = 0; i < s->n_heaps; i++)
        if (slot->heaps & 1u << i) {
            left |= others || s->heap[i].count == s->heap[i].capacity ? 1u << i : 0;
            remove_from_heap(s, slot, i);
            left_heap(s, slot, i);
        }
    for (uint32_t i = 0; i < s->n_heaps; i++)
        if (left & 1u << i)
            fill_up(s, i);
}

void selector_leave_heaps(struct fis_selector *s, struct entry *entry)
{
    if (fis_is_held(entry->r.state))
        leave_heaps(s, known_slot(&s->known, entry->slot));
}

static int check_scores(const float *scores, uint32_t n, const struct fis_id *id,
                        struct fis_error *e)
{
    for (uint32_t i = 0; i < n; i++)
        if (!(scores[i] < INFINITY))
            return fis_refuse(e, FIS_CODE_NOT_FINITE,
                              "candidate %.*s: score %u is %s; a finite number is needed",
                              (int)id->length, id->bytes, i, isnan(scores[i]) ? "NaN" : "infinite");
    return 0;
}

static int check_features(const struct fis_candidate *c, uint32_t d, struct fis_error *e)
{
    for (uint32_t i = 0; i < d; i++)
        if (!isfinite(c->x[i]))
            return fis_refuse(e, FIS_CODE_NOT_FINITE, "candidate %.*s: feature %u is not finite",
                              (int)c->id.length, c->id.bytes, i);
    return 0;
}

struct entry *selector_entry(struct fis_selector *s, const struct fis_candidate *c, bool with_slot,
                             struct fis_error *e)
{
    struct entry *entry = known_find(&s->known, &c->id);
    bool is_new = !entry || (with_slot && entry->slot == NO_SLOT);
    uint64_t features =
        s->o.distinct && is_new && c->x ? fis_features_hash(c->x, s->o.d - s->o.margins) : 0;
    if (features && with_slot && !alike_make(s, features)) {
        fis_fail(e, FIS_NOMEM, "selector: no memory for another candidate");
        return NULL;
    }
    if (!entry)
        entry = known_add(&s->known, c, with_slot, e);
    else if (is_new && known_give_slot(&s->known, entry, c, e) < 0)
        entry = NULL;
    if (entry && features)
        entry->features = features;
    return entry;
}

static bool admits(const struct fis_selector *s, const struct fis_candidate *c, uint32_t i)
{
    return c->scores[i] > FIS_NOT_A_CANDIDATE && fis_heap_admits(&s->heap[i], c->scores[i], &c->id);
}

/* Whether one of the heaps that admit it holds none, or a worse one, of the same features. */
static bool is_distinct(const struct fis_selector *s, const struct fis_candidate *c,
                        uint64_t features)
{
    for (uint32_t i = 0; i < s->n_heaps; i++) {
        const struct slot *same = same_in_heap(s, features, NO_SLOT, i);
        struct fis_heap_item item = {.score = c->scores[i], .id = &c->id}, other;
        if (same)
            other = item_of(same, i);
        if (admits(s, c, i) && (!same || fis_heap_compare(&item, &other) < 0))
            return true;
    }
    return false;
}

int fis_selector_offer(struct fis_selector *s, const struct fis_candidate *c, struct fis_error *e)
{
    int admitted = 0, r = check_scores(c->scores, s->n_heaps, &c->id, e);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < s->n_heaps; i++)
        admitted |= admits(s, c, i);
    struct entry *entry = admitted ? known_find(&s->known, &c->id) : NULL;
    if (PLANTED(no_dedup) && entry && fis_is_answered(entry->r.state))
        entry->r.state = FIS_NONE;
    if (!admitted || (entry && !request_may(entry->r.state, REQUEST_OFFER)))
        return 0;
    if ((r = check_features(c, s->o.d, e)) < 0)
        return r;
    if (s->o.distinct && !is_distinct(s, c, fis_features_hash(c->x, s->o.d - s->o.margins)))
        return 0;
    if (!(entry = selector_entry(s, c, true, e)))
        return -FIS_NOMEM;
    selector_move(s, entry, REQUEST_OFFER);
    offer_slot(s, known_slot(&s->known, entry->slot));
    return 1;
}

void fis_selector_floors(const struct fis_selector *s, float *scores)
{
    for (uint32_t i = 0; i < FIS_MAX_CRITERIA; i++) {
        const struct fis_heap *h = &s->heap[i];
        bool full = h->capacity && h->count == h->capacity;
        if (PLANTED(floor_too_high) && i < s->n_heaps)
            full = h->count > 0;
        scores[i] = full ? h->items[0].score : FIS_NOT_A_CANDIDATE;
    }
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
        s->ids[i] = &g->slot[i]->entry->r.id;
    }
    score(arg, s->x, s->ids, g->n, s->scores);
    int result = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        float *scores = s->scores + (size_t)i * FIS_MAX_CRITERIA;
        int r = check_scores(scores, s->n_heaps, s->ids[i], e);
        for (uint32_t j = 0; r < 0 && j < s->n_heaps; j++)
            scores[j] = FIS_NOT_A_CANDIDATE; /* it is dropped; the others keep their place */
        memcpy(g->slot[i]->scores, scores, sizeof g->slot[i]->scores);
        result = r < 0 ? r : result;
    }
    return result;
}

#define STAYS (1u << 31) /* not to be forgotten while the others are offered */

/* A record that one heap held may now be good enough for the other, so all are offered again. */
static void refill_heaps(struct fis_selector *s)
{
    struct entry *entry, *next;
    for (uint32_t i = 0; i < s->n_heaps; i++) {
        fis_heap_clear(&s->heap[i]);
        alike_clear(s, i);
    }
    HASH_ITER (hh, s->known.table, entry, next) {
        if (fis_is_held(entry->r.state)) {
            struct slot *slot = known_slot(&s->known, entry->slot);
            slot->heaps = STAYS;
            offer_slot(s, slot);
        }
    }
    HASH_ITER (hh, s->known.table, entry, next) {
        if (fis_is_held(entry->r.state)) {
            struct slot *slot = known_slot(&s->known, entry->slot);
            slot->heaps &= ~STAYS;
            if (slot->heaps == 0)
                selector_move(s, entry, REQUEST_EVICT);
        }
    }
}

int fis_selector_rescore(struct fis_selector *s, fis_rescore_fn *score, void *arg,
                         struct fis_error *e)
{
    struct gathered g = {0};
    int result = 0;
    for (struct entry *entry = s->known.table; entry; entry = entry->hh.next) {
        if (fis_is_held(entry->r.state))
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
