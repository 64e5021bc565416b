/* Inside stream/: the producer's state, shared with the transaction thread. */
#ifndef STREAM_PRODUCER_IMPL_H
#define STREAM_PRODUCER_IMPL_H

#include "stream/client.h"
#include "stream/hold.h"
#include "stream/producer.h"

/* The last delivery to a partition. */
struct stream_delivered {
    char topic[STREAM_TOPIC_NAME];
    int32_t partition;
    int64_t offset;
};

struct stream_producer {
    struct stream_link link; /* first: it is the opaque of rk */
    rd_kafka_t *rk;
    rd_kafka_queue_t *events; /* delivery reports and errors, as events */
    bool transactional;
    uint64_t outstanding;
    struct stream_delivered *delivered; /* [n_delivered] partitions */
    uint32_t n_delivered;
    struct stream_backwards backwards; /* topic "": none */
    struct stream_errors errors;
    bool patient;
    struct stream_hold hold;
};

#endif
