/* What can be asked about: a record that was let through makes a request, whatever its size, and
 * one that is not what it says is refused when it comes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fis/mem.h"
#include "role/trainer_wire.h"
#include "wire/json_arena.h"

enum { WIDE = 40000 };

struct world {
    struct wire_schema schema;
    struct fis_column *columns;
    char (*names)[12];
    struct trainer_wire wire;
    struct trainer_out out;
    uint32_t put;
    size_t longest;
    char last[400]; /* its end */
};

static const char *const classes[] = {"no", "yes"};

static int on_put(void *arg, enum trainer_topic t, struct wire_bytes key, struct wire_bytes value,
                  struct fis_error *e)
{
    struct world *w = arg;
    (void)e;
    assert_int_equal(t, TRAINER_REQUESTS);
    assert_true(key.length > 0 && value.length > 0);
    w->put++;
    w->longest = value.length > w->longest ? value.length : w->longest;
    size_t n = value.length < sizeof w->last ? value.length : sizeof w->last - 1;
    memcpy(w->last, (const char *)value.data + value.length - n, n);
    w->last[n] = 0;
    return 0;
}

static void open_world(struct world *w, uint32_t n_columns, size_t max_bytes)
{
    struct fis_error e;
    *w = (struct world){.schema = {.classes = classes, .n_classes = 2, .max_bytes = max_bytes}};
    w->columns = fis_calloc(n_columns, sizeof *w->columns);
    w->names = fis_calloc(n_columns, sizeof *w->names);
    for (uint32_t i = 0; i < n_columns; i++) {
        snprintf(w->names[i], sizeof w->names[i], "f%u", i);
        w->columns[i] = (struct fis_column){w->names[i], FIS_NUMERIC, FIS_SCALE_NONE};
    }
    const struct trainer_wire_options o = {.schema = &w->schema,
                                           .columns = w->columns,
                                           .n_columns = n_columns,
                                           .labels = WIRE_JSON,
                                           .put = on_put,
                                           .arg = w};
    assert_int_equal(trainer_wire_init(&w->wire, &o, &e), 0);
    trainer_wire_out(&w->wire, &w->out);
}

static void close_world(struct world *w)
{
    struct fis_error e;
    assert_false(trainer_wire_failed(&w->wire, &e));
    trainer_wire_done(&w->wire);
    fis_free(w->columns);
    fis_free(w->names);
}

/* Let through; and then the request is made. */
static void good(struct world *w, enum wire_encoding encoding, const void *data, size_t length)
{
    struct wire_bytes record = {data, length};
    struct fis_error e;
    uint32_t before = w->put;
    if (w->out.askable(w->out.ctx, encoding, record, &e))
        fail_msg("%s", e.text);
    const struct wire_label_request r = {.id = {1, "r"},
                                         .round = 1,
                                         .criterion = "entropy",
                                         .encoding = encoding,
                                         .record = record,
                                         .votes = 1};
    w->out.request(w->out.ctx, &r);
    if (trainer_wire_failed(&w->wire, &e))
        fail_msg("%s", e.text);
    assert_int_equal(w->put, before + 1);
}

static void bad(struct world *w, enum wire_encoding encoding, const void *data, size_t length,
                enum fis_error_code code, const char *says)
{
    struct fis_error e;
    assert_int_equal(w->out.askable(w->out.ctx, encoding, (struct wire_bytes){data, length}, &e),
                     -FIS_INPUT);
    assert_int_equal(e.code, code);
    if (!strstr(e.text, says))
        fail_msg("\"%s\" is not in \"%s\"", says, e.text);
}

static void raw_has_its_width(void **state)
{
    (void)state;
    struct world w;
    float x[4] = {1, -2, .5f, 0};
    open_world(&w, 3, 4096);
    for (size_t length = 0; length <= sizeof x; length++) {
        if (length == 12) {
            good(&w, WIRE_RAW, x, length);
            continue;
        }
        /* Of its own size, so that a look beyond its end is seen by a sanitizer. */
        char *record = fis_memdup((const char *)x, length ? length : 1);
        bad(&w, WIRE_RAW, record, length, FIS_CODE_WRONG_WIDTH, "12 expected");
        fis_free(record);
    }
    x[1] = NAN;
    bad(&w, WIRE_RAW, x, 12, FIS_CODE_NOT_FINITE, "feature 1 is not finite");
    close_world(&w);
}

