/*
 * What only a real broker can show: topics, transactions, read_committed, fencing, waiting for a
 * topic. Skipped unless FISD_TEST_KAFKA=host:port is set (tests/system/kafka.sh starts one).
 */
#include "kit/stream/real_kafka.h"

static void topics(void **state)
{
    (void)state;
    const char *at = broker();
    char a[64], b[64];
    fresh(a, "t-delete");
    fresh(b, "t-compact");
    const struct stream_property p[] = {{"bootstrap.servers", at}};
    const struct stream_client client = {.properties = p, .property_count = 1};
    const struct stream_property more[] = {{"retention.ms", "3600000"}};
    struct stream_topic t[] = {
        {.name = a,
         .partitions = 3,
         .replication = 1,
         .cleanup = STREAM_CLEANUP_DELETE,
         .config = more,
         .config_count = 1},
        {.name = b, .partitions = 1, .replication = 1, .cleanup = STREAM_CLEANUP_COMPACT}};
    struct stream_topic_report r[2] = {0};
    KIT_OK(stream_topics_check(&client, t, 2, WAIT_MS, r, &kit_e));
    assert_true(!r[0].exists && r[0].differs);
    assert_string_equal(r[0].text, "does not exist");
    KIT_OK(stream_topics_create(&client, t, 2, WAIT_MS, r, &kit_e));
    assert_true(r[0].created && r[1].created);
    KIT_OK(stream_topics_create(&client, t, 2, WAIT_MS, r, &kit_e));
    assert_true(r[0].exists && !r[0].created && r[1].exists && !r[1].created);
    KIT_UNTIL((stream_topics_check(&client, t, 2, WAIT_MS, r, NULL) == 0 && !r[0].differs &&
               !r[1].differs));
    assert_int_equal(r[0].partitions, 3);
    t[0].partitions = 5;
    t[1].cleanup = STREAM_CLEANUP_DELETE;
    KIT_OK(stream_topics_check(&client, t, 2, WAIT_MS, r, &kit_e));
    assert_string_equal(r[0].text, "has 3 partitions, expected 5");
    assert_string_equal(r[1].text, "cleanup.policy is compact, expected delete");

    const struct stream_property bad[] = {{"no.such.thing", "1"}};
    char c[64];
    const struct stream_topic refused = {.name = fresh(c, "t-bad"),
                                         .partitions = 1,
                                         .replication = 1,
                                         .cleanup = STREAM_CLEANUP_DELETE,
                                         .config = bad,
                                         .config_count = 1};
    struct fis_error e;
    assert_int_equal(stream_topics_create(&client, &refused, 1, WAIT_MS, r, &e), -FIS_FATAL);
    assert_non_null(strstr(e.text, c));
    assert_non_null(strstr(e.text, "no.such.thing"));
}

/* Reads a topic from the beginning to its end; returns how many, the numbers' sum in *sum. */
static unsigned read_all(const char *at, const char *topic, unsigned *sum)
{
    struct stream_consumer *c =
        kit_consumer(&(struct kit_consumer){.bootstrap = at, .topics = {topic}});
    struct stream_batch *b = stream_batch_new(64);
    struct stream_consumer_event ev = {0};
    unsigned n = 0;
    *sum = 0;
    int64_t end = kit_now() + WAIT_MS;
    while (ev.kind != STREAM_END && kit_now() < end) {
        if (stream_consumer_read(c, b, 64) == 0)
            kit_nap();
        for (uint32_t i = 0; i < b->count; i++, n++)
            *sum += kit_number(&b->messages[i]);
        stream_batch_release(b);
        (void)stream_consumer_event(c, &ev);
    }
    assert_int_equal(ev.kind, STREAM_END);
    stream_batch_free(b);
    stream_consumer_close(c, 5000);
    return n;
}

