/*
 * Inside stream/: whether a partition is still the one that was read. A topic that is deleted and
 * made again under a running consumer, and has as many messages as that had read before it fetches
 * again, looks like one to which nothing came: what is in it would never be read. librdkafka knows
 * no id of a topic before 2.11, and none that a consumer is checked against. So a message that was
 * read, the probe, is looked at again every topic.metadata.refresh.interval.ms, by a client of a
 * helper: another one at its offset belongs to another topic. One that is gone (retention,
 * compaction) proves nothing.
 */
#ifndef STREAM_PROBE_H
#define STREAM_PROBE_H

#include "stream/helper.h"

/* By what a message is known again. */
struct stream_mark {
    int64_t offset; /* -1: none */
    int64_t timestamp_ms;
    size_t key_length, length;
};

struct stream_probe {
    uint32_t topic;
    int32_t partition;
    struct stream_mark mark;
    bool answered, other; /* the answer: another message is there */
};

struct stream_probes {
    struct stream_helper helper;
    const rd_kafka_conf_t *conf; /* of the client that looks */
    char *const *topics;
    struct stream_probe *list; /* the owner's, or the job's while it runs */
    uint32_t count, room;
    int64_t interval_ms, again_ms; /* 0: never */
};

struct stream_consumer;

/* ms; 0: never. */
int64_t stream_refresh_interval(rd_kafka_t *rk);
struct stream_mark stream_mark_of(const rd_kafka_message_t *m);
/* Borrows the conf of the consumer's ends. False when locks are refused. */
bool stream_probes_init(struct stream_consumer *c);
void stream_probes_stop(struct stream_probes *a);
void stream_probes_done(struct stream_probes *a); /* after stop */
/* From read: looks when it is time, and has what is another topic's read from its beginning. */
void stream_probes_serve(struct stream_consumer *c);

#endif
