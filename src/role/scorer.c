#include "role/scorer.h"

#include <assert.h>
#include <string.h>

enum slot_state { SLOT_FREE, SLOT_SCORING, SLOT_OFFERS, SLOT_PROGRESS, SLOT_SETTLED };

struct slot {
    enum slot_state state;
    uint32_t unacked;
    int commit;     /* 0 once its partitions were taken away */
    uint64_t order; /* of reading */
    struct wire_progress progress;
};

struct scorer {
    struct scorer_options o;
    struct scorer_out out;
    struct slot slots[SCORER_MAX_SLOTS];
    struct fis_heap heaps[FIS_MAX_CRITERIA];
    struct fis_id *ids[FIS_MAX_CRITERIA]; /* [heap] ids of what a heap holds, by slot */
    uint64_t *hashes[FIS_MAX_CRITERIA];   /* [heap] of those ids; 0: the slot is not in use */
    uint32_t criteria;
    uint64_t head_version, next_order;
    int have_head, stopping;
    struct scorer_counts counts;
};

struct scorer *scorer_new(const struct scorer_options *o, const struct scorer_out *out,
                          struct fis_error *e)
{
    assert(o->slots >= 1 && o->slots <= SCORER_MAX_SLOTS && o->heap > 0);
    struct scorer *m = fis_calloc(1, sizeof *m);
    if (!m)
        goto nomem;
    m->o = *o;
    m->out = *out;
    m->criteria = fis_criteria_count(o->criteria.algorithm);
    for (uint32_t c = 0; c < m->criteria; c++) {
        m->ids[c] = fis_calloc(o->heap, sizeof **m->ids);
        m->hashes[c] = fis_calloc(o->heap, sizeof **m->hashes);
        if (!m->ids[c] || !m->hashes[c] || fis_heap_init(&m->heaps[c], o->heap, e) < 0)
            goto nomem;
    }
    return m;
nomem:
    scorer_free(m);
    fis_fail(e, FIS_NOMEM, "scorer: no memory for heaps of %u records", o->heap);
    return NULL;
}

void scorer_free(struct scorer *m)
{
    if (!m)
        return;
    for (uint32_t c = 0; c < FIS_MAX_CRITERIA; c++) {
        fis_heap_done(&m->heaps[c]);
        fis_free(m->ids[c]);
        fis_free(m->hashes[c]);
    }
    fis_free(m);
}

int scorer_free_slot(const struct scorer *m)
{
    if (!m->have_head || m->stopping)
        return -1;
    for (uint32_t i = 0; i < m->o.slots; i++)
        if (m->slots[i].state == SLOT_FREE)
            return (int)i;
    return -1;
}

void scorer_batch(struct scorer *m, uint32_t slot)
{
    struct slot *s = &m->slots[slot];
    assert(s->state == SLOT_FREE && m->have_head);
    *s = (struct slot){.state = SLOT_SCORING, .commit = 1, .order = m->next_order++};
    m->out.score(m->out.ctx, slot);
}

/* Records come twice (redelivery, a hot id): a second place in the heap would push others out. A
 * scan will do, since admissions are rare: about r ln(N/r) in N records. */
static int holds(const struct scorer *m, uint32_t c, uint64_t hash, const struct fis_id *id)
{
    for (uint32_t i = 0; i < m->o.heap; i++)
        if (m->hashes[c][i] == hash && fis_id_compare(&m->ids[c][i], id) == 0)
            return 1;
    return 0;
}

/* Whether this scorer's own best of the criterion take the record in; they remember its id. */
static int admit(struct scorer *m, uint32_t c, float score, const struct fis_id *id)
{
    struct fis_heap *h = &m->heaps[c];
    if (!fis_heap_admits(h, score, id))
        return 0;
    uint64_t hash = fis_id_hash(id, 0) | 1;
    if (holds(m, c, hash, id))
        return 1; /* offered again, with what it is now; the trainer drops duplicates */
    uint32_t place = h->count;
    if (h->count == h->capacity) {
        place = h->items[0].slot;
        fis_heap_remove(h, 0);
    }
    m->ids[c][place] = *id;
    m->hashes[c][place] = hash;
    struct fis_heap_item item = {.score = score, .slot = place, .id = &m->ids[c][place]}, out;
    return fis_heap_offer(h, item, &out) != FIS_HEAP_REFUSED;
}

