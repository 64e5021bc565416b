/*
 * A bounded heap that keeps the best `capacity` of what it is offered, under a total order:
 * higher score first, then the smaller id. What it holds is therefore a function of the set of
 * offers alone, not of their order. A NaN score is refused.
 *
 * Items carry a slot number of the caller's; the ids are the caller's too, and must stay put
 * while in the heap. Thread: one owner.
 */
#ifndef FIS_HEAP_H
#define FIS_HEAP_H

#include <stdbool.h>

#include "fis/error.h"
#include "fis/id.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fis_heap_item {
    float score;
    uint32_t slot;
    const struct fis_id *id;
};

struct fis_heap {
    struct fis_heap_item *items; /* a heap, the worst kept one at the root */
    uint32_t count, capacity;
};

int fis_heap_init(struct fis_heap *h, uint32_t capacity, struct fis_error *e) FIS_MUST_CHECK;
void fis_heap_done(struct fis_heap *h);

/* < 0 when a comes before (is better than) b. */
int fis_heap_compare(const struct fis_heap_item *a, const struct fis_heap_item *b);
/* Would an item of this score and id be kept? */
bool fis_heap_admits(const struct fis_heap *h, float score, const struct fis_id *id);

enum fis_heap_result { FIS_HEAP_REFUSED, FIS_HEAP_ADDED, FIS_HEAP_REPLACED };
/* On REPLACED *evicted is the item that had to go. */
enum fis_heap_result fis_heap_offer(struct fis_heap *h, struct fis_heap_item item,
                                    struct fis_heap_item *evicted);
/* The worst item goes, and this one comes, whichever is better. There must be one. */
void fis_heap_replace(struct fis_heap *h, struct fis_heap_item item);
/* The best item's index, or -1 when empty: O(n). fis_heap_remove: O(log n). */
int fis_heap_best(const struct fis_heap *h);
void fis_heap_remove(struct fis_heap *h, uint32_t index);
void fis_heap_clear(struct fis_heap *h);

#ifdef __cplusplus
}
#endif

#endif
