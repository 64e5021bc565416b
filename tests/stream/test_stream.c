/* Consumer and producer on the embedded broker. */
#include "kit/stream/embedded_kit.h"

static void round_trip(void **state)
{
    struct stream_embedded *b = *state;
    const char *at = stream_embedded_bootstrap(b);
    KIT_OK(stream_embedded_topic(b, "round", 1, &kit_e));
    struct stream_producer *p = kit_producer(at);
    KIT_OK(stream_producer_send(p, "round", 0, "k", 1, "v", 1, 1, &kit_e));
    KIT_OK(stream_producer_send(p, "round", 0, NULL, 0, "v", 1, 2, &kit_e));
    KIT_OK(stream_producer_send(p, "round", 0, "k", 1, NULL, 0, 3, &kit_e));
    KIT_OK(stream_producer_send(p, "round", 0, "", 0, "", 0, 4, &kit_e));
    KIT_OK(stream_producer_flush(p, WAIT_MS, NULL, NULL, &kit_e));
    assert_int_equal(stream_producer_outstanding(p), 0);

    struct stream_consumer *c =
        kit_consumer(&(struct kit_consumer){.bootstrap = at, .topics = {"round"}});
    struct stream_batch *batch = stream_batch_new(8);
    kit_read(c, batch, 4);
    const struct stream_message *m = batch->messages;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(m[i].topic, 0);
        assert_int_equal(m[i].partition, 0);
        assert_int_equal(m[i].offset, i);
        assert_true(m[i].timestamp_ms > 1500000000000);
    }
    assert_int_equal(m[0].key_length, 1);
    assert_memory_equal(m[0].key, "k", 1);
    assert_memory_equal(m[0].value, "v", 1);
    assert_null(m[1].key);
    assert_int_equal(m[1].key_length, 0);
    assert_null(m[2].value);
    assert_non_null(m[3].key);
    assert_int_equal(m[3].key_length, 0);
    assert_non_null(m[3].value);
    assert_int_equal(m[3].value_length, 0);
    KIT_UNTIL((stream_consumer_read(c, batch, 1), stream_consumer_lag(c) == 0));
    stream_batch_free(batch);
    stream_consumer_close(c, 5000);
    stream_producer_close(p);
}

static void pausing_loses_nothing(void **state)
{
    struct stream_embedded *b = *state;
    const char *at = stream_embedded_bootstrap(b);
    KIT_OK(stream_embedded_topic(b, "pause", 2, &kit_e));
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, "pause", 0, 0, 300);
    kit_fill(p, "pause", 1, 300, 300);
    struct stream_consumer *c =
        kit_consumer(&(struct kit_consumer){.bootstrap = at, .topics = {"pause"}});
    struct stream_batch *batch = stream_batch_new(7);
    unsigned char seen[1000] = {0};
    unsigned total = 0, rounds = 0;
    bool refilled = false;
    int64_t end = kit_now() + WAIT_MS;
    while (total < 900 && kit_now() < end) {
        if (rounds++ % 3 == 1)
            assert_int_equal(stream_consumer_read(c, batch, 0), 0);
        if (total == 300 && !refilled) {
            kit_fill(p, "pause", -1, 600, 300);
            refilled = true;
        }
        uint32_t most = total < 300 && total + 7 > 300 ? 300 - total : 7;
        if (stream_consumer_read(c, batch, most) == 0)
            kit_nap();
        for (uint32_t i = 0; i < batch->count; i++)
            seen[kit_number(&batch->messages[i])]++;
        total += batch->count;
        stream_batch_release(batch);
    }
    for (int i = 0; i < 900; i++)
        assert_int_equal(seen[i], 1);
    stream_batch_free(batch);
    stream_consumer_close(c, 5000);
    stream_producer_close(p);
}

static void batches_are_bounded(void **state)
{
    struct stream_embedded *b = *state;
    const char *at = stream_embedded_bootstrap(b);
    KIT_OK(stream_embedded_topic(b, "bounded", 1, &kit_e));
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, "bounded", 0, 0, 50);
    struct stream_consumer *c =
        kit_consumer(&(struct kit_consumer){.bootstrap = at, .topics = {"bounded"}});
    struct stream_batch *batch = stream_batch_new(10);
    KIT_UNTIL((stream_consumer_read(c, batch, 1000), batch->count == 10));
    assert_int_equal(stream_consumer_read(c, batch, 1000), 0);
    assert_int_equal(batch->count, 10);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(kit_number(&batch->messages[i]), i);
    assert_true(stream_consumer_lag(c) >= 0);
    stream_batch_release(batch);
    kit_read(c, batch, 10);
    assert_int_equal(kit_number(&batch->messages[0]), 10);
    stream_batch_free(batch);
    stream_consumer_close(c, 5000);
    stream_producer_close(p);
}

