/*
 * A Kafka consumer behind an event loop: nothing here blocks but close, and nothing is called
 * back but `on_revoke`, from inside stream_consumer_read.
 *
 * Modes:
 * - group (`group_id`): member of a consumer group, eager or cooperative; goes on where the group
 *   has committed, or at the beginning. Nothing is committed but what stream_consumer_commit or a
 *   transaction is reported. With `rewind` partitions start at their beginning whatever was
 * committed.
 * - election (`group_id`, `election`): a member that reads nothing. Subscribe to a topic with one
 *   partition: who owns it leads (stream_consumer_owned). Cooperative, so that a newcomer disturbs
 *   nobody. read(c, NULL, 0) keeps the membership.
 * - assign (`group_id` NULL): reads every partition of the topics from the beginning and commits
 *   nothing; for heads, models, validation, ledger. END is reported when everything that was there
 *   has been read, up to the high watermark, and once more after each stream_consumer_to_end: an
 *   open transaction is waited for (BLOCKED says where). Partitions that are added to a topic are
 *   looked for every topic.metadata.refresh.interval.ms and read from their beginning, with an
 *   ASSIGNED event. A topic that is not there (any more) is waited for, with an ERROR event of kind
 *   RETRY.
 * - stored (`group_id`, `stored`): the same without being a member, but from what is committed for
 *   the group, or the beginning where nothing is. Offsets are those of stable transactions: one
 *   that is open is waited for. What was read is committed by a transaction (stream/txn_thread.h)
 *   or by a member of the group (stream_consumer_commit of the election consumer: a broker refuses
 *   the commit of one who is no member while there are members).
 *
 * Offsets that are gone (retention, a topic recreated): the partition goes on at its beginning,
 * never at its end, with a RESET event that says what was lost. auto.offset.reset may therefore be
 * "earliest" only; "latest" is refused, since it would leave records out without a word.
 *
 * Defaults (overridable by properties): queued.max.messages.kbytes from `queue_bytes`; for members
 * session.timeout.ms=10000, heartbeat.interval.ms=1000 (what the others notice of a change waits
 * for a heartbeat). enable.auto.commit and enable.auto.offset.store are false and refused when
 * true, as is isolation.level but read_committed. An election's partition.assignment.strategy is
 * cooperative-sticky.
 *
 * Rhythm: on a wake, call stream_consumer_read until it returns less than `max`, then
 * stream_consumer_event until it returns false. Call read at least every few seconds in any case
 * (with max 0 it gives no message but serves rebalances and keeps the membership:
 * max.poll.interval.ms). Events are known only after a read.
 *
 * Messages that are not read stay queued in librdkafka, bounded by `queue_bytes`, and nothing is
 * fetched twice. Pausing a partition drops what was prefetched of it
 * (it is fetched again after the resume), and nothing more is fetched.
 *
 * Thread: one owner at a time (the loop); close may run on another thread once the owner is done.
 * Owns: its topic names and queues. Batches belong to the caller and must all be released before
 * close, or close hangs inside librdkafka.
 */
#ifndef STREAM_CONSUMER_H
#define STREAM_CONSUMER_H

#include "stream/conf.h"

struct stream_consumer;

struct stream_partition {
    uint32_t topic; /* index in the options' list */
    int32_t partition;
};

/* Called inside read, before partitions are given up: this is the last moment to commit what was
 * handled. `lost`: they are gone already (the group has moved on): commit nothing, abort. */
typedef void stream_revoke_fn(void *arg, bool lost, const struct stream_partition *partitions,
                              size_t count);

struct stream_consumer_options {
    struct stream_client client;
    const char *group_id; /* NULL: assign mode */
    bool stored;          /* with group_id: what it has committed, without membership */
    bool election;        /* with group_id: membership alone */
    bool rewind;          /* with group_id, as a member: always from the beginning */
    bool latest;          /* without a group: from the ends of the partitions, as they are found */
    bool eofs;            /* EOF events */
    const char *const *topics;   /* copied */
    uint32_t topic_count;        /* at least 1 */
    size_t queue_bytes;          /* prefetched messages, for all partitions; 0: 16 MiB */
    stream_revoke_fn *on_revoke; /* may be NULL */
    void *revoke_arg;
};

/* A message; a view into the batch that holds it. key NULL: none. value NULL: a tombstone. An
 * empty key or value is non-NULL with length 0. timestamp_ms is -1 when the topic has none. */
struct stream_message {
    uint32_t topic;
    int32_t partition;
    int64_t offset, timestamp_ms;
    const void *key;
    size_t key_length;
    const void *value;
    size_t value_length;
};

/* Messages that were read, at most `capacity`. Fields are for reading only; the views live until
 * the release. One allocation, at new. */
struct stream_batch {
    struct stream_message *messages;
    uint32_t count, capacity;
    void **handles;
};

/* NULL when memory is refused. capacity > 0. */
struct stream_batch *stream_batch_new(uint32_t capacity) FIS_MUST_CHECK;
void stream_batch_release(struct stream_batch *b); /* gives the messages back; count = 0 */
void stream_batch_free(struct stream_batch *b);    /* releases; NULL is fine */

enum stream_consumer_event_kind {
    STREAM_ASSIGNED = 1, /* the owned partitions changed: see stream_consumer_owned */
    STREAM_REVOKED,      /* some were given up (on_revoke has been called) */
    STREAM_END,          /* assign modes: everything there at the start, or to_end, has been read */
    STREAM_ERROR,
    STREAM_RESET,   /* a partition could not go on where it should have */
    STREAM_BLOCKED, /* assign modes: an open transaction holds END back, at `offset` */
    STREAM_EOF      /* on request: the end of a partition was reached (again) */
};

