/* What the trainer reads besides its input, on the embedded broker: the follower keeps up and knows
 * when it has, one version is found among others, and offsets
 * are committed for another consumer. */
#include "../stream/kit.h"
#include "../wire/model_testing.h"

#include "daemon/trainer/follower.h"
#include "daemon/trainer/outbox.h"
#include "daemon/trainer/version_fetch.h"
#include "wire/chunk.h"
#include "wire/ledger.h"
#include "wire/model.h"

struct world {
    struct stream_embedded *broker;
    struct stream_producer *fill;
    struct stream_property properties[1];
    struct config cfg;
    uv_loop_t loop;
    struct context ctx;
    struct fis_encoder *enc;
};

static void open_world(struct world *w)
{
    memset(w, 0, sizeof *w);
    w->broker = kit_broker();
    w->cfg.topics.ledger = "ledger";
    w->cfg.topics.heads = "heads";
    w->cfg.topics.models = "models";
    w->cfg.topics.records = "records";
    w->cfg.records.max_bytes = 4096;
    const char *const topics[] = {"ledger", "heads", "models"};
    for (int i = 0; i < 3; i++)
        KIT_OK(stream_embedded_topic(w->broker, topics[i], 1, &kit_e));
    KIT_OK(stream_embedded_topic(w->broker, "records", 3, &kit_e));
    w->fill = kit_producer(stream_embedded_bootstrap(w->broker));
    w->properties[0] =
        (struct stream_property){"bootstrap.servers", stream_embedded_bootstrap(w->broker)};
    w->ctx.cfg = &w->cfg;
    w->ctx.properties = w->properties;
    w->ctx.property_count = 1;
    uv_loop_init(&w->loop);
    w->ctx.loop = &w->loop;
    KIT_OK(workers_start(&w->ctx.workers, 1, context_wake, &w->ctx, &kit_e));
    w->enc = mixed_encoder();
}

static void close_world(struct world *w)
{
    workers_stop(w->ctx.workers);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    stream_producer_close(w->fill);
    stream_embedded_stop(w->broker);
    fis_encoder_free(w->enc);
}

/* ---- follower -------------------------------------------------------------------------------- */

static void write_entries(struct world *w, uint32_t first, uint32_t n)
{
    struct wire_buffer value = {0};
    const float x[] = {1, 2, 3};
    for (uint32_t i = first; i < first + n; i++) {
        struct wire_ledger_entry entry = {.state = WIRE_ACCEPTED, .round = 1, .x = x, .d = 3};
        char id[16];
        fis_id_set(&entry.id, id, (size_t)snprintf(id, sizeof id, "r%u", i));
        value.length = 0;
        KIT_OK(wire_ledger_entry_encode(&entry, &value, &kit_e));
        KIT_OK(stream_producer_send(w->fill, "ledger", 0, entry.id.bytes, entry.id.length,
                                    value.data, value.length, 0, &kit_e));
    }
    KIT_OK(stream_producer_flush(w->fill, WAIT_MS, NULL, NULL, &kit_e));
    wire_buffer_done(&value);
}

static bool turned_to_end(struct follower *f)
{
    struct fis_error e;
    bool more;
    if (follower_turn(f, &more, &e) < 0)
        fail_msg("%s", e.text);
    return follower_at_end(f);
}

static void a_follower_keeps_up_and_knows_the_end(void **state)
{
    (void)state;
    struct world w;
    struct follower *f;
    open_world(&w);
    write_entries(&w, 0, 3000);
    KIT_OK(follower_open(&f, &w.ctx, &kit_e));
    assert_false(follower_at_end(f));
    KIT_UNTIL(turned_to_end(f));
    assert_int_equal(memory_entries(follower_memory(f)), 3000);
    /* It goes on by itself … */
    write_entries(&w, 2990, 20);
    KIT_UNTIL(turned_to_end(f) && memory_entries(follower_memory(f)) == 3010);
    /* … and what was there before the question has been read when the end is told. */
    for (uint32_t i = 0; i < 3; i++) {
        write_entries(&w, 4000 + 100 * i, 100);
        follower_to_end(f);
        assert_false(follower_at_end(f));
        KIT_UNTIL(turned_to_end(f));
        assert_int_equal(memory_entries(follower_memory(f)), 3110 + 100 * i);
    }
    follower_close(f);
    close_world(&w);
}

/* Elected before the first end was reached: the question takes its place. */
static void an_end_may_be_asked_for_at_once(void **state)
{
    (void)state;
    struct world w;
    struct follower *f;
    open_world(&w);
    write_entries(&w, 0, 500);
    KIT_OK(follower_open(&f, &w.ctx, &kit_e));
    follower_to_end(f);
    KIT_UNTIL(turned_to_end(f));
    assert_int_equal(memory_entries(follower_memory(f)), 500);
    KIT_OK(memory_conclude(follower_memory(f), &kit_e));
    assert_false(memory_found(follower_memory(f)));
    follower_close(f);
    follower_close(NULL);
    close_world(&w);
}

static void what_cannot_be_read_ends_it(void **state)
{
    (void)state;
    struct world w;
    struct follower *f;
    struct fis_error e = {0};
    bool more;
    open_world(&w);
    KIT_OK(stream_producer_send(w.fill, "heads", 0, "k", 1, "\xff\xff", 2, 0, &kit_e));
    KIT_OK(follower_open(&f, &w.ctx, &kit_e));
    KIT_UNTIL(follower_turn(f, &more, &e) < 0);
    assert_int_equal(e.kind, FIS_FATAL);
    assert_non_null(strstr(e.text, "heads partition 0 offset 0"));
    follower_close(f);
    close_world(&w);
}