static void aborted_is_not_seen(void **state)
{
    (void)state;
    const char *at = broker();
    char topic[64];
    make_topic(at, fresh(topic, "abort"), 1, STREAM_CLEANUP_DELETE);
    struct txn x;
    txn_open(&x, at, topic);
    KIT_OK(stream_txn_begin(x.t, &kit_e));
    txn_send(&x, topic, 1);
    txn_send(&x, topic, 2);
    KIT_OK(stream_producer_flush(x.p, WAIT_MS, NULL, NULL, &kit_e));
    KIT_OK(stream_txn_abort(x.t, WAIT_MS, &kit_e));
    struct stream_txn_result r = txn_wait(&x);
    assert_string_equal(r.error.text, "");
    assert_int_equal(r.job, STREAM_TXN_JOB_ABORT);
    assert_int_equal(r.state, STREAM_TXN_READY);
    unsigned sum;
    assert_int_equal(read_all(at, topic, &sum), 0);

    KIT_OK(stream_txn_begin(x.t, &kit_e));
    txn_send(&x, topic, 10);
    KIT_OK(stream_txn_commit(x.t, NULL, 0, NULL, WAIT_MS, &kit_e));
    r = txn_wait(&x);
    assert_string_equal(r.error.text, "");
    assert_int_equal(stream_producer_outstanding(x.p), 0);
    assert_int_equal(read_all(at, topic, &sum), 1);
    assert_int_equal(sum, 10);
    txn_close(&x);
}

/* Read, send, commit the input's offsets in the transaction; who comes after goes on there. */
static void offsets_in_the_transaction(void **state)
{
    (void)state;
    const char *at = broker();
    char in[64], out[64];
    make_topic(at, fresh(in, "in"), 1, STREAM_CLEANUP_DELETE);
    make_topic(at, fresh(out, "out"), 1, STREAM_CLEANUP_DELETE);
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, in, 0, 0, 10);
    const struct kit_consumer k = {
        .bootstrap = at, .group = in, .topics = {in}, .more = {REAL_SESSION}, .more_count = 1};
    struct stream_consumer *c = kit_consumer(&k);
    struct stream_batch *b = stream_batch_new(10);
    struct txn x;
    txn_open(&x, at, out);
    struct stream_txn_result r;

    kit_read(c, b, 4);
    KIT_OK(stream_txn_begin(x.t, &kit_e));
    for (unsigned i = 0; i < 4; i++)
        txn_send(&x, out, kit_number(&b->messages[i]));
    stream_batch_release(b);
    const struct stream_offset four = {in, 0, 4, 0};
    KIT_OK(stream_txn_commit(x.t, &four, 1, in, WAIT_MS, &kit_e));
    struct fis_error e;
    assert_int_equal(stream_txn_begin(x.t, &e), -FIS_INPUT); /* not while it commits */
    r = txn_wait(&x);
    assert_string_equal(r.error.text, "");

    /* This one is aborted: its offsets must not count. */
    kit_read(c, b, 6);
    KIT_OK(stream_txn_begin(x.t, &kit_e));
    txn_send(&x, out, 1000);
    stream_batch_release(b);
    /* Before the partition is in the transaction, a broker knows of none that could be aborted. */
    KIT_OK(stream_producer_flush(x.p, WAIT_MS, NULL, NULL, &kit_e));
    KIT_OK(stream_txn_abort(x.t, WAIT_MS, &kit_e));
    r = txn_wait(&x);
    assert_string_equal(r.error.text, "");
    stream_consumer_close(c, 5000);

    c = kit_consumer(&k);
    kit_read(c, b, 6);
    assert_int_equal(b->messages[0].offset, 4);
    stream_batch_free(b);
    stream_consumer_close(c, 5000);
    unsigned sum;
    assert_int_equal(read_all(at, out, &sum), 4);
    assert_int_equal(sum, 6);
    txn_close(&x);
    stream_producer_close(p);
}

/* A second producer with the same id ends the first one's transaction and the first. */
static void fenced(void **state)
{
    (void)state;
    const char *at = broker();
    char topic[64];
    make_topic(at, fresh(topic, "fence"), 1, STREAM_CLEANUP_DELETE);
    struct txn old, new;
    txn_open(&old, at, topic);
    KIT_OK(stream_txn_begin(old.t, &kit_e));
    txn_send(&old, topic, 1);
    KIT_OK(stream_producer_flush(old.p, WAIT_MS, NULL, NULL, &kit_e));
    txn_open(&new, at, topic);
    KIT_OK(stream_txn_commit(old.t, NULL, 0, NULL, WAIT_MS, &kit_e));
    struct stream_txn_result r = txn_wait(&old);
    assert_int_equal(r.error.kind, FIS_FATAL);
    assert_int_equal(r.state, STREAM_TXN_FENCED);
    struct fis_error e;
    assert_int_equal(stream_txn_begin(old.t, &e), -FIS_FATAL);
    unsigned sum;
    assert_int_equal(read_all(at, topic, &sum), 0);
    txn_close(&old);
    txn_close(&new);
}

