/* A session's reader on the embedded broker: messages, then the end, and once more on request;
 * messages and events in their order; offsets that another consumer has committed. */
#include "kit/stream/embedded_kit.h"

#include "daemon/trainer/kafka_reader.h"
#include "daemon/trainer/outbox.h"

struct world {
    struct stream_embedded *broker;
    struct stream_producer *fill;
    struct stream_property properties[1];
    struct config cfg;
    uv_loop_t loop;
    struct context ctx;
};

static const char *const topics[] = {"ledger", "heads", "models"};

static void open_world(struct world *w)
{
    memset(w, 0, sizeof *w);
    w->broker = kit_broker();
    for (int i = 0; i < 3; i++)
        KIT_OK(stream_embedded_topic(w->broker, topics[i], 1, &kit_e));
    w->fill = kit_producer(stream_embedded_bootstrap(w->broker));
    w->properties[0] =
        (struct stream_property){"bootstrap.servers", stream_embedded_bootstrap(w->broker)};
    w->ctx.cfg = &w->cfg;
    w->ctx.properties = w->properties;
    w->ctx.property_count = 1;
    uv_loop_init(&w->loop);
    w->ctx.loop = &w->loop;
}

static void close_world(struct world *w)
{
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    stream_producer_close(w->fill);
    stream_embedded_stop(w->broker);
}

static struct kafka_reader *open_reader(struct world *w, uint32_t first, uint32_t n,
                                        const char *group)
{
    struct kafka_reader *r;
    const struct kafka_reader_options o = {.name = "test",
                                           .group = group,
                                           .topics = topics + first,
                                           .first = (enum session_topic)first,
                                           .n_topics = n};
    KIT_OK(kafka_reader_open(&r, &w->ctx, &o, &kit_e));
    return r;
}

/* Reads until the end is reported: how many messages there were before. */
struct seen {
    uint32_t messages[3], ends;
    int64_t next;
};

static bool read_to_end(struct kafka_reader *r, struct seen *seen)
{
    struct session_input in;
    struct fis_error e;
    int rc;
    while ((rc = kafka_reader_read(r, &in, &e)) > 0) {
        if (in.event == SESSION_END) {
            seen->ends++;
            return true;
        }
        if (in.event == SESSION_MESSAGE) {
            seen->messages[in.topic]++;
            assert_string_equal(in.message.topic, topics[in.topic]);
            assert_true(in.topic != SESSION_LEDGER || in.message.offset == seen->next);
            seen->next += in.topic == SESSION_LEDGER;
        }
    }
    if (rc < 0)
        fail_msg("%s", e.text);
    return false;
}

static void the_end_comes_behind_all_messages(void **state)
{
    (void)state;
    struct world w;
    struct seen seen = {0};
    open_world(&w);
    kit_fill(w.fill, "ledger", 0, 0, 3000);
    kit_fill(w.fill, "models", 0, 0, 7);
    struct kafka_reader *r = open_reader(&w, SESSION_LEDGER, 3, NULL);
    KIT_UNTIL(read_to_end(r, &seen));
    assert_int_equal(seen.messages[SESSION_LEDGER], 3000);
    assert_int_equal(seen.messages[SESSION_MODELS], 7);
    assert_int_equal(seen.messages[SESSION_HEADS], 0);
    /* What was there before the request has been read when the end is reported again. */
    for (uint32_t i = 1; i <= 3; i++) {
        kit_fill(w.fill, "ledger", 0, 3000 + 100 * i, 100);
        kafka_reader_to_end(r);
        KIT_UNTIL(read_to_end(r, &seen));
        assert_int_equal(seen.messages[SESSION_LEDGER], 3000 + 100 * i);
        assert_int_equal(seen.ends, 1 + i);
    }
    kafka_reader_poll(r);
    kafka_reader_end(r);
    kafka_reader_close(NULL, 0);
    close_world(&w);
}

/* ---- offsets --------------------------------------------------------------------------------- */

static bool owns(struct stream_consumer *member)
{
    struct stream_consumer_event ev;
    size_t n;
    stream_consumer_read(member, NULL, 0);
    while (stream_consumer_event(member, &ev))
        ;
    (void)stream_consumer_owned(member, &n);
    return n == 1;
}

static int64_t goes_on_at(struct world *w)
{
    struct kafka_reader *r = open_reader(w, SESSION_MODELS, 1, "g");
    struct session_input in = {.event = SESSION_END};
    struct fis_error e;
    KIT_UNTIL(kafka_reader_read(r, &in, &e) > 0 && in.event == SESSION_MESSAGE);
    int64_t offset = in.message.offset;
    kafka_reader_close(r, 0);
    return offset;
}

/* at_least_once: a broker takes a group's offsets from its members alone; so the member that is
 * there for the election commits what another consumer has read. */
static void a_reader_goes_on_where_the_group_has_committed(void **state)
{
    (void)state;
    struct world w;
    struct outbox *b;
    bool trouble;
    open_world(&w);
    kit_fill(w.fill, "models", 0, 0, 10);
    assert_int_equal(goes_on_at(&w), 0);
    struct stream_consumer *member =
        kit_consumer(&(struct kit_consumer){.bootstrap = stream_embedded_bootstrap(w.broker),
                                            .group = "g",
                                            .election = true,
                                            .topics = {"ledger"}});
    KIT_UNTIL(owns(member));
    struct outbox_options o = {.client = context_client(&w.ctx)};
    const struct stream_offset offset = {"models", 0, 7, 0};
    KIT_OK(outbox_open(&b, &o, &kit_e));
    KIT_OK(
        outbox_send(b, "ledger", -1, (struct wire_bytes){"k", 1}, (struct wire_bytes){"v", 1}, &kit_e));
    KIT_OK(outbox_commit(b, member, &offset, 1, &kit_e));
    struct fis_error e;
    KIT_UNTIL(outbox_turn(b, &e, &trouble) == 0 && outbox_ready(b));
    KIT_UNTIL(goes_on_at(&w) == 7);
    outbox_close(b);
    stream_consumer_close(member, 1000);
    close_world(&w);
}

int main(void)
{
    log_set_level(LOG_LEVEL_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_comes_behind_all_messages),
        cmocka_unit_test(a_reader_goes_on_where_the_group_has_committed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
