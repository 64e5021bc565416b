/* A look at what the selector holds; nothing is changed by it. */
#include "core/selector_impl.h"

#define VIEW_MAX 256

/* Puts the item at its place among those found so far, when it is one of the best n. */
static uint32_t keep_best(const struct fis_heap_item **best, uint32_t found, uint32_t n,
                          const struct fis_heap_item *item)
{
    uint32_t at = found;
    while (at > 0 && fis_heap_compare(item, best[at - 1]) < 0)
        at--;
    if (at == n)
        return found;
    found += found < n;
    for (uint32_t i = found - 1; i > at; i--)
        best[i] = best[i - 1];
    best[at] = item;
    return found;
}

uint32_t fis_selector_heap(const struct fis_selector *s)
{
    return s->o.heap;
}

uint32_t fis_selector_best(const struct fis_selector *s, uint32_t criterion,
                           struct fis_candidate *out, uint32_t n)
{
    const struct fis_heap_item *best[VIEW_MAX];
    uint32_t found = 0;
    if (criterion >= s->n_heaps || n == 0)
        return 0;
    n = n < VIEW_MAX ? n : VIEW_MAX;
    const struct fis_heap *h = &s->heap[criterion];
    for (uint32_t i = 0; i < h->count; i++)
        found = keep_best(best, found, n, &h->items[i]);
    for (uint32_t i = 0; i < found; i++)
        selector_fill(s, known_slot(&s->known, best[i]->slot)->entry, &out[i]);
    return found;
}
