/* Going back, pausing one partition, ends reported and asked for; on the embedded broker. */
#include "kit/stream/embedded_kit.h"

#include "fis/mem.h"
#include "stream/topics.h"

/* Reads until every number below `count` was seen `times` times more. */
static void read_numbers(struct stream_consumer *c, struct stream_batch *b, unsigned *seen,
                         unsigned count, unsigned times)
{
    unsigned left = count;
    for (unsigned i = 0; i < count; i++)
        left -= seen[i] >= times;
    int64_t end = kit_now() + WAIT_MS;
    while (left > 0) {
        if (kit_now() > end)
            fail_msg("%u of %u were not read", left, count);
        if (stream_consumer_read(c, b, b->capacity) == 0)
            kit_nap();
        for (uint32_t i = 0; i < b->count; i++) {
            unsigned n = kit_number(&b->messages[i]);
            assert_true(n < count);
            left -= ++seen[n] == times;
            assert_true(seen[n] <= times);
        }
        stream_batch_release(b);
    }
}

/* Every partition goes back, again and again, in the middle and at the end; nothing of before comes
 * after, nothing is left out, and what the group has committed does not matter. */
static void rewinds(const char *at, struct stream_embedded *b, const char *topic,
                    const char *strategy)
{
    enum { N = 900, ROUNDS = 3 };
    KIT_OK(stream_embedded_topic(b, topic, 3, &kit_e));
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, topic, -1, 0, N);
    struct kit_consumer k = {.bootstrap = at,
                             .group = topic,
                             .topics = {topic},
                             .rewind = true,
                             .eofs = true,
                             .more = {{"partition.assignment.strategy", strategy}},
                             .more_count = 1};
    struct stream_consumer *c = kit_consumer(&k);
    struct stream_batch *batch = stream_batch_new(50);
    kit_event(c, NULL, STREAM_ASSIGNED);
    const struct stream_offset done[] = {{topic, 0, 100, 0}, {topic, 1, 100, 0}};
    KIT_OK(stream_consumer_commit(c, done, 2, &kit_e));
    unsigned seen[N] = {0};
    for (unsigned round = 1; round <= ROUNDS; round++) {
        kit_read(c, batch, 15 * round);
        stream_batch_release(batch);
        KIT_OK(stream_consumer_seek_begin(c, &kit_e));
        read_numbers(c, batch, seen, N, round);
        for (unsigned eofs = 0; eofs < 3; eofs++) /* one of each partition, every time */
            assert_true(kit_event(c, batch, STREAM_EOF).offset > 0);
        assert_int_equal(batch->count, 0);
        KIT_OK(stream_consumer_seek_begin(c, &kit_e));
    }
    stream_consumer_close(c, 5000);

    c = kit_consumer(&k);
    memset(seen, 0, sizeof seen);
    read_numbers(c, batch, seen, N, 1);
    stream_batch_free(batch);
    stream_consumer_close(c, 5000);
    stream_producer_close(p);
}

static void rewinds_eager(void **state)
{
    rewinds(stream_embedded_bootstrap(*state), *state, "rewind-e", "range");
}

static void rewinds_cooperative(void **state)
{
    rewinds(stream_embedded_bootstrap(*state), *state, "rewind-c", "cooperative-sticky");
}

static void rewind_is_for_those_who_allow_it(void **state)
{
    struct stream_embedded *b = *state;
    const char *at = stream_embedded_bootstrap(b);
    KIT_OK(stream_embedded_topic(b, "no-rewind", 1, &kit_e));
    struct stream_consumer *c = kit_consumer(
        &(struct kit_consumer){.bootstrap = at, .group = "nr", .topics = {"no-rewind"}});
    struct fis_error e;
    assert_int_equal(stream_consumer_seek_begin(c, &e), -FIS_INPUT);
    stream_consumer_close(c, 0);
    const char *const topics[] = {"no-rewind"};
    const struct stream_property p[] = {{"bootstrap.servers", at}};
    struct stream_consumer_options o = {.client = {.properties = p, .property_count = 1},
                                        .topics = topics,
                                        .topic_count = 1,
                                        .election = true};
    assert_int_equal(stream_consumer_open(&c, &o, &e), -FIS_INPUT);
    o.group_id = "g";
    o.stored = true;
    assert_int_equal(stream_consumer_open(&c, &o, &e), -FIS_INPUT);
}

/* A partition that is paused gives nothing, whatever is sent; resumed it goes on where it was, or
 * at its beginning after going back. */
static void pauses_one_partition(void **state)
{
    struct stream_embedded *b = *state;
    const char *at = stream_embedded_bootstrap(b);
    KIT_OK(stream_embedded_topic(b, "one", 2, &kit_e));
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, "one", 0, 0, 100);
    kit_fill(p, "one", 1, 100, 100);
    struct stream_consumer *c = kit_consumer(
        &(struct kit_consumer){.bootstrap = at, .group = "one", .topics = {"one"}, .rewind = true});
    struct stream_batch *batch = stream_batch_new(10);
    unsigned seen[400] = {0};
    read_numbers(c, batch, seen, 200, 1);
    stream_consumer_pause_partition(c, 0, 1);
    stream_consumer_pause_partition(c, 0, 7); /* not owned */
    kit_fill(p, "one", 1, 200, 100);
    kit_fill(p, "one", 0, 300, 100);
    /* What is sent to 0 later is read, what was sent to 1 before it is not. */
    kit_read(c, batch, 10);
    for (unsigned n = 10;; n += batch->count) {
        for (uint32_t i = 0; i < batch->count; i++) {
            assert_int_equal(batch->messages[i].partition, 0);
            seen[kit_number(&batch->messages[i])]++;
        }
        stream_batch_release(batch);
        if (n == 100)
            break;
        kit_read(c, batch, 10);
    }
    stream_consumer_resume_partition(c, 0, 1);
    read_numbers(c, batch, seen, 400, 1);
    stream_consumer_pause_partition(c, 0, 0);
    KIT_OK(stream_consumer_seek_begin(c, &kit_e));
    read_numbers(c, batch, seen, 400, 2);
    stream_batch_free(batch);
    stream_consumer_close(c, 5000);
    stream_producer_close(p);
}

