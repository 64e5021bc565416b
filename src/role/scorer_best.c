/* The best r of each criterion since the last head: the thresholds that hold most records back. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/planted.h"
#include "role/scorer_impl.h"

/* Of most ids. Those of a large heap are looked at here and there, and should lie close. */
#define SHORT_ID 32u
#define NO_SLOT UINT32_MAX

static int indexes(const struct scorer *m)
{
    return m->selection.distinct ? SCORER_INDEXES : SCORER_BY_FEATURES;
}

void scorer_best_done(struct scorer *m)
{
    for (uint32_t c = 0; c < FIS_MAX_CRITERIA; c++) {
        fis_heap_done(&m->heaps[c]);
        fis_free(m->ids[c]);
        m->ids[c] = NULL;
        for (int k = 0; k < SCORER_INDEXES; k++) {
            fis_free(m->hashes[k][c]);
            fis_free(m->index[k][c]);
            m->hashes[k][c] = NULL;
            m->index[k][c] = NULL;
        }
    }
}

static int make_room(struct scorer *m, struct fis_error *e)
{
    const uint32_t heap = m->selection.heap;
    size_t size = 16;
    while (size < 2 * (size_t)heap)
        size *= 2;
    m->index_mask = (uint32_t)(size - 1);
    for (uint32_t c = 0; c < m->criteria; c++) {
        m->stride[c] = SHORT_ID;
        m->ids[c] = fis_calloc(heap, SHORT_ID);
        bool ok = m->ids[c] && fis_heap_init(&m->heaps[c], heap, e) == 0;
        for (int k = 0; ok && k < indexes(m); k++) {
            m->hashes[k][c] = fis_calloc(heap, sizeof **m->hashes[k]);
            m->index[k][c] = fis_calloc(size, sizeof **m->index[k]);
            ok = m->hashes[k][c] && m->index[k][c];
        }
        if (!ok) {
            scorer_best_done(m);
            m->selection.heap = 0;
            return fis_fail(e, FIS_NOMEM, "scorer: no memory for heaps of %u records", heap);
        }
    }
    return 0;
}

static void clear(struct scorer *m)
{
    for (uint32_t c = 0; c < m->criteria; c++) {
        fis_heap_clear(&m->heaps[c]);
        for (int k = 0; k < indexes(m); k++)
            memset(m->index[k][c], 0, (m->index_mask + (size_t)1) * sizeof **m->index[k]);
    }
}

int scorer_best_begin(struct scorer *m, const struct wire_selection *s, struct fis_error *e)
{
    const bool first = !m->selection.heap;
    const bool other = s->heap != m->selection.heap || s->distinct != m->selection.distinct;
    assert(s->heap > 0);
    m->criteria = fis_criteria_count(m->o.criteria.acquisition);
    for (uint32_t c = 0; c < m->criteria; c++)
        if (first || !PLANTED(floor_kept))
            m->floors[c] = FIS_NOT_A_CANDIDATE;
    m->selection = *s;
    if (!other) {
        clear(m);
        return 0;
    }
    scorer_best_done(m);
    return make_room(m, e);
}

/* ---- ids and features that a heap holds ------------------------------------------------------
 * Records come twice (redelivery, a hot id), and others have the same features: a second place in
 * the heap would push others out. An index is a table of slots + 1 by the hashes of ids or
 * features, 0 where there is none; what does not find its place free lies behind it. */

static struct fis_id *id_at(const struct scorer *m, uint32_t c, uint32_t slot)
{
    return (void *)(m->ids[c] + (size_t)slot * m->stride[c]);
}

/* Makes the slots wider when the id needs it; 0: there is no memory. */
static bool room_for(struct scorer *m, uint32_t c, const struct fis_id *id)
{
    uint32_t old = m->stride[c], wide = old;
    while (wide < 1u + id->length)
        wide *= 2;
    if (wide == old)
        return true;
    char *ids = fis_calloc(m->selection.heap, wide), *from = m->ids[c];
    if (!ids)
        return false;
    for (uint32_t slot = 0; slot < m->selection.heap; slot++)
        memcpy(ids + (size_t)slot * wide, from + (size_t)slot * old, old);
    m->ids[c] = ids;
    m->stride[c] = wide;
    for (uint32_t i = 0; i < m->heaps[c].count; i++)
        m->heaps[c].items[i].id = id_at(m, c, m->heaps[c].items[i].slot);
    fis_free(from);
    return true;
}

