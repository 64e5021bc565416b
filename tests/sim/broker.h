/*
 * The simulated broker: topics with partitions as logs, transactions with epochs and markers,
 * consumer groups with cooperative assignment, compaction and deletion of old records. It does what
 * a request asks at the time of the call; latencies, losses and duplicates are the client's
 * (sim_client.h). Written from the protocol, not from the programs under test.
 */
#ifndef SIM_BROKER_H
#define SIM_BROKER_H

#include "world.h"

#define SIM_PARTITIONS 4
#define SIM_MEMBERS 32
#define SIM_TOUCHED (SIM_TOPICS * SIM_PARTITIONS)

enum sim_topic {
    SIM_RECORDS,
    SIM_CANDIDATES,
    SIM_REQUESTS,
    SIM_LABELS,
    SIM_CONTROL,
    SIM_LEDGER,
    SIM_HEADS,
    SIM_MODELS,
    SIM_DEAD,
    SIM_TOPICS
};
extern const char *const sim_topic_names[SIM_TOPICS];

enum sim_code {
    SIM_OK = 0,
    SIM_CUT =
        -3, /* the unit lies where the ledger had lost its end: its client does not commit it */
    SIM_FENCED = -1,         /* another instance has the transactional id */
    SIM_UNKNOWN_MEMBER = -2, /* the group goes on without it */
    SIM_OLD_GENERATION = -3,
    SIM_OUT_OF_RANGE = -4,
    SIM_DOWN = -5,
    SIM_NOT_OPEN = -6, /* there is no transaction to end */
    SIM_UNDELIVERED = -7
};

/* Where a dead letter came from. */
struct sim_origin {
    enum sim_topic topic;
    int32_t partition;
    int64_t offset;
    const char *reason;
};

struct sim_entry {
    int64_t offset, timestamp_ms;
    struct wire_bytes key, value;
    uint32_t unit; /* transaction; 0: none */
    bool marker;
    bool foreign; /* no process of the pipeline has sent it */
    struct sim_origin origin;
};

#define SIM_CUTS 16
struct sim_log {
    struct sim_entry *entries; /* by offset; compaction leaves gaps */
    uint32_t n, capacity;
    int64_t start, next;
    int64_t cuts[SIM_CUTS]; /* where its tail was lost, one after the other; 0: it was recreated */
    uint32_t made;          /* how often */
};

struct sim_place {
    enum sim_topic topic;
    int32_t partition;
    int64_t offset;
};

/* A transaction, from its first record to its end. */
enum sim_unit_status { SIM_OPEN, SIM_COMMITTED, SIM_ABORTED };
struct sim_unit {
    enum sim_unit_status status;
    uint32_t producer;
    int64_t began;
    struct sim_place *places; /* of its records, as they arrived */
    uint32_t n, capacity;
    int64_t first[SIM_TOPICS][SIM_PARTITIONS];   /* offset, or -1 */
    int64_t offsets[SIM_TOPICS][SIM_PARTITIONS]; /* to commit with it, or -1 */
    uint32_t made[SIM_TOPICS][SIM_PARTITIONS];   /* of which log they are */
    uint32_t group;
    bool has_offsets;
};

/* The transactional ids: the trainers', and one of a program that has nothing to do with them. */
enum { SIM_TRAINER_ID, SIM_FOREIGN_ID, SIM_PRODUCERS };
struct sim_producer_id {
    int32_t epoch;
    uint32_t unit;                            /* open; 0: none */
    int64_t last[SIM_TOPICS][SIM_PARTITIONS]; /* offset of what was delivered last; -1: nothing */
    bool backwards; /* a delivery on ledger, heads or models did not come behind the last one */
    bool cut;       /* one on the ledger: commits are refused */
};

struct sim_member {
    uint32_t key; /* 0: no member */
    int64_t seen;
    uint32_t owned, assigned; /* bits of partitions: as it reports, and as it was assigned */
    bool joined;
    int32_t generation; /* of `assigned` */
};

enum sim_group_id { SIM_SCORERS, SIM_TRAINERS, SIM_LABELLERS, SIM_GROUPS };
struct sim_group {
    enum sim_topic topic;
    int64_t session_ms;
    int32_t generation;
    bool preparing;
    int64_t preparing_since;
    uint32_t shaken; /* this member keeps nothing in the next generation */
    struct sim_member members[SIM_MEMBERS];
    int64_t committed[SIM_TOPICS][SIM_PARTITIONS]; /* -1: none */
    uint32_t made[SIM_TOPICS][SIM_PARTITIONS];
};

#define SIM_HANGING 16
struct sim_broker {
    struct sim_world *w;
    uint32_t partitions[SIM_TOPICS];
    struct sim_log logs[SIM_TOPICS][SIM_PARTITIONS];
    struct sim_unit **units; /* [1..] */
    uint32_t n_units, unit_capacity;
    struct sim_producer_id producers[SIM_PRODUCERS];
    uint32_t hanging[SIM_HANGING], n_hanging; /* transactions whose end the broker has lost */
    struct sim_group groups[SIM_GROUPS];
    int64_t txn_timeout_ms;
    uint32_t seats;    /* members that there have been */
    const void *about; /* of the transaction that is being ended: its owner's word (sim_client.h) */
    bool (*loses_end)(struct sim_world *w); /* NULL: never */
    /* The watcher: after a record that is not of the trainers' transactions, after the end of a
     * transaction, and after offsets were committed outside of one. */
    void (*on_append)(struct sim_world *w, enum sim_topic t, int32_t partition,
                      const struct sim_entry *entry);
    void (*on_unit)(struct sim_world *w, const struct sim_unit *u);
    void (*on_offset)(struct sim_world *w, enum sim_group_id g, int32_t partition, int64_t before,
                      int64_t next);
};

