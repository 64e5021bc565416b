/* Inside the scorer: its state, shared by scorer.c (batches and their order), scorer_best.c (the
 * thresholds), scorer_range.c (partitions and progress) and scorer_scan.c (pool mode). */
#ifndef ROLE_SCORER_IMPL_H
#define ROLE_SCORER_IMPL_H

#include "role/asked.h"
#include "role/scorer.h"

enum slot_state {
    SLOT_FREE,
    SLOT_READING,
    SLOT_SCORING,
    SLOT_SENDS,    /* offers and dead letters go out, some at a time */
    SLOT_LETTERS,  /* all of them are out; the letters are waited for */
    SLOT_OFFERED,  /* progress waits for that of older batches */
    SLOT_PROGRESS, /* progress is out; what is out is waited for */
    SLOT_SETTLED   /* all is acknowledged; the release waits for that of older batches */
};

/* What a batch holds of one partition, read under one assignment of it. */
struct scorer_part {
    int32_t partition;
    bool commit;    /* 0 once the partition was taken away */
    bool recreated; /* it was recreated before its first message, */
    int64_t first; /* at this offset */
    int64_t next;
    uint32_t range; /* the last of its ranges; NO_RANGE: none yet */
};
#define NO_RANGE UINT32_MAX

struct slot {
    enum slot_state state;
    uint32_t unacked, letters; /* messages out; dead letters of the batch */
    uint64_t order;            /* of reading */
    uint64_t scan;             /* under which it was read; 0 in stream mode */
    uint32_t noted;            /* messages that parts know of */
    uint32_t n_parts, n_ranges, n_sends;
    uint32_t sent; /* of the sends, or passed over */
    uint64_t turn; /* of sending */
    const struct scoring_batch *batch;
    float floors[FIS_MAX_CRITERIA]; /* when the batch was admitted */
    struct scorer_part *parts;      /* [batch] */
    /* [2 * batch]: of each message, and of each that starts again */
    struct wire_range *ranges;
    uint32_t *sends; /* [batch] messages that are to be offered or refused */
    uint64_t head_version;
    uint64_t heads; /* of the machine's counts, when it was scored */
};

/* Pool mode: a partition of the current scan. */
struct scan_partition {
    int32_t partition;
    bool reached, reported; /* the end was read; progress says so, or will */
    int64_t end;           /* 0: nothing of it belongs to the scan */
    int64_t refused;       /* what is before this went to dead-letter in an earlier scan */
};

enum { SCORER_BY_ID, SCORER_BY_FEATURES, SCORER_INDEXES };

struct scorer {
    struct scorer_options o;
    struct scorer_out out;
    struct slot slots[SCORER_MAX_SLOTS];
    struct scorer_place *places;    /* [batch], work for a release */
    struct scorer_place *recreated; /* recreated partitions without a message since */
    uint32_t n_recreated;
    struct wire_selection selection; /* of the newest head */
    struct fis_heap heaps[FIS_MAX_CRITERIA];
    char *ids[FIS_MAX_CRITERIA]; /* [heap][stride] ids of what a heap holds, by slot, each … */
    uint32_t stride[FIS_MAX_CRITERIA]; /* … a fis_id as far as so many bytes go */
    /* By id, and with distinct by features: */
    uint64_t *hashes[SCORER_INDEXES][FIS_MAX_CRITERIA]; /* [heap] */
    uint32_t *index[SCORER_INDEXES][FIS_MAX_CRITERIA];  /* [index_mask + 1] slots by hash */
    uint32_t index_mask;
    uint32_t criteria;
    float floors[FIS_MAX_CRITERIA]; /* the trainer's, under the newest head */
    int64_t head_created_at_ms;
    uint64_t head_version, next_order, next_turn;
    bool have_head, stopping;
    bool advancing, again; /* inside scorer_advance; it was called from there */
    struct scorer_counts counts;

    /* Pool mode */
    struct asked *asked;
    uint64_t scan;      /* 0: none is needed */
    uint64_t scan_head; /* which head began it */
    bool scanning;      /* the ledger is known so far, and reading was rewound */
    struct scan_partition *partitions;
    uint32_t n_partitions;
    uint32_t ends_unacked;
    struct wire_range *end_ranges; /* [n_partitions], work for a progress */
};

/* scorer_best.c */
/* Nothing is held, and there is room for as much as the trainer holds. NOMEM: it has to be called
 * again first. */
int scorer_best_begin(struct scorer *m, const struct wire_selection *s,
                      struct fis_error *e) FIS_MUST_CHECK;
void scorer_best_done(struct scorer *m);
/* What a record must reach, by now, to be taken in. */
void scorer_best_floors(const struct scorer *m, float *floors);
/* Whether it is good enough for a criterion's best. */
bool scorer_best_reaches(const struct scorer *m, const float *scores, const struct fis_id *id);
/* Whether a criterion's best take the record in; they remember its id, and with distinct its
 * features (fis_features_hash; else 0). */
bool scorer_best_admit(struct scorer *m, const float *scores, const struct fis_id *id,
                       uint64_t features);

/* scorer_range.c */
int scorer_recreated(struct scorer *m, int32_t partition, int64_t first,
                     struct fis_error *e) FIS_MUST_CHECK;
void scorer_recreated_forget(struct scorer *m, int32_t partition); /* it is another's to tell */
void scorer_parts_note(struct scorer *m, struct slot *s, const struct scoring_batch *b);
/* Adds a message that was handled to the slot's ranges. */
void scorer_range_add(struct scorer *m, struct slot *s, const struct wire_message *message,
                      enum wire_decoded status);
uint32_t scorer_places(const struct scorer *m, const struct slot *s, struct scorer_place *out);

/* scorer_scan.c; all but the last two are for pool mode only */
int scorer_scan_head(struct scorer *m, const struct wire_head *head,
                     struct fis_error *e) FIS_MUST_CHECK;
void scorer_scan_begin(struct scorer *m); /* if it can begin by now */
void scorer_scan_read(struct scorer *m, const struct wire_message *message);
void scorer_scan_revoked(struct scorer *m, int32_t partition);
bool scorer_scan_beyond(struct scorer *m, const struct wire_message *message);
/* Whether the refused message is to go to dead-letter: not twice because of another scan. */
bool scorer_scan_refuses(struct scorer *m, const struct wire_message *message);
void scorer_scan_reported(struct scorer *m, const struct slot *s);
void scorer_scan_tell(struct scorer *m); /* progress for the ends that no batch will tell */
bool scorer_scan_stale(const struct scorer *m, const struct slot *s); /* of an older scan */

/* scorer.c: sends and releases what may be by now. */
void scorer_advance(struct scorer *m);

#endif
