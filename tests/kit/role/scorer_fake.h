/* A scorer whose host keeps what it is given. */
#ifndef TEST_KIT_SCORER_FAKE_H
#define TEST_KIT_SCORER_FAKE_H

#include <math.h>

#include "kit/cmocka.h"
#include "role/scorer.h"

#define FAKE_RECORDS 2000

#define FAKE_R 20

struct fake {
    struct scorer *machine;
    struct scoring_batch *batch[SCORER_MAX_SLOTS];
    uint64_t scoring;               /* bit per slot that was asked to be scored */
    float floors[FIS_MAX_CRITERIA]; /* with the last of them */
    unsigned char offered[FAKE_RECORDS];
    uint32_t sent[SCORER_MAX_SLOTS]; /* not acknowledged */
    uint32_t progress_records, refused, n_progress, n_ranges;
    struct wire_range ranges[64]; /* of all progress, in order */
    int released[64], n_released;
    uint32_t n_committed[64]; /* places of each release */
    int64_t committed[4];     /* [partition] the last place */
};

void fake_new_head(struct fake *f, uint64_t version);

void fake_open(struct fake *f, const struct fis_acquisition *a, uint32_t slots);

void fake_close(struct fake *f);

/* A batch as scoring_run leaves it, with storage of its own. */
struct fake_batch {
    struct scoring_batch b;
    struct wire_message messages[FAKE_RECORDS];
    enum wire_decoded status[FAKE_RECORDS];
    struct wire_record record[FAKE_RECORDS], *records[FAKE_RECORDS];
    struct fis_error errors[FAKE_RECORDS];
    uint32_t row[FAKE_RECORDS];
    float scores[FAKE_RECORDS][FIS_MAX_CRITERIA];
};

void fake_batch(struct fake_batch *m, uint64_t head);

/* By entropy, a head in force, and a batch with nothing in it. */
void fake_begin(struct fake *f, uint32_t slots, struct fake_batch *m);

void fake_add(struct fake_batch *m, uint32_t number, float a, float b);

void fake_add_bad(struct fake_batch *m, enum wire_decoded status);

/* Messages [from, n) of the batch lie in the partition, from the offset on. */
void fake_place(struct fake_batch *m, uint32_t from, int32_t partition, int64_t offset);

void fake_ack_all(struct fake *f, uint32_t slot);

void fake_scored(struct fake *f, uint32_t slot, struct scoring_batch *b);

void fake_run(struct fake *f, struct fake_batch *m);

#endif
