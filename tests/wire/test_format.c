/* Framed records by a schema, as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/format.h"
#include "wire/json_arena.h"

static struct wire_format *compiled(enum wire_format_kind kind, const char *const *texts,
                                    uint32_t n, struct fis_error *e)
{
    struct wire_format_text all[8];
    struct wire_format *f = NULL;
    for (uint32_t i = 0; i < n; i++)
        all[i] = (struct wire_format_text){"import", {texts[i], strlen(texts[i])}};
    return wire_format_new(&f, kind, all, n, e) ? NULL : f;
}

#define FRAME "\0\0\0\0\x07"

struct shown {
    int rc;
    char text[4096];
};

/* What becomes of the value (behind a frame of id 7): JSON, or the error. */
static struct shown show(const struct wire_format *f, const char *value, size_t n, size_t most)
{
    static unsigned char storage[64 * 1024];
    struct fis_arena arena = {.base = storage, .size = sizeof storage};
    char framed[2048] = FRAME;
    struct shown s = {0};
    struct wire_bytes json;
    struct fis_error e;
    memcpy(framed + 5, value, n);
    s.rc = wire_format_json(f, (struct wire_bytes){framed, n + 5}, most, &arena, &json, &e);
    if (s.rc)
        snprintf(s.text, sizeof s.text, "%s", e.text);
    else
        snprintf(s.text, sizeof s.text, "%.*s", (int)json.length, (const char *)json.data);
    return s;
}

static void avro_is(const char *schema, const char *value, size_t n, const char *json)
{
    struct fis_error e = {0};
    struct wire_format *f = compiled(WIRE_FORMAT_AVRO, &schema, 1, &e);
    if (!f)
        fail_msg("%s: %s", schema, e.text);
    struct shown s = show(f, value, n, 2048);
    if (s.rc && json[0] != '!')
        fail_msg("%s: %s", schema, s.text);
    if (json[0] == '!') {
        assert_int_equal(s.rc, -(int)FIS_INPUT);
        if (!strstr(s.text, json + 1) || !strstr(s.text, "schema id 7: "))
            fail_msg("%s is not in: %s", json + 1, s.text);
    } else {
        assert_string_equal(s.text, json);
    }
    wire_format_free(f);
}
#define AVRO(schema, value, json) avro_is(schema, value, sizeof(value) - 1, json)
#define RECORD(fields)                                                                             \
    "{\"type\":\"record\",\"name\":\"R\",\"namespace\":\"a.b\",\"fields\":[" fields "]}"
#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type "}"

static void test_primitives(void **state)
{
    (void)state;
    AVRO(RECORD(FIELD("a", "\"int\"")), "\x53", "{\"a\":-42}");
    AVRO(RECORD(FIELD("a", "\"long\"")), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
         "{\"a\":-9223372036854775808}");
    AVRO(RECORD(FIELD("a", "\"boolean\"") "," FIELD("b", "\"null\"") "," FIELD("c", "\"boolean\"")),
         "\1\0", "{\"a\":true,\"b\":null,\"c\":false}");
    AVRO(RECORD(FIELD("a", "\"float\"")), "\xcd\xcc\xcc\x3d", "{\"a\":0.1}");
    AVRO(RECORD(FIELD("a", "\"double\"")), "\x9a\x99\x99\x99\x99\x99\xb9\x3f", "{\"a\":0.1}");
    AVRO(RECORD(FIELD("a", "\"double\"")), "\0\0\0\0\0\0\xf8\x7f", "{\"a\":\"NaN\"}");
    AVRO(RECORD(FIELD("a", "\"float\"")), "\0\0\x80\xff", "{\"a\":\"-Infinity\"}");
    AVRO(RECORD(FIELD("a", "\"string\"")),
         "\x0cn\"\n\\\x7f"
         "e",
         "{\"a\":\"n\\u0022\\u000a\\u005c\\u007fe\"}");
    AVRO(RECORD(FIELD("a", "\"bytes\"")), "\x08\xff\xfe\xfd\xfc", "{\"a\":\"//79/A==\"}");
    AVRO(RECORD(FIELD("a", "{\"type\":\"fixed\",\"name\":\"F\",\"size\":2}")), "ab",
         "{\"a\":\"YWI=\"}");
}

