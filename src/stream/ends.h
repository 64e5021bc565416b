/*
 * Inside stream/: where partitions begin and end, asked by a helper. One question at a time.
 *
 * An end is the high watermark: what an open transaction holds back belongs to the topic. A client
 * that reads committed messages is answered the last stable offset, so a client of the helper's
 * own asks; its connection has no fetch that the question would wait behind.
 */
#ifndef STREAM_ENDS_H
#define STREAM_ENDS_H

#include "stream/helper.h"

struct stream_range {
    uint32_t topic;
    int32_t partition;
    int64_t low, high; /* the answer */
};

struct stream_ends {
    struct stream_helper helper;
    rd_kafka_conf_t *conf; /* of the client that asks */
    char *const *topics;
    struct stream_range *list; /* the owner's, or the job's while it runs */
    uint32_t count, room;
};

/* Where the partitions of a list begin and end, as `rk` reads them: low and high of found
 * [list->cnt], in its order, when all have answered. Blocks for twice the time at most;
 * librdkafka's call for one partition waits for socket.timeout.ms, before 2.12.0, when a broker
 * hangs, whatever time it is given; and it is a request for each partition. */
rd_kafka_resp_err_t stream_ends_find(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *list,
                                     int timeout_ms, struct stream_range *found);

/* Copies the consumer's conf, which has no callbacks yet but the log's; borrows the rest. False
 * when locks are refused. */
bool stream_ends_init(struct stream_ends *s, const rd_kafka_conf_t *conf,
                      const struct stream_link *link, char *const *topics);
void stream_ends_stop(struct stream_ends *s); /* in the middle of a question, if need be */
void stream_ends_done(struct stream_ends *s); /* after stop */

/* Room for a question of `count` partitions; NULL when memory is refused. Not while one runs. */
struct stream_range *stream_ends_room(struct stream_ends *s, uint32_t count);
/* Asks for the first `count`; false when there can be no thread now. */
bool stream_ends_ask(struct stream_ends *s, uint32_t count);

#endif
