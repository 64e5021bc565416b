/*
 * Inside stream/: librdkafka before 2.2 stops fetching when its queue is full, and checks it
 * again after up to a second, in which a fast reader has long emptied it. Its broker's thread looks
 * earlier when it has anything else to do: a question where the partitions end, sent to each leader
 * when the queue has fallen by a quarter, is such a thing. From 2.2 on fetch.queue.backoff.ms says
 * how soon it looks.
 */
#ifndef STREAM_REFILL_H
#define STREAM_REFILL_H

#include "stream/helper.h"

struct stream_refill {
    struct stream_helper helper;
    rd_kafka_t *rk;
    size_t queue_bytes, queue_messages; /* its bounds; 0: it is left to librdkafka */
    size_t most;                        /* messages in the queue since the last question */
    uint64_t seen, bytes;               /* messages that were read recently, their values' bytes */
    rd_kafka_topic_partition_list_t *list; /* the question, while it is asked */
};

/* False when locks are refused. */
bool stream_refill_init(struct stream_refill *s, rd_kafka_t *rk, const struct stream_link *link,
                        size_t queue_bytes, size_t queue_messages);
void stream_refill_stop(struct stream_refill *s);
void stream_refill_done(struct stream_refill *s); /* after stop */

struct stream_consumer;
/* Looks at the queue, and asks when it is time. */
void stream_refill_serve(struct stream_consumer *c);

#endif