/* ---- versions -------------------------------------------------------------------------------- */

static void write_version(struct world *w, uint64_t version)
{
    struct wire_buffer value = {0}, chunk = {0}, key = {0};
    struct wire_chunks c;
    struct wire_model m = {.pipeline = "t",
                           .version = version,
                           .classes = test_classes,
                           .n_classes = 2,
                           .metric = "equalized_odds",
                           .encoder = w->enc,
                           .verdict = "reject",
                           .reason = "not_fairer",
                           .reason_text = "",
                           .seed = version * 10,
                           .algorithm = "fis"};
    KIT_OK(fis_shape_init(&m.shape, MIXED_D, (uint32_t[]){3}, 1, 2, &kit_e));
    float *params = random_slab(&m.shape, version);
    m.params = params;
    KIT_OK(wire_model_encode(&m, &value, &kit_e));
    KIT_OK(
        wire_chunks_start(&c, version, (struct wire_bytes){value.data, value.length}, 100, &kit_e));
    struct fis_error e;
    while (chunk.length = key.length = 0, wire_chunks_next(&c, &chunk, &e) > 0) {
        KIT_OK(wire_chunk_key_model(version, c.next - 1, &key, &kit_e));
        KIT_OK(stream_producer_send(w->fill, "models", 0, key.data, key.length, chunk.data,
                                    chunk.length, 0, &kit_e));
    }
    KIT_OK(stream_producer_flush(w->fill, WAIT_MS, NULL, NULL, &kit_e));
    fis_free(params);
    wire_buffer_done(&value);
    wire_buffer_done(&chunk);
    wire_buffer_done(&key);
}

static bool fetched(struct version_fetch *f)
{
    struct fis_error e;
    int rc = version_fetch_turn(f, &e);
    if (rc < 0)
        fail_msg("%s", e.text);
    return rc > 0;
}

static void one_version_is_found_among_others(void **state)
{
    (void)state;
    struct world w;
    struct version_fetch *f;
    open_world(&w);
    for (uint64_t v = 1; v <= 5; v++)
        write_version(&w, v);
    KIT_OK(stream_producer_send(w.fill, "models", 0, "6/0", 3, "\xff\xff", 2, 0, &kit_e));
    KIT_OK(version_fetch_open(&f, &w.ctx, 3, &kit_e));
    assert_int_equal(version_fetch_wanted(f), 3);
    KIT_UNTIL(fetched(f));
    const struct wire_model *m = version_fetch_model(f);
    assert_non_null(m);
    assert_int_equal(m->version, 3);
    assert_int_equal(m->seed, 30);
    version_fetch_close(f);
    /* One that is not there is waited for no longer than to the end; 6 cannot be read. */
    for (uint64_t v = 6; v <= 7; v++) {
        KIT_OK(version_fetch_open(&f, &w.ctx, v, &kit_e));
        KIT_UNTIL(fetched(f));
        assert_null(version_fetch_model(f));
        version_fetch_close(f);
    }
    version_fetch_close(NULL);
    close_world(&w);
}

/* ---- offsets --------------------------------------------------------------------------------- */

/* at_least_once: a broker takes a group's offsets from its members alone; so the member that is
 * there for the election commits what another consumer has read. */
static int64_t goes_on_at(const char *bootstrap)
{
    struct stream_batch *b = stream_batch_new(1);
    struct stream_consumer *c = kit_consumer(&(struct kit_consumer){
        .bootstrap = bootstrap, .group = "g", .stored = true, .topics = {"models"}});
    kit_read(c, b, 1);
    int64_t offset = b->messages[0].offset;
    stream_batch_free(b);
    stream_consumer_close(c, 1000);
    return offset;
}

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

static void a_member_commits_what_another_read(void **state)
{
    (void)state;
    struct world w;
    struct outbox *b;
    bool said;
    open_world(&w);
    const char *bootstrap = stream_embedded_bootstrap(w.broker);
    kit_fill(w.fill, "models", 0, 0, 10);
    assert_int_equal(goes_on_at(bootstrap), 0);
    struct stream_consumer *member = kit_consumer(&(struct kit_consumer){
        .bootstrap = bootstrap, .group = "g", .election = true, .topics = {"ledger"}});
    KIT_UNTIL(owns(member));
    struct outbox_options o = {.client = context_client(&w.ctx)};
    KIT_OK(outbox_open(&b, &o, &kit_e));
    KIT_OK(
        outbox_send(b, "ledger", (struct wire_bytes){"k", 1}, (struct wire_bytes){"v", 1}, &kit_e));
    KIT_OK(outbox_consumed(b, "models", 0, 7, &kit_e));
    KIT_OK(outbox_commit(b, member, &kit_e));
    struct fis_error e;
    KIT_UNTIL(outbox_turn(b, &e, &said) == 0 && outbox_ready(b));
    KIT_UNTIL(goes_on_at(bootstrap) == 7);
    outbox_close(b);
    stream_consumer_close(member, 1000);
    close_world(&w);
}

int main(void)
{
    log_set_level(LOG_LEVEL_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_follower_keeps_up_and_knows_the_end),
        cmocka_unit_test(an_end_may_be_asked_for_at_once),
        cmocka_unit_test(what_cannot_be_read_ends_it),
        cmocka_unit_test(one_version_is_found_among_others),
        cmocka_unit_test(a_member_commits_what_another_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