static void json_is_an_object(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 1, 100);
    good(&w, WIRE_JSON, "{\"f0\": 1}", 9);
    good(&w, WIRE_JSON, "\xef\xbb\xbf{}", 5);
    bad(&w, WIRE_JSON, "", 0, FIS_CODE_MALFORMED, "an object expected");
    bad(&w, WIRE_JSON, "[1]", 3, FIS_CODE_MALFORMED, "an array found");
    bad(&w, WIRE_JSON, "{\"f0\": 1", 8, FIS_CODE_MALFORMED, "in the middle");
    bad(&w, WIRE_JSON, "{}, \"round\": 2", 14, FIS_CODE_MALFORMED, "something follows");
    char long_one[102];
    memset(long_one, ' ', sizeof long_one);
    memcpy(long_one, "{}", 2);
    good(&w, WIRE_JSON, long_one, 100);
    bad(&w, WIRE_JSON, long_one, 101, FIS_CODE_TOO_LONG, "101 bytes, at most 100 allowed");
    close_world(&w);
}

/* A tree takes many times the text: as much as a scorer has for it. */
static void json_with_a_long_array(void **state)
{
    (void)state;
    enum { ONES = 100000 };
    struct world w;
    open_world(&w, 1, (size_t)1 << 20);
    char *text = fis_alloc(2 * ONES + 32, 1), *p = text + sprintf(text, "{\"note\": [1");
    for (int i = 1; i < ONES; i++)
        p += sprintf(p, ",1");
    p += sprintf(p, "]}");
    good(&w, WIRE_JSON, text, (size_t)(p - text));
    fis_free(text);
    close_world(&w);
}

static void protobuf_is_a_record(void **state)
{
    (void)state;
    static const unsigned char sparse[] = {0x1a, 11, 0x0a, 3, 0xbf, 0xb8, 2,
                                           0x12, 4,  0,    0, 0x80, 0x3f};
    struct world w;
    open_world(&w, WIDE, 64 << 10); /* each of its columns has a name in the request */
    good(&w, WIRE_PROTOBUF, sparse, sizeof sparse);
    assert_true(w.longest > WIDE * 8);
    bad(&w, WIRE_PROTOBUF, "", 0, FIS_CODE_WRONG_WIDTH, "0 features, 40000 expected");
    bad(&w, WIRE_PROTOBUF, sparse, sizeof sparse - 1, FIS_CODE_MALFORMED, "");
    bad(&w, WIRE_PROTOBUF, "{}", 2, FIS_CODE_MALFORMED, "");
    close_world(&w);
}

/* What a record carries goes to the people, once by each name; the last one counts. */
static void attributes_are_handed_on(void **state)
{
    (void)state;
    static const char record[] = "\x22\x09\x0a\x01z\x12\x04\xe2\x82\xac\""
                                 "\x12\x04\0\0\x80\x3f"
                                 "\x22\x06\x0a\x01\x61\x12\x01\x31"
                                 "\x22\x03\x0a\x01\x62"
                                 "\x22\x06\x0a\x01\x61\x12\x01\x32";
    struct world w;
    open_world(&w, 1, 4096);
    good(&w, WIRE_PROTOBUF, record, sizeof record - 1);
    const char *end = strstr(w.last, "\"record\"");
    assert_non_null(end);
    assert_string_equal(end, "\"record\":{\"f0\":1},\"attributes\":{\"a\":\"2\",\"b\":\"\","
                             "\"z\":\"\xe2\x82\xac\\\"\"}}");
    good(&w, WIRE_PROTOBUF, record + 11, 6);
    assert_string_equal(strstr(w.last, "\"record\""), "\"record\":{\"f0\":1}}");
    /* A Confluent frame is taken off here too. */
    good(&w, WIRE_PROTOBUF, "\0\0\0\0\x07\0\x12\x04\0\0\x80\x3f\x22\x06\x0a\x01\x61\x12\x01\x31",
         20);
    assert_non_null(strstr(w.last, "\"attributes\":{\"a\":\"1\"}}"));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_has_its_width),        cmocka_unit_test(json_is_an_object),
        cmocka_unit_test(json_with_a_long_array),   cmocka_unit_test(protobuf_is_a_record),
        cmocka_unit_test(attributes_are_handed_on),
    };
    wire_json_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
