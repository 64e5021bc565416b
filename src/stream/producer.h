/*
 * A Kafka producer behind an event loop: send copies and returns, reports are pulled by poll.
 *
 * What is sent to one partition keeps its order there: one request is on its way at a time (with a
 * transactional id the producer is idempotent instead), and what an answer was lost of may be there
 * twice. acks is all, and refused otherwise. Defaults (overridable by properties): linger.ms=5 (2
 * when `patient`: what a scorer sends is waited for by its next batch), compression.type=lz4,
 * batch.size=batch_bytes, partitioner=murmur2_random (keys go where Java clients put them). With a
 * transactional id every send must be inside a transaction (stream/txn_thread.h).
 *
 * Rhythm: on a wake, call stream_producer_poll until it returns 0. Every send that returned 0
 * gets exactly one report, in no particular order between partitions.
 *
 * Thread: one owner at a time, but for the transaction thread's calls, which may run beside it.
 * While a transaction commits, the owner must go on polling (commit waits for the reports).
 */
#ifndef STREAM_PRODUCER_H
#define STREAM_PRODUCER_H

#include "stream/conf.h"

struct stream_producer;

struct stream_producer_options {
    struct stream_client client;
    const char *transactional_id; /* NULL: no transactions */
    bool patient; /* without transactions: messages wait for a broker as long as it takes, and for a
                     topic that was deleted */
    /* Of messages in a batch, where that is less than librdkafka's 1,000,000: a topic refuses a
     * batch above its max.message.bytes, whatever its messages. 0: not known. */
    size_t batch_bytes;
};

/* What became of a message. kind FIS_OK: delivered. INPUT: the broker refuses this message.
 * RETRY: given up after message.timeout.ms. ABORT_TXN: its transaction was aborted. FATAL. */
typedef void stream_report_fn(void *arg, uint64_t token, enum fis_error_kind kind,
                              const char *text);

/* Starts; does not wait for a broker. INPUT: a bad option or property. */
int stream_producer_open(struct stream_producer **out, const struct stream_producer_options *o,
                         struct fis_error *e) FIS_MUST_CHECK;
/* What open would refuse, without a broker. */
int stream_producer_check(const struct stream_producer_options *o,
                          struct fis_error *e) FIS_MUST_CHECK;

/* Copies and enqueues. partition -1: by key. key NULL: none; value NULL: a tombstone; non-NULL
 * with length 0 is empty. `token` comes back with the report.
 * RETRY: the queue is full (poll, then again), which that of a role never is. INPUT: too large, or
 * no such topic or partition. ABORT_TXN: the transaction can only be aborted (also for such a
 * topic). FATAL: fenced, or broken for good. */
int stream_producer_send(struct stream_producer *p, const char *topic, int32_t partition,
                         const void *key, size_t key_length, const void *value, size_t value_length,
                         uint64_t token, struct fis_error *e) FIS_MUST_CHECK;

struct stream_header {
    const char *name;
    const void *value;
    size_t length;
};
/* The same with Kafka headers. */
int stream_producer_send_headers(struct stream_producer *p, const char *topic, int32_t partition,
                                 const void *key, size_t key_length, const void *value,
                                 size_t value_length, const struct stream_header *headers,
                                 size_t header_count, uint64_t token,
                                 struct fis_error *e) FIS_MUST_CHECK;

/* Hands the reports that are there to the callback (NULL: just counted off); returns how many.
 * Never blocks. */
size_t stream_producer_poll(struct stream_producer *p, stream_report_fn *report, void *arg);

/* A general error since the last call (a broker that cannot be reached: RETRY; FATAL): true. */
bool stream_producer_error(struct stream_producer *p, struct fis_error *error);

/* Whether, and why, a producer is of no use any more, after something FATAL: another one with its
 * transactional id has taken over; the coordinator has forgotten the id, and a new producer can go
 * on; anything else. */
enum stream_producer_end {
    STREAM_PRODUCER_ALIVE,
    STREAM_PRODUCER_FENCED,
    STREAM_PRODUCER_EXPIRED,
    STREAM_PRODUCER_BROKEN
};
enum stream_producer_end stream_producer_ended(const struct stream_producer *p);

#define STREAM_TOPIC_NAME 250 /* bytes, with the 0 */

/* A delivery at an offset before one that was reported, or expected, earlier: the topic was
 * recreated, or its log cut. True once for each. */
struct stream_backwards {
    char topic[STREAM_TOPIC_NAME];
    int32_t partition;
    int64_t last, now; /* offsets */
};
bool stream_producer_backwards(struct stream_producer *p, struct stream_backwards *out);

/* The owner has read the partition up to `next`: what it sends from now on comes behind that. */
void stream_producer_expect(struct stream_producer *p, const char *topic, int32_t partition,
                            int64_t next);

/* Behind the newest delivery to a partition that was reported, or what is expected; 0: neither. */
int64_t stream_producer_delivered(const struct stream_producer *p, const char *topic,
                                  int32_t partition);

/* Messages sent and not yet reported. */
uint64_t stream_producer_outstanding(const struct stream_producer *p);
/* Nothing is to be sent before these topics (borrowed) are there: they are asked for, and a missing
 * one is an error (RETRY) that names it. True: all were there once. */
void stream_producer_need(struct stream_producer *p, const char *const *topics, uint32_t n);
bool stream_producer_has_needed(const struct stream_producer *p);

/* The topic that messages of a patient producer wait for; NULL: none. */
const char *stream_producer_waits_for(const struct stream_producer *p);

/* Blocks until every message is reported or the time is over (RETRY, with the number left).
 * Reports go to the callback, in this thread. */
int stream_producer_flush(struct stream_producer *p, int timeout_ms, stream_report_fn *report,
                          void *arg, struct fis_error *e) FIS_MUST_CHECK;

/* Drops what is outstanding (flush first) and frees all; about a second at most, broker or none.
 * NULL is fine. */
void stream_producer_close(struct stream_producer *p);

#endif
