/* A broker that takes its time for each answer. */
#include "kit/stream/embedded_kit.h"

#include <librdkafka/rdkafka.h>

#include <librdkafka/rdkafka_mock.h> /* after the other */

#include "stream/producer_impl.h"
#include "stream/topics.h"

/* All questions take longer than one may: each has the whole time. */
static void a_slow_broker_is_waited_for_as_long_as_it_answers(void **state)
{
    enum { TOPICS = 10, SLOW_MS = 400, TIMEOUT_MS = 3000 };
    (void)state;
    const struct stream_property props[] = {{"bootstrap.servers", "127.0.0.1:9"},
                                            {"test.mock.num.brokers", "2"}};
    const struct stream_producer_options o = {.client = {.properties = props, .property_count = 2}};
    struct stream_producer *p = NULL;
    KIT_OK(stream_producer_open(&p, &o, &kit_e));
    rd_kafka_mock_cluster_t *brokers = rd_kafka_handle_mock_cluster(p->rk);
    const struct stream_property where[] = {
        {"bootstrap.servers", rd_kafka_mock_cluster_bootstraps(brokers)}};
    const struct stream_client client = {.properties = where, .property_count = 1};
    struct stream_topic topics[TOPICS];
    struct stream_topic_report reports[TOPICS] = {0};
    struct fis_error e;
    KIT_OK(rd_kafka_mock_topic_create(brokers, "t", 1, 2));
    for (int i = 0; i < TOPICS; i++)
        topics[i] = (struct stream_topic){.name = "t", .partitions = 1};
    for (int32_t id = 1; id <= 2; id++)
        KIT_OK(rd_kafka_mock_broker_set_rtt(brokers, id, SLOW_MS));
    int64_t began = kit_now();
    assert_int_equal(stream_topics_check(&client, topics, TOPICS, TIMEOUT_MS, reports, &e),
                     STREAM_TOPICS_UNSUPPORTED);
    assert_true(kit_now() - began > TIMEOUT_MS);
    for (int i = 0; i < TOPICS; i++)
        assert_true(reports[i].exists);
    stream_producer_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_broker_is_waited_for_as_long_as_it_answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
