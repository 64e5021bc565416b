/*
 * The embedded broker: librdkafka's in-process mock cluster, a real TCP listener on 127.0.0.1.
 *
 * Its limits (librdkafka 2.0.2 to 2.12.1), for trying, demos and tests only:
 * - about 5 MB kept per partition; older messages vanish, read or not: pace by consumer lag;
 * - offsets inside a transaction are answered, not stored; aborted messages are visible to
 *   read_committed readers; so there is no exactly-once;
 * - no compaction: a compacted topic keeps every value (until the 5 MB);
 * - topics are created on use, with 4 partitions, unless created here; there is no admin
 *   protocol (stream_topics_create says UNSUPPORTED);
 * - nothing survives the stop.
 * - a group's first assignment takes 3 s; a later one takes session.timeout.ms less one second,
 *   so members should set session.timeout.ms to STREAM_EMBEDDED_SESSION_MS (below 3 s a member is
 *   thrown out before it gets anything; with librdkafka's 45 s a restart waits for 44).
 * Offsets committed by a group are kept while it runs.
 *
 * Thread: start and stop by one owner; the broker runs on threads of its own. Stop it after every
 * client of it was closed.
 */
#ifndef STREAM_EMBEDDED_H
#define STREAM_EMBEDDED_H

#include "stream/conf.h"

#define STREAM_EMBEDDED_SESSION_MS "4000"

struct stream_embedded;

/* FATAL when it cannot start. */
int stream_embedded_start(struct stream_embedded **out, struct fis_error *e) FIS_MUST_CHECK;
/* "host:port"; valid until the stop. */
const char *stream_embedded_bootstrap(const struct stream_embedded *b);
/* INPUT when it exists already or the partition count is not 1 … 1000. */
int stream_embedded_topic(struct stream_embedded *b, const char *name, int partitions,
                          struct fis_error *e) FIS_MUST_CHECK;
/* NULL is fine. */
void stream_embedded_stop(struct stream_embedded *b);

#endif
