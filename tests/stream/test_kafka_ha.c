/*
 * What a trainer and its standbys need of a real broker: who leads, whose offsets count, who is
 * fenced, what a follower has read; and what is reported when retention was faster. Skipped unless
 * FISD_TEST_KAFKA=host:port is set.
 */
#include "kit/stream/real_kafka.h"

#include <librdkafka/rdkafka.h>

#include "fis/mem.h"

#define SESSION_MS 6000

struct candidate {
    struct stream_consumer *c;
    unsigned revoked;
    bool lost;
};

static void on_revoke(void *arg, bool lost, const struct stream_partition *p, size_t count)
{
    struct candidate *x = arg;
    (void)p;
    x->revoked += (unsigned)count;
    x->lost = x->lost || lost;
}

static void enter(struct candidate *x, const char *at, const char *topic)
{
    *x = (struct candidate){0};
    x->c = kit_consumer(&(struct kit_consumer){.bootstrap = at,
                                               .group = topic,
                                               .topics = {topic},
                                               .election = true,
                                               .on_revoke = on_revoke,
                                               .revoke_arg = x,
                                               .more = {REAL_SESSION},
                                               .more_count = 1});
}

static bool leads(struct candidate *x)
{
    size_t n;
    struct stream_consumer_event ev;
    stream_consumer_read(x->c, NULL, 0);
    while (stream_consumer_event(x->c, &ev))
        assert_true(ev.kind != STREAM_ERROR || ev.error.kind == FIS_RETRY);
    (void)stream_consumer_owned(x->c, &n);
    return n > 0;
}

/* How long it took the second to lead, after the first has gone in this way. */
static int64_t take_over(const char *at, const char *what, int leave_ms)
{
    char topic[64];
    struct candidate one, two;
    make_topic(at, fresh(topic, what), 1, STREAM_CLEANUP_COMPACT);
    enter(&one, at, topic);
    KIT_UNTIL(leads(&one));
    enter(&two, at, topic);
    /* Both are members: the first has served a rebalance, and leads still. */
    int64_t end = kit_now() + 4000;
    while (kit_now() < end) {
        assert_true(leads(&one));
        assert_false(leads(&two));
        kit_nap();
    }
    assert_int_equal(one.revoked, 0);
    stream_consumer_close(one.c, leave_ms);
    int64_t start = kit_now();
    KIT_UNTIL(leads(&two));
    int64_t took = kit_now() - start;
    stream_consumer_close(two.c, 5000);
    print_message("%s: %lld ms\n", what, (long long)took);
    return took;
}

static void a_leader_that_leaves(void **state)
{
    (void)state;
    assert_true(take_over(broker(), "leave", 5000) < SESSION_MS - 1000);
}

static void a_leader_that_dies(void **state)
{
    (void)state;
    assert_true(take_over(broker(), "die", 0) < SESSION_MS + 4000);
}

/* One member leads and does not belong to any other topic; the offsets in the transaction are those
 * of the group's name. A reader without membership goes on at them, a third member disturbs
 * nothing. */
