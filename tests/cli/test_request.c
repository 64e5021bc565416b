/*
 * Label requests of every encoding as a person is shown them, and versions from the topic.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/models.h"
#include "cli/request.h"
#include "wire/json_arena.h"
#include "wire/protobuf_codec.h"

static const char *const classes[] = {"no", "yes"};
static struct config_column columns[] = {{.name = "f0"}, {.name = "f1"}};

static struct cli make_cli(enum wire_encoding labels)
{
    struct cli c = {.labels_encoding = labels};
    c.schema = (struct wire_schema){.classes = classes, .n_classes = 2, .max_bytes = 10000};
    c.cfg.columns = (struct config_columns){.count = 2, .items = columns};
    return c;
}

/* What is shown of a request for this record. */
static char *shown(enum wire_encoding labels, enum wire_encoding encoding, const void *record,
                   size_t length)
{
    const struct cli c = make_cli(labels);
    struct wire_label_request r = {
        .round = 3, .criterion = "entropy", .encoding = encoding, .record = {record, length}};
    struct wire_buffer b = {0};
    struct request out;
    struct fis_error e;
    char *text = NULL;
    size_t n;
    assert_int_equal(fis_id_set(&r.id, "i1", 2), 0);
    assert_int_equal(wire_protobuf_request_encode(&c.schema, &r, &b, &e), 0);
    const struct wire_message m = {.topic = "t", .value = {b.data, b.length}};
    assert_int_equal(request_read(&c, &m, 1, &out, &e), 1);
    assert_int_equal(out.round, 3);
    assert_string_equal(out.criterion, "entropy");
    assert_memory_equal(out.id.bytes, "i1", 2);
    FILE *f = open_memstream(&text, &n);
    assert_non_null(f);
    request_print(&out, 40, f);
    assert_int_equal(fclose(f), 0);
    request_done(&out);
    wire_buffer_done(&b);
    return text;
}

static void expect_shown(enum wire_encoding encoding, const void *record, size_t length,
                         const char *wanted)
{
    char *text = shown(WIRE_PROTOBUF, encoding, record, length);
    assert_string_equal(text, wanted);
    free(text);
}

static void every_encoding_is_shown(void **state)
{
    (void)state;
    static const char json[] = "{\"age\":39,\"a job\":\"\\u001b[2J\",\"x\":1.5,\"l\":[1,null]}";
    static const unsigned char raw[] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0};
    /* 2: two packed floats; 4: attribute url = u */
    static const char record[] = "\x12\x08\x00\x00\x80\x3f\x00\x00\x00\xc0"
                                 "\x22\x08\x0a\x03url\x12\x01u";
    /* 3: sparse, index 1 is -2 */
    static const char sparse[] = "\x1a\x09\x0a\x01\x01\x12\x04\x00\x00\x00\xc0";
    expect_shown(WIRE_JSON, json, sizeof json - 1,
                 "  age    39\n  a job  ?[2J\n  x      1.5\n  l      [1,null]\n");
    expect_shown(WIRE_RAW, raw, sizeof raw, "  f0  1\n  f1  -2\n");
    expect_shown(WIRE_PROTOBUF, record, sizeof record - 1, "  url  u\n  f0   1\n  f1   -2\n");
    expect_shown(WIRE_PROTOBUF, sparse, sizeof sparse - 1, "  f1  -2\n");
    expect_shown(WIRE_JSON, "{", 1, "  (the record cannot be shown)\n");
}

static void long_values_are_cut(void **state)
{
    (void)state;
    char json[600] = "{\"text\":\"";
    memset(json + strlen(json), 'x', 500);
    strcat(json, "\"}");
    char *text = shown(WIRE_PROTOBUF, WIRE_JSON, json, strlen(json));
    assert_true(strlen(text) <= 40);
    free(text);
}

