/*
 * What watch makes of messages: counts, open requests whatever the order, the goal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cli/watch.h"
#include "wire/json_arena.h"
#include "wire/protobuf_codec.h"

static const char *const classes[] = {"no", "yes"};

static void setup(struct cli *c, struct watch *w)
{
    struct fis_error e;
    *c = (struct cli){.labels_encoding = WIRE_JSON};
    c->schema = (struct wire_schema){.classes = classes, .n_classes = 2, .max_bytes = 10000};
    assert_int_equal(watch_init(w, c, &e), 0);
}

static int give(struct watch *w, enum watch_topic topic, const char *key, const void *value,
                size_t length)
{
    struct fis_error e;
    const struct wire_model *version = NULL;
    const struct stream_message m = {.topic = topic,
                                     .key = key,
                                     .key_length = key ? strlen(key) : 0,
                                     .value = value,
                                     .value_length = length};
    int event = watch_take(w, &m, &version, &e);
    assert_true(event >= 0);
    assert_int_equal(version != NULL, event == WATCH_NEW_VERSION);
    return event;
}

#define TEXT(w, topic, text) give(w, topic, NULL, text, strlen(text))

static void requests_and_labels(void **state)
{
    (void)state;
    struct cli c;
    struct watch w;
    setup(&c, &w);
    assert_int_equal(TEXT(&w, WATCH_REQUESTS, "{\"id\":\"a\"}"), WATCH_COUNTED);
    assert_int_equal(TEXT(&w, WATCH_REQUESTS, "{\"id\":\"b\"}"), WATCH_COUNTED);
    assert_int_equal(TEXT(&w, WATCH_REQUESTS, "{\"id\":\"b\"}"), WATCH_NOTHING);
    assert_int_equal(w.open.count, 2);
    TEXT(&w, WATCH_LABELS, "{\"id\":\"a\",\"label\":\"yes\"}");
    TEXT(&w, WATCH_LABELS, "{\"id\":\"z\",\"status\":\"skipped\"}");
    assert_int_equal(w.open.count, 1);
    /* The label of z was seen before its request, which is therefore not open. */
    TEXT(&w, WATCH_REQUESTS, "{\"id\":\"z\"}");
    assert_int_equal(w.open.count, 1);
    assert_int_equal(w.requests, 3);
    assert_int_equal(w.labels, 1);
    assert_int_equal(w.passed, 1);
    assert_int_equal(w.early.count, 0);
    watch_done(&w);
}

static void withdrawn_requests_and_votes(void **state)
{
    (void)state;
    struct cli c;
    struct watch w;
    setup(&c, &w);
    TEXT(&w, WATCH_REQUESTS, "{\"id\":\"a\"}");
    TEXT(&w, WATCH_REQUESTS, "{\"id\":\"b\",\"votes\":2}");
    assert_int_equal(TEXT(&w, WATCH_REQUESTS, "{\"id\":\"a\",\"cancelled\":true}"), WATCH_COUNTED);
    TEXT(&w, WATCH_REQUESTS, "{\"id\":\"a\",\"cancelled\":true,\"reason\":\"expired\"}");
    assert_int_equal(w.open.count, 1);
    assert_int_equal(w.withdrawn, 1);
    assert_int_equal(w.requests, 2);
    TEXT(&w, WATCH_LABELS, "{\"id\":\"b\",\"label\":\"yes\",\"annotator\":\"ann\"}");
    assert_int_equal(w.open.count, 1);
    TEXT(&w, WATCH_LABELS, "{\"id\":\"b\",\"label\":\"yes\",\"annotator\":\"bob\"}");
    assert_int_equal(w.open.count, 0);
    watch_done(&w);
}

static void what_the_operator_did(void **state)
{
    (void)state;
    struct cli c;
    struct watch w;
    struct byte_buffer b = {0};
    struct fis_error e;
    struct wire_trainer_state s = {.phase = WIRE_PHASE_LABEL, .paused = 1};
    setup(&c, &w);
    assert_int_equal(wire_ledger_state_encode(&s, &b, &e), 0);
    struct stream_message m = {.topic = WATCH_LEDGER,
                               .key = wire_ledger_state_key.data,
                               .key_length = 1,
                               .value = b.data,
                               .value_length = b.length};
    assert_int_equal(watch_take(&w, &m, NULL, &e), WATCH_COUNTED);
    assert_int_equal(watch_take(&w, &m, NULL, &e), WATCH_NOTHING);
    assert_int_equal(w.ledger.state.paused, 1);
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    watch_view(&w, 1000, 0, out);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "asking      paused, round 0"));
    free(text);
    byte_buffer_done(&b);
    watch_done(&w);
}

