/* Every allocation of stream's constructors refused in turn: NOMEM, and nothing left behind. No
 * broker: what they start would wait for one. */

#include "kit/cmocka.h"

#include "kit/base/oom.h"
#include "stream/consumer.h"
#include "stream/embedded.h"
#include "stream/producer.h"
#include "stream/topics.h"
#include "stream/txn_thread.h"

static const struct stream_property nobody[] = {{"bootstrap.servers", "127.0.0.1:9"}};
static const struct stream_client client = {.properties = nobody, .property_count = 1};

static int batch(void *arg, struct fis_error *e)
{
    (void)arg;
    struct stream_batch *b = stream_batch_new(100);
    if (!b)
        return fis_fail(e, FIS_NOMEM, "no batch");
    stream_batch_free(b);
    return 0;
}

static int consumer(void *arg, struct fis_error *e)
{
    const struct stream_consumer_options *mode = arg;
    const char *const topics[] = {"one", "two", "three"};
    struct stream_consumer_options o = *mode;
    o.client = client;
    o.topics = topics;
    o.topic_count = 3;
    struct stream_consumer *c = NULL;
    int rc = stream_consumer_open(&c, &o, e);
    assert_true((rc == 0) == (c != NULL));
    stream_consumer_close(c, 0);
    return rc;
}

static int producer(void *arg, struct fis_error *e)
{
    const struct stream_producer_options o = {.client = client, .transactional_id = arg};
    struct stream_producer *p = NULL;
    struct stream_txn_thread *t = NULL;
    int rc = stream_producer_open(&p, &o, e);
    if (rc == 0 && arg)
        rc = stream_txn_thread_new(&t, p, NULL, NULL, e);
    stream_txn_thread_free(t, 0);
    stream_producer_close(p);
    return rc;
}

static int broker(void *arg, struct fis_error *e)
{
    (void)arg;
    struct stream_embedded *b = NULL;
    int rc = stream_embedded_start(&b, e);
    stream_embedded_stop(b);
    return rc;
}

static int ends(void *arg, struct fis_error *e)
{
    const struct stream_property p[] = {{"bootstrap.servers", arg}};
    const struct stream_client c = {.properties = p, .property_count = 1};
    struct stream_end *list = NULL;
    uint32_t n = 0;
    int rc = stream_topic_ends(&c, "t", 20000, &list, &n, e);
    assert_true((rc == 0) == (list != NULL));
    fis_free(list);
    return rc;
}

static void batches(void **state)
{
    (void)state;
    assert_int_equal(oom_run(batch, NULL), 3);
}

static void consumers(void **state)
{
    (void)state;
    struct stream_consumer_options modes[] = {
        {.group_id = NULL},
        {.group_id = "g"},
        {.group_id = "g", .stored = true},
        {.group_id = "g", .election = true},
    };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        assert_true(oom_run(consumer, &modes[i]) >= 5);
}

static void producers(void **state)
{
    (void)state;
    assert_true(oom_run(producer, NULL) >= 1);
    assert_true(oom_run(producer, "id") >= 2);
}

static void brokers(void **state)
{
    (void)state;
    assert_true(oom_run(broker, NULL) >= 1);
}

static void topic_ends(void **state)
{
    (void)state;
    struct stream_embedded *b = NULL;
    struct fis_error e;
    assert_int_equal(stream_embedded_start(&b, &e), 0);
    assert_int_equal(stream_embedded_topic(b, "t", 3, &e), 0);
    assert_int_equal(oom_run(ends, (void *)(uintptr_t)stream_embedded_bootstrap(b)), 2);
    stream_embedded_stop(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches), cmocka_unit_test(consumers),  cmocka_unit_test(producers),
        cmocka_unit_test(brokers), cmocka_unit_test(topic_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
