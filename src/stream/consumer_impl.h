/*
 * Inside stream/: the consumer's state, shared by its parts: consumer.c (life, reading),
 * assignment.c (owned partitions, rebalances) and reader.c (assign mode).
 *
 * Two queues. `events` is librdkafka's own for this client: rebalances, commit results, errors.
 * `data` is ours: the partitions' fetch queues are forwarded to it. So events are served without
 * taking messages, and holding messages back costs nothing.
 */
#ifndef STREAM_CONSUMER_IMPL_H
#define STREAM_CONSUMER_IMPL_H

#include "stream/client.h"
#include "stream/consumer.h"

/* How far a partition was read. */
struct stream_position {
    int64_t next; /* -1: nothing read and the end not seen yet */
    bool ended;   /* the end was seen once */
};

struct stream_reader;

struct stream_consumer {
    struct stream_link link; /* first: it is the opaque of rk */
    rd_kafka_t *rk;
    rd_kafka_queue_t *events, *data;
    char **topics;
    uint32_t topic_count;
    stream_revoke_fn *on_revoke;
    void *revoke_arg;
    bool paused, closing;

    struct stream_partition *owned;
    struct stream_position *positions; /* beside owned */
    uint32_t owned_count, owned_room;
    uint32_t last; /* where the last message's partition was found in owned */

    bool assigned, revoked, lost, end, end_told; /* events to be told */
    struct stream_errors errors;
    struct stream_reader *reader; /* assign mode */
};

/* The index of a topic's name, or topic_count. */
uint32_t stream_consumer_topic(const struct stream_consumer *c, const char *name);
/* The index in owned, or owned_count. */
uint32_t stream_consumer_find(struct stream_consumer *c, uint32_t topic, int32_t partition);
/* Adds to owned; false when memory is refused. */
bool stream_consumer_own(struct stream_consumer *c, uint32_t topic, int32_t partition);
/* Reports what librdkafka says of itself. */
void stream_consumer_failed(struct stream_consumer *c, rd_kafka_resp_err_t err, const char *where,
                            const char *text);

void stream_consumer_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t err,
                               rd_kafka_topic_partition_list_t *list, void *opaque);

/* Assign mode: finds the partitions on a thread of its own, then read starts them. */
int stream_reader_new(struct stream_reader **out, struct stream_consumer *c,
                      struct fis_error *e) FIS_MUST_CHECK;
/* From read, in the owner's thread: starts what was found, takes the errors. */
void stream_reader_serve(struct stream_reader *r, struct stream_consumer *c);
/* Joins the thread and stops the partitions. */
void stream_reader_stop(struct stream_reader *r, const struct stream_consumer *c);
void stream_reader_free(struct stream_reader *r);

#endif
