/* The scorer's host on the embedded broker: two of one group, one of which leaves; and a pool that
 * is gone through twice. */
#include "kit/stream/embedded_kit.h"

#include "daemon/scorer/scorer_host_impl.h"
#include "stream/topics.h"
#include "wire/head.h"
#include "wire/json_arena.h"
#include "wire/ledger.h"
#include "wire/protobuf_codec.h"

enum { PARTITIONS = 3, HOSTS = 2, PATIENCE_MS = 40000 };

/* Of a record, and so of several candidates in a message. */
#define MOST_BYTES 1000u

static const char config_text[] = "pipeline: p\nroles: [scorer]\nclasses: [\"no\", \"yes\"]\n"
                                  "columns: [{name: a, scale: none}, {name: b, scale: none}]\n"
                                  "initial: {file: i.csv}\n"
                                  "topics: {prefix: p}\n"
                                  "selection: {algorithm: random, labels_per_round: 10, distinct: false%s}\n"
                                  "scorer: {batch: 50}\nruntime: {workers: 1}\n";

struct world {
    struct config cfg;
    struct stream_embedded *broker;
    struct stream_property properties[6];
    struct context ctx[HOSTS];
    struct scorer_host *hosts[HOSTS];
    struct stream_producer *producer;
    struct stream_consumer *reader; /* of candidates */
    struct stream_batch *batch;
    unsigned char arena[1 << 16];
    /* What was read of candidates */
    int64_t counted[PARTITIONS];
    uint64_t records, candidates, offers, scan;
    unsigned char offered[4096];
    int64_t next[PARTITIONS];
    int failures;
};

/* ---- the world ------------------------------------------------------------------------------- */

static void topic(struct world *w, const char *name, int partitions)
{
    KIT_OK(stream_embedded_topic(w->broker, name, partitions, &kit_e));
}

static void open_world(struct world *w, const char *selection)
{
    char text[1024];
    memset(w, 0, sizeof *w);
    int n = snprintf(text, sizeof text, config_text, selection);
    KIT_OK(config_load_text("t.yaml", text, (size_t)n, &w->cfg, NULL, &kit_e));
    w->broker = kit_broker();
    const char *at = stream_embedded_bootstrap(w->broker);
    const struct stream_property properties[] = {{"bootstrap.servers", at},
                                                 {"session.timeout.ms", STREAM_EMBEDDED_SESSION_MS},
                                                 {"heartbeat.interval.ms", "200"},
                                                 {"fetch.wait.max.ms", "50"}};
    memcpy(w->properties, properties, sizeof properties);
    topic(w, w->cfg.topics.records, PARTITIONS);
    topic(w, w->cfg.topics.candidates, 1);
    topic(w, w->cfg.topics.heads, 1);
    topic(w, w->cfg.topics.ledger, 1);
    topic(w, w->cfg.topics.dead_letter, 1);
    w->producer = kit_producer(at);
    w->batch = stream_batch_new(256);
    w->reader =
        kit_consumer(&(struct kit_consumer){.bootstrap = at, .topics = {w->cfg.topics.candidates}});
}

static void start(struct world *w, int i)
{
    struct context *ctx = &w->ctx[i];
    ctx->cfg = &w->cfg;
    ctx->properties = w->properties;
    ctx->property_count = 4;
    KIT_OK(pipeline_init(&ctx->pipeline, &w->cfg, &kit_e));
    ctx->pipeline.schema.max_bytes = MOST_BYTES;
    KIT_OK(workers_start(&ctx->workers, 1, context_wake, ctx, &kit_e));
    KIT_OK(scorer_host_open(&w->hosts[i], ctx, &kit_e));
}

static void stop(struct world *w, int i)
{
    workers_stop(w->ctx[i].workers);
    scorer_host_close(w->hosts[i], 5000);
    pipeline_done(&w->ctx[i].pipeline);
    w->hosts[i] = NULL;
}

static void close_world(struct world *w)
{
    for (int i = 0; i < HOSTS; i++)
        if (w->hosts[i])
            stop(w, i);
    stream_producer_close(w->producer);
    stream_batch_free(w->batch);
    stream_consumer_close(w->reader, 0);
    stream_embedded_stop(w->broker);
    config_done(&w->cfg);
}

static void send_to(struct world *w, const char *to, int32_t partition, struct wire_bytes key,
                    struct wire_bytes value)
{
    KIT_OK(stream_producer_send(w->producer, to, partition, key.data, key.length, value.data,
                                value.length, 0, &kit_e));
    stream_producer_poll(w->producer, NULL, NULL);
}