static void what_is_no_request(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "{", "[]", "{\"round\":1}", "{\"id\":\"\"}", "\xff\xff"};
    for (int p = 0; p < 2; p++) {
        const struct cli c = make_cli(p ? WIRE_PROTOBUF : WIRE_JSON);
        struct request out;
        struct fis_error e;
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            const struct wire_message m = {.topic = "t", .value = {bad[i], strlen(bad[i])}};
            assert_int_equal(request_read(&c, &m, 1, &out, &e), -FIS_INPUT);
        }
        const struct wire_message none = {.topic = "t"};
        assert_int_equal(request_read(&c, &none, 1, &out, &e), 0);
    }
}

/* ---- versions ------------------------------------------------------------------------------ */

static int send_version(struct models *m, uint64_t version, int served, const char *reason,
                        size_t max)
{
    const struct wire_model model = {.pipeline = "p",
                                     .version = version,
                                     .served = served,
                                     .classes = classes,
                                     .n_classes = 2,
                                     .positive = 1,
                                     .metric = "equalized_odds",
                                     .verdict = "reject",
                                     .reason = reason,
                                     .reason_text = "text",
                                     .shape = {.n_layers = 1, .width = {2, 2}},
                                     .algorithm = "fis+"};
    struct wire_buffer payload = {0}, chunk = {0};
    struct wire_chunks cut;
    struct fis_error e;
    const struct wire_model *got = NULL;
    int complete = 0;
    if (wire_model_encode(&model, &payload, &e)) {
        print_error("%s\n", e.text);
        fail();
    }
    const struct wire_bytes bytes = {payload.data, payload.length};
    assert_int_equal(wire_chunks_start(&cut, version, bytes, max, &e), 0);
    while (wire_chunks_next(&cut, &chunk, &e) == 1) {
        const struct stream_message message = {.value = chunk.data, .value_length = chunk.length};
        int rc = models_take(m, &message, &got, &e);
        assert_true(rc >= 0);
        complete += rc;
        chunk.length = 0;
    }
    if (complete) {
        assert_non_null(got);
        assert_int_equal(got->version, version);
    }
    wire_buffer_done(&payload);
    wire_buffer_done(&chunk);
    return complete;
}

static void versions_in_order(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {3, 1, 2, 40, 2};
    struct models m;
    struct fis_error e;
    char text[64];
    assert_int_equal(models_init(&m, &e), 0);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_int_equal(send_version(&m, numbers[i], 0, i == 4 ? "below_floor" : "not_fairer", 16),
                         1);
    assert_int_equal(m.n, 4);
    for (uint32_t i = 1; i < m.n; i++)
        assert_true(m.items[i - 1].model.version < m.items[i].model.version);
    /* The later write of a version is the valid one. */
    assert_string_equal(models_reason(models_version(&m, 2), text), "below floor");
    assert_null(models_served(&m));
    models_done(&m);
}

static void broken_versions_are_counted(void **state)
{
    (void)state;
    struct models m;
    struct fis_error e;
    const struct stream_message garbage = {.value = "garbage", .value_length = 7}, none = {0};
    assert_int_equal(models_init(&m, &e), 0);
    assert_int_equal(models_take(&m, &garbage, NULL, &e), 0);
    assert_int_equal(models_take(&m, &none, NULL, &e), 0);
    assert_int_equal(m.refused, 1);
    assert_true(m.first.text[0] != 0);
    assert_int_equal(send_version(&m, 1, 0, "not_fairer", 100000), 1);
    assert_int_equal(m.n, 1);
    models_done(&m);
}

static void intervals_in_words(void **state)
{
    (void)state;
    char text[48];
    const double nan = (double)NAN;
    const struct fis_interval good = {.8, .85, .01}, bad = {nan, nan, nan};
    assert_string_equal(models_interval(.8312, &good, text), ".831 [.800, .850]");
    assert_string_equal(models_interval(.8312, &bad, text), ".831");
    assert_string_equal(models_interval(nan, &good, text), "n/e");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_encoding_is_shown),     cmocka_unit_test(long_values_are_cut),
        cmocka_unit_test(what_is_no_request),          cmocka_unit_test(versions_in_order),
        cmocka_unit_test(broken_versions_are_counted), cmocka_unit_test(intervals_in_words),
    };
    wire_json_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