static void commit_and_resume(void **state)
{
    struct stream_embedded *b = *state;
    const char *at = stream_embedded_bootstrap(b);
    KIT_OK(stream_embedded_topic(b, "commit", 1, &kit_e));
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, "commit", 0, 0, 20);
    const struct kit_consumer k = {.bootstrap = at, .group = "gc", .topics = {"commit"}};
    struct stream_consumer *c = kit_consumer(&k);
    struct stream_batch *batch = stream_batch_new(20);
    kit_read(c, batch, 20);
    stream_batch_release(batch);
    const struct stream_offset done = {"commit", 0, 12, 0};
    KIT_OK(stream_consumer_commit(c, &done, 1, &kit_e));
    stream_consumer_close(c, 5000);

    c = kit_consumer(&k);
    kit_read(c, batch, 8);
    assert_int_equal(batch->messages[0].offset, 12);
    assert_int_equal(kit_number(&batch->messages[7]), 19);
    stream_batch_free(batch);
    struct stream_consumer_event ev;
    while (stream_consumer_event(c, &ev))
        assert_int_not_equal(ev.kind, STREAM_ERROR);
    stream_consumer_close(c, 5000);
    stream_producer_close(p);
}

static void count_wake(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
}

/* The loop reads only when it is woken, and gets everything. */
static void woken_only(void **state)
{
    struct stream_embedded *b = *state;
    const char *at = stream_embedded_bootstrap(b);
    KIT_OK(stream_embedded_topic(b, "wake", 3, &kit_e));
    _Atomic int wakes = 0;
    struct stream_consumer *c = kit_consumer(&(struct kit_consumer){
        .bootstrap = at, .topics = {"wake"}, .wake = count_wake, .wake_arg = &wakes});
    struct stream_producer *p = kit_producer(at);
    struct stream_batch *batch = stream_batch_new(5);
    unsigned total = 0;
    for (unsigned round = 0; round < 5; round++) {
        kit_fill(p, "wake", -1, round * 40, 40);
        int64_t end = kit_now() + WAIT_MS;
        while (total < (round + 1) * 40) {
            KIT_UNTIL(atomic_exchange(&wakes, 0) > 0);
            while (stream_consumer_read(c, batch, 5) == 5) {
                total += 5;
                stream_batch_release(batch);
            }
            total += batch->count;
            stream_batch_release(batch);
            assert_true(kit_now() < end);
        }
        assert_int_equal(total, (round + 1) * 40);
    }
    stream_batch_free(batch);
    stream_consumer_close(c, 5000);
    stream_producer_close(p);
}

static void reads_to_the_end(void **state)
{
    struct stream_embedded *b = *state;
    const char *at = stream_embedded_bootstrap(b);
    KIT_OK(stream_embedded_topic(b, "end1", 3, &kit_e));
    KIT_OK(stream_embedded_topic(b, "end2", 1, &kit_e));
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, "end1", -1, 0, 100);
    struct stream_consumer *c = kit_consumer(
        &(struct kit_consumer){.bootstrap = at, .topics = {"end1", "end2"}, .topic_count = 2});
    struct stream_batch *batch = stream_batch_new(200);
    struct stream_consumer_event ev = {0};
    bool assigned = false;
    int64_t limit = kit_now() + WAIT_MS;
    while (ev.kind != STREAM_END && kit_now() < limit) {
        if (stream_consumer_read(c, batch, 200) == 0)
            kit_nap();
        if (stream_consumer_event(c, &ev) && ev.kind == STREAM_ASSIGNED) {
            assert_int_equal(ev.owned, 4);
            assigned = true;
        }
    }
    assert_int_equal(ev.kind, STREAM_END);
    assert_true(assigned);
    assert_int_equal(batch->count, 100);
    assert_int_equal(stream_consumer_lag(c), 0);
    stream_batch_release(batch);

    kit_fill(p, "end2", 0, 7, 1);
    kit_read(c, batch, 1);
    assert_int_equal(batch->messages[0].topic, 1);
    assert_int_equal(kit_number(&batch->messages[0]), 7);
    while (stream_consumer_event(c, &ev))
        assert_int_not_equal(ev.kind, STREAM_END);
    stream_batch_free(batch);
    stream_consumer_close(c, 5000);
    stream_producer_close(p);
}

