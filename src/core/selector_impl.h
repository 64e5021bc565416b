/* The inside of struct fis_selector, shared by the files that implement it. */
#ifndef CORE_SELECTOR_STATE_H
#define CORE_SELECTOR_STATE_H

#include "core/selector_known.h"

/* Candidates rescored at a time: enough rows for a GEMM, few enough to stay in cache. */
#define RESCORE_ROWS 256u

struct fis_selector {
    struct fis_selector_options o;
    uint32_t n_heaps;
    struct fis_heap heap[FIS_MAX_CRITERIA];
    struct known known;
    uint32_t held, open;
    uint64_t answered, withdrawn, charged, allowance, round;
    uint32_t round_asked, round_answered, round_by[FIS_MAX_CRITERIA];
    int restores_earlier; /* what is restored has no place in the current round */
    /* Work space of rescore. */
    float *x, *scores;
    const struct fis_id **ids;
};

void selector_fill(const struct fis_selector *s, const struct entry *entry,
                   struct fis_candidate *c);
/* The entry of this id, made when there is none; with_slot: with features (those it has already, or
 * else the candidate's). NULL: no memory, and nothing is changed. */
struct entry *selector_entry(struct fis_selector *s, const struct fis_candidate *c, int with_slot,
                             struct fis_error *e);
/* Held or gone becomes neither, and there is nothing to tell: what comes next is told under the
 * same id. The slot stays. */
void selector_let_go(struct fis_selector *s, struct entry *entry);

void selector_count_request(struct fis_selector *s, struct entry *entry, uint32_t criterion,
                            int placed);
/* Of an entry that is open or withdrawn. */
void selector_count_answer(struct fis_selector *s, struct entry *entry, uint32_t label, int placed);
void selector_count_withdrawal(struct fis_selector *s, struct entry *entry, int refund);

#endif
