/*
 * Scorers and a broker in a small: partitions of records, a group whose partitions move, scorers
 * that crash, what they send arriving late or not at all, and one reader of the one partition of
 * candidates with a selector, which counts as the trainer does. Everything by a seed.
 */
#ifndef TESTS_KIT_ROLE_SCORER_WORLD_H
#define TESTS_KIT_ROLE_SCORER_WORLD_H

#include "kit/cmocka.h"
#include "role/scorer.h"
#include "wire/ledger.h"

enum {
    PARTITIONS = 3,
    LENGTH = 160, /* offsets of a partition at most */
    IDS = 400,
    R = 10, /* labels of a round */
    NODES = 4,
    SLOTS = 3,
    BATCH = 60,
    SENT = 1024,
    HEADS = 8,
    LEDGER = 256
};
enum kind { RECORD, BAD, TOMBSTONE, GAP };

struct sent {
    enum { OFFER, REFUSE, PROGRESS } kind;
    uint32_t slot, number;
    int32_t partition; /* REFUSE: where it lies */
    int64_t offset;
    uint64_t head;
    struct wire_progress progress;
};

struct node {
    struct scorers *w;
    struct scorer *m;
    struct scoring_batch b[SLOTS];
    struct wire_message messages[SLOTS][BATCH];
    enum wire_decoded status[SLOTS][BATCH];
    struct wire_record record[SLOTS][BATCH], *records[SLOTS][BATCH];
    struct fis_error errors[SLOTS][BATCH];
    uint32_t row[SLOTS][BATCH];
    float scores[SLOTS][BATCH][FIS_MAX_CRITERIA];
    int scoring[SLOTS];
    float floors[SLOTS][FIS_MAX_CRITERIA];
    struct sent sent[SENT];           /* a ring: */
    uint64_t acked, appended, queued; /* acked <= appended <= queued */
    int owns[PARTITIONS];             /* as it believes */
    int paused[PARTITIONS];
    int64_t position[PARTITIONS];
    uint32_t heads_seen, ledger_seen;
};

struct scorers {
    struct fis_rng rng;
    int pool, faults;
    enum kind kind[PARTITIONS][LENGTH];
    uint32_t number[PARTITIONS][LENGTH];
    int64_t high[PARTITIONS], committed[PARTITIONS];
    struct node *owner[PARTITIONS];
    struct node nodes[NODES];
    uint32_t n_nodes;
    struct wire_head heads[HEADS];
    struct wire_pool_end ends[HEADS][PARTITIONS];
    uint32_t n_heads;
    struct {
        struct byte_buffer key, value;
    } ledger[LEDGER];
    uint32_t n_ledger;
    /* The reader */
    struct fis_selector *selector;
    struct wire_floors floors; /* as they were when somebody heard of them last */
    int64_t counted[PARTITIONS];
    uint64_t records;
    unsigned char handled[PARTITIONS][LENGTH], dead[PARTITIONS][LENGTH];
    int done[PARTITIONS], asked[IDS];
    uint64_t crashes, moves, lost, floors_heard;
};

uint32_t scorers_below(struct scorers *w, uint32_t n);

void scorers_id(uint32_t number, struct fis_id *id);

/* Few values, so many ties; every fifth is no candidate of the first criterion. */
void scorers_scores(uint32_t number, uint64_t head, float *scores);

struct wire_head *scorers_head(struct scorers *w);

void scorers_step(struct scorers *w);

void scorers_open(struct scorers *w, uint64_t seed, int pool);

void scorers_close(struct scorers *w);

/* Everything before the ends was handled, and what was refused is in dead-letter. */
void scorers_assert_handled(struct scorers *w, int64_t (*end_of)(struct scorers *, int));

/* Asks for a round and holds it to what one selector asks that was offered every record. */
void scorers_compare(struct scorers *w, int64_t (*end_of)(struct scorers *, int));

#endif