/* END again, as often as it is asked for: at once when nothing is new, else behind all that is. */
static void asks_for_the_end(void **state)
{
    struct stream_embedded *b = *state;
    const char *at = stream_embedded_bootstrap(b);
    KIT_OK(stream_embedded_topic(b, "ask1", 2, &kit_e));
    KIT_OK(stream_embedded_topic(b, "ask2", 1, &kit_e));
    struct stream_producer *p = kit_producer(at);
    struct stream_consumer *c = kit_consumer(
        &(struct kit_consumer){.bootstrap = at, .topics = {"ask1", "ask2"}, .topic_count = 2});
    stream_consumer_to_end(c); /* before anything is known: one END */
    struct stream_batch *batch = stream_batch_new(7);
    kit_event(c, batch, STREAM_END);
    struct stream_consumer_event ev;
    for (unsigned round = 0; round < 5; round++) {
        stream_batch_release(batch);
        stream_consumer_to_end(c);
        kit_event(c, batch, STREAM_END);
        assert_int_equal(batch->count, 0);
        kit_fill(p, "ask1", -1, round * 100, 99);
        kit_fill(p, "ask2", 0, round * 100 + 99, 1);
        stream_consumer_to_end(c);
        unsigned got = 0;
        int64_t end = kit_now() + WAIT_MS;
        for (ev.kind = 0; ev.kind != STREAM_END && kit_now() < end;) {
            if (stream_consumer_read(c, batch, 7) == 0)
                kit_nap();
            got += batch->count;
            stream_batch_release(batch);
            (void)stream_consumer_event(c, &ev);
        }
        assert_int_equal(ev.kind, STREAM_END);
        assert_int_equal(got, 100);
        stream_consumer_read(c, batch, 7);
        assert_false(stream_consumer_event(c, &ev));
    }
    stream_batch_free(batch);
    stream_consumer_close(c, 5000);
    stream_producer_close(p);
}

/* Of many partitions at once: a question waits for the fetch before it, where nothing comes. */
static void asks_for_many_ends(void **state)
{
    struct stream_embedded *b = *state;
    const char *at = stream_embedded_bootstrap(b);
    KIT_OK(stream_embedded_topic(b, "many", 100, &kit_e));
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, "many", 99, 0, 1);
    struct stream_consumer *c =
        kit_consumer(&(struct kit_consumer){.bootstrap = at, .topics = {"many"}});
    struct stream_batch *batch = stream_batch_new(1);
    kit_read(c, batch, 1);
    stream_batch_release(batch);
    int64_t start = kit_now();
    stream_consumer_to_end(c);
    kit_event(c, batch, STREAM_END);
    assert_true(kit_now() - start < 5000);
    stream_batch_free(batch);
    stream_consumer_close(c, 5000);
    stream_producer_close(p);
}

/* A question is being asked, or cannot be: the end does not wait for it. */
static void closes_while_asking(void **state)
{
    struct stream_embedded *b = *state;
    const char *at = stream_embedded_bootstrap(b);
    KIT_OK(stream_embedded_topic(b, "closing", 2, &kit_e));
    for (int i = 0; i < 10; i++) {
        struct stream_consumer *c =
            kit_consumer(&(struct kit_consumer){.bootstrap = at, .topics = {"closing"}});
        kit_event(c, NULL, STREAM_ASSIGNED);
        stream_consumer_to_end(c);
        stream_consumer_read(c, NULL, 0);
        int64_t start = kit_now();
        stream_consumer_close(c, 1000);
        assert_true(kit_now() - start < 5000);
    }
}

static void topic_ends(void **state)
{
    struct stream_embedded *b = *state;
    const char *at = stream_embedded_bootstrap(b);
    KIT_OK(stream_embedded_topic(b, "ends", 3, &kit_e));
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, "ends", 1, 0, 5);
    kit_fill(p, "ends", 2, 0, 8);
    const struct stream_property props[] = {{"bootstrap.servers", at}};
    const struct stream_client client = {.properties = props, .property_count = 1};
    struct stream_end *ends = NULL;
    uint32_t n = 0;
    KIT_OK(stream_topic_ends(&client, "ends", WAIT_MS, &ends, &n, &kit_e));
    assert_int_equal(n, 3);
    const int64_t high[] = {0, 5, 8};
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(ends[i].partition, i);
        assert_int_equal(ends[i].low, 0);
        assert_int_equal(ends[i].high, high[i]);
    }
    fis_free(ends);
    stream_producer_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rewinds_eager),        cmocka_unit_test(rewinds_cooperative),
        cmocka_unit_test(pauses_one_partition), cmocka_unit_test(rewind_is_for_those_who_allow_it),
        cmocka_unit_test(asks_for_the_end),     cmocka_unit_test(closes_while_asking),
        cmocka_unit_test(asks_for_many_ends),   cmocka_unit_test(topic_ends),
    };
    return cmocka_run_group_tests(tests, kit_start, kit_stop);
}
