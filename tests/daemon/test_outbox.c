/* The outbox in at_least_once, on the embedded broker: offsets follow what was acknowledged. */
#include "kit/stream/embedded_kit.h"

#include "daemon/trainer/outbox.h"

static const char out_topic[] = "out", in_topic[] = "in", dead_topic[] = "dead";

struct world {
    struct stream_embedded *broker;
    const char *bootstrap;
    struct outbox *outbox;
    struct stream_consumer *consumer;
    struct stream_batch *batch;
};

static void open_world(struct world *w, bool with_consumer)
{
    memset(w, 0, sizeof *w);
    w->broker = kit_broker();
    w->bootstrap = stream_embedded_bootstrap(w->broker);
    KIT_OK(stream_embedded_topic(w->broker, in_topic, 1, &kit_e));
    KIT_OK(stream_embedded_topic(w->broker, out_topic, 1, &kit_e));
    KIT_OK(stream_embedded_topic(w->broker, dead_topic, 1, &kit_e));
    const struct stream_property p[] = {{"bootstrap.servers", w->bootstrap}};
    struct outbox_options o = {.client = {.properties = p, .property_count = 1},
                               .dead_letter_bytes = 2048 + 100};
    KIT_OK(outbox_open(&w->outbox, &o, &kit_e));
    w->batch = stream_batch_new(16);
    if (!with_consumer)
        return;
    struct stream_producer *fill = kit_producer(w->bootstrap);
    kit_fill(fill, in_topic, 0, 0, 10);
    stream_producer_close(fill);
    w->consumer = kit_consumer(
        &(struct kit_consumer){.bootstrap = w->bootstrap, .group = "g", .topics = {in_topic}});
    kit_read(w->consumer, w->batch, 10);
}

static void close_world(struct world *w)
{
    stream_batch_free(w->batch);
    outbox_close(w->outbox);
    stream_consumer_close(w->consumer, 1000);
    stream_embedded_stop(w->broker);
}

static int turn(struct world *w)
{
    struct fis_error e;
    bool trouble;
    return outbox_turn(w->outbox, &e, &trouble);
}

static struct wire_bytes bytes(const char *text)
{
    return (struct wire_bytes){text, strlen(text)};
}

/* The offset at which the next member of the group begins. */
static int64_t resumes_at(struct world *w)
{
    stream_batch_release(w->batch);
    stream_consumer_close(w->consumer, 2000);
    struct stream_producer *fill = kit_producer(w->bootstrap);
    kit_fill(fill, in_topic, 0, 100, 1); /* so that there is something to read in any case */
    stream_producer_close(fill);
    w->consumer = kit_consumer(
        &(struct kit_consumer){.bootstrap = w->bootstrap, .group = "g", .topics = {in_topic}});
    kit_read(w->consumer, w->batch, 1);
    return w->batch->messages[0].offset;
}

static void commit(struct world *w, const struct stream_offset *offsets, size_t n)
{
    KIT_OK(outbox_commit(w->outbox, w->consumer, offsets, n, &kit_e));
    assert_false(outbox_ready(w->outbox)); /* nothing may be sent in the meantime */
    KIT_UNTIL(turn(w) == 0 && outbox_ready(w->outbox));
    assert_int_equal(outbox_outstanding(w->outbox), 0);
}

static void offsets_follow_what_was_acknowledged(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, true);
    assert_true(outbox_ready(w.outbox));
    for (int i = 0; i < 5; i++)
        KIT_OK(outbox_send(w.outbox, out_topic, -1, bytes("k"), bytes("v"), &kit_e));
    const struct stream_offset offset = {in_topic, 0, 4, 0};
    commit(&w, &offset, 1);
    /* Offsets alone, and messages alone, are a unit too. */
    assert_false(outbox_fenced(w.outbox));
    KIT_OK(outbox_send(w.outbox, out_topic, -1, bytes("k"), bytes("v"), &kit_e));
    commit(&w, NULL, 0);
    assert_int_equal(resumes_at(&w), 4);
    close_world(&w);
}

static void dead_letters_keep_their_bytes_up_to_the_limit(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, false);
    char large[500];
    memset(large, 'x', sizeof large);
    struct fis_error why;
    fis_refuse(&why, FIS_CODE_TOO_LONG, "why not");
    struct wire_message m = {.topic = in_topic, .partition = 0, .offset = 3, .value = {"", 0}};
    KIT_OK(outbox_dead_letter(w.outbox, dead_topic, &m, &why, &kit_e));
    m.value = (struct wire_bytes){NULL, 0};
    m.key = bytes("key");
    KIT_OK(outbox_dead_letter(w.outbox, dead_topic, &m, &why, &kit_e));
    m.value = (struct wire_bytes){large, sizeof large};
    KIT_OK(outbox_dead_letter(w.outbox, dead_topic, &m, &why, &kit_e));
    commit(&w, NULL, 0);
    struct stream_consumer *c =
        kit_consumer(&(struct kit_consumer){.bootstrap = w.bootstrap, .topics = {dead_topic}});
    kit_read(c, w.batch, 3);
    const struct stream_message *got = w.batch->messages;
    assert_null(got[0].key);
    assert_non_null(got[0].value);
    assert_int_equal(got[0].value_length, 0);
    assert_null(got[1].value);
    assert_int_equal(got[1].key_length, 3);
    assert_int_equal(got[2].value_length, 100 - 3); /* cut, the key first served */
    stream_batch_release(w.batch);
    stream_consumer_close(c, 1000);
    close_world(&w);
}

/* No broker: the unit stays open, the close is bounded, and nothing is called committed. */
static void without_a_broker_nothing_is_committed(void **state)
{
    (void)state;
    const struct stream_property p[] = {{"bootstrap.servers", "127.0.0.1:1"}};
    struct outbox_options o = {.client = {.properties = p, .property_count = 1}};
    struct world w = {0};
    KIT_OK(outbox_open(&w.outbox, &o, &kit_e));
    KIT_OK(outbox_send(w.outbox, out_topic, -1, bytes("k"), bytes("v"), &kit_e));
    KIT_OK(outbox_commit(w.outbox, NULL, NULL, 0, &kit_e));
    for (int i = 0; i < 50; i++, kit_nap())
        assert_int_equal(turn(&w), 0);
    assert_false(outbox_ready(w.outbox));
    assert_int_equal(outbox_outstanding(w.outbox), 1);
    int64_t before = kit_now();
    outbox_close(w.outbox);
    assert_true(kit_now() - before < 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_follow_what_was_acknowledged),
        cmocka_unit_test(dead_letters_keep_their_bytes_up_to_the_limit),
        cmocka_unit_test(without_a_broker_nothing_is_committed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