struct reports {
    unsigned ok, other;
    uint64_t tokens;
};

static void count_report(void *arg, uint64_t token, enum fis_error_kind kind, const char *text)
{
    struct reports *r = arg;
    (void)text;
    if (kind == FIS_OK)
        r->ok++;
    else
        r->other++;
    r->tokens += token;
}

static void reports_come_once(void **state)
{
    struct stream_embedded *b = *state;
    KIT_OK(stream_embedded_topic(b, "reports", 2, &kit_e));
    struct stream_producer *p = kit_producer(stream_embedded_bootstrap(b));
    for (uint64_t i = 1; i <= 100; i++)
        KIT_OK(stream_producer_send(p, "reports", -1, &i, sizeof i, "x", 1, i, &kit_e));
    struct reports r = {0};
    KIT_UNTIL((stream_producer_poll(p, count_report, &r), stream_producer_outstanding(p) == 0));
    assert_int_equal(r.ok, 100);
    assert_int_equal(r.other, 0);
    assert_int_equal(r.tokens, 5050);
    stream_producer_close(p);
}

/* A topic that was read further than where the first delivery comes has lost its end. */
static void what_was_read_is_expected(void **state)
{
    struct stream_embedded *b = *state;
    struct stream_backwards back;
    KIT_OK(stream_embedded_topic(b, "expected", 2, &kit_e));
    struct stream_producer *p = kit_producer(stream_embedded_bootstrap(b));
    stream_producer_expect(p, "expected", 0, 2);
    stream_producer_expect(p, "expected", 0, 1); /* read before, and reported late */
    stream_producer_expect(p, "expected", 1, 0);
    stream_producer_expect(p, "other", 0, 100);
    assert_int_equal(stream_producer_delivered(p, "expected", 0), 2);
    kit_fill(p, "expected", 1, 0, 1);
    assert_false(stream_producer_backwards(p, &back));
    kit_fill(p, "expected", 0, 0, 1);
    assert_true(stream_producer_backwards(p, &back));
    assert_string_equal(back.topic, "expected");
    assert_int_equal(back.last, 1);
    assert_int_equal(back.now, 0);
    kit_fill(p, "expected", 0, 1, 2);
    assert_false(stream_producer_backwards(p, &back));
    stream_producer_close(p);
}

static void refuses_what_is_too_large(void **state)
{
    const struct stream_property props[] = {
        {"bootstrap.servers", stream_embedded_bootstrap(*state)}, {"message.max.bytes", "100000"}};
    const struct stream_producer_options o = {.client = {.properties = props, .property_count = 2}};
    struct stream_producer *p = NULL;
    KIT_OK(stream_producer_open(&p, &o, &kit_e));
    size_t n = (size_t)10 << 20;
    char *big = calloc(n, 1);
    struct fis_error e;
    assert_int_equal(stream_producer_send(p, "large", -1, NULL, 0, big, n, 1, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "large"));
    assert_non_null(strstr(e.text, "10485760"));
    free(big);
    assert_int_equal(stream_producer_outstanding(p), 0);
    stream_producer_close(p);
}

/* Progress relies on the order of a partition. */
static void order_is_not_the_operators(void **state)
{
    const struct stream_property p[] = {{"bootstrap.servers", stream_embedded_bootstrap(*state)},
                                        {"max.in.flight.requests.per.connection", "5"}};
    const struct stream_producer_options o = {.client = {.properties = p, .property_count = 2}};
    struct stream_producer *out = NULL;
    struct fis_error e;
    assert_int_equal(stream_producer_open(&out, &o, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "max.in.flight"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(pausing_loses_nothing),
        cmocka_unit_test(batches_are_bounded),
        cmocka_unit_test(commit_and_resume),
        cmocka_unit_test(woken_only),
        cmocka_unit_test(reads_to_the_end),
        cmocka_unit_test(reports_come_once),
        cmocka_unit_test(what_was_read_is_expected),
        cmocka_unit_test(refuses_what_is_too_large),
        cmocka_unit_test(order_is_not_the_operators),
    };
    return cmocka_run_group_tests(tests, kit_start, kit_stop);
}
