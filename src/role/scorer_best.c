/* The best r of each criterion since the last head: the thresholds that hold most records back. */
#include <math.h>
#include <string.h>

#include "base/planted.h"
#include "role/scorer_impl.h"

/* Of most ids. Those of a large heap are looked at here and there, and should lie close. */
#define SHORT_ID 32u

int scorer_best_init(struct scorer *m, struct fis_error *e)
{
    size_t size = 16;
    while (size < 2 * (size_t)m->o.heap)
        size *= 2;
    m->criteria = fis_criteria_count(m->o.criteria.acquisition);
    m->index_mask = (uint32_t)(size - 1);
    for (uint32_t c = 0; c < m->criteria; c++) {
        m->floors[c] = FIS_NOT_A_CANDIDATE;
        m->stride[c] = SHORT_ID;
        m->ids[c] = fis_calloc(m->o.heap, SHORT_ID);
        m->hashes[c] = fis_calloc(m->o.heap, sizeof **m->hashes);
        m->index[c] = fis_calloc(size, sizeof **m->index);
        if (!m->ids[c] || !m->hashes[c] || !m->index[c] ||
            fis_heap_init(&m->heaps[c], m->o.heap, e) < 0)
            return fis_fail(e, FIS_NOMEM, "scorer: no memory for heaps of %u records", m->o.heap);
    }
    return 0;
}

void scorer_best_done(struct scorer *m)
{
    for (uint32_t c = 0; c < FIS_MAX_CRITERIA; c++) {
        fis_heap_done(&m->heaps[c]);
        fis_free(m->ids[c]);
        fis_free(m->hashes[c]);
        fis_free(m->index[c]);
    }
}

void scorer_best_clear(struct scorer *m)
{
    for (uint32_t c = 0; c < m->criteria; c++) {
        if (!PLANTED(floor_kept))
            m->floors[c] = FIS_NOT_A_CANDIDATE;
        fis_heap_clear(&m->heaps[c]);
        memset(m->index[c], 0, (m->index_mask + (size_t)1) * sizeof **m->index);
    }
}

/* ---- ids that a heap holds ------------------------------------------------------------------
 * Records come twice (redelivery, a hot id): a second place in the heap would push others out. The
 * index is a table of slots + 1 by the ids' hashes, 0 where there is none; what does not find its
 * place free lies behind it. */

static struct fis_id *id_at(const struct scorer *m, uint32_t c, uint32_t slot)
{
    return (void *)(m->ids[c] + (size_t)slot * m->stride[c]);
}

/* Makes the slots wider when the id needs it; 0: there is no memory. */
static int room_for(struct scorer *m, uint32_t c, const struct fis_id *id)
{
    uint32_t old = m->stride[c], wide = old;
    while (wide < 1u + id->length)
        wide *= 2;
    if (wide == old)
        return 1;
    char *ids = fis_calloc(m->o.heap, wide), *from = m->ids[c];
    if (!ids)
        return 0;
    for (uint32_t slot = 0; slot < m->o.heap; slot++)
        memcpy(ids + (size_t)slot * wide, from + (size_t)slot * old, old);
    m->ids[c] = ids;
    m->stride[c] = wide;
    for (uint32_t i = 0; i < m->heaps[c].count; i++)
        m->heaps[c].items[i].id = id_at(m, c, m->heaps[c].items[i].slot);
    fis_free(from);
    return 1;
}

static bool holds(const struct scorer *m, uint32_t c, uint64_t hash, const struct fis_id *id)
{
    const uint32_t *index = m->index[c];
    for (uint32_t at = (uint32_t)hash & m->index_mask; index[at]; at = (at + 1) & m->index_mask) {
        uint32_t slot = index[at] - 1;
        if (m->hashes[c][slot] == hash && fis_id_compare(id_at(m, c, slot), id) == 0)
            return true;
    }
    return false;
}

static void index_add(struct scorer *m, uint32_t c, uint32_t slot)
{
    uint32_t at = (uint32_t)m->hashes[c][slot] & m->index_mask;
    while (m->index[c][at])
        at = (at + 1) & m->index_mask;
    m->index[c][at] = slot + 1;
}

/* What lies behind a hole moves into it, unless it would then lie before its place. */
static void index_remove(struct scorer *m, uint32_t c, uint32_t slot)
{
    uint32_t *index = m->index[c], mask = m->index_mask;
    uint32_t hole = (uint32_t)m->hashes[c][slot] & mask;
    while (index[hole] != slot + 1)
        hole = (hole + 1) & mask;
    for (uint32_t at = (hole + 1) & mask; index[at]; at = (at + 1) & mask) {
        uint32_t home = (uint32_t)m->hashes[c][index[at] - 1] & mask;
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        index[hole] = index[at];
        hole = at;
    }
    index[hole] = 0;
}

/* ---- admission ------------------------------------------------------------------------------ */

/* Nearly all records end below it, once there is a threshold. */
static float floor_of(const struct scorer *m, uint32_t c)
{
    const struct fis_heap *h = &m->heaps[c];
    float own = h->count < h->capacity ? FIS_NOT_A_CANDIDATE : h->items[0].score;
    return own > m->floors[c] ? own : m->floors[c];
}

static bool admit(struct scorer *m, uint32_t c, float score, const struct fis_id *id)
{
    struct fis_heap *h = &m->heaps[c];
    if (score < floor_of(m, c) || !fis_heap_admits(h, score, id))
        return false;
    uint64_t hash = fis_id_hash(id, 0);
    /* Offered again, with what it is now: the trainer drops duplicates. */
    if (holds(m, c, hash, id) || !room_for(m, c, id))
        return true;
    int full = h->count == h->capacity;
    uint32_t place = full ? h->items[0].slot : h->count;
    if (full)
        index_remove(m, c, place);
    fis_id_set(id_at(m, c, place), id->bytes, id->length); /* no more of it than there is */
    m->hashes[c][place] = hash;
    index_add(m, c, place);
    struct fis_heap_item item = {.score = score, .slot = place, .id = id_at(m, c, place)}, none;
    if (full)
        fis_heap_replace(h, item);
    else
        fis_heap_offer(h, item, &none);
    return true;
}

void scorer_best_floors(const struct scorer *m, float *floors)
{
    for (uint32_t c = 0; c < FIS_MAX_CRITERIA; c++)
        floors[c] = c < m->criteria ? floor_of(m, c) : INFINITY;
}

int scorer_best_admit(struct scorer *m, const float *scores, const struct fis_id *id)
{
    int wanted = 0;
    for (uint32_t c = 0; c < m->criteria; c++)
        if (scores[c] > FIS_NOT_A_CANDIDATE)
            wanted |= admit(m, c, scores[c], id);
    return wanted;
}