struct stream_consumer_event {
    enum stream_consumer_event_kind kind;
    bool lost;      /* REVOKED: at least one revocation was a loss */
    uint32_t owned; /* partitions owned now */
    struct fis_error
        error; /* ERROR: RETRY (librdkafka goes on trying by itself), FATAL, or ABORT_TXN: the
                  member's place has gone to another one with its group.instance.id, which may be
                  its own request to join from before an outage: it is to be opened again.
                  BLOCKED: RETRY, "waiting for an open transaction on t[0] at offset 5" */

    uint32_t topic; /* RESET, EOF, BLOCKED */
    int32_t partition;
    /* EOF: everything before `offset` has been handed out. It may be further than the last message
     * by more than one (transactions' markers, compaction), and behind the end of the log while a
     * transaction is open. BLOCKED: where that transaction begins, a second after it was met. */
    int64_t offset;
    /* RESET: what should have come next, -1 when the group has nothing committed (it is new, its
     * offsets expired, or the topic was recreated: brokers drop the offsets with the topic); what
     * comes next; how many messages between them are gone. `recreated`: `expected` is beyond the
     * end, or what was read before it is not what is there now (stream/probe.h): this is another
     * topic of the same name (or its log was cut); what was lost is not known, `lost_messages` is
     * 0. */
    int64_t expected, first, lost_messages;
    bool recreated;
    int64_t begin; /* END: the first offset of the first topic's partition 0; -1: not asked for */
};

/* Starts; does not wait for a broker. INPUT: a bad option or property. */
int stream_consumer_open(struct stream_consumer **out, const struct stream_consumer_options *o,
                         struct fis_error *e) FIS_MUST_CHECK;

/* What open would refuse, without a broker and without joining anything. */
int stream_consumer_check(const struct stream_consumer_options *o,
                          struct fis_error *e) FIS_MUST_CHECK;

/* Adds at most `max` messages to the batch (never over its capacity), serves rebalances. Returns
 * the number added. Messages of partitions that are revoked during the call are not handed out. */
uint32_t stream_consumer_read(struct stream_consumer *c, struct stream_batch *b, uint32_t max);

/* The next pending event; false when there is none. At most 8 errors are kept, equal ones once;
 * what does not fit is dropped, but for a FATAL one. Resets of a partition that were not taken yet
 * are one, with `lost_messages` as their sum; of its EOFs the last is kept. What a partition that
 * is given up had to tell is dropped: take the events after each read. */
bool stream_consumer_event(struct stream_consumer *c, struct stream_consumer_event *ev);

/* The partitions owned now; valid until the next read. */
const struct stream_partition *stream_consumer_owned(const struct stream_consumer *c,
                                                     size_t *count);

/* The id of the cluster that answers, the caller's to free(); NULL: not known yet. */
char *stream_consumer_cluster(const struct stream_consumer *c);

/* NULL without a group. */
const char *stream_consumer_group(const struct stream_consumer *c);

/* Assign modes: END is to be reported when everything that is there now has been read; at once when
 * it has been. Ends are asked of the brokers, and waited for. A second call takes the place of one
 * that is not answered yet. */
void stream_consumer_to_end(struct stream_consumer *c);

/* Group mode: every owned partition goes back to its beginning, and those that were paused go on.
 * Nothing that was fetched before is handed out after; batches that were are the caller's. INPUT
 * when it was not opened with `rewind`. FATAL when librdkafka refuses. */
int stream_consumer_seek_begin(struct stream_consumer *c, struct fis_error *e) FIS_MUST_CHECK;

/* One partition. Ends with its assignment. One that is not owned: nothing happens. */
void stream_consumer_pause_partition(struct stream_consumer *c, uint32_t topic, int32_t partition);
void stream_consumer_resume_partition(struct stream_consumer *c, uint32_t topic, int32_t partition);

/* Sends the commit and returns (with a group; of any topic, owned or not). A failure comes as an
 * ERROR event. Commits made in on_revoke arrive before the partition is given up. */
int stream_consumer_commit(struct stream_consumer *c, const struct stream_offset *offsets,
                           size_t count, struct fis_error *e) FIS_MUST_CHECK;

/* The mark that the group has kept with its newest commit to a partition; 0: none. Blocks for
 * `timeout_ms` at most. RETRY: no answer. Thread: any, while the consumer is open. */
int stream_consumer_mark(struct stream_consumer *c, const char *topic, int32_t partition,
                         int timeout_ms, uint64_t *mark, struct fis_error *e) FIS_MUST_CHECK;

/* What is read next of an owned partition; -1: nothing yet, or it is not owned. */
int64_t stream_consumer_next(struct stream_consumer *c, uint32_t topic, int32_t partition);

/* Messages between what was read and the end of the owned partitions, as far as the last fetch
 * knew; -1 when it is not known yet for one of them. Does not ask the broker. */
int64_t stream_consumer_lag(const struct stream_consumer *c);

/* The owned partitions one by one, as the last fetch knew them; returns how many (n at most). */
struct stream_place {
    uint32_t topic;
    int32_t partition;
    int64_t next; /* read next; -1: nothing yet */
    int64_t lag;  /* messages from there to the end; -1: not known yet */
};
uint32_t stream_consumer_places(const struct stream_consumer *c, struct stream_place *out,
                                uint32_t n);

/* Leaves the group and frees all. Blocks at most timeout_ms for the group and then two seconds for
 * threads to end, which may be left behind; never waits for a dead broker. on_revoke is not called.
 * Commits sent before are waited for within the time. -1: blocks for nothing. NULL is fine. */
void stream_consumer_close(struct stream_consumer *c, int timeout_ms);

#endif
