/*
 * Offsets that are gone, on the embedded broker, which keeps some 5 MB of a partition: a reader
 * that falls behind gets what it lost, goes on at what is left, and never at the end.
 */
#include "kit/stream/embedded_kit.h"

#define CHUNK 50000
#define CHUNKS 200 /* twice what is kept */

/* Messages of CHUNK bytes that begin with their number, each a fetch unit of its own. */
static void fill_big(struct stream_producer *p, const char *topic, int32_t partition,
                     unsigned first, unsigned count)
{
    static char value[CHUNK];
    uint64_t x = 88172645463325252u; /* so that compression finds nothing */
    for (unsigned i = first; i < first + count; i++) {
        for (size_t k = 16; k + 8 <= sizeof value; k += 8) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            memcpy(value + k, &x, 8);
        }
        snprintf(value, 16, "%u", i);
        KIT_OK(stream_producer_send(p, topic, partition, NULL, 0, value, sizeof value, i, &kit_e));
        KIT_OK(stream_producer_flush(p, WAIT_MS, NULL, NULL, &kit_e));
    }
}

struct read {
    int64_t first, next; /* offsets of partition 0; gaps are not allowed */
    unsigned resets;
    struct stream_consumer_event reset;
};

/* Reads partition 0 to offset `until`; other partitions just pass. */
static void read_until(struct stream_consumer *c, struct stream_batch *b, struct read *r,
                       int64_t until)
{
    int64_t end = kit_now() + WAIT_MS;
    struct stream_consumer_event ev;
    while (r->next < until) {
        if (kit_now() > end)
            fail_msg("at offset %lld of %lld", (long long)r->next, (long long)until);
        if (stream_consumer_read(c, b, b->capacity) == 0)
            kit_nap();
        for (uint32_t i = 0; i < b->count; i++) {
            const struct stream_message *m = &b->messages[i];
            if (m->partition == 0) {
                r->first = r->first < 0 ? m->offset : r->first;
                assert_true(r->next < 0 || m->offset == r->next);
                assert_int_equal(strtoul(m->value, NULL, 10), m->offset);
                r->next = m->offset + 1;
            }
        }
        stream_batch_release(b);
        while (stream_consumer_event(c, &ev)) {
            if (ev.kind == STREAM_RESET && ev.partition == 0) {
                r->resets++;
                r->reset = ev;
            } else if (ev.kind == STREAM_ERROR) {
                assert_int_equal(ev.error.kind, FIS_RETRY);
            }
        }
    }
}

/* The group stands at 10 when everything before 100 and more has gone. */
static void stopped_too_long(const char *at, struct stream_embedded *b, const char *topic,
                             const char *strategy)
{
    KIT_OK(stream_embedded_topic(b, topic, 2, &kit_e));
    struct stream_producer *p = kit_producer(at);
    fill_big(p, topic, 0, 0, 20);
    kit_fill(p, topic, 1, 0, 20);
    struct kit_consumer k = {.bootstrap = at, .group = topic, .topics = {topic}};
    if (strategy) {
        k.more[k.more_count++] =
            (struct stream_property){"partition.assignment.strategy", strategy};
    }
    struct stream_consumer *c = kit_consumer(&k);
    struct stream_batch *batch = stream_batch_new(3);
    struct read first = {-1, -1, 0, {0}};
    read_until(c, batch, &first, 20);
    assert_int_equal(first.first, 0);
    assert_true(first.resets <= 1); /* a new group has nothing to lose */
    if (first.resets) {
        assert_int_equal(first.reset.expected, -1);
        assert_int_equal(first.reset.lost_messages, 0);
    }
    const struct stream_offset done[] = {{topic, 0, 10, 0}, {topic, 1, 5, 0}};
    KIT_OK(stream_consumer_commit(c, done, 2, &kit_e));
    stream_consumer_close(c, 5000);

    fill_big(p, topic, 0, 20, CHUNKS - 20);
    if (!strategy)
        k.stored = true; /* no member any more */
    c = kit_consumer(&k);
    struct read again = {-1, -1, 0, {0}};
    read_until(c, batch, &again, CHUNKS);
    assert_true(again.first > 50);
    assert_int_equal(again.resets, 1);
    assert_int_equal(again.reset.topic, 0);
    assert_int_equal(again.reset.expected, 10);
    assert_int_equal(again.reset.first, again.first);
    assert_int_equal(again.reset.lost_messages, again.first - 10);
    assert_false(again.reset.recreated);
    KIT_UNTIL((stream_consumer_read(c, batch, 3), stream_batch_release(batch),
               stream_consumer_lag(c) == 0));
    stream_batch_free(batch);
    stream_consumer_close(c, 5000);
    stream_producer_close(p);
}

static void eager(void **state)
{
    stopped_too_long(stream_embedded_bootstrap(*state), *state, "gone-e", "range");
}

static void cooperative(void **state)
{
    stopped_too_long(stream_embedded_bootstrap(*state), *state, "gone-c", "cooperative-sticky");
}

static void stored(void **state)
{
    stopped_too_long(stream_embedded_bootstrap(*state), *state, "gone-s", NULL);
}

/* A reader that runs is paused until retention has passed it by. */
static void overtaken(void **state)
{
    struct stream_embedded *b = *state;
    const char *at = stream_embedded_bootstrap(b);
    KIT_OK(stream_embedded_topic(b, "overtaken", 1, &kit_e));
    struct stream_producer *p = kit_producer(at);
    fill_big(p, "overtaken", 0, 0, 20);
    /* So little is fetched ahead that it falls behind. */
    struct stream_consumer *c = kit_consumer(&(struct kit_consumer){
        .bootstrap = at,
        .topics = {"overtaken"},
        .more = {{"queued.max.messages.kbytes", "500"}, {"fetch.message.max.bytes", "60000"}},
        .more_count = 2});
    struct stream_batch *batch = stream_batch_new(3);
    struct read r = {-1, -1, 0, {0}};
    read_until(c, batch, &r, 3);
    fill_big(p, "overtaken", 0, 20, CHUNKS - 20);
    int64_t end = kit_now() + WAIT_MS;
    struct stream_consumer_event ev = {0};
    int64_t next = r.next;
    while (ev.kind != STREAM_RESET && kit_now() < end) {
        uint32_t n = stream_consumer_read(c, batch, 3);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(batch->messages[i].offset, next++);
        stream_batch_release(batch);
        (void)stream_consumer_event(c, &ev);
    }
    assert_int_equal(ev.kind, STREAM_RESET);
    assert_int_equal(ev.expected, next);
    assert_true(ev.first > next);
    assert_int_equal(ev.lost_messages, ev.first - next);
    struct read rest = {-1, ev.first, 0, {0}};
    read_until(c, batch, &rest, CHUNKS);
    assert_int_equal(rest.resets, 0);
    stream_consumer_to_end(c);
    kit_event(c, batch, STREAM_END);
    stream_batch_free(batch);
    stream_consumer_close(c, 5000);
    stream_producer_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored),
        cmocka_unit_test(eager),
        cmocka_unit_test(cooperative),
        cmocka_unit_test(overtaken),
    };
    return cmocka_run_group_tests(tests, kit_start, kit_stop);
}