static void offer_row(struct scorer *m, uint32_t slot, const struct scoring_batch *b, uint32_t i)
{
    const float *scores = b->scores + (size_t)b->row[i] * FIS_MAX_CRITERIA;
    int wanted = 0;
    for (uint32_t c = 0; c < m->criteria; c++)
        if (scores[c] > FIS_NOT_A_CANDIDATE)
            wanted |= admit(m, c, scores[c], &b->records[i].id);
    if (wanted) {
        m->slots[slot].unacked++;
        m->counts.offered++;
        m->out.offer(m->out.ctx, slot, i);
    }
}

static void settle(struct scorer *m);

void scorer_scored(struct scorer *m, uint32_t slot, struct scoring_batch *b)
{
    struct slot *s = &m->slots[slot];
    assert(s->state == SLOT_SCORING);
    if (b->head_version != m->head_version) {
        m->out.score(m->out.ctx, slot);
        return;
    }
    s->state = SLOT_OFFERS;
    s->unacked = 1; /* held by this loop, so that no ack can settle the slot early */
    s->progress = (struct wire_progress){.scorer = m->o.name, .head_version = b->head_version};
    for (uint32_t i = 0; i < b->n; i++) {
        if (b->status[i] == WIRE_OK) {
            s->progress.records++;
            m->counts.unseen += b->records[i].unseen;
            offer_row(m, slot, b, i);
        } else if (b->status[i] == WIRE_TOMBSTONE) {
            s->progress.tombstones++;
        } else {
            s->progress.refused++;
            s->unacked++;
            m->out.refuse(m->out.ctx, slot, i);
        }
    }
    m->counts.records += s->progress.records;
    m->counts.refused += s->progress.refused;
    m->counts.tombstones += s->progress.tombstones;
    scorer_acked(m, slot);
}

void scorer_acked(struct scorer *m, uint32_t slot)
{
    struct slot *s = &m->slots[slot];
    assert((s->state == SLOT_OFFERS || s->state == SLOT_PROGRESS) && s->unacked > 0);
    if (--s->unacked)
        return;
    if (s->state == SLOT_OFFERS) {
        s->state = SLOT_PROGRESS;
        s->unacked = 1;
        m->out.progress(m->out.ctx, slot, &s->progress);
    } else {
        s->state = SLOT_SETTLED;
        settle(m);
    }
}

/* Releases settled slots in the order of reading: offsets must not overtake each other. */
static void settle(struct scorer *m)
{
    for (;;) {
        int oldest = -1;
        for (uint32_t i = 0; i < m->o.slots; i++)
            if (m->slots[i].state != SLOT_FREE &&
                (oldest < 0 || m->slots[i].order < m->slots[oldest].order))
                oldest = (int)i;
        if (oldest < 0 || m->slots[oldest].state != SLOT_SETTLED)
            return;
        m->slots[oldest].state = SLOT_FREE;
        m->out.release(m->out.ctx, (uint32_t)oldest, m->slots[oldest].commit);
    }
}

void scorer_head(struct scorer *m, uint64_t version)
{
    m->head_version = version;
    m->have_head = 1;
    m->counts.heads++;
    for (uint32_t c = 0; c < m->criteria; c++) {
        fis_heap_clear(&m->heaps[c]);
        memset(m->hashes[c], 0, m->o.heap * sizeof **m->hashes);
    }
}

void scorer_revoked(struct scorer *m)
{
    for (uint32_t i = 0; i < m->o.slots; i++)
        m->slots[i].commit = 0;
}

void scorer_stop(struct scorer *m)
{
    m->stopping = 1;
}

int scorer_idle(const struct scorer *m)
{
    for (uint32_t i = 0; i < m->o.slots; i++)
        if (m->slots[i].state != SLOT_FREE)
            return 0;
    return 1;
}

const struct scorer_counts *scorer_counts(const struct scorer *m)
{
    return &m->counts;
}
