/* The best r of each criterion since the last head: the thresholds that hold most records back. */
#include <string.h>

#include "role/scorer_impl.h"

int scorer_best_init(struct scorer *m, struct fis_error *e)
{
    m->criteria = fis_criteria_count(m->o.criteria.algorithm);
    for (uint32_t c = 0; c < m->criteria; c++) {
        m->ids[c] = fis_calloc(m->o.heap, sizeof **m->ids);
        m->hashes[c] = fis_calloc(m->o.heap, sizeof **m->hashes);
        if (!m->ids[c] || !m->hashes[c] || fis_heap_init(&m->heaps[c], m->o.heap, e) < 0)
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
    }
}

void scorer_best_clear(struct scorer *m)
{
    for (uint32_t c = 0; c < m->criteria; c++) {
        fis_heap_clear(&m->heaps[c]);
        memset(m->hashes[c], 0, m->o.heap * sizeof **m->hashes);
    }
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

int scorer_best_admit(struct scorer *m, const float *scores, const struct fis_id *id)
{
    int wanted = 0;
    for (uint32_t c = 0; c < m->criteria; c++)
        if (scores[c] > FIS_NOT_A_CANDIDATE)
            wanted |= admit(m, c, scores[c], id);
    return wanted;
}
