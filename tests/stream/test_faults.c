/* Bad properties, brokers that are not there, full queues: each ends in time, with a reason. */
#include "kit/stream/embedded_kit.h"

#include "base/secret.h"
#include "stream/library.h"
#include "stream/topics.h"
#include "stream/txn_thread.h"

/* Nobody listens on the discard port of this machine. */
#define NOBODY "127.0.0.1:9"

static int open_with(struct stream_property extra, struct fis_error *e)
{
    const struct stream_property p[] = {{"bootstrap.servers", NOBODY}, extra};
    const char *const topics[] = {"t"};
    const struct stream_consumer_options o = {.client = {.properties = p, .property_count = 2},
                                              .group_id = "g",
                                              .topics = topics,
                                              .topic_count = 1};
    struct stream_consumer *c = NULL;
    int rc = stream_consumer_open(&c, &o, e);
    assert_true((rc == 0) == (c != NULL));
    stream_consumer_close(c, 1000);
    return rc;
}

static void bad_properties(void **state)
{
    (void)state;
    struct fis_error e;
    assert_int_equal(open_with((struct stream_property){"no.such.thing", "1"}, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "\"no.such.thing\""));
    assert_int_equal(open_with((struct stream_property){"session.timeout.ms", "soon"}, &e),
                     -FIS_INPUT);
    assert_non_null(strstr(e.text, "session.timeout.ms"));
    assert_int_equal(open_with((struct stream_property){"enable.auto.commit", "true"}, &e),
                     -FIS_INPUT);
    assert_non_null(strstr(e.text, "enable.auto.commit"));
    assert_int_equal(open_with((struct stream_property){"group.id", "other"}, &e), -FIS_INPUT);
    assert_int_equal(open_with((struct stream_property){"enable.auto.commit", "false"}, &e), 0);
    assert_int_equal(open_with((struct stream_property){"auto.offset.reset", "earliest"}, &e), 0);
    assert_int_equal(open_with((struct stream_property){"auto.offset.reset", "latest"}, &e),
                     -FIS_INPUT);
    assert_non_null(strstr(e.text, "earliest"));
}

static void secrets_are_not_shown(void **state)
{
    (void)state;
    struct fis_error e;
    /* Not a number: librdkafka's own text would repeat the value. */
    assert_int_equal(
        open_with((struct stream_property){"sasl.oauthbearer.token.endpoint.url.x", "hunter2"}, &e),
        -FIS_INPUT);
    assert_null(strstr(e.text, "hunter2"));
    assert_true(secret_name("ssl.key.password"));
    assert_true(secret_name("sasl.password"));
    assert_true(secret_name("sasl.oauthbearer.client.secret"));
    assert_true(secret_name("SSL.KEY.PEM"));
    assert_true(secret_name("sasl.jaas.config"));
    assert_true(secret_name("sasl.oauthbearer.config"));
    assert_false(secret_name("bootstrap.servers"));
    assert_false(secret_name("session.timeout.ms"));
}

static void no_broker_named(void **state)
{
    (void)state;
    const struct stream_producer_options o = {0};
    struct stream_producer *p = NULL;
    struct fis_error e;
    assert_int_equal(stream_producer_open(&p, &o, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "bootstrap.servers"));
    assert_null(p);
}

/* A dead broker is reported as RETRY and does not hold up the end. */
static void dead_broker(const char *group)
{
    struct stream_consumer *c =
        kit_consumer(&(struct kit_consumer){.bootstrap = NOBODY, .group = group, .topics = {"t"}});
    struct stream_consumer_event ev = {0};
    KIT_UNTIL((stream_consumer_read(c, NULL, 0), stream_consumer_event(c, &ev)));
    assert_int_equal(ev.kind, STREAM_ERROR);
    assert_int_equal(ev.error.kind, FIS_RETRY);
    assert_int_equal(stream_consumer_lag(c), 0);
    if (group) {
        const struct stream_offset o = {"t", 0, 1, 0};
        KIT_OK(stream_consumer_commit(c, &o, 1, &kit_e));
    }
    int64_t start = kit_now();
    stream_consumer_close(c, 2000);
    assert_true(kit_now() - start < 8000);
}