static void progress_of_scorers(void **state)
{
    (void)state;
    struct cli c;
    struct watch w;
    struct byte_buffer b = {0};
    struct fis_error e;
    static const struct wire_range ranges[] = {{0, 0, 300, 298, 2, 0}, {1, 7, 210, 202, 0, 1}};
    const struct wire_progress progress = {.scorer = "s", .ranges = ranges, .n_ranges = 2};
    const struct wire_offer offer = {.progress = &progress};
    setup(&c, &w);
    assert_int_equal(wire_offer_encode(&offer, &b, &e), 0);
    watch_tick(&w, 1000, true);
    assert_int_equal(give(&w, WATCH_CANDIDATES, "k", b.data, b.length), WATCH_COUNTED);
    give(&w, WATCH_CANDIDATES, "k", b.data, b.length);
    assert_int_equal(w.records, 1000);
    assert_int_equal(w.refused, 4);
    assert_int_equal(w.tombstones, 2);
    watch_tick(&w, 1500, false);
    assert_true(w.rate <= 0);
    watch_tick(&w, 3000, false);
    assert_true(w.rate > 499 && w.rate < 501);
    for (int64_t now = 4000; now < 20000; now += 1000)
        watch_tick(&w, now, false);
    assert_true(w.rate <= 0);
    byte_buffer_done(&b);
    watch_done(&w);
}

static void garbage_is_counted(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "{", "\xff\xff\xff", "{\"id\":3}", "null", "\x0a\x7f"};
    struct cli c;
    struct watch w;
    setup(&c, &w);
    for (uint32_t t = 0; t < WATCH_TOPICS; t++)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            assert_true(TEXT(&w, (enum watch_topic)t, texts[i]) <= WATCH_COUNTED);
            give(&w, (enum watch_topic)t, NULL, NULL, 0);
        }
    assert_true(w.bad > 8);
    assert_true(w.models.refused > 0);
    watch_done(&w);
}

static void goals(void **state)
{
    (void)state;
    struct watch_goal g = {WATCH_FOREVER, 0};
    assert_int_equal(watch_goal_read("done", &g), 0);
    assert_int_equal(g.kind, WATCH_DONE);
    assert_int_equal(watch_goal_read("versions=11", &g), 0);
    assert_true(g.kind == WATCH_VERSIONS && g.number == 11);
    assert_int_equal(watch_goal_read("version=2", &g), 0);
    assert_true(g.kind == WATCH_VERSION && g.number == 2);
    assert_int_equal(watch_goal_read("round=3", &g), 0);
    assert_true(g.kind == WATCH_ROUND && g.number == 3);
    assert_int_equal(watch_goal_read("open=4", &g), 0);
    assert_true(g.kind == WATCH_OPEN && g.number == 4);
    static const char *const bad[] = {
        "", "Done", "versions", "versions=", "versions=x", "round=0", "rounds=3", "version= 2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(watch_goal_read(bad[i], &g), -1);
}

static void reaching_a_goal(void **state)
{
    (void)state;
    struct cli c;
    struct watch w;
    setup(&c, &w);
    struct wire_model_owned two[2] = {
        {.model = {.version = 1, .served = 1}},
        {.model = {.version = 4, .round = 3, .labels_bought = 300}},
    };
    const struct watch_goal done = {WATCH_DONE, 0}, versions = {WATCH_VERSIONS, 2},
                            version = {WATCH_VERSION, 4}, round = {WATCH_ROUND, 4},
                            open = {WATCH_OPEN, 2};
    assert_false(watch_reached(&w, &done));
    w.open.count = 1;
    assert_false(watch_reached(&w, &open));
    w.open.count = 2;
    assert_true(watch_reached(&w, &open));
    w.open.count = 0;
    struct models none = w.models;
    w.models.items = two;
    w.models.n = 2;
    assert_true(watch_reached(&w, &versions));
    assert_true(watch_reached(&w, &version));
    assert_false(watch_reached(&w, &round));
    assert_false(watch_reached(&w, &done));
    c.cfg.selection.rounds = 3;
    assert_true(watch_reached(&w, &done));
    c.cfg.selection.rounds = 4;
    c.cfg.selection.budget = 300;
    assert_true(watch_reached(&w, &done));
    assert_int_equal(models_served(&w.models)->version, 1);
    assert_null(models_version(&w.models, 2));
    assert_ptr_equal(models_version(&w.models, 4), &two[1].model);
    w.models = none;
    watch_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_and_labels),   cmocka_unit_test(withdrawn_requests_and_votes),
        cmocka_unit_test(what_the_operator_did), cmocka_unit_test(progress_of_scorers),
        cmocka_unit_test(garbage_is_counted),    cmocka_unit_test(goals),
        cmocka_unit_test(reaching_a_goal),
    };
    wire_json_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
