#include "kit/stream/embedded_kit.h"

int64_t kit_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void kit_nap(void)
{
    const struct timespec t = {0, 2 * 1000 * 1000};
    nanosleep(&t, NULL);
}

struct stream_embedded *kit_broker(void)
{
    struct stream_embedded *b = NULL;
    KIT_OK(stream_embedded_start(&b, &kit_e));
    return b;
}

int kit_start(void **state)
{
    *state = kit_broker();
    return 0;
}

int kit_stop(void **state)
{
    stream_embedded_stop(*state);
    return 0;
}

struct stream_producer *kit_producer(const char *bootstrap)
{
    const struct stream_property p[] = {{"bootstrap.servers", bootstrap}, {"linger.ms", "0"}};
    const struct stream_producer_options o = {.client = {.properties = p, .property_count = 2}};
    struct stream_producer *out = NULL;
    KIT_OK(stream_producer_open(&out, &o, &kit_e));
    return out;
}

void kit_fill(struct stream_producer *p, const char *topic, int32_t partition, unsigned first,
              unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        char text[16];
        size_t n = (size_t)snprintf(text, sizeof text, "%u", i);
        KIT_OK(stream_producer_send(p, topic, partition, text, n, text, n, i, &kit_e));
    }
    KIT_OK(stream_producer_flush(p, WAIT_MS, NULL, NULL, &kit_e));
}

struct stream_consumer *kit_consumer(const struct kit_consumer *k)
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

void kit_read(struct stream_consumer *c, struct stream_batch *b, uint32_t count)
{
    int64_t end = kit_now() + WAIT_MS;
    struct stream_consumer_event ev;
    char reported[FIS_ERROR_TEXT] = "nothing";
    while (b->count < count && kit_now() < end) {
        if (stream_consumer_read(c, b, count - b->count) == 0) {
            kit_nap();
        }
        while (stream_consumer_event(c, &ev)) {
            if (ev.kind == STREAM_ERROR) {
                memcpy(reported, ev.error.text, sizeof reported);
            }
        }
    }
    if (b->count != count) {
        fail_msg("%u of %u messages; the consumer reported: %s", b->count, count, reported);
    }
}

struct stream_consumer_event kit_event(struct stream_consumer *c, struct stream_batch *b,
                                       enum stream_consumer_event_kind kind)
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

unsigned kit_number(const struct stream_message *m)
{
    char text[16] = {0};
    assert_true(m->value_length < sizeof text);
    memcpy(text, m->value, m->value_length);
    return (unsigned)strtoul(text, NULL, 10);
}
