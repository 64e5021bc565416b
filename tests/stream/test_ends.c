/* Where partitions begin and end, asked while a leader is away and after its return. */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "kit/stream/embedded_kit.h"
#include "stream/ends.h"

struct cluster {
    rd_kafka_t *rk; /* connects nowhere: the mock cluster lives in it */
    rd_kafka_mock_cluster_t *mock;
};

static int start(void **state)
{
    static struct cluster c;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    c.rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
    assert_non_null(c.rk);
    c.mock = rd_kafka_mock_cluster_new(c.rk, 1);
    assert_non_null(c.mock);
    *state = &c;
    return 0;
}

static int stop(void **state)
{
    struct cluster *c = *state;
    rd_kafka_mock_cluster_destroy(c->mock);
    rd_kafka_destroy(c->rk);
    return 0;
}

/* A partition that has no leader when it is asked about is asked about until it has one: what the
 * client has learned of the cluster by then is not kept for metadata.max.age.ms. */
static void a_leader_that_returns(void **state)
{
    struct cluster *c = *state;
    char *const topics[] = {"t"};
    const struct stream_link link = {0};
    struct stream_ends s = {0};
    struct stream_errors errors = {0};
    struct fis_error e;
    assert_int_equal(rd_kafka_mock_topic_create(c->mock, "t", 2, 1), 0);
    assert_int_equal(rd_kafka_mock_partition_set_leader(c->mock, "t", 1, -1), 0);
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    assert_int_equal(rd_kafka_conf_set(conf, "bootstrap.servers",
                                       rd_kafka_mock_cluster_bootstraps(c->mock), NULL, 0),
                     RD_KAFKA_CONF_OK);
    assert_true(stream_ends_init(&s, conf, &link, topics));
    struct stream_range *list = stream_ends_room(&s, 2);
    list[0] = (struct stream_range){.partition = 0, .high = -1};
    list[1] = (struct stream_range){.partition = 1, .high = -1};
    assert_true(stream_ends_ask(&s, 2));
    KIT_UNTIL(!stream_helper_over(&s.helper, &errors) && stream_errors_pop(&errors, &e));
    assert_non_null(strstr(e.text, "cannot be read"));
    assert_int_equal(rd_kafka_mock_partition_set_leader(c->mock, "t", 1, 1), 0);
    KIT_UNTIL(stream_helper_over(&s.helper, &errors));
    assert_int_equal(s.list[1].high, 0);
    stream_ends_stop(&s);
    stream_ends_done(&s);
    rd_kafka_conf_destroy(conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_leader_that_returns)};
    return cmocka_run_group_tests(tests, start, stop);
}