static void dead_broker_group(void **state)
{
    (void)state;
    dead_broker("g");
}

static void dead_broker_assign(void **state)
{
    (void)state;
    dead_broker(NULL);
}

static void dead_broker_producer(void **state)
{
    (void)state;
    struct stream_producer *p = kit_producer(NOBODY);
    struct fis_error e = {0};
    KIT_OK(stream_producer_send(p, "t", -1, "k", 1, "v", 1, 1, &kit_e));
    assert_int_equal(stream_producer_flush(p, 200, NULL, NULL, &e), -FIS_RETRY);
    assert_non_null(strstr(e.text, "1 message "));
    KIT_UNTIL((stream_producer_poll(p, NULL, NULL), stream_producer_error(p, &e)));
    assert_int_equal(e.kind, FIS_RETRY);
    int64_t start = kit_now();
    stream_producer_close(p);
    assert_true(kit_now() - start < 5000);
}

static void dead_broker_topics(void **state)
{
    (void)state;
    const struct stream_property p[] = {{"bootstrap.servers", NOBODY}};
    const struct stream_client client = {.properties = p, .property_count = 1};
    const struct stream_topic t = {
        .name = "t", .partitions = 1, .replication = 1, .cleanup = STREAM_CLEANUP_DELETE};
    struct stream_topic_report r = {0};
    struct fis_error e;
    int64_t lag = 77;
    int64_t start = kit_now();
    assert_int_equal(stream_topics_create(&client, &t, 1, 500, &r, &e), -FIS_RETRY);
    assert_int_equal(stream_topics_check(&client, &t, 1, 500, &r, &e), -FIS_RETRY);
    assert_int_equal(stream_group_lag(&client, "g", "t", 500, &lag, &e), -FIS_RETRY);
    assert_int_equal(lag, 77);
    assert_true(kit_now() - start < 15000);
}

/* A transaction's thread is cut short, whatever it waits for. */
static void dead_broker_transaction(void **state)
{
    (void)state;
    const struct stream_property props[] = {{"bootstrap.servers", NOBODY}};
    const struct stream_producer_options o = {.client = {.properties = props, .property_count = 1},
                                              .transactional_id = "x"};
    struct stream_producer *p = NULL;
    struct stream_txn_thread *t = NULL;
    KIT_OK(stream_producer_open(&p, &o, &kit_e));
    KIT_OK(stream_txn_thread_new(&t, p, NULL, NULL, &kit_e));
    struct fis_error e;
    assert_int_equal(stream_txn_begin(t, &e), -FIS_INPUT);
    KIT_OK(stream_txn_init(t, 100, &kit_e));
    assert_int_equal(stream_txn_init(t, 100, &e), -FIS_INPUT); /* one at a time */
    struct stream_txn_result r;
    KIT_UNTIL(stream_txn_thread_poll(t, &r));
    assert_int_equal(r.job, STREAM_TXN_JOB_INIT);
    assert_int_equal(r.error.kind, FIS_RETRY);
    assert_int_equal(r.state, STREAM_TXN_INIT);
    KIT_OK(stream_txn_init(t, 60000, &kit_e));
    int64_t start = kit_now();
    stream_txn_thread_free(t, 0);
    stream_producer_close(p);
    assert_true(kit_now() - start < 5000);
}

static void full_queue(void **state)
{
    (void)state;
    const struct stream_property props[] = {{"bootstrap.servers", NOBODY},
                                            {"queue.buffering.max.messages", "10"}};
    const struct stream_producer_options o = {.client = {.properties = props, .property_count = 2}};
    struct stream_producer *p = NULL;
    KIT_OK(stream_producer_open(&p, &o, &kit_e));
    for (uint64_t i = 0; i < 10; i++)
        KIT_OK(stream_producer_send(p, "t", 0, NULL, 0, "v", 1, i, &kit_e));
    struct fis_error e;
    assert_int_equal(stream_producer_send(p, "t", 0, NULL, 0, "v", 1, 10, &e), -FIS_RETRY);
    assert_non_null(strstr(e.text, "\"t\""));
    assert_int_equal(stream_producer_outstanding(p), 10);
    stream_producer_close(p);
}