static void test_structure(void **state)
{
    (void)state;
    AVRO(RECORD(FIELD("a", "[\"null\",\"string\"]")), "\0", "{\"a\":null}");
    AVRO(RECORD(FIELD("a", "[\"null\",\"string\"]")), "\2\4hi", "{\"a\":\"hi\"}");
    AVRO(RECORD(FIELD("a", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"NO\",\"YES\"]}")),
         "\2", "{\"a\":\"YES\"}");
    AVRO(RECORD(FIELD("a", "{\"type\":\"record\",\"name\":\"In\",\"fields\":[" FIELD(
                               "b", "\"int\"") "]}") "," FIELD("c", "[\"null\",\"a.b.In\"]")),
         "\2\2\4", "{\"a\":{\"b\":1},\"c\":{\"b\":2}}");
    /* Blocks with and without their size in bytes. */
    AVRO(RECORD(FIELD("a", "{\"type\":\"array\",\"items\":\"int\"}")), "\4\2\4\1\2\6\0",
         "{\"a\":[1,2,3]}");
    AVRO(RECORD(FIELD("a", "{\"type\":\"map\",\"values\":\"int\"}")), "\4\2k\2\2l\4\0",
         "{\"a\":{\"k\":1,\"l\":2}}");
    AVRO("[\"null\"," RECORD(FIELD("a", "\"int\"")) "]", "\2\2", "{\"a\":1}");
}

static void test_logical(void **state)
{
    (void)state;
#define DECIMAL(scale)                                                                             \
    "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":20,\"scale\":" scale "}"
    AVRO(RECORD(FIELD("a", DECIMAL("2"))), "\4\x04\xce", "{\"a\":12.30}");
    AVRO(RECORD(FIELD("a", DECIMAL("2"))), "\2\xff", "{\"a\":-0.01}");
    AVRO(RECORD(FIELD("a", DECIMAL("0"))), "\4\xff\x38", "{\"a\":-200}");
    AVRO(RECORD(FIELD("a", DECIMAL("3"))), "\0", "{\"a\":0.000}");
    AVRO(RECORD(FIELD("a", "[\"null\"," DECIMAL("1") "]")), "\2\2\x7f", "{\"a\":12.7}");
    AVRO(RECORD(FIELD("a",
                      "{\"type\":\"fixed\",\"name\":\"D\",\"size\":2,\"logicalType\":\"decimal\","
                      "\"precision\":4,\"scale\":2}") "," FIELD("b", "\"D\"")),
         "\0\x64\xff\x9c", "{\"a\":1.00,\"b\":-1.00}");
    AVRO(RECORD(FIELD("a", "{\"type\":\"int\",\"logicalType\":\"date\"}")), "\x02", "{\"a\":1}");
}

