/*
 * Inside stream/: messages of a patient producer whose topic is gone. They are kept, with all that
 * is sent to that topic after them, until it is there again, and then sent in their order. Without
 * this librdkafka gives them up at once: its patience is for brokers alone.
 * Thread: the producer's owner; a helper asks for the topic.
 */
#ifndef STREAM_HOLD_H
#define STREAM_HOLD_H

#include "stream/helper.h"
#include "stream/producer.h"

struct stream_held; /* a message */
struct stream_hold {
    rd_kafka_t *rk;
    struct stream_helper helper;
    struct stream_held *failed, *fresh;           /* given up by librdkafka; sent since */
    struct stream_held **failed_end, **fresh_end; /* where the next one goes */
    char asked[250];                              /* the topic that the helper asks for */
    uint64_t count;
    const char *const *needed; /* topics to be there before anything is sent; borrowed */
    uint32_t n_needed, found;
};

bool stream_hold_init(struct stream_hold *h, rd_kafka_t *rk, const struct stream_link *link);
/* True when something is held, or a topic that is needed was not found yet. */
bool stream_hold_busy(const struct stream_hold *h);
void stream_hold_done(struct stream_hold *h); /* drops what is held */

rd_kafka_headers_t *stream_headers(const struct stream_header *headers, size_t count);

/* Whether an error says that a topic, or the partition, is not there. */
bool stream_hold_takes(rd_kafka_resp_err_t err);
/* Whether messages of this topic wait: the next one has to wait behind them. */
bool stream_hold_waits(const struct stream_hold *h, const char *topic);

/* Copies. `failed`: librdkafka gave it up, so it is older than all that were sent since. False: no
 * memory. */
bool stream_hold_take(struct stream_hold *h, const rd_kafka_message_t *m, const char *topic,
                      const struct stream_header *headers, size_t header_count, bool failed);

/* Sends what can be sent; complaints go to `errors`. */
void stream_hold_serve(struct stream_hold *h, struct stream_errors *errors);

#endif
