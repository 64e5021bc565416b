/* Inside the scorer's host: its state, shared by scorer_host.c (life and turns), scorer_send.c
 * (what the machine needs done), scorer_commit.c (offsets, faults) and scorer_input.c (records,
 * heads, the ledger). */
#ifndef DAEMON_SCORER_HOST_IMPL_H
#define DAEMON_SCORER_HOST_IMPL_H

#include "config/topic_list.h"
#include "daemon/scorer/scorer_host.h"
#include "daemon/scorer/scorer_schemas.h"
#include "daemon/scorer/scorer_status.h"
#include "stream/consumer.h"
#include "stream/producer.h"
#include "wire/chunk.h"

#define SCORER_FOLLOW_BATCH 64

/* WAITS: for a schema. */
enum scorer_work { SCORER_IDLE, SCORER_WAITS, SCORER_RUNS, SCORER_RAN };

struct scorer_slot {
    struct scorer_host *host;
    uint32_t index;
    struct stream_batch *read;
    struct scoring_batch batch;
    struct job job;
    uint64_t run_ns;       /* what decoding and scoring took */
    size_t bytes;          /* read so far */
    uint32_t resolved;     /* messages whose schemas are known */
    enum scorer_work work; /* RAN: scored, and held back: see scorer_send.c */
    bool spent;            /* its messages are to be given back */
};

struct scorer_next {
    int64_t *next; /* [n] of each partition; 0: nothing */
    uint32_t n;
};

struct scorer_host {
    struct context *ctx;
    struct scorer *machine;
    struct scoring_options scoring;
    struct scorer_slot slots[SCORER_MAX_SLOTS];
    uint32_t n_slots;
    struct scorer_slot *reading; /* not full yet, and more is there; or NULL */
    struct stream_consumer *records, *heads;
    struct stream_consumer *ledger;              /* pool mode only */
    struct stream_batch *follow_batch;           /* heads, ledger */
    struct scorer_next next[CONFIG_RECORDS_MAX]; /* of each topic, to be committed */
    struct stream_offset *offsets;               /* [n_offsets] work for a commit */
    uint32_t n_offsets;
    uint64_t commit_at_ms; /* not before */
    bool uncommitted;
    struct stream_producer *producer;
    struct scorer_schemas *schemas; /* NULL: records need none */
    struct wire_assembler *assembler;
    struct scoring_head *head;
    char difference[SCORING_DIFFERENCE]; /* from the trainer's configuration, as it was logged */
    struct byte_buffer kept;   /* a record without what is ignored of it */
    struct byte_buffer buffer; /* an offer that is not sent yet; of a slot, so many candidates … */
    uint32_t packed_slot, packed;
    size_t packed_bytes;                    /* … which take no more than that */
    const char *topics[CONFIG_RECORDS_MAX]; /* of records [n_topics] */
    uint32_t numbers[CONFIG_RECORDS_MAX];   /* theirs, in wire_source */
    uint32_t n_topics;
    const char *head_topics[1], *ledger_topics[1];
    char name[128], group[CONFIG_GROUP_MAX];
    uint32_t owned;       /* partitions */
    uint32_t ticks_empty; /* with none of them */
    bool pool, reported_empty;
    uint64_t reported_records;
    /* How recent records are distributed; of the head's encoder. NULL: not known. */
    struct fis_profile *profile;
    uint32_t profiled; /* rows, when its figures were worked out last */
    struct drift_column drift[STATUS_DRIFT];
    uint32_t n_drift, above;
    /* Records of a batch; seconds of its run; seconds from a message's timestamp to the
     * acknowledgement of what was offered of its batch. */
    struct histogram batch_records, batch_seconds, latency_seconds;
    struct dead_counts dead;
    bool lost_place; /* in the group: it joins again when all that it read is given back */
    uint64_t joined_ms;
    bool stopping, failed;
    uint64_t left_out; /* messages of heads and ledger that no trainer wrote */
};

/* scorer_drift.c: a head is in force; a batch was scored; what is shown of it. */
void scorer_drift_head(struct scorer_host *h, const struct scoring_head *old);
void scorer_drift_batch(struct scorer_host *h, const struct scoring_batch *b);
void scorer_drift_show(struct scorer_host *h, struct scorer_drift *out);
/* scorer_commit.c */
void scorer_host_failed(struct scorer_host *h, const struct fis_error *e);
/* The topic of the number that a source has. */
uint32_t scorer_host_topic(const struct scorer_host *h, int32_t source);
/* Offsets are to be committed; now, when it is time; before partitions go. */
void scorer_commit_note(struct scorer_host *h, const struct scorer_place *places, uint32_t n);
void scorer_commit_now(struct scorer_host *h);
void scorer_commit_turn(struct scorer_host *h);
void scorer_commit_revoked(struct scorer_host *h, bool lost,
                           const struct stream_partition *partitions, size_t count);
/* Batches that wait for a schema. */
uint32_t scorer_host_waiting(const struct scorer_host *h);
/* scorer_send.c; the turn is true when there is more to do at once */
bool scorer_send_turn(struct scorer_host *h);
/* Of a message's token: what of it is to be acknowledged. */
uint32_t scorer_token_slot(uint64_t token);
uint32_t scorer_token_n(uint64_t token);
struct scorer_out scorer_host_out(struct scorer_host *h);
/* scorer_input.c: the membership that reads the records */
int scorer_input_join(struct scorer_host *h, struct fis_error *e) FIS_MUST_CHECK;
/* True when there is more to do at once. */
bool scorer_input_turn(struct scorer_host *h);

#endif