static void test_hostile(void **state)
{
    (void)state;
    const char *list = RECORD(FIELD("next", "[\"null\",\"R\"]"));
    char deep[512];
    AVRO(RECORD(FIELD("a", "\"int\"")), "", "!an integer that does not end");
    AVRO(RECORD(FIELD("a", "\"int\"")), "\2\2", "!something follows the end");
    AVRO(RECORD(FIELD("a", "\"int\"")), "\xff\xff\xff\xff\xff\x01", "!more than 32 bits");
    AVRO(RECORD(FIELD("a", "\"long\"")), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x03",
         "!more than 64 bits");
    AVRO(RECORD(FIELD("a", "\"string\"")), "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
         "!a length beyond");
    AVRO(RECORD(FIELD("a", "\"string\"")), "\x01", "!a length beyond");
    AVRO(RECORD(FIELD("a", "\"string\"")), "\2\xff", "!not UTF-8");
    AVRO(RECORD(FIELD("a", "\"double\"")), "\0\0\0", "!ends in the middle");
    AVRO(RECORD(FIELD("a", "\"boolean\"")), "\2", "!neither 0 nor 1");
    AVRO(RECORD(FIELD("a", "[\"null\",\"int\"]")), "\4", "!branch 2 of 2");
    AVRO(RECORD(FIELD("a", "[\"null\",\"int\"]")), "\1", "!branch -1 of 2");
    /* Items of no bytes: as many as fit the text. */
    AVRO(RECORD(FIELD("a", "{\"type\":\"array\",\"items\":\"null\"}")),
         "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\0", "!longer than 2048 bytes");
    AVRO(RECORD(FIELD("a", "{\"type\":\"array\",\"items\":\"int\"}")),
         "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "!a block of too many items");
    memset(deep, 2, sizeof deep);
    avro_is(list, deep, sizeof deep, "!nested too deeply");
    avro_is(RECORD(FIELD("next", "\"R\"")), "", 0, "!nested too deeply");
}

static void test_schemas(void **state)
{
    (void)state;
    struct fis_error e;
    const char *bad[] = {"{\"type\":\"record\"}",
                         "\"nothing\"",
                         "{",
                         "[",
                         "",
                         RECORD(FIELD("a", "\"Unknown\"")),
                         "{\"type\":\"fixed\",\"name\":\"F\",\"size\":-1}",
                         RECORD(FIELD("a", DECIMAL("-1"))),
                         "12",
                         "null",
                         "[[[]]]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(compiled(WIRE_FORMAT_AVRO, &bad[i], 1, &e));
        assert_int_equal(e.kind, FIS_INPUT);
    }
    char deep[4096] = "", *p = deep;
    for (int i = 0; i < 100; i++)
        p += sprintf(p, "{\"type\":\"array\",\"items\":");
    strcpy(p, "1");
    for (int i = 0; i < 100; i++)
        strcat(p, "}");
    const char *one = deep;
    assert_null(compiled(WIRE_FORMAT_AVRO, &one, 1, &e));
    assert_non_null(strstr(e.text, "nested more than 64"));
}

static void test_references(void **state)
{
    (void)state;
    struct fis_error e;
    const char *texts[] = {
        "{\"type\":\"record\",\"name\":\"Money\",\"namespace\":\"com.x\",\"fields\":[" FIELD(
            "v", "\"int\"") "]}",
        "{\"type\":\"record\",\"name\":\"Loan\",\"namespace\":\"com.x\",\"fields\":[" FIELD(
            "m", "\"Money\"") "]}",
        "[\"com.x.Money\",\"com.x.Loan\"]"};
    struct wire_format *f = compiled(WIRE_FORMAT_AVRO, texts, 2, &e);
    assert_non_null(f);
    assert_string_equal(show(f, "\2", 1, 100).text, "{\"m\":{\"v\":1}}");
    wire_format_free(f);
    f = compiled(WIRE_FORMAT_AVRO, texts, 3, &e);
    assert_non_null(f);
    assert_string_equal(show(f, "\2\4", 2, 100).text, "{\"m\":{\"v\":2}}");
    assert_string_equal(show(f, "\0\4", 2, 100).text, "{\"v\":2}");
    wire_format_free(f);
}

static void test_frame(void **state)
{
    (void)state;
    uint32_t id = 0;
    struct fis_error e;
    assert_int_equal(wire_frame_id((struct wire_bytes){"\0\1\2\3\4", 5}, &id, &e), 0);
    assert_int_equal(id, 0x01020304);
    assert_int_equal(wire_frame_id((struct wire_bytes){"\0\1\2\3", 4}, &id, &e), -(int)FIS_INPUT);
    assert_int_equal(wire_frame_id((struct wire_bytes){"{\"a\":1}", 7}, &id, &e), -(int)FIS_INPUT);
    assert_non_null(strstr(e.text, "no frame"));
    const char *any = "{}";
    struct wire_format *f = compiled(WIRE_FORMAT_JSON, &any, 1, &e);
    assert_string_equal(show(f, "{\"a\":1}", 7, 100).text, "{\"a\":1}");
    assert_int_equal(show(f, "{\"a\":1}", 7, 6).rc, -(int)FIS_INPUT);
    wire_format_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_primitives), cmocka_unit_test(test_structure),
        cmocka_unit_test(test_logical),    cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_schemas),    cmocka_unit_test(test_references),
        cmocka_unit_test(test_frame),
    };
    wire_json_init();
    return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