static void offsets_by_name(void **state)
{
    (void)state;
    const char *at = broker();
    char ledger[64], in[64], out[64];
    make_topic(at, fresh(ledger, "ledger"), 1, STREAM_CLEANUP_COMPACT);
    make_topic(at, fresh(in, "in"), 2, STREAM_CLEANUP_DELETE);
    make_topic(at, fresh(out, "out"), 1, STREAM_CLEANUP_DELETE);
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, in, 0, 0, 10);
    kit_fill(p, in, 1, 10, 10);
    struct candidate leader, other;
    enter(&leader, at, ledger);
    KIT_UNTIL(leads(&leader));
    const struct kit_consumer k = {
        .bootstrap = at, .group = ledger, .topics = {in}, .stored = true};
    struct stream_consumer *c = kit_consumer(&k);
    struct stream_batch *b = stream_batch_new(20);
    kit_read(c, b, 20);
    stream_batch_release(b);
    struct txn x;
    txn_open(&x, at, out);
    KIT_OK(stream_txn_begin(x.t, &kit_e));
    txn_send(&x, out, 7);
    enter(&other, at, ledger);
    for (int i = 0; i < 500; i++) { /* the rebalance is under way, or over */
        assert_true(leads(&leader));
        (void)leads(&other);
        kit_nap();
    }
    const struct stream_offset done[] = {{in, 0, 4, 0}, {in, 1, 7, 0}};
    KIT_OK(stream_txn_commit(x.t, done, 2, ledger, WAIT_MS, &kit_e));
    struct stream_txn_result r = txn_wait(&x);
    assert_string_equal(r.error.text, "");
    stream_consumer_close(c, 1000);

    c = kit_consumer(&k);
    kit_read(c, b, 9);
    for (uint32_t i = 0; i < b->count; i++) {
        const struct stream_message *m = &b->messages[i];
        assert_true(m->offset >= (m->partition == 0 ? 4 : 7));
    }
    stream_batch_release(b);
    /* Who is a member may commit for the group, of any topic. */
    assert_true(leads(&leader));
    const struct stream_offset more = {in, 0, 6, 0};
    KIT_OK(stream_consumer_commit(leader.c, &more, 1, &kit_e));
    stream_consumer_close(leader.c, 5000);
    stream_consumer_close(c, 1000);
    c = kit_consumer(&k);
    kit_read(c, b, 7);
    stream_batch_free(b);
    stream_consumer_close(c, 1000);
    stream_consumer_close(other.c, 5000);
    stream_producer_close(p);
    txn_close(&x);
}

/* What the dead one had open is neither committed nor seen; who comes after sees the end of it. */
static void the_dead_one_is_fenced(void **state)
{
    (void)state;
    const char *at = broker();
    char ledger[64], in[64];
    make_topic(at, fresh(ledger, "fence"), 1, STREAM_CLEANUP_COMPACT);
    make_topic(at, fresh(in, "fence-in"), 1, STREAM_CLEANUP_DELETE);
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, in, 0, 0, 10);
    struct stream_consumer *follower =
        kit_consumer(&(struct kit_consumer){.bootstrap = at, .topics = {ledger}});
    struct stream_batch *b = stream_batch_new(100);
    kit_event(follower, b, STREAM_END);
    struct txn old, new;
    txn_open(&old, at, ledger);
    KIT_OK(stream_txn_begin(old.t, &kit_e));
    for (unsigned i = 0; i < 5; i++)
        txn_send(&old, ledger, i);
    const struct stream_offset five = {in, 0, 5, 0};
    KIT_OK(stream_txn_commit(old.t, &five, 1, ledger, WAIT_MS, &kit_e));
    assert_string_equal(txn_wait(&old).error.text, "");
    KIT_OK(stream_txn_begin(old.t, &kit_e));
    for (unsigned i = 5; i < 10; i++)
        txn_send(&old, ledger, i);
    KIT_OK(stream_producer_flush(old.p, WAIT_MS, NULL, NULL, &kit_e));

    txn_open(&new, at, ledger); /* fences, aborts */
    stream_consumer_to_end(follower);
    kit_event(follower, b, STREAM_END);
    assert_int_equal(b->count, 5);
    stream_batch_release(b);
    stream_consumer_to_end(follower); /* nothing new */
    kit_event(follower, b, STREAM_END);
    assert_int_equal(b->count, 0);

    const struct stream_offset ten = {in, 0, 10, 0};
    KIT_OK(stream_txn_commit(old.t, &ten, 1, ledger, WAIT_MS, &kit_e));
    struct stream_txn_result r = txn_wait(&old);
    assert_int_equal(r.state, STREAM_TXN_FENCED);
    assert_int_equal(r.error.kind, FIS_FATAL);
    KIT_OK(stream_txn_begin(new.t, &kit_e));
    txn_send(&new, ledger, 20);
    KIT_OK(stream_txn_commit(new.t, NULL, 0, NULL, WAIT_MS, &kit_e));
    assert_string_equal(txn_wait(&new).error.text, "");
    stream_consumer_to_end(follower);
    kit_event(follower, b, STREAM_END);
    assert_int_equal(b->count, 1);
    stream_batch_release(b);
    stream_consumer_close(follower, 1000);

    struct stream_consumer *c = kit_consumer(
        &(struct kit_consumer){.bootstrap = at, .group = ledger, .topics = {in}, .stored = true});
    kit_read(c, b, 5);
    assert_int_equal(b->messages[0].offset, 5);
    stream_batch_free(b);
    stream_consumer_close(c, 1000);
    txn_close(&old);
    txn_close(&new);
    stream_producer_close(p);
}

