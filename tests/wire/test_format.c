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
    static unsigned char storage[1024 * 1024];
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

/* ---- protobuf -------------------------------------------------------------------------------- */

static void proto_is(const char *const *texts, uint32_t n, const char *value, size_t length,
                     const char *json)
{
    struct fis_error e = {0};
    struct wire_format *f = compiled(WIRE_FORMAT_PROTOBUF, texts, n, &e);
    if (!f)
        fail_msg("%s: %s", texts[n - 1], e.text);
    struct shown s = show(f, value, length, 2048);
    if (json[0] == '!' ? !s.rc || !strstr(s.text, json + 1) : s.rc || strcmp(s.text, json) != 0)
        fail_msg("%s: %s is not %s", texts[n - 1], s.text, json);
    wire_format_free(f);
}
#define PROTO(schema, value, json)                                                                 \
    proto_is((const char *[]){schema}, 1, value, sizeof(value) - 1, json)
#define PROTO3(body) "syntax = \"proto3\"; package a.b; message R {" body "}"

static void test_protobuf_scalars(void **state)
{
    (void)state;
    PROTO(
        PROTO3("double a = 1; float b = 2; int32 c = 3; sint64 d = 4; uint64 e = 5; bool f = 6;"),
        "\0\x09\0\0\0\0\0\0\xf8\x3f\x15\xcd\xcc\xcc\x3d\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
        "\x20\x03\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x30\x01",
        "{\"a\":1.5,\"b\":0.1,\"c\":-1,\"d\":-2,\"e\":\"18446744073709551615\",\"f\":true}");
    PROTO(PROTO3("fixed32 a = 1; sfixed32 b = 2; fixed64 c = 3; sfixed64 d = 4; string e = 5; "
                 "bytes f = 6;"),
          "\0\x0d\xff\xff\xff\xff\x15\xff\xff\xff\xff\x19\1\0\0\0\0\0\0\0\x21\xfe\xff\xff\xff\xff"
          "\xff\xff\xff"
          "\x2a\2hi\x32\2\xff\xfe",
          "{\"a\":4294967295,\"b\":-1,\"c\":1,\"d\":-2,\"e\":\"hi\",\"f\":\"//4=\"}");
    /* What is absent: without presence its default, else nothing. */
    PROTO(PROTO3("int32 a = 1; optional int32 b = 2; string c = 3; R d = 4; repeated int32 e = 5; "
                 "oneof x { int32 f = 6; } bool g = 7; E h = 8; enum E { Z = 0; ONE = 1; }"),
          "\0", "{\"a\":0,\"c\":\"\",\"g\":false,\"h\":\"Z\"}");
    PROTO("message R { optional int32 a = 1 [default = 7]; required int32 b = 2; }", "\0\x10\2",
          "{\"b\":2}");
    /* Any order; of scalars the last counts; other numbers and wire types are passed over. */
    PROTO(PROTO3("int32 a = 1; int32 b = 2;"), "\0\x10\1\x08\2\x08\3\x0a\1x\x78\5",
          "{\"a\":3,\"b\":1}");
}

static void test_protobuf_structure(void **state)
{
    (void)state;
    PROTO(PROTO3("message In { int32 v = 1; } In a = 1; repeated In b = 2; repeated int32 c = 3;"),
          "\0\x0a\2\x08\1\x12\0\x12\2\x08\2\x1a\2\1\2\x18\3",
          "{\"a\":{\"v\":1},\"b\":[{\"v\":0},{\"v\":2}],\"c\":[1,2,3]}");
    PROTO(PROTO3("message In { optional int32 v = 1; optional int32 w = 2; } In a = 1;"),
          "\0\x0a\2\x08\1\x0a\2\x10\2", "{\"a\":{\"v\":1,\"w\":2}}");
    PROTO(PROTO3("map<string, int32> a = 1; map<uint64, R> b = 2;"),
          "\0\x0a\5\x0a\1k\x10\1\x0a\0\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
          "{\"a\":{\"k\":1,\"\":0},\"b\":{\"18446744073709551615\":{}}}");
    PROTO(PROTO3("enum E { option allow_alias = true; A = 0; B = -1 [deprecated = true]; } "
                 "repeated E a = 1;"),
          "\0\x0a\x0c\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x05", "{\"a\":[\"A\",\"B\",5]}");
    PROTO("syntax = 'proto3'; import \"google/protobuf/wrappers.proto\"; message R {"
          "google.protobuf.DoubleValue a = 1; .google.protobuf.StringValue b = 2; "
          "google.protobuf.Int32Value c = 3; google.protobuf.Timestamp d = 4; }",
          "\0\x0a\x09\x09\0\0\0\0\0\0\xf0\x3f\x12\0\x22\2\x08\5",
          "{\"a\":1,\"b\":\"\",\"d\":{\"seconds\":5,\"nanos\":0}}");
    /* The path of a message, and names from inner scopes outwards. */
    const char *paths =
        "syntax = \"proto3\"; package p; enum E {Z = 0;} message A { message X { int32 x = 1; } }"
        "message B { message X { int32 y = 1; } message Y { X v = 1; p.A.X w = 2; } }";
    PROTO(paths, "\4\2\2\x0a\2\x08\1\x12\2\x08\2", "{\"v\":{\"y\":1},\"w\":{\"x\":2}}");
    PROTO(paths, "\2\4", "!no message of this frame's indexes");
    const char *imports[] = {
        "syntax = \"proto3\"; package c; message Money { int64 v = 1; }",
        "syntax = \"proto3\"; import \"import\"; message R { c.Money m = 1; }"};
    proto_is(imports, 2, "\0\x0a\2\x08\5", 5, "{\"m\":{\"v\":5}}");
}

