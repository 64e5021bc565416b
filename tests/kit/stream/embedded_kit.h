/*
 * What the tests of stream/ share: the embedded broker, sending and reading with a bounded wait
 * on a condition. A wait that ends without it fails the test where it stands.
 */
#ifndef TESTS_KIT_STREAM_EMBEDDED_KIT_H
#define TESTS_KIT_STREAM_EMBEDDED_KIT_H

#include <stdatomic.h>
#include <time.h>

#include "kit/cmocka.h"
#include "stream/consumer.h"
#include "stream/embedded.h"
#include "stream/producer.h"

#define WAIT_MS 60000

int64_t kit_now(void);

/* A short nap between looks at a condition. */
void kit_nap(void);

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

struct stream_embedded *kit_broker(void);

/* For a group of tests that share one: it is their state. */
int kit_start(void **state);

int kit_stop(void **state);

struct stream_producer *kit_producer(const char *bootstrap);

/* `count` messages "0", "1" … with their number as key, to one partition (or -1). */
void kit_fill(struct stream_producer *p, const char *topic, int32_t partition, unsigned first,
              unsigned count);

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
 * again when topics come in while it waits for those of the assignor, and both would meet time and
 * again. */
struct stream_consumer *kit_consumer(const struct kit_consumer *k);

/* Reads until the batch holds `count` messages; what the consumer has to say against it fails. */
void kit_read(struct stream_consumer *c, struct stream_batch *b, uint32_t count);

/* Reads into nothing until an event of this kind comes; what else comes is dropped, but for an
 * error that is the end. */
struct stream_consumer_event kit_event(struct stream_consumer *c, struct stream_batch *b,
                                       enum stream_consumer_event_kind kind);

/* The number that kit_fill put in. */
unsigned kit_number(const struct stream_message *m);

#endif
