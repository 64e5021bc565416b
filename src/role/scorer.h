/*
 * The scorer, as a pure machine: which of the scored records to offer, when a batch may be
 * committed, when thresholds fall. No clock, no I/O: what it wants done goes out through the
 * functions of struct scorer_out, and what happened comes in through the functions below.
 *
 * A record is offered when it would enter this scorer's own best r (per criterion) since the last
 * head; so the union of all scorers' offers holds the best r of all, whatever the partitions and
 * batches. A batch is released for commit only when all that was sent for it is acknowledged, and
 * in the order in which batches were read: no record is skipped. Progress goes out after the
 * batch's offers are acknowledged, so that whoever counts records has their candidates too.
 *
 * Thread: the loop. Owns: its heaps.
 */
#ifndef ROLE_SCORER_H
#define ROLE_SCORER_H

#include "role/scoring.h"

#define SCORER_MAX_SLOTS 16

struct scorer_out {
    void *ctx;
    void (*score)(void *ctx, uint32_t slot);              /* run it; then scorer_scored */
    void (*offer)(void *ctx, uint32_t slot, uint32_t i);  /* send candidate i */
    void (*refuse)(void *ctx, uint32_t slot, uint32_t i); /* send i to dead-letter */
    void (*progress)(void *ctx, uint32_t slot, const struct wire_progress *p);
    void (*release)(void *ctx, uint32_t slot, int commit); /* the slot is free again */
};

struct scorer_options {
    struct fis_criteria criteria;
    uint32_t heap;  /* capacity of each criterion's heap: the trainer's */
    uint32_t slots; /* batches in flight, 1 .. SCORER_MAX_SLOTS */
    const char *name;
};

struct scorer_counts {
    uint64_t records, offered, refused, tombstones, unseen, heads;
};

struct scorer;
struct scorer *scorer_new(const struct scorer_options *o, const struct scorer_out *out,
                          struct fis_error *e);
void scorer_free(struct scorer *m);

/* A slot to read the next batch into, or -1: all in flight, no head yet, or stopping. */
int scorer_free_slot(const struct scorer *m);
/* The slot was filled with at least one message. */
void scorer_batch(struct scorer *m, uint32_t slot);
/* Scoring of the slot ended (under batch->head_version). */
void scorer_scored(struct scorer *m, uint32_t slot, struct scoring_batch *batch);
/* One message sent for the slot was acknowledged. */
void scorer_acked(struct scorer *m, uint32_t slot);
/* A new head is in force: thresholds fall; batches scored under an older one are scored again. */
void scorer_head(struct scorer *m, uint64_t version);
/* Partitions were taken away: what is in flight is finished but not committed; whoever owns them
 * now scores the records again, which is harmless. */
void scorer_revoked(struct scorer *m);
void scorer_stop(struct scorer *m);      /* no new batches */
int scorer_idle(const struct scorer *m); /* nothing in flight */
const struct scorer_counts *scorer_counts(const struct scorer *m);

#endif
