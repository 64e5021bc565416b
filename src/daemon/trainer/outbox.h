/*
 * The outbox: what a session sends and how far it took its input, as one unit of commit.
 *
 * exactly_once: a unit is a Kafka transaction. at_least_once: a unit is over when every message
 * is acknowledged; then the offsets are committed, so a crash in between repeats input, and may
 * send a request twice. While a commit runs nothing may be sent: outbox_ready is false.
 *
 * Thread: the loop. Owns: producer and transaction thread; borrows the group's member.
 */
#ifndef DAEMON_OUTBOX_H
#define DAEMON_OUTBOX_H

#include "stream/consumer.h"
#include "stream/producer.h"
#include "stream/txn_thread.h"
#include "wire/types.h"

struct outbox;
struct outbox_options {
    struct stream_client client;
    const char *transactional_id; /* NULL: at_least_once */
    size_t dead_letter_bytes;     /* longer dead letters are cut; 0: no limit */
    size_t batch_bytes;           /* see stream_producer_options */
    const char *const *topics;    /* that must be there before it is ready; borrowed */
    uint32_t n_topics;
    const char *loose; /* a topic that anybody may recreate or cut; borrowed, NULL: none */
};
int outbox_open(struct outbox **out, const struct outbox_options *o,
                struct fis_error *e) FIS_MUST_CHECK;
/* What is not committed is aborted. Blocks for some seconds at most. NULL is fine. */
void outbox_close(struct outbox *o);

/* Behind the newest delivery to the topic's first partition, or what is expected; 0: neither. */
int64_t outbox_delivered(const struct outbox *b, const char *topic);

/* The topic's first partition was read up to `next`: what is delivered before that runs backwards. */
void outbox_expect(struct outbox *b, const char *topic, int64_t next);

/* Initialised (older instances are fenced), the topics are there, and no commit and no sweep is
 * running. */
bool outbox_ready(const struct outbox *o);
/* A delivery did not come behind an earlier one of its topic, which has lost what lay between: the
 * unit is never committed, since it would hide that. True once for each. */
bool outbox_backwards(struct outbox *o, struct stream_backwards *out);
uint64_t outbox_outstanding(const struct outbox *o);

/* partition -1: by key. */
int outbox_send(struct outbox *o, const char *topic, int32_t partition, struct wire_bytes key,
                struct wire_bytes value, struct fis_error *e) FIS_MUST_CHECK;
int outbox_dead_letter(struct outbox *o, const char *topic, const struct wire_message *m,
                       const struct fis_error *why, struct fis_error *e) FIS_MUST_CHECK;
/* Ends the unit, when all of it is acknowledged, with these offsets (copied) of `member`'s group. A
 * transaction only takes the group's name from it: the transactional id is the fence; at_least_once
 * commits through it, as a broker takes offsets of a group from its members alone. */
int outbox_commit(struct outbox *o, struct stream_consumer *member,
                  const struct stream_offset *offsets, size_t n,
                  struct fis_error *e) FIS_MUST_CHECK;
/* See stream_txn_sweep; outbox_ready is false until it is done. Nothing is open. `topics` are
 * borrowed until then. at_least_once: nothing can be left. */
int outbox_sweep(struct outbox *o, const char *const *topics, size_t n, const char *group,
                 struct fis_error *e) FIS_MUST_CHECK;
/* After a negative outbox_turn or _send: another instance has taken over. */
bool outbox_fenced(const struct outbox *o);
/* Serves reports and results. Negative: the unit cannot be committed; ABORT_TXN, or fenced: close,
 * and go on from the ledger; else stop. RETRY conditions are reported in *e with return value 0 and
 * *trouble true. */
int outbox_turn(struct outbox *o, struct fis_error *e, bool *trouble) FIS_MUST_CHECK;

#endif