/* The slot of this id, or of these features (id NULL); NO_SLOT. */
static uint32_t find(const struct scorer *m, int k, uint32_t c, uint64_t hash,
                     const struct fis_id *id)
{
    const uint32_t *index = m->index[k][c];
    for (uint32_t at = (uint32_t)hash & m->index_mask; index[at]; at = (at + 1) & m->index_mask) {
        uint32_t slot = index[at] - 1;
        if (m->hashes[k][c][slot] == hash && (!id || fis_id_compare(id_at(m, c, slot), id) == 0))
            return slot;
    }
    return NO_SLOT;
}

static void index_add(struct scorer *m, int k, uint32_t c, uint32_t slot)
{
    uint32_t at = (uint32_t)m->hashes[k][c][slot] & m->index_mask;
    while (m->index[k][c][at])
        at = (at + 1) & m->index_mask;
    m->index[k][c][at] = slot + 1;
}

/* What lies behind a hole moves into it, unless it would then lie before its place. */
static void index_remove(struct scorer *m, int k, uint32_t c, uint32_t slot)
{
    uint32_t *index = m->index[k][c], mask = m->index_mask;
    uint32_t hole = (uint32_t)m->hashes[k][c][slot] & mask;
    while (index[hole] != slot + 1)
        hole = (hole + 1) & mask;
    for (uint32_t at = (hole + 1) & mask; index[at]; at = (at + 1) & mask) {
        uint32_t home = (uint32_t)m->hashes[k][c][index[at] - 1] & mask;
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

/* Equal features are few: the place in the heap is looked for. */
static uint32_t place_of(const struct fis_heap *h, uint32_t slot)
{
    uint32_t i = 0;
    while (h->items[i].slot != slot)
        i++;
    return i;
}

static bool admit(struct scorer *m, uint32_t c, float score, const struct fis_id *id,
                  uint64_t features)
{
    struct fis_heap *h = &m->heaps[c];
    struct fis_heap_item item = {.score = score, .id = id}, none;
    uint64_t hashes[SCORER_INDEXES] = {fis_id_hash(id, 0), features};
    /* Offered again, with what it is now: the trainer drops duplicates. */
    if (find(m, SCORER_BY_ID, c, hashes[SCORER_BY_ID], id) != NO_SLOT)
        return true;
    uint32_t same = features ? find(m, SCORER_BY_FEATURES, c, features, NULL) : NO_SLOT;
    if (same != NO_SLOT && fis_heap_compare(&h->items[place_of(h, same)], &item) < 0)
        return false;
    if (!room_for(m, c, id))
        return true;
    bool worst = same == NO_SLOT && h->count == h->capacity;
    uint32_t place = worst ? h->items[0].slot : same == NO_SLOT ? h->count : same;
    for (int k = 0; k < indexes(m) && (worst || same != NO_SLOT); k++)
        index_remove(m, k, c, place);
    if (same != NO_SLOT)
        fis_heap_remove(h, place_of(h, same));
    fis_id_set(id_at(m, c, place), id->bytes, id->length); /* no more of it than there is */
    for (int k = 0; k < indexes(m); k++) {
        m->hashes[k][c][place] = hashes[k];
        index_add(m, k, c, place);
    }
    item.slot = place;
    item.id = id_at(m, c, place);
    if (worst)
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

static bool reaches(const struct scorer *m, uint32_t c, const float *scores,
                    const struct fis_id *id)
{
    return scores[c] > FIS_NOT_A_CANDIDATE && scores[c] >= floor_of(m, c) &&
           fis_heap_admits(&m->heaps[c], scores[c], id);
}

bool scorer_best_reaches(const struct scorer *m, const float *scores, const struct fis_id *id)
{
    bool any = false;
    for (uint32_t c = 0; c < m->criteria; c++)
        any |= reaches(m, c, scores, id);
    return any;
}

bool scorer_best_admit(struct scorer *m, const float *scores, const struct fis_id *id,
                       uint64_t features)
{
    bool admitted = false;
    for (uint32_t c = 0; c < m->criteria; c++)
        if (reaches(m, c, scores, id))
            admitted |= admit(m, c, scores[c], id, features);
    return admitted;
}