/* ---- retention -------------------------------------------------------------------------- */

/* An admin request of the test's own; the answer must come without an error. */
static void ask_admin(const char *at, void (*request)(rd_kafka_t *, rd_kafka_queue_t *, void *),
                      void *arg)
{
    char text[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    assert_int_equal(rd_kafka_conf_set(conf, "bootstrap.servers", at, text, sizeof text), 0);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    assert_non_null(rk);
    rd_kafka_queue_t *q = rd_kafka_queue_new(rk);
    request(rk, q, arg);
    rd_kafka_event_t *ev = rd_kafka_queue_poll(q, WAIT_MS);
    assert_non_null(ev);
    assert_int_equal(rd_kafka_event_error(ev), 0);
    rd_kafka_event_destroy(ev);
    rd_kafka_queue_destroy(q);
    rd_kafka_destroy(rk);
}

static void delete_records(rd_kafka_t *rk, rd_kafka_queue_t *q, void *arg)
{
    const struct stream_offset *o = arg;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, o->topic, o->partition)->offset = o->offset;
    rd_kafka_DeleteRecords_t *d = rd_kafka_DeleteRecords_new(list);
    rd_kafka_DeleteRecords(rk, &d, 1, NULL, q);
    rd_kafka_DeleteRecords_destroy(d);
    rd_kafka_topic_partition_list_destroy(list);
}

static void delete_topic(rd_kafka_t *rk, rd_kafka_queue_t *q, void *arg)
{
    rd_kafka_DeleteTopic_t *d = rd_kafka_DeleteTopic_new(arg);
    rd_kafka_DeleteTopics(rk, &d, 1, NULL, q);
    rd_kafka_DeleteTopic_destroy(d);
}

static bool topic_is_gone(const char *at, const char *topic)
{
    const struct stream_property p[] = {{"bootstrap.servers", at}};
    const struct stream_client client = {.properties = p, .property_count = 1};
    const struct stream_topic t = {.name = topic, .partitions = -1};
    struct stream_topic_report r = {0};
    KIT_OK(stream_topics_check(&client, &t, 1, WAIT_MS, &r, &kit_e));
    return !r.exists;
}

/* A group at 1000 of 5000, everything before 3000 deleted: that is reported, 2000 are read.
 * Then the topic is recreated meanwhile. */
static void fallen_off(const char *at, const char *what, struct kit_consumer k)
{
    char topic[64];
    make_topic(at, fresh(topic, what), 1, STREAM_CLEANUP_DELETE);
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, topic, 0, 0, 5000);
    k.bootstrap = at;
    k.group = topic;
    k.topics[0] = topic;
    struct kit_consumer member = k;
    member.stored = false;
    struct stream_batch *b = stream_batch_new(5000);
    struct stream_consumer *c = kit_consumer(&member);
    kit_read(c, b, 1000);
    stream_batch_release(b);
    struct stream_offset at_1000 = {topic, 0, 1000, 0}, to_3000 = {topic, 0, 3000, 0};
    KIT_OK(stream_consumer_commit(c, &at_1000, 1, &kit_e));
    stream_consumer_close(c, 5000);
    ask_admin(at, delete_records, &to_3000);

    c = kit_consumer(&k);
    struct stream_consumer_event ev = kit_event(c, b, STREAM_RESET);
    assert_int_equal(ev.expected, 1000);
    assert_int_equal(ev.first, 3000);
    assert_int_equal(ev.lost_messages, 2000);
    assert_false(ev.recreated);
    kit_read(c, b, 2000);
    assert_int_equal(b->messages[0].offset, 3000);
    stream_batch_release(b);
    KIT_UNTIL((stream_consumer_read(c, b, 1), stream_consumer_lag(c) == 0));
    assert_int_equal(b->count, 0);
    stream_consumer_close(c, 5000);
    stream_batch_free(b);
    stream_producer_close(p);
}