static void test_protobuf_text(void **state)
{
    (void)state;
    struct fis_error e;
    PROTO("// a comment\n/* another; */ edition = \"2023\";\noption java_package = \"x;{\";\n"
          "option (o) = { a: 1 b { c: \"}\" } };\nservice S { rpc F (R) returns (stream R) { "
          "option x = 1; } }\n"
          "extend google.protobuf.FieldOptions { string o = 50000; };\n"
          "message R { option deprecated = true; reserved 2, 4 to max; reserved \"foo\", 'bar';\n"
          "extensions 100 to 199; extend R { int32 z = 100; }\n"
          "int32 message = 1 [(validate.rules).int32 = {gte: 0, in: [1, 2]}, json_name = \"m\"]; }",
          "\0\x08\1", "{\"message\":1}");
    const char *bad[] = {"message",
                         "message R {",
                         "message R { int32 a = 0; }",
                         "message R { int32 a 1; }",
                         "message R { Unknown a = 1; }",
                         "message R { int32 a = 1; int32 b = 1; }",
                         "message R { optional group G = 1 { int32 a = 1; } }",
                         "import \"x",
                         "foo",
                         "}",
                         "message R { map<string> a = 1; }",
                         "enum E { A = x; }",
                         "\x01"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(compiled(WIRE_FORMAT_PROTOBUF, &bad[i], 1, &e));
        assert_int_equal(e.kind, FIS_INPUT);
    }
    const char *unknown = bad[4];
    assert_null(compiled(WIRE_FORMAT_PROTOBUF, &unknown, 1, &e));
    assert_non_null(strstr(e.text, "field \"a\": the type Unknown is in no file"));
}

static void test_protobuf_hostile(void **state)
{
    (void)state;
    static char deep[512], wide[800 * 1024];
    const char *list[] = {PROTO3("R next = 1;")}, *one[] = {wide};
    size_t at = sizeof deep;
    PROTO(PROTO3("string a = 1;"), "\0\x0a\5hi", "!truncated");
    PROTO(PROTO3("string a = 1;"), "\0\x0a\1\xff", "!not UTF-8");
    PROTO(PROTO3("string a = 1;"), "\0\xff", "!truncated");
    PROTO(PROTO3("repeated fixed32 a = 1;"), "\0\x0a\3abc", "!a packed field is cut");
    PROTO(PROTO3("int32 a = 1;"), "", "!truncated");
    for (int i = 0; i < 70; i++) {
        size_t n = sizeof deep - at;
        if (n > 127)
            deep[--at] = (char)(n >> 7);
        deep[--at] = (char)(n > 127 ? (n & 127) | 128 : n);
        deep[--at] = 0x0a;
    }
    deep[--at] = 0;
    proto_is(list, 1, deep + at, sizeof deep - at, "!nested too deeply");
    /* Empty messages of a type with many fields: the work is bounded. */
    char *p = wide + sprintf(wide, "message R { message W {");
    for (int i = 1; i <= 18000; i++)
        p += sprintf(p, "optional int32 f%d = %d;", i, i);
    strcpy(p, "} repeated W w = 1; }");
    char many[1 + 2 * 1000] = {0};
    for (int i = 0; i < 1000; i++)
        many[1 + 2 * i] = 0x0a;
    struct fis_error e = {0};
    struct wire_format *f = compiled(WIRE_FORMAT_PROTOBUF, one, 1, &e);
    assert_non_null(f);
    struct shown s = show(f, many, sizeof many, 4000);
    assert_int_equal(s.rc, -(int)FIS_INPUT);
    assert_non_null(strstr(s.text, "fields to look at"));
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
        cmocka_unit_test(test_primitives),
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_logical),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_schemas),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_frame),
        cmocka_unit_test(test_protobuf_scalars),
        cmocka_unit_test(test_protobuf_structure),
        cmocka_unit_test(test_protobuf_text),
        cmocka_unit_test(test_protobuf_hostile),
    };
    wire_json_init();
    return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
