#include "fis/heap.h"

#include <math.h>

#include "fis/mem.h"

/* The worse of two stands nearer to the root. Four children lie side by side in a line of the
 * cache, as the root is the last of one: in a heap of tens of thousands levels are what it costs.
 */
#define CHILDREN 4
#define LEAD (CHILDREN - 1)

int fis_heap_init(struct fis_heap *h, uint32_t capacity, struct fis_error *e)
{
    if (capacity == 0)
        return fis_fail(e, FIS_INPUT, "heap: capacity is 0; at least 1 is needed");
    struct fis_heap_item *items = fis_alloc(capacity + (size_t)LEAD, sizeof *items);
    if (!items)
        return fis_fail(e, FIS_NOMEM, "heap: no memory for %u candidates", capacity);
    *h = (struct fis_heap){.items = items + LEAD, .capacity = capacity};
    return 0;
}

void fis_heap_done(struct fis_heap *h)
{
    if (h->items)
        fis_free(h->items - LEAD);
    *h = (struct fis_heap){0};
}

int fis_heap_compare(const struct fis_heap_item *a, const struct fis_heap_item *b)
{
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return fis_id_compare(a->id, b->id);
}

bool fis_heap_admits(const struct fis_heap *h, float score, const struct fis_id *id)
{
    if (isnan(score) || h->capacity == 0)
        return false;
    struct fis_heap_item item = {.score = score, .id = id};
    return h->count < h->capacity || fis_heap_compare(&item, &h->items[0]) < 0;
}

/* As fis_heap_compare, of scores that are numbers. */
static inline bool worse(const struct fis_heap_item *a, const struct fis_heap_item *b)
{
    return a->score != b->score ? a->score < b->score : fis_id_compare(a->id, b->id) > 0;
}

static uint32_t sift_up(struct fis_heap *h, uint32_t i)
{
    struct fis_heap_item item = h->items[i];
    while (i > 0 && worse(&item, &h->items[(i - 1) / CHILDREN])) {
        h->items[i] = h->items[(i - 1) / CHILDREN];
        i = (i - 1) / CHILDREN;
    }
    h->items[i] = item;
    return i;
}

static void sift_down(struct fis_heap *h, uint32_t i)
{
    struct fis_heap_item item = h->items[i];
    for (;;) {
        uint64_t first = CHILDREN * (uint64_t)i + 1;
        uint64_t end = first + CHILDREN < h->count ? first + CHILDREN : h->count;
        if (first >= h->count)
            break;
        uint32_t worst = (uint32_t)first;
        for (uint32_t child = worst + 1; child < end; child++)
            if (worse(&h->items[child], &h->items[worst]))
                worst = child;
        if (!worse(&h->items[worst], &item))
            break;
        h->items[i] = h->items[worst];
        i = worst;
    }
    h->items[i] = item;
}

void fis_heap_replace(struct fis_heap *h, struct fis_heap_item item)
{
    h->items[0] = item;
    sift_down(h, 0);
}

enum fis_heap_result fis_heap_offer(struct fis_heap *h, struct fis_heap_item item,
                                    struct fis_heap_item *evicted)
{
    if (!fis_heap_admits(h, item.score, item.id))
        return FIS_HEAP_REFUSED;
    if (h->count < h->capacity) {
        h->items[h->count] = item;
        sift_up(h, h->count++);
        return FIS_HEAP_ADDED;
    }
    *evicted = h->items[0];
    fis_heap_replace(h, item);
    return FIS_HEAP_REPLACED;
}

int fis_heap_best(const struct fis_heap *h)
{
    if (h->count == 0)
        return -1;
    uint32_t best = 0;
    for (uint32_t i = 1; i < h->count; i++)
        if (fis_heap_compare(&h->items[i], &h->items[best]) < 0)
            best = i;
    return (int)best;
}

void fis_heap_remove(struct fis_heap *h, uint32_t index)
{
    if (index >= h->count)
        return;
    h->items[index] = h->items[--h->count];
    if (index < h->count)
        sift_down(h, sift_up(h, index));
}

void fis_heap_clear(struct fis_heap *h)
{
    h->count = 0;
}