/* The embedded broker has no admin protocol: reported as such, and no failure. */
static void admin_is_unsupported(void **state)
{
    (void)state;
    struct stream_embedded *b = kit_broker();
    KIT_OK(stream_embedded_topic(b, "there", 3, &kit_e));
    struct fis_error e;
    assert_int_equal(stream_embedded_topic(b, "there", 3, &e), -FIS_INPUT);
    assert_int_equal(stream_embedded_topic(b, "none", 0, &e), -FIS_INPUT);
    const struct stream_property p[] = {{"bootstrap.servers", stream_embedded_bootstrap(b)}};
    const struct stream_client client = {.properties = p, .property_count = 1};
    const struct stream_topic t = {
        .name = "there", .partitions = 4, .replication = 1, .cleanup = STREAM_CLEANUP_COMPACT};
    struct stream_topic_report r = {0};
    assert_int_equal(stream_topics_create(&client, &t, 1, 5000, &r, &e), STREAM_TOPICS_UNSUPPORTED);
    assert_int_equal(stream_topics_check(&client, &t, 1, 5000, &r, &e), STREAM_TOPICS_UNSUPPORTED);
    assert_true(r.exists && r.differs);
    assert_int_equal(r.partitions, 3);
    assert_string_equal(r.text, "has 3 partitions, expected 4");
    struct stream_producer *producer = kit_producer(stream_embedded_bootstrap(b));
    kit_fill(producer, "there", -1, 0, 30);
    int64_t lag = 0;
    KIT_OK(stream_group_lag(&client, "nobody", "there", 5000, &lag, &kit_e));
    assert_int_equal(lag, 30);
    stream_producer_close(producer);
    stream_embedded_stop(b);
}

static void faults_of_an_old_library(void **state)
{
    (void)state;
    const char *text[STREAM_CAVEATS];
    const struct stream_property scram[] = {{"a", "b"}, {"sasl.mechanism", "SCRAM-SHA-512"}};
    const struct stream_property plain[] = {{"sasl.mechanisms", "PLAIN"}};
    const struct stream_property both[] = {
        {"partition.assignment.strategy", "range,cooperative-sticky"},
        {"sasl.mechanism", "PLAIN"},
        {"sasl.mechanisms", "SCRAM-SHA-256"}};
    const int debian_12 = 0x020002ff, mended = 0x020601ff;
    assert_int_equal(stream_library_caveats(scram, 2, debian_12, text), 1);
    assert_non_null(strstr(text[0], "Kafka 4"));
    assert_non_null(strstr(text[0], "install librdkafka 2.6.1"));
    assert_int_equal(stream_library_caveats(both, 3, debian_12, text), 2);
    assert_non_null(strstr(text[1], "cooperative-sticky"));
    assert_int_equal(stream_library_caveats(both, 3, mended, text), 0);
    assert_int_equal(stream_library_caveats(plain, 1, debian_12, text), 0);
    assert_int_equal(stream_library_caveats(NULL, 0, 0, text), 0);
}

static void the_library_is_named(void **state)
{
    (void)state;
    char text[64], loaded[64];
    stream_library_text(text, sizeof text);
    snprintf(loaded, sizeof loaded, "librdkafka %s, built with 2.", stream_library_version());
    assert_memory_equal(text, loaded, strlen(loaded));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_properties),
        cmocka_unit_test(secrets_are_not_shown),
        cmocka_unit_test(no_broker_named),
        cmocka_unit_test(dead_broker_group),
        cmocka_unit_test(dead_broker_assign),
        cmocka_unit_test(dead_broker_producer),
        cmocka_unit_test(dead_broker_topics),
        cmocka_unit_test(dead_broker_transaction),
        cmocka_unit_test(full_queue),
        cmocka_unit_test(admin_is_unsupported),
        cmocka_unit_test(faults_of_an_old_library),
        cmocka_unit_test(the_library_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
