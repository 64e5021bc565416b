/*
 * The scorer, as a pure machine: which of the scored records to offer, how far which partition may
 * be committed, when thresholds fall, how a scan of the pool goes. No clock, no I/O: what it needs
 * done goes out through the functions of struct scorer_out, and what happened comes in through the
 * functions below.
 *
 * A record is offered when it would enter this scorer's own best r (per criterion) since the last
 * head, and reaches what the trainer's best have reached by then, as far as that is known here; so
 * what the trainer holds and all scorers' offers together hold the best r of all, whatever the
 * partitions and batches, and whenever floors come. Progress goes out after the batch's candidates,
 * to the partition where they are and whose order the host keeps, and after its dead letters are
 * acknowledged; and in the order in which batches were read. So a trainer that counts records has
 * had their candidates and sees each partition's ranges in order. A partition's offsets are
 * released for commit when all of it is acknowledged, in the same order: no record is skipped. What
 * was read of a partition before it was taken away is finished but not committed; its next owner
 * scores it again, which is harmless.
 *
 * Stream mode: every record once. Pool mode: each scan that a head asks for goes through the whole
 * topic, from its beginning to the ends in the head; records that were asked for are left out, and
 * nothing is committed. A scan begins when the ledger was read up to a state that is as new as the
 * head, so that every id that was asked for is known. Between scans nothing is read.
 *
 * Thread: the loop. Owns: its heaps, the ids asked for.
 */
#ifndef ROLE_SCORER_H
#define ROLE_SCORER_H

#include "role/scoring.h"

#define SCORER_MAX_SLOTS 16
/* Of one progress message, but for one of each partition. */
#define SCORER_MAX_RANGES 1024u

/* A partition of the records was handled up to `next`. */
struct scorer_place {
    int32_t partition;
    int64_t next;
};

struct scorer_out {
    void *ctx;
    /* Run it, with the newest head and these floors [FIS_MAX_CRITERIA]; then scorer_scored. */
    void (*score)(void *ctx, uint32_t slot, const float *floors);
    void (*offer)(void *ctx, uint32_t slot, uint32_t i);  /* send candidate i */
    void (*refuse)(void *ctx, uint32_t slot, uint32_t i); /* send i to dead-letter */
    /* Send it; the ack's slot may be scorer_no_slot(m): of no batch. */
    void (*progress)(void *ctx, uint32_t slot, const struct wire_progress *p);
    /* Commit the places (none: n is 0); the slot is free again. */
    void (*release)(void *ctx, uint32_t slot, const struct scorer_place *places, uint32_t n);
    /* Pool mode only: */
    void (*rewind)(void *ctx);                    /* all owned partitions from their beginning */
    void (*enough)(void *ctx, int32_t partition); /* no more messages of it until a rewind */
};

struct scorer_options {
    struct fis_criteria criteria;
    uint32_t slots; /* batches in flight, 1 .. SCORER_MAX_SLOTS */
    uint32_t batch; /* messages in a batch at most */
    const char *name;
    bool pool;
    size_t ledger_bytes; /* pool mode: a message of the ledger at most */
};

struct scorer_counts {
    uint64_t records, offered, refused, tombstones, unseen, heads;
    uint64_t lost;  /* messages that fell off retention before they were read */
    uint64_t asked; /* records of a scan that were left out, as their label was asked for before */
    uint64_t scans;
};

struct scorer;
struct scorer *scorer_new(const struct scorer_options *o, const struct scorer_out *out,
                          struct fis_error *e);
void scorer_free(struct scorer *m);

/* A slot to read the next batch into, or -1: all in flight, no head yet, no scan, or stopping. */
int scorer_free_slot(const struct scorer *m);
/* Batches that were read and are not released yet. */
uint32_t scorer_under_way(const struct scorer *m);
/* The slot is being filled and holds b->messages[0 .. n) by now: to be called between reads, as a
 * read may take partitions away, and what was read before is then not to be committed. */
void scorer_reading(struct scorer *m, uint32_t slot, const struct scoring_batch *b);
/* The slot was filled with at least one message, and stays as it is until its release. */
void scorer_batch(struct scorer *m, uint32_t slot, const struct scoring_batch *b);
/* Scoring of the slot ended: the best of it wait for scorer_send. */
void scorer_scored(struct scorer *m, uint32_t slot, struct scoring_batch *b);
/* Sends at most so many messages of those that wait, and returns how many: fewer than `most` when
 * no more do. Other calls may come in between. */
uint32_t scorer_send(struct scorer *m, uint32_t most);
/* So many of what was sent for the slot (candidates, dead letters, progress) were acknowledged. */
void scorer_acked(struct scorer *m, uint32_t slot, uint32_t n);
uint32_t scorer_no_slot(const struct scorer *m);
/* A new head, with a known selection, is in force: thresholds fall, of as many records as the
 * trainer holds; batches scored under an older one are scored again. In pool mode its scan is
 * begun, gone on with or, when it has none, ended. NOMEM: it has to come again first. */
int scorer_head(struct scorer *m, const struct wire_head *head, struct fis_error *e) FIS_MUST_CHECK;
/* What the trainer's best are by now, under the newest head: what reaches no floor is not offered
 * from now on. Of another head: nothing happens. */
void scorer_floors(struct scorer *m, const struct wire_floors *f);
/* Partitions were taken away (revoked or lost). */
void scorer_revoked(struct scorer *m, const int32_t *partitions, uint32_t n);
/* A partition could not go on where it should have; reading goes on at `first`. lost: messages that
 * are gone unread. `recreated`: the topic may be a new one of the same name. The
 * next progress then has an empty range, [first, first), before the partition's: what was
 * counted of it says nothing any more. NOMEM: as if not reported. */
int scorer_reset(struct scorer *m, int32_t partition, int64_t first, uint64_t lost, int recreated,
                 struct fis_error *e) FIS_MUST_CHECK;
/* Pool mode: the end of a partition was reached, where the next message will have this offset. */
void scorer_end(struct scorer *m, int32_t partition, int64_t offset);
/* Pool mode: a message of the ledger, in order. INPUT: not understood, and passed over. NOMEM. */
int scorer_ledger(struct scorer *m, const struct wire_message *message,
                  struct fis_error *e) FIS_MUST_CHECK;

void scorer_stop(struct scorer *m);       /* no new batches */
bool scorer_idle(const struct scorer *m); /* nothing in flight */
const struct scorer_counts *scorer_counts(const struct scorer *m);

#endif