static void send_records(struct world *w, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        char text[64];
        int n = snprintf(text, sizeof text, "{\"id\": \"r%u\", \"a\": %u, \"b\": 1}", i, i % 7);
        send_to(w, w->cfg.topics.records, (int32_t)(i % PARTITIONS), (struct wire_bytes){NULL, 0},
                (struct wire_bytes){text, (size_t)n});
        w->next[i % PARTITIONS]++;
    }
    KIT_OK(stream_producer_flush(w->producer, WAIT_MS, NULL, NULL, &kit_e));
}

static void send_head(struct world *w, uint64_t version, uint64_t scan)
{
    const struct fis_encoder_column_state states[] = {
        {.column = {"a", FIS_NUMERIC, FIS_SCALE_NONE}, .deviation = 1},
        {.column = {"b", FIS_NUMERIC, FIS_SCALE_NONE}, .deviation = 1}};
    struct wire_pool_end ends[PARTITIONS];
    float slab[6] = {.5f, -.5f, .25f, 0, 0, 0};
    struct wire_head head = {.pipeline = "p",
                             .version = version,
                             .created_at_ms = 1,
                             .params = slab,
                             .g_acc = slab,
                             .g_fair = slab,
                             .scan = scan,
                             .ends = ends,
                             .n_ends = scan ? PARTITIONS : 0};
    for (int p = 0; p < PARTITIONS; p++)
        ends[p] = (struct wire_pool_end){p, w->next[p]};
    KIT_OK(fis_shape_init(&head.shape, 2, NULL, 0, 2, &kit_e));
    struct fis_encoder *encoder = fis_encoder_from_states(states, 2, NULL);
    assert_non_null(encoder);
    head.encoder = encoder;
    struct byte_buffer bytes = {0}, chunk = {0};
    struct wire_chunks chunks;
    KIT_OK(wire_head_encode(&head, &bytes, &kit_e));
    KIT_OK(wire_chunks_start(&chunks, version, (struct wire_bytes){bytes.data, bytes.length}, 65536,
                             &kit_e));
    assert_int_equal(wire_chunks_next(&chunks, &chunk, NULL), 1);
    send_to(w, w->cfg.topics.heads, 0, (struct wire_bytes){"p/0", 3},
            (struct wire_bytes){chunk.data, chunk.length});
    KIT_OK(stream_producer_flush(w->producer, WAIT_MS, NULL, NULL, &kit_e));
    byte_buffer_done(&bytes);
    byte_buffer_done(&chunk);
    fis_encoder_free(encoder);
}

static void send_ledger(struct world *w, const char *asked, uint64_t head_version)
{
    struct byte_buffer bytes = {0};
    struct fis_id id;
    float x[2] = {0, 0};
    struct wire_bytes key = wire_ledger_state_key;
    if (asked) {
        assert_int_equal(fis_id_set(&id, asked, strlen(asked)), 0);
        struct wire_ledger_entry entry = {.id = id,
                                          .state = WIRE_REQUESTED,
                                          .round = 1,
                                          .x = x,
                                          .d = 2,
                                          .encoding = WIRE_JSON,
                                          .record = {"{}", 2}};
        KIT_OK(wire_ledger_entry_encode(&entry, &bytes, &kit_e));
        key = wire_ledger_entry_key(&id);
    } else {
        struct wire_trainer_state s = {.head_version = head_version,
                                       .phase = WIRE_PHASE_COLLECT,
                                       .control_id = "",
                                       .control_text = ""};
        KIT_OK(wire_ledger_state_encode(&s, &bytes, &kit_e));
    }
    send_to(w, w->cfg.topics.ledger, 0, key, (struct wire_bytes){bytes.data, bytes.length});
    KIT_OK(stream_producer_flush(w->producer, WAIT_MS, NULL, NULL, &kit_e));
    byte_buffer_done(&bytes);
}

/* ---- what comes out -------------------------------------------------------------------------- */

static void take_offer(struct world *w, const struct wire_offer *offer)
{
    w->offers++;
    for (uint32_t i = 0; i < offer->n_candidates; i++) {
        char text[16] = {0};
        memcpy(text, offer->candidates[i].id.bytes, offer->candidates[i].id.length);
        w->offered[atoi(text + 1)] = 1;
        w->candidates++;
    }
    const struct wire_progress *p = offer->progress;
    for (uint32_t i = 0; p && p->scan == w->scan && i < p->n_ranges; i++) {
        const struct wire_range *r = &p->ranges[i];
        int64_t *counted = &w->counted[r->partition];
        if (r->begin == r->next && !w->scan)
            continue;                      /* where it began */
        assert_true(r->begin <= *counted); /* nothing is passed over */
        w->records += r->next > *counted ? (uint64_t)(r->next - *counted) : 0;
        *counted = r->next > *counted ? r->next : *counted;
    }
}

