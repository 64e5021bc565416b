/* The inside of struct fis_selector, shared by the files that implement it. */
#ifndef CORE_SELECTOR_IMPL_H
#define CORE_SELECTOR_IMPL_H

#include "core/selector_records.h"

/* Candidates rescored at a time: enough rows for a GEMM, few enough to stay in cache. */
#define RESCORE_ROWS 256u

/* Candidates with equal features (selector_alike.c), while there is one or the round lasts. */
struct alike {
    UT_hash_handle hh;
    uint64_t features, asked;        /* asked: 1 + the last round in which one was asked for */
    uint32_t held;                   /* of them */
    uint32_t slot[FIS_MAX_CRITERIA]; /* that a heap holds; NO_SLOT */
};

struct fis_selector {
    struct fis_selector_options o;
    uint32_t n_heaps;
    struct fis_heap heap[FIS_MAX_CRITERIA];
    struct known known;
    struct alike *alike;     /* with distinct; by features */
    uint32_t waiting;        /* held ones that wait for the next round */
    uint64_t counts[COUNTS]; /* of records, by their state */
    uint64_t charged, allowance, clock_ms;
    uint32_t only; /* criterion, from 1; 0: all */
    uint32_t round, round_asked, round_answered, round_by[FIS_MAX_CRITERIA];
    /* Work space of rescore. */
    float *x, *scores;
    const struct fis_id **ids;
};

void selector_fill(const struct fis_selector *s, const struct entry *entry,
                   struct fis_candidate *c);
/* The entry of this id, made when there is none; with_slot: with features (those it has already, or
 * else the candidate's). NULL: no memory, and nothing is changed. */
struct entry *selector_entry(struct fis_selector *s, const struct fis_candidate *c, bool with_slot,
                             struct fis_error *e);
/* Its state becomes what the table says, and counts, lists, places and slots follow. An entry that
 * is in no state then is removed. */
void selector_move(struct fis_selector *s, struct entry *entry, enum request_event event);
/* It is asked for in `round`: out of the heaps, and open. */
void selector_open(struct fis_selector *s, struct entry *entry, uint32_t criterion, uint32_t round,
                   uint64_t asked_at_ms);
void selector_answer(struct fis_selector *s, struct entry *entry, uint32_t class_index, bool kept,
                     uint32_t round);
void selector_leave_heaps(struct fis_selector *s, struct entry *entry);

/* selector_alike.c; nothing happens, and nothing is found, where features are 0. */
struct alike *alike_find(const struct fis_selector *s, uint64_t features);
struct alike *alike_make(struct fis_selector *s, uint64_t features); /* NULL: no memory */
/* Whether one with its features was asked for in this round. */
bool alike_waits(const struct fis_selector *s, const struct entry *entry);
void alike_hold(struct fis_selector *s, const struct entry *entry, bool held);
void alike_ask(struct fis_selector *s, const struct entry *entry, uint32_t round);
void alike_round(struct fis_selector *s); /* s->round has changed */
void alike_clear(struct fis_selector *s, uint32_t heap);
void alike_done(struct fis_selector *s);

#endif