static void fallen_off_eager(void **state)
{
    (void)state;
    fallen_off(
        broker(), "off-e",
        (struct kit_consumer){.more = {REAL_SESSION, {"partition.assignment.strategy", "range"}},
                              .more_count = 2});
}

static void fallen_off_cooperative(void **state)
{
    (void)state;
    fallen_off(broker(), "off-c",
               (struct kit_consumer){
                   .more = {REAL_SESSION, {"partition.assignment.strategy", "cooperative-sticky"}},
                   .more_count = 2});
}

static void fallen_off_stored(void **state)
{
    (void)state;
    fallen_off(broker(), "off-s",
               (struct kit_consumer){.stored = true, .more = {REAL_SESSION}, .more_count = 1});
}

/* The topic is deleted and recreated, with fewer messages, while it is being read. */
static void made_again(void **state)
{
    (void)state;
    const char *at = broker();
    char topic[64];
    make_topic(at, fresh(topic, "recreated"), 1, STREAM_CLEANUP_DELETE);
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, topic, 0, 0, 1000);
    stream_producer_close(p);
    const struct kit_consumer k = {.bootstrap = at,
                                   .group = topic,
                                   .topics = {topic},
                                   .more = {REAL_SESSION},
                                   .more_count = 1};
    struct stream_batch *b = stream_batch_new(1000);
    struct stream_consumer *c = kit_consumer(&k);
    kit_read(c, b, 1000);
    stream_batch_release(b);
    const struct stream_offset end = {topic, 0, 1000, 0};
    KIT_OK(stream_consumer_commit(c, &end, 1, &kit_e));
    stream_consumer_close(c, 5000);
    ask_admin(at, delete_topic, topic);
    KIT_UNTIL(topic_is_gone(at, topic));
    make_topic(at, topic, 1, STREAM_CLEANUP_DELETE);
    p = kit_producer(at);
    kit_fill(p, topic, 0, 0, 50);
    c = kit_consumer(&k);
    struct stream_consumer_event ev = kit_event(c, b, STREAM_RESET);
    assert_true(ev.expected == -1 || ev.recreated); /* brokers drop the offsets with the topic */
    assert_int_equal(ev.first, 0);
    assert_int_equal(ev.lost_messages, 0);
    kit_read(c, b, 50);
    assert_int_equal(b->messages[0].offset, 0);
    stream_batch_release(b);
    /* An offset beyond the end is of another topic. */
    const struct stream_offset far = {topic, 0, 9999, 0};
    KIT_OK(stream_consumer_commit(c, &far, 1, &kit_e));
    stream_consumer_close(c, 5000);
    c = kit_consumer(&k);
    ev = kit_event(c, b, STREAM_RESET);
    assert_int_equal(ev.expected, 9999);
    assert_true(ev.recreated);
    assert_int_equal(ev.first, 0);
    kit_read(c, b, 50);
    stream_batch_free(b);
    stream_consumer_close(c, 5000);
    stream_producer_close(p);
}

