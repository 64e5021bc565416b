/* A broker that hangs, as when it is suspended: it holds a request for socket.timeout.ms and no
 * longer, and the unit is committed by the others. */
#include "kit/stream/embedded_kit.h"

#include <librdkafka/rdkafka.h>

#include <librdkafka/rdkafka_mock.h> /* after the other */

#include "stream/clients_check.h"
#include "stream/producer_impl.h"
#include "stream/txn_thread.h"

static struct stream_producer *open_with(const char *name, const char *value)
{
    const struct stream_property props[3] = {
        {"bootstrap.servers", "127.0.0.1:9"}, {"test.mock.num.brokers", "2"}, {name, value}};
    const struct stream_producer_options o = {
        .client = {.properties = props, .property_count = name ? 3 : 2}, .transactional_id = "id"};
    struct stream_producer *p = NULL;
    KIT_OK(stream_clients_check(props, o.client.property_count, true, &kit_e));
    KIT_OK(stream_producer_open(&p, &o, &kit_e));
    return p;
}

static void request_timeout_is(const char *name, const char *value, const char *expected)
{
    char found[32];
    size_t size = sizeof found;
    struct stream_producer *p = open_with(name, value);
    assert_int_equal(rd_kafka_conf_get(rd_kafka_conf(p->rk), "socket.timeout.ms", found, &size),
                     RD_KAFKA_CONF_OK);
    assert_string_equal(found, expected);
    stream_producer_close(p);
}

static void times_of_the_operator_come_first(void **state)
{
    (void)state;
    request_timeout_is(NULL, NULL, "15000");
    request_timeout_is("socket.timeout.ms", "40000", "40000");
    request_timeout_is("transaction.timeout.ms", "120000", "15000");
    request_timeout_is("transaction.timeout.ms", "5000", "4900");
    request_timeout_is("transaction.timeout.ms", "2147483647", "2147483547");
    request_timeout_is("fetch.wait.max.ms", "20000", "59900");
}

static struct stream_txn_result result(struct stream_producer *p, struct stream_txn_thread *t)
{
    struct stream_txn_result r = {0};
    KIT_UNTIL((stream_producer_poll(p, NULL, NULL), stream_txn_thread_poll(t, &r)));
    return r;
}

static void commit(struct stream_producer *p, struct stream_txn_thread *t)
{
    const struct stream_offset done = {"in", 0, 1, 0};
    KIT_OK(stream_txn_begin(t, &kit_e));
    KIT_OK(stream_producer_send(p, "t", 0, "k", 1, "v", 1, 0, &kit_e));
    KIT_OK(stream_txn_commit(t, &done, 1, "g", WAIT_MS, &kit_e));
}

static void lead(rd_kafka_mock_cluster_t *brokers, int32_t id)
{
    KIT_OK(rd_kafka_mock_partition_set_leader(brokers, "t", 0, id));
    KIT_OK(rd_kafka_mock_coordinator_set(brokers, "transaction", "id", id));
    KIT_OK(rd_kafka_mock_coordinator_set(brokers, "group", "g", id));
}

static void a_unit_goes_on_without_it(void **state)
{
    (void)state;
    struct stream_producer *p = open_with("socket.timeout.ms", "1000");
    struct stream_txn_thread *t = NULL;
    rd_kafka_mock_cluster_t *brokers = rd_kafka_handle_mock_cluster(p->rk);
    KIT_OK(rd_kafka_mock_topic_create(brokers, "t", 1, 2));
    KIT_OK(rd_kafka_mock_topic_create(brokers, "in", 1, 2));
    lead(brokers, 1);
    KIT_OK(stream_txn_thread_new(&t, p, NULL, NULL, &kit_e));
    KIT_OK(stream_txn_init(t, WAIT_MS, &kit_e));
    assert_int_equal(result(p, t).state, STREAM_TXN_READY);
    commit(p, t);
    assert_int_equal(result(p, t).state, STREAM_TXN_READY);
    KIT_OK(rd_kafka_mock_broker_set_rtt(brokers, 1, 600000));
    lead(brokers, 2);
    commit(p, t); /* to the first, which nobody has called dead */
    assert_int_equal(result(p, t).state, STREAM_TXN_READY);
    stream_txn_thread_free(t, 0);
    stream_producer_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_of_the_operator_come_first),
                                       cmocka_unit_test(a_unit_goes_on_without_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