struct sim_broker *sim_broker_new(struct sim_world *w);

/* ---- logs ---------------------------------------------------------------------------------- */
int64_t sim_append(struct sim_broker *b, enum sim_topic t, int32_t partition, struct wire_bytes key,
                   struct wire_bytes value, const struct sim_origin *origin);
/* The first record at or behind *position that a read_committed reader may have. 1: *entry (the
 * log's, until the next change), *position behind it; 0: nothing yet, *position behind what there
 * is no record of; SIM_OUT_OF_RANGE. */
int sim_fetch(struct sim_broker *b, enum sim_topic t, int32_t partition, int64_t *position,
              struct sim_entry *entry);
/* Sent by no process of the pipeline. */
int64_t sim_append_foreign(struct sim_broker *b, enum sim_topic t, int32_t partition,
                           struct wire_bytes key, struct wire_bytes value);
/* Up to where a read_committed reader gets now, and the end that it must get to: an open
 * transaction lies between them. */
int64_t sim_stable_end(const struct sim_broker *b, enum sim_topic t, int32_t partition);
int64_t sim_end(const struct sim_broker *b, enum sim_topic t, int32_t partition);
int64_t sim_log_start(const struct sim_broker *b, enum sim_topic t, int32_t partition);
/* Whatever became of it; NULL: it is not there. Until the next change. */
const struct sim_entry *sim_entry_at(const struct sim_broker *b, const struct sim_place *at);
/* Is it a record, and not of a transaction that is open or was aborted? */
bool sim_readable(const struct sim_broker *b, const struct sim_entry *e);
/* Drops what a later committed record of the same key replaces, and what was aborted. */
void sim_compact(struct sim_broker *b, enum sim_topic t, int32_t partition);
void sim_delete_before(struct sim_broker *b, enum sim_topic t, int32_t partition, int64_t offset);
/* The tail from `offset` on is lost, with what was acknowledged; a topic that is recreated has lost
 * all, and the groups' places with it. No transaction of its own may be open on it. */
void sim_lose_tail(struct sim_broker *b, enum sim_topic t, int32_t partition, int64_t offset);
void sim_recreate(struct sim_broker *b, enum sim_topic t);
bool sim_open_on(const struct sim_broker *b, enum sim_topic t);
/* Has the log lost what lies before this offset, which was of its `made`-th tail? A reader cannot
 * go on there. The broker knows, by the epochs of its leaders. */
/* Readable messages that are foreign. */
uint32_t sim_foreign_before(const struct sim_broker *b, enum sim_topic t, int64_t offset);
/* Ledger, heads, models. */
bool sim_of_memory(enum sim_topic t);
bool sim_was_cut(const struct sim_broker *b, enum sim_topic t, int32_t partition, uint32_t made,
                 int64_t offset);
/* One partition more, empty; members of its group see it by a rebalance. */
void sim_add_partition(struct sim_broker *b, enum sim_topic t);
int32_t sim_partition_of(const struct sim_broker *b, enum sim_topic t, struct wire_bytes key);

/* As the machines see it. */
static inline struct wire_message sim_message(enum sim_topic t, int32_t partition,
                                              const struct sim_entry *m)
{
    return (struct wire_message){.topic = sim_topic_names[t],
                                 .partition = partition,
                                 .offset = m->offset,
                                 .timestamp_ms = m->timestamp_ms,
                                 .key = m->key,
                                 .value = m->value};
}

/* ---- transactions -------------------------------------------------------------------------- */
int32_t sim_txn_init(struct sim_broker *b, uint32_t producer); /* the new epoch */
enum sim_code sim_txn_append(struct sim_broker *b, uint32_t producer, int32_t epoch,
                             enum sim_topic t, int32_t partition, struct wire_bytes key,
                             struct wire_bytes value, const struct sim_origin *origin);
enum sim_code sim_txn_offset(struct sim_broker *b, uint32_t producer, int32_t epoch,
                             enum sim_group_id g, enum sim_topic t, int32_t partition, int64_t next,
                             uint32_t made);
enum sim_code sim_txn_end(struct sim_broker *b, uint32_t producer, int32_t epoch, bool commit);
/* Ends what earlier instances have left open although the coordinator knows their end. */
enum sim_code sim_txn_sweep(struct sim_broker *b, uint32_t producer, int32_t epoch);
/* Ends what is open for too long; its producer is fenced. */
void sim_txn_expire(struct sim_broker *b);

/* ---- groups -------------------------------------------------------------------------------- */
enum sim_beat { SIM_BEAT_OK, SIM_BEAT_REJOIN, SIM_BEAT_WAIT, SIM_BEAT_ASSIGNED, SIM_BEAT_UNKNOWN };
void sim_group_join(struct sim_broker *b, enum sim_group_id g, uint32_t member, uint32_t owned);
void sim_group_leave(struct sim_broker *b, enum sim_group_id g, uint32_t member);
enum sim_beat sim_group_beat(struct sim_broker *b, enum sim_group_id g, uint32_t member,
                             int32_t *generation, uint32_t *assigned);
enum sim_code sim_group_commit(struct sim_broker *b, enum sim_group_id g, uint32_t member,
                               int32_t generation, int32_t partition, int64_t next);
int64_t sim_group_committed(const struct sim_broker *b, enum sim_group_id g, enum sim_topic t,
                            int32_t partition);
void sim_group_tick(struct sim_broker *b); /* sessions, rebalances that are complete */
/* A rebalance for no reason; one of the members loses what it has. */
void sim_group_stir(struct sim_broker *b, enum sim_group_id g);
/* After an outage sessions begin again. */
void sim_group_up(struct sim_broker *b);

#endif
