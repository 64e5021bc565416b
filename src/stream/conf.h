/*
 * What every Kafka client of fisd shares: the list of librdkafka properties that passes from the
 * configuration untouched, the wake callback, and where librdkafka's own log goes.
 *
 * Any property of librdkafka is allowed (TLS, SASL, buffers …); an unknown one or a value that
 * librdkafka refuses is an error that names the property. The value is shown with it, unless the
 * name says that it is a secret (base/secret.h). Later properties override earlier ones,
 * and all of them override the defaults that a module states in its header; that of all clients but
 * producers without transactions is socket.timeout.ms=15000, unless transaction.timeout.ms is less
 * or fetch.wait.max.ms nearly as much.
 *
 * Owns: nothing; the lists are borrowed for the call. Thread: safe.
 */
#ifndef STREAM_CONF_H
#define STREAM_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fis/error.h"

struct stream_property {
    const char *key, *value;
};

/* Tells the loop that something is there to be pulled. Called from a thread of librdkafka, with
 * its locks held: do uv_async_send (or write one byte to a pipe) there and nothing else. It comes
 * when a queue goes from empty to non-empty, so the woken one must drain until empty. */
typedef void stream_wake_fn(void *arg);

/* A line of librdkafka's log: syslog level (3 error … 7 debug), text. Called from any thread. */
typedef void stream_log_fn(void *arg, int level, const char *text);

/* What librdkafka says of a client from time to time (statistics.interval.ms): its name and a JSON
 * text. From inside stream_consumer_read or stream_producer_poll; copy what is to be kept. */
typedef void stream_stats_fn(void *arg, const char *name, const char *json, size_t length);

/* What goes into every client. NULL callbacks are fine: nobody is woken, the log goes nowhere. */
struct stream_client {
    const struct stream_property *properties;
    size_t property_count;
    stream_wake_fn *wake;
    void *wake_arg;
    stream_log_fn *log;
    void *log_arg;
    stream_stats_fn *stats; /* of a client that has a name */
    void *stats_arg;
    const char *name; /* which client it is, for stats; a text that outlives it */
};

/* A place in a topic; for commits the offset is the next one to read: last handled + 1. */
struct stream_offset {
    const char *topic;
    int32_t partition;
    int64_t offset;
    uint64_t mark; /* a number that the group keeps with it; 0: none */
};

/* The last value that the list gives to `key`, or NULL. */
const char *stream_property_find(const struct stream_property *properties, size_t count,
                                 const char *key);

/* Whether a list can be one of brokers: bootstrap.servers. `protocol`: security.protocol, which the
 * scheme of an entry, if it has one, must be; NULL: any. INPUT: what was found, what is allowed. */
int stream_brokers_check(const char *list, const char *protocol,
                         struct fis_error *e) FIS_MUST_CHECK;

/* The list of brokers among the properties. INPUT: there is none, or it cannot be one. */
int stream_brokers_find(const struct stream_property *properties, size_t count, const char **out,
                        struct fis_error *e) FIS_MUST_CHECK;

/* INPUT: librdkafka does not know it, or refuses the value. What it refuses of several together is
 * reported when a client is opened. */
int stream_property_check(const struct stream_property *p, struct fis_error *e) FIS_MUST_CHECK;

#endif
