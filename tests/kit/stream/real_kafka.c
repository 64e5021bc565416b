#include "kit/stream/real_kafka.h"

#include <unistd.h>

const char *broker(void)
{
    const char *at = getenv("FISD_TEST_KAFKA");
    if (!at || !*at)
        skip();
    return at;
}

const char *fresh(char name[64], const char *what)
{
    snprintf(name, 64, "%s-%ld-%lld", what, (long)getpid(), (long long)kit_now());
    return name;
}

void make_topic(const char *at, const char *name, int32_t partitions, enum stream_cleanup cleanup)
{
    const struct stream_property p[] = {{"bootstrap.servers", at}};
    const struct stream_client client = {.properties = p, .property_count = 1};
    const struct stream_topic t = {
        .name = name, .partitions = partitions, .replication = 1, .cleanup = cleanup};
    struct stream_topic_report r = {0};
    KIT_OK(stream_topics_create(&client, &t, 1, WAIT_MS, &r, &kit_e));
    assert_true(r.exists);
}

struct stream_txn_result txn_wait(struct txn *x)
{
    struct stream_txn_result r = {0};
    KIT_UNTIL((stream_producer_poll(x->p, NULL, NULL), stream_txn_thread_poll(x->t, &r)));
    return r;
}

void txn_open(struct txn *x, const char *at, const char *id)
{
    const struct stream_property p[] = {{"bootstrap.servers", at}};
    const struct stream_producer_options o = {.client = {.properties = p, .property_count = 1},
                                              .transactional_id = id};
    KIT_OK(stream_producer_open(&x->p, &o, &kit_e));
    KIT_OK(stream_txn_thread_new(&x->t, x->p, NULL, NULL, &kit_e));
    KIT_OK(stream_txn_init(x->t, WAIT_MS, &kit_e));
    struct stream_txn_result r = txn_wait(x);
    assert_string_equal(r.error.text, "");
    assert_int_equal(r.state, STREAM_TXN_READY);
}

void txn_close(struct txn *x)
{
    stream_txn_thread_free(x->t, 0);
    stream_producer_close(x->p);
}

void txn_send(struct txn *x, const char *topic, unsigned number)
{
    char text[16];
    size_t n = (size_t)snprintf(text, sizeof text, "%u", number);
    KIT_OK(stream_producer_send(x->p, topic, -1, text, n, text, n, number, &kit_e));
}