/* Readers reach the end long before transaction.timeout.ms. */
static void closed_while_open(void **state)
{
    (void)state;
    const char *at = broker();
    char topic[64];
    make_topic(at, fresh(topic, "open"), 1, STREAM_CLEANUP_DELETE);
    for (int flushed = 0; flushed < 2; flushed++) {
        struct txn x;
        txn_open(&x, at, topic);
        KIT_OK(stream_txn_begin(x.t, &kit_e));
        txn_send(&x, topic, 1);
        if (flushed)
            KIT_OK(stream_producer_flush(x.p, WAIT_MS, NULL, NULL, &kit_e));
        stream_txn_thread_free(x.t, WAIT_MS);
        stream_producer_close(x.p);
        unsigned sum;
        assert_int_equal(read_all(at, topic, &sum), 0);
    }
}

static void topic_comes_later(void **state)
{
    (void)state;
    const char *at = broker();
    char topic[64];
    fresh(topic, "later");
    struct stream_consumer *c =
        kit_consumer(&(struct kit_consumer){.bootstrap = at, .topics = {topic}});
    struct stream_consumer_event ev = {0};
    KIT_UNTIL((stream_consumer_read(c, NULL, 0), stream_consumer_event(c, &ev)));
    assert_int_equal(ev.kind, STREAM_ERROR);
    assert_int_equal(ev.error.kind, FIS_RETRY);
    assert_non_null(strstr(ev.error.text, topic));
    make_topic(at, topic, 1, STREAM_CLEANUP_DELETE);
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, topic, 0, 5, 1);
    struct stream_batch *batch = stream_batch_new(1);
    kit_read(c, batch, 1);
    assert_int_equal(kit_number(&batch->messages[0]), 5);
    stream_batch_free(batch);
    stream_consumer_close(c, 1000);
    stream_producer_close(p);
}

/* Retrying does not help here, so it is reported as the end. */
static void refused_session(void **state)
{
    (void)state;
    struct stream_consumer *c =
        kit_consumer(&(struct kit_consumer){.bootstrap = broker(),
                                            .group = "g",
                                            .topics = {"__consumer_offsets"},
                                            .more = {{"session.timeout.ms", "1000"}},
                                            .more_count = 1});
    struct stream_consumer_event ev = {0};
    KIT_UNTIL((stream_consumer_read(c, NULL, 0),
               stream_consumer_event(c, &ev) && ev.error.kind == FIS_FATAL));
    assert_non_null(strstr(ev.error.text, "session timeout"));
    stream_consumer_close(c, 1000);
}

static void group_lag(void **state)
{
    (void)state;
    const char *at = broker();
    char topic[64];
    make_topic(at, fresh(topic, "lag"), 2, STREAM_CLEANUP_DELETE);
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, topic, 0, 0, 10);
    kit_fill(p, topic, 1, 0, 10);
    stream_producer_close(p);
    const struct stream_property props[] = {{"bootstrap.servers", at}};
    const struct stream_client client = {.properties = props, .property_count = 1};
    int64_t lag = -1;
    KIT_OK(stream_group_lag(&client, topic, topic, WAIT_MS, &lag, &kit_e));
    assert_int_equal(lag, 20);
    struct stream_consumer *c = kit_consumer(&(struct kit_consumer){.bootstrap = at,
                                                                    .group = topic,
                                                                    .topics = {topic},
                                                                    .more = {REAL_SESSION},
                                                                    .more_count = 1});
    struct stream_batch *b = stream_batch_new(20);
    kit_read(c, b, 20);
    KIT_UNTIL((stream_consumer_read(c, b, 0), stream_consumer_lag(c) == 0));
    stream_batch_free(b);
    const struct stream_offset done[] = {{topic, 0, 10, 0}, {topic, 1, 4, 0}};
    KIT_OK(stream_consumer_commit(c, done, 2, &kit_e));
    stream_consumer_close(c, 5000);
    KIT_OK(stream_group_lag(&client, topic, topic, WAIT_MS, &lag, &kit_e));
    assert_int_equal(lag, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topics),
        cmocka_unit_test(aborted_is_not_seen),
        cmocka_unit_test(fenced),
        cmocka_unit_test(closed_while_open),
        cmocka_unit_test(offsets_in_the_transaction),
        cmocka_unit_test(group_lag),
        cmocka_unit_test(refused_session),
        cmocka_unit_test(topic_comes_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
