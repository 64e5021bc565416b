/*
 * A session's reader (session/session.h) as a Kafka consumer: messages and events one by one, in
 * the order in which they count. Thread: the loop. Owns: a consumer, and the batch that it read.
 */
#ifndef DAEMON_KAFKA_READER_H
#define DAEMON_KAFKA_READER_H

#include "daemon/context/context.h"
#include "daemon/context/lags.h"
#include "session/session.h"

struct kafka_reader_options {
    const char *name, *group;  /* group NULL: from the beginnings; else where it has committed */
    const char *const *topics; /* borrowed */
    enum session_topic first;  /* topics[0]; the others follow it */
    uint32_t n_topics;
    bool log_assigned;
};

struct kafka_reader;
int kafka_reader_open(struct kafka_reader **out, struct context *ctx,
                      const struct kafka_reader_options *o, struct fis_error *e) FIS_MUST_CHECK;
/* timeout_ms: as for stream_consumer_close. NULL is fine. */
void kafka_reader_close(struct kafka_reader *r, int timeout_ms);
void kafka_reader_end(struct kafka_reader *r); /* beside the loop */

/* As ports.read. */
int kafka_reader_read(struct kafka_reader *r, struct session_input *in,
                      struct fis_error *e) FIS_MUST_CHECK;
void kafka_reader_to_end(struct kafka_reader *r);
/* What is read next of the topic's first partition; -1: nothing yet. */
int64_t kafka_reader_next(struct kafka_reader *r, enum session_topic t);
/* What END waits for (STREAM_BLOCKED), NULL when it does not. */
const char *kafka_reader_waits(const struct kafka_reader *r);
/* Serves the consumer, and takes nothing. NULL is fine. */
void kafka_reader_poll(struct kafka_reader *r);
/* Where it is in each partition, n at most; returns how many. NULL: in none. */
uint32_t kafka_reader_lags(const struct kafka_reader *r, struct lag *lags, uint32_t n);

#endif