static void turn(struct world *w)
{
    for (int i = 0; i < HOSTS; i++)
        if (w->hosts[i]) {
            workers_collect(w->ctx[i].workers);
            scorer_host_turn(w->hosts[i]);
            assert_int_equal(w->ctx[i].failed, 0);
        }
    uint32_t n = stream_consumer_read(w->reader, w->batch, 256);
    for (uint32_t i = 0; i < n; i++) {
        const struct stream_message *m = &w->batch->messages[i];
        struct fis_arena arena = {.base = w->arena, .size = sizeof w->arena};
        struct wire_message message = {.key = {m->key, m->key_length},
                                       .value = {m->value, m->value_length}};
        struct wire_offer offer;
        assert_true(m->value_length <= MOST_BYTES);
        assert_int_equal(wire_offer_decode(&message, &arena, &offer, NULL), WIRE_OK);
        take_offer(w, &offer);
    }
    stream_batch_release(w->batch);
    struct stream_consumer_event ev;
    while (stream_consumer_event(w->reader, &ev))
        ;
    kit_nap();
}

#define TURN_UNTIL(w, condition)                                                                   \
    do {                                                                                           \
        int64_t turn_end = kit_now() + PATIENCE_MS;                                                \
        while (!(condition)) {                                                                     \
            if (kit_now() > turn_end)                                                              \
                fail_msg("not within %d ms: %s", PATIENCE_MS, #condition);                         \
            turn(w);                                                                               \
        }                                                                                          \
    } while (0)

static void test_two_share_and_one_takes_over(void **state)
{
    (void)state;
    static struct world w;
    open_world(&w, "");
    send_head(&w, 1, 0);
    send_records(&w, 0, 600);
    start(&w, 0);
    TURN_UNTIL(&w, w.records == 600);
    start(&w, 1);
    TURN_UNTIL(&w, w.hosts[0]->owned > 0 && w.hosts[1]->owned > 0 &&
                       w.hosts[0]->owned + w.hosts[1]->owned == PARTITIONS);
    send_records(&w, 600, 600);
    TURN_UNTIL(&w, w.records == 1200);
    assert_true(scorer_counts(w.hosts[1]->machine)->records > 0);
    send_records(&w, 1200, 300); /* some of it is in flight when the first one goes */
    stop(&w, 0);
    TURN_UNTIL(&w, w.records == 1500 && w.hosts[1]->owned == PARTITIONS);
    TURN_UNTIL(&w, scorer_idle(w.hosts[1]->machine));
    assert_true(w.candidates >= 10 && w.candidates < 500);
    stop(&w, 1);
    int64_t lag = -1;
    struct stream_client client = {.properties = w.properties, .property_count = 4};
    KIT_OK(stream_group_lag(&client, "p-scorer", w.cfg.topics.records, WAIT_MS, &lag, &kit_e));
    assert_int_equal(lag, 0); /* all that was acknowledged was committed */
    close_world(&w);
}

static void test_a_pool_is_gone_through_for_each_scan(void **state)
{
    (void)state;
    static struct world w;
    open_world(&w, ", mode: pool, heap: 1000");
    send_records(&w, 0, 300);
    send_head(&w, 1, 1);
    send_records(&w, 300, 30); /* behind the ends of the scan */
    start(&w, 0);
    TURN_UNTIL(&w, w.hosts[0]->owned == PARTITIONS && w.hosts[0]->head);
    assert_int_equal(scorer_counts(w.hosts[0]->machine)->scans, 0);
    send_ledger(&w, "r7", 0);
    send_ledger(&w, NULL, 1);
    w.scan = 1;
    TURN_UNTIL(&w, w.records == 300);
    TURN_UNTIL(&w, scorer_idle(w.hosts[0]->machine));
    assert_int_equal(w.candidates, 299);
    assert_true(w.offers < 150); /* several in a message */
    assert_false(w.offered[7]);
    assert_int_equal(scorer_counts(w.hosts[0]->machine)->records, 300);

    send_ledger(&w, "r8", 0);
    send_ledger(&w, NULL, 2);
    w.scan = 2;
    w.records = w.candidates = 0;
    memset(w.counted, 0, sizeof w.counted);
    memset(w.offered, 0, sizeof w.offered);
    send_head(&w, 2, 2);
    TURN_UNTIL(&w, w.records == 330);
    TURN_UNTIL(&w, scorer_idle(w.hosts[0]->machine));
    assert_int_equal(w.candidates, 328);
    assert_false(w.offered[7] || w.offered[8]);
    assert_true(w.offered[0] && w.offered[329]);
    assert_int_equal(scorer_counts(w.hosts[0]->machine)->scans, 2);
    close_world(&w);
}

int main(void)
{
    wire_json_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_share_and_one_takes_over),
        cmocka_unit_test(test_a_pool_is_gone_through_for_each_scan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
