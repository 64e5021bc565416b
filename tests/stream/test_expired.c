/* The coordinator has forgotten the transactional id (nothing was committed for
 * transactional.id.expiration.ms, seven days): reported as such, wherever it is met, and a producer
 * that is opened again goes on. A broker that answers so is librdkafka's own, in the producer. */
#include "kit/stream/embedded_kit.h"

#include <librdkafka/rdkafka.h>

#include <librdkafka/rdkafka_mock.h> /* after the other */

#include "stream/producer_impl.h"
#include "stream/txn_thread.h"

enum { ADD_PARTITIONS = 24, ADD_OFFSETS = 25, END_TXN = 26 }; /* of Kafka's protocol */

static struct stream_txn_result wait_for(struct stream_producer *p, struct stream_txn_thread *t)
{
    struct stream_txn_result r = {0};
    KIT_UNTIL((stream_producer_poll(p, NULL, NULL), stream_txn_thread_poll(t, &r)));
    return r;
}

static void expired_at(int16_t request)
{
    const struct stream_property props[] = {{"bootstrap.servers", "127.0.0.1:9"},
                                            {"test.mock.num.brokers", "1"}};
    const struct stream_producer_options o = {.client = {.properties = props, .property_count = 2},
                                              .transactional_id = "id"};
    struct stream_producer *p = NULL;
    struct stream_txn_thread *t = NULL;
    KIT_OK(stream_producer_open(&p, &o, &kit_e));
    KIT_OK(stream_txn_thread_new(&t, p, NULL, NULL, &kit_e));
    KIT_OK(stream_txn_init(t, WAIT_MS, &kit_e));
    assert_int_equal(wait_for(p, t).state, STREAM_TXN_READY);
    rd_kafka_mock_cluster_t *broker = rd_kafka_handle_mock_cluster(p->rk);
    assert_non_null(broker);
    assert_int_equal(rd_kafka_mock_topic_create(broker, "t", 1, 1), 0);
    assert_int_equal(rd_kafka_mock_topic_create(broker, "in", 1, 1), 0);
    rd_kafka_mock_push_request_errors(broker, request, 1,
                                      RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING);
    KIT_OK(stream_txn_begin(t, &kit_e));
    KIT_OK(stream_producer_send(p, "t", -1, "k", 1, "v", 1, 0, &kit_e));
    const struct stream_offset done = {"in", 0, 1, 0};
    KIT_OK(stream_txn_commit(t, &done, 1, "g", WAIT_MS, &kit_e));
    struct stream_txn_result r = wait_for(p, t);
    assert_int_equal(r.state, STREAM_TXN_EXPIRED);
    assert_int_equal(r.error.kind, FIS_ABORT_TXN);
    assert_non_null(strstr(r.error.text, "INVALID_PRODUCER_ID_MAPPING"));
    struct fis_error e;
    assert_int_equal(stream_txn_begin(t, &e), -FIS_ABORT_TXN);
    assert_int_equal(stream_txn_abort(t, WAIT_MS, &e), -FIS_ABORT_TXN);
    int64_t start = kit_now();
    stream_txn_thread_free(t, 0);
    stream_producer_close(p);
    assert_true(kit_now() - start < 5000);
}

static void met_by_a_message(void **state)
{
    (void)state;
    expired_at(ADD_PARTITIONS);
}

static void met_by_the_offsets(void **state)
{
    (void)state;
    expired_at(ADD_OFFSETS);
}

static void met_by_the_commit(void **state)
{
    (void)state;
    expired_at(END_TXN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(met_by_a_message),
        cmocka_unit_test(met_by_the_offsets),
        cmocka_unit_test(met_by_the_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