/* An open transaction, and what is behind it, does not belong to the topic yet. */
static void ends_are_stable(void **state)
{
    (void)state;
    const char *at = broker();
    char topic[64];
    make_topic(at, fresh(topic, "stable"), 1, STREAM_CLEANUP_DELETE);
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, topic, 0, 0, 5);
    struct txn x;
    txn_open(&x, at, topic);
    KIT_OK(stream_txn_begin(x.t, &kit_e));
    txn_send(&x, topic, 5);
    KIT_OK(stream_producer_flush(x.p, WAIT_MS, NULL, NULL, &kit_e));
    kit_fill(p, topic, 0, 6, 5);
    const struct stream_property props[] = {{"bootstrap.servers", at}};
    const struct stream_client client = {.properties = props, .property_count = 1};
    struct stream_end *ends = NULL;
    uint32_t n = 0;
    KIT_OK(stream_topic_ends(&client, topic, WAIT_MS, &ends, &n, &kit_e));
    assert_int_equal(n, 1);
    assert_int_equal(ends[0].high, 5);
    fis_free(ends);
    struct stream_consumer *c =
        kit_consumer(&(struct kit_consumer){.bootstrap = at, .topics = {topic}, .eofs = true});
    struct stream_batch *b = stream_batch_new(20);
    assert_int_equal(kit_event(c, b, STREAM_EOF).offset, 5);
    KIT_OK(stream_txn_commit(x.t, NULL, 0, NULL, WAIT_MS, &kit_e));
    assert_string_equal(txn_wait(&x).error.text, "");
    KIT_UNTIL(kit_event(c, b, STREAM_EOF).offset == 12); /* with the marker */
    assert_int_equal(b->count, 11);
    stream_batch_free(b);
    stream_consumer_close(c, 1000);
    stream_producer_close(p);
    txn_close(&x);
}

/* A reader's end is behind an open transaction: it is waited for, and named. */
static void the_end_is_behind_what_is_open(void **state)
{
    (void)state;
    const char *at = broker();
    char topic[64];
    make_topic(at, fresh(topic, "open"), 1, STREAM_CLEANUP_COMPACT);
    struct stream_producer *p = kit_producer(at);
    kit_fill(p, topic, 0, 0, 5);
    struct txn x;
    txn_open(&x, at, topic);
    KIT_OK(stream_txn_begin(x.t, &kit_e));
    txn_send(&x, topic, 5);
    KIT_OK(stream_producer_flush(x.p, WAIT_MS, NULL, NULL, &kit_e));
    kit_fill(p, topic, 0, 6, 5);
    struct stream_consumer *c =
        kit_consumer(&(struct kit_consumer){.bootstrap = at, .topics = {topic}});
    struct stream_batch *b = stream_batch_new(20);
    for (int round = 0; round < 2; round++) { /* from the beginning, and asked for again */
        int64_t end = kit_now() + WAIT_MS;
        struct stream_consumer_event ev = {0};
        while (ev.kind != STREAM_BLOCKED && kit_now() < end) {
            if (!stream_consumer_event(c, &ev) && stream_consumer_read(c, b, 20) == 0)
                kit_nap();
            assert_int_not_equal(ev.kind, STREAM_END);
        }
        assert_int_equal(ev.kind, STREAM_BLOCKED);
        assert_int_equal(ev.offset, 5);
        assert_int_equal(b->count, 5);
        stream_consumer_to_end(c);
    }
    KIT_OK(stream_txn_commit(x.t, NULL, 0, NULL, WAIT_MS, &kit_e));
    assert_string_equal(txn_wait(&x).error.text, "");
    kit_event(c, b, STREAM_END);
    assert_int_equal(b->count, 11);
    stream_batch_free(b);
    stream_consumer_close(c, 1000);
    stream_producer_close(p);
    txn_close(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leader_that_leaves), cmocka_unit_test(a_leader_that_dies),
        cmocka_unit_test(offsets_by_name),      cmocka_unit_test(the_dead_one_is_fenced),
        cmocka_unit_test(fallen_off_eager),     cmocka_unit_test(fallen_off_cooperative),
        cmocka_unit_test(fallen_off_stored),    cmocka_unit_test(made_again),
        cmocka_unit_test(ends_are_stable),      cmocka_unit_test(the_end_is_behind_what_is_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
