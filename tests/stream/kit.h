/*
 * What the tests of stream/ share: the embedded broker, sending and reading with a bounded wait
 * on a condition. A wait that ends without it fails the test where it stands.
 */
#ifndef STREAM_TEST_KIT_H
#define STREAM_TEST_KIT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "stream/consumer.h"
#include "stream/embedded.h"
#include "stream/producer.h"

#define WAIT_MS 20000

static inline int64_t kit_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A short nap between looks at a condition. */
static inline void kit_nap(void)
{
    const struct timespec t = {0, 2 * 1000 * 1000};
    nanosleep(&t, NULL);
}

#define KIT_UNTIL(condition)                                                                       \
    do {                                                                                           \
        int64_t kit_end = kit_now() + WAIT_MS;                                                     \
        while (!(condition)) {                                                                     \
            if (kit_now() > kit_end) {                                                             \
                fail_msg("not within %d ms: %s", WAIT_MS, #condition);                             \
            }                                                                                      \
            kit_nap();                                                                             \
        }                                                                                          \
    } while (0)

/* The call is given &kit_e for its error. */
#define KIT_OK(call)                                                                               \
    do {                                                                                           \
        struct fis_error kit_e = {0};                                                              \
        int kit_rc = (call);                                                                       \
        if (kit_rc != 0) {                                                                         \
            fail_msg("%s: %d: %s", #call, kit_rc, kit_e.text);                                     \
        }                                                                                          \
    } while (0)

static inline struct stream_embedded *kit_broker(void)
{
    struct stream_embedded *b = NULL;
    KIT_OK(stream_embedded_start(&b, NULL, NULL, &kit_e));
    return b;
}

/* For a group of tests that share one: it is their state. */
static inline int kit_start(void **state)
{
    *state = kit_broker();
    return 0;
}

static inline int kit_stop(void **state)
{
    stream_embedded_stop(*state);
    return 0;
}

static inline struct stream_producer *kit_producer(const char *bootstrap)
{
    const struct stream_property p[] = {{"bootstrap.servers", bootstrap}, {"linger.ms", "0"}};
    const struct stream_producer_options o = {.client = {.properties = p, .property_count = 2}};
    struct stream_producer *out = NULL;
    KIT_OK(stream_producer_open(&out, &o, &kit_e));
    return out;
}

/* `count` messages "0", "1" … with their number as key, to one partition (or -1). */
static inline void kit_fill(struct stream_producer *p, const char *topic, int32_t partition,
                            unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        char text[16];
        size_t n = (size_t)snprintf(text, sizeof text, "%u", i);
        KIT_OK(stream_producer_send(p, topic, partition, text, n, text, n, i, &kit_e));
    }
    KIT_OK(stream_producer_flush(p, WAIT_MS, NULL, NULL, &kit_e));
}

struct kit_consumer {
    const char *bootstrap, *group;
    const char *topics[2];
    uint32_t topic_count;
    stream_wake_fn *wake;
    void *wake_arg;
    stream_revoke_fn *on_revoke;
    void *revoke_arg;
    struct stream_property more[2];
    size_t more_count;
    size_t queue_bytes;
    bool stored, election, rewind, eofs;
};

/* The refresh is no divisor of the mock broker's 3 s before a group is made: librdkafka 2.0.2 joins
 * anew when topics come in while it waits for those of the assignor, and both would meet time and
 * again. */
static inline struct stream_consumer *kit_consumer(const struct kit_consumer *k)
{
    struct stream_property p[8] = {{"bootstrap.servers", k->bootstrap},
                                   {"session.timeout.ms", STREAM_EMBEDDED_SESSION_MS},
                                   {"heartbeat.interval.ms", "200"},
                                   {"fetch.wait.max.ms", "50"},
                                   {"topic.metadata.refresh.interval.ms", "470"}};
    memcpy(p + 5, k->more, sizeof k->more);
    const struct stream_consumer_options o = {
        .client = {.properties = p,
                   .property_count = 5 + k->more_count,
                   .wake = k->wake,
                   .wake_arg = k->wake_arg},
        .group_id = k->group,
        .topics = k->topics,
        .topic_count = k->topic_count ? k->topic_count : 1,
        .queue_bytes = k->queue_bytes,
        .stored = k->stored,
        .election = k->election,
        .rewind = k->rewind,
        .eofs = k->eofs,
        .on_revoke = k->on_revoke,
        .revoke_arg = k->revoke_arg,
    };
    struct stream_consumer *c = NULL;
    KIT_OK(stream_consumer_open(&c, &o, &kit_e));
    return c;
}

/* Reads until the batch holds `count` messages; what the consumer has to say against it fails. */
static inline void kit_read(struct stream_consumer *c, struct stream_batch *b, uint32_t count)
{
    int64_t end = kit_now() + WAIT_MS;
    struct stream_consumer_event ev;
    char said[FIS_ERROR_TEXT] = "nothing";
    while (b->count < count && kit_now() < end) {
        if (stream_consumer_read(c, b, count - b->count) == 0) {
            kit_nap();
        }
        while (stream_consumer_event(c, &ev)) {
            if (ev.kind == STREAM_ERROR) {
                memcpy(said, ev.error.text, sizeof said);
            }
        }
    }
    if (b->count != count) {
        fail_msg("%u of %u messages; the consumer said: %s", b->count, count, said);
    }
}

/* Reads into nothing until an event of this kind comes; what else comes is dropped, but for an
 * error that is the end. */
static inline struct stream_consumer_event
kit_event(struct stream_consumer *c, struct stream_batch *b, enum stream_consumer_event_kind kind)
{
    struct stream_consumer_event ev = {0};
    int64_t end = kit_now() + WAIT_MS;
    while (kit_now() < end) {
        if (stream_consumer_read(c, b, b ? b->capacity : 0) == 0) {
            kit_nap();
        }
        while (stream_consumer_event(c, &ev)) {
            if (ev.kind == kind) {
                return ev;
            }
            if (ev.kind == STREAM_ERROR && ev.error.kind == FIS_FATAL) {
                fail_msg("%s", ev.error.text);
            }
        }
    }
    fail_msg("no event of kind %d within %d ms", (int)kind, WAIT_MS);
    return ev;
}

/* The number that kit_fill put in. */
static inline unsigned kit_number(const struct stream_message *m)
{
    char text[16] = {0};
    assert_true(m->value_length < sizeof text);
    memcpy(text, m->value, m->value_length);
    return (unsigned)strtoul(text, NULL, 10);
}

#endif
