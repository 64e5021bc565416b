/* A queue that was full is filled again before it is empty; on the embedded broker. */
#include "kit/stream/embedded_kit.h"

enum { QUEUE = 256 * 1024 };

/* Some 16 times the queue is full, and left alone until fetching has stopped. librdkafka before 2.2
 * would look at it again after up to a second each time. */
static void fetching_goes_on_soon(void *broker, const char *topic, uint32_t n, size_t bytes,
                                  uint32_t step)
{
    const char *at = stream_embedded_bootstrap(broker);
    KIT_OK(stream_embedded_topic(broker, topic, 1, &kit_e));
    struct stream_producer *p = kit_producer(at);
    static char value[1000];
    for (uint64_t i = 0; i < n; i++)
        KIT_OK(stream_producer_send(p, topic, 0, NULL, 0, value, bytes, i, &kit_e));
    KIT_OK(stream_producer_flush(p, WAIT_MS, NULL, NULL, &kit_e));
    struct kit_consumer k = {.bootstrap = at,
                             .topics = {topic},
                             .queue_bytes = QUEUE,
                             .more = {{"fetch.message.max.bytes", "16384"},
                                      {"topic.metadata.refresh.interval.ms", "-1"}},
                             .more_count = 2};
    struct stream_consumer *c = kit_consumer(&k);
    struct stream_batch *b = stream_batch_new(step);
    uint32_t got = 0;
    kit_read(c, b, 1);
    int64_t begin = kit_now();
    while (got < n && kit_now() < begin + WAIT_MS) {
        kit_nap(); /* slower than what is fetched */
        got += b->count;
        stream_batch_release(b);
        stream_consumer_read(c, b, step);
    }
    int64_t took = kit_now() - begin;
    stream_batch_free(b);
    stream_consumer_close(c, 0);
    stream_producer_close(p);
    assert_int_equal(got, n);
    if (took > 4000)
        fail_msg("%lld ms for %u messages", (long long)took, n);
}

static void of_bytes(void **state)
{
    fetching_goes_on_soon(*state, "bytes", 4000, 1000, 32);
}

/* Of short ones it holds so many, long before it is full of bytes. */
static void of_messages(void **state)
{
    fetching_goes_on_soon(*state, "messages", 64000, 20, 512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_bytes), cmocka_unit_test(of_messages)};
    return cmocka_run_group_tests(tests, kit_start, kit_stop);
}
