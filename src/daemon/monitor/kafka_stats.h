/*
 * What librdkafka says of itself every statistics.interval.ms (15 s, unless the operator's
 * properties say otherwise), cut down to what matters: how long brokers take, what waits, what went
 * wrong. Its texts are long where there are many partitions, so they are parsed by a worker.
 *
 * Thread: the loop; the parsing itself is a worker's. Owns: one text at a time.
 */
#ifndef DAEMON_KAFKA_STATS_H
#define DAEMON_KAFKA_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/context/worker.h"

#define KAFKA_STATS_CLIENTS 16

struct kafka_stats {
    char client[24];                      /* "records", "heads", "offers", … */
    uint32_t brokers_up, brokers;         /* that it knows; connected now */
    double rtt_seconds;                   /* the worst broker's average; 0: none measured */
    double rtt_p99_seconds;               /* the worst broker's */
    uint64_t requests_waiting;            /* to be sent */
    uint64_t queue_messages, queue_bytes; /* producer: to be sent */
    uint64_t sent_bytes, received_bytes;
    uint64_t request_errors, request_timeouts, disconnects;
    uint64_t rebalances; /* consumer groups */
};

struct kafka_slot { /* of one client */
    struct kafka_stats stats, parsed;
    struct job job;
    bool running;
    char *text;
    size_t length;
    int rc;
};
struct kafka_watch { /* the newest of each client */
    struct workers *workers;
    struct kafka_slot slots[KAFKA_STATS_CLIENTS];
    uint32_t n;
};
void kafka_watch_init(struct kafka_watch *w, struct workers *workers);
/* Nothing is taken from now on: workers are about to end. */
void kafka_watch_stop(struct kafka_watch *w);
/* Its jobs must have ended. */
void kafka_watch_done(struct kafka_watch *w);
/* A text; while one of the client's is being parsed another is passed over, and comes again. A
 * stream_stats_fn. */
void kafka_watch_take(void *watch, const char *client, const char *json, size_t length);

/* Reads one text into *out, `client` excepted. -1: it is not understood. */
int kafka_stats_parse(const char *text, size_t length, struct kafka_stats *out);

#endif
