/* JSON codecs: records, labels, examples, label requests; the arena; bad input of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fis/mem.h"
#include "fis/rng.h"
#include "wire/json_codec.h"
#include "wire/json_impl.h"
#include "wire/json_text.h"

static const struct fis_column columns[] = {
    {.name = "age", .type = FIS_NUMERIC, .scale = FIS_SCALE_NONE},
    {.name = "hours", .type = FIS_NUMERIC, .scale = FIS_SCALE_NONE},
    {.name = "job", .type = FIS_CATEGORICAL},
    {.name = "score", .type = FIS_NUMERIC, .scale = FIS_SCALE_NONE},
};
enum { COLUMNS = 4, D = 3 + 4 };

static const char *const classes[] = {"no", "yes"};
static const char *const sensitive[] = {"group", "race"};
static const char *const passthrough[] = {"photo"};
static const struct wire_schema schema = {
    .classes = classes,
    .n_classes = 2,
    .id_column = "id",
    .label_column = "hired",
    .sensitive = sensitive,
    .n_sensitive = 2,
    .max_bytes = 1 << 20,
    .members.listed[WIRE_PASS] = {passthrough, 1},
};

static struct fis_encoder *encoder;
static _Alignas(64) unsigned char storage[1 << 16];
static struct fis_arena arena = {.base = storage, .size = sizeof storage};

static int set_up(void **state)
{
    (void)state;
    wire_json_init();
    struct fis_error e;
    encoder = fis_encoder_new(columns, COLUMNS, 10, &e);
    struct fis_value v[COLUMNS] = {{.kind = FIS_VALUE_NUMBER, .number = 1},
                                   {.kind = FIS_VALUE_NUMBER, .number = 1},
                                   {.kind = FIS_VALUE_TEXT, .text = "clerk", .length = 5},
                                   {.kind = FIS_VALUE_NUMBER, .number = 1}};
    if (!encoder || fis_encoder_observe(encoder, v, &e))
        return -1;
    v[2] = (struct fis_value){.kind = FIS_VALUE_TEXT, .text = "nurse", .length = 5};
    return fis_encoder_observe(encoder, v, &e) || fis_encoder_finish(encoder, &e);
}

static int tear_down(void **state)
{
    (void)state;
    fis_encoder_free(encoder);
    return 0;
}

/* The bytes are copied to a block of just their size, so that reading past them is seen. */
static struct wire_message message(const char *value, size_t length, const char *key)
{
    static unsigned char *copy;
    free(copy);
    copy = value ? malloc(length ? length : 1) : NULL;
    if (value && length)
        memcpy(copy, value, length);
    fis_arena_reset(&arena);
    return (struct wire_message){.topic = "t.records",
                                 .partition = 2,
                                 .offset = 71,
                                 .timestamp_ms = 1234,
                                 .key = {key, key ? strlen(key) : 0},
                                 .value = {copy, length}};
}

static enum wire_decoded record(const char *json, float *x, struct wire_record *r,
                                struct fis_error *e)
{
    struct wire_message m = message(json, strlen(json), "k1");
    return wire_json_record(&schema, encoder, &m, &arena, x, r, e);
}

#define GOOD "{\"id\":\"r1\",\"age\":39,\"hours\":40.5,\"job\":\"nurse\",\"score\":-1e-3}"
static const float good_x[D] = {39, 40.5f, 0, 1, 0, 0, -1e-3f};

static void id_is(const struct fis_id *id, const char *text)
{
    assert_int_equal(id->length, strlen(text));
    assert_memory_equal(id->bytes, text, strlen(text));
}

static void a_record_becomes_features(void **state)
{
    (void)state;
    float x[D];
    struct wire_record r;
    struct fis_error e = {0};
    assert_int_equal(record(GOOD, x, &r, &e), WIRE_OK);
    assert_memory_equal(x, good_x, sizeof x);
    id_is(&r.id, "r1");
    assert_int_equal(r.event_time_ms, 1234);
    assert_int_equal(r.unseen, 0);

    assert_int_equal(record("\xef\xbb\xbf" GOOD "\r\n", x, &r, &e), WIRE_OK);
    assert_memory_equal(x, good_x, sizeof x);
    assert_int_equal(record("{\"job\":\"pilot\",\"photo\":{\"url\":[1,true]}}", x, &r, &e),
                     WIRE_OK);
    float want[D] = {0, 0, 0, 0, 1, 0, 0};
    assert_memory_equal(x, want, sizeof x);
    assert_int_equal(r.unseen, 1);
    id_is(&r.id, "k1");
}

/* ---- nested members, members that are no columns, numbers in texts ------------------------------
 */

static const struct fis_column nested[] = {
    {.name = "adr.city", .type = FIS_CATEGORICAL},
    {.name = "adr.geo.lat", .type = FIS_NUMERIC, .scale = FIS_SCALE_NONE},
    {.name = "age", .type = FIS_NUMERIC, .scale = FIS_SCALE_NONE},
};
static const char *const people[] = {"sex", "who.sex"};

/* "city lat age" of a record, or what it is refused for; then what is offered of it. */
static void reads(const struct wire_schema *s, const char *json, const char *want, const char *kept)
{
    struct wire_message m = message(json, strlen(json), "k");
    struct wire_example x;
    struct fis_error e = {0};
    char got[FIS_ERROR_TEXT + 40] = "";
    enum wire_decoded rc = wire_json_example(s, nested, 3, 0, &m, &arena, &x, &e);
    if (rc != WIRE_OK)
        snprintf(got, sizeof got, "%s", e.text);
    for (int i = 0; rc == WIRE_OK && i < 3; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), i ? " %s%.*s%.15g" : "%s%.*s",
                 x.values[i].kind == FIS_VALUE_MISSING ? "-" : "",
                 x.values[i].kind == FIS_VALUE_TEXT ? (int)x.values[i].length : 0,
                 x.values[i].text ? x.values[i].text : "",
                 x.values[i].kind == FIS_VALUE_NUMBER ? x.values[i].number : 0);
    if (strncmp(got, want, strlen(want)) != 0)
        fail_msg("%s\nread    '%s'\nwanted  '%s'", json, got, want);
    if (!kept)
        return;
    struct wire_buffer out = {0};
    struct wire_bytes record = m.value;
    assert_int_equal(wire_json_keep(s, nested, 3, &record, &out, &e), 0);
    if (record.length != strlen(kept) || memcmp(record.data, kept, record.length) != 0)
        fail_msg("%s\nkept    '%.*s'\nwanted  '%s'", json, (int)record.length,
                 (const char *)record.data, kept);
    wire_buffer_done(&out);
}

#define LABELLED(members) "{\"hired\":\"no\"," members "}"

static void members_by_their_path(void **state)
{
    (void)state;
    struct wire_schema s = schema;
    s.members.sensitive = (struct wire_names){people, 2};
    reads(&s, LABELLED("\"adr\":{\"city\":\"Ulm\",\"geo\":{\"lat\":48.5}},\"age\":3"), "Ulm 48.5 3",
          NULL);
    reads(&s, LABELLED("\"adr.city\":\"Ulm\",\"adr\":{\"geo.lat\":1}"), "Ulm 1 -0", NULL);
    reads(&s, LABELLED("\"adr\":null"), "unknown column 'adr'", NULL);
    reads(&s, LABELLED("\"adr\":{\"city\":\"Ulm\",\"zip\":\"1\"},\"age\":3"),
          "unknown column 'adr.zip' (allowed: adr.city, adr.geo.lat, age)", NULL);
    /* As many columns as members, one of which is unknown. */
    reads(&s, LABELLED("\"adr\":{\"city\":\"Ulm\",\"geo\":{\"lat\":1}},\"x\":3"),
          "unknown column 'x'", NULL);
    s.label_column = "out.hired";
    reads(&s, "{\"out\":{\"hired\":1.0},\"age\":2}", "column out.hired: label 1: not a class",
          NULL);
}

static void unknown_members_are_refused_ignored_or_passed(void **state)
{
    static const char *const listed[] = {"trace", "adr.zip"};
    (void)state;
    struct wire_schema s = schema;
    s.label_column = "hired";
    s.members.sensitive = (struct wire_names){people, 2};
#define RECORD                                                                                     \
    LABELLED("\"trace\":[1, {\"a\":\"}\"}],\"adr\":{\"zip\":\"1\",\"city\":\"Ulm\"},"              \
             " \"age\":3.00,\"n\\u006fte\":\"x\"")
    reads(&s, RECORD, "unknown column 'trace'", RECORD);
    s.members.others = WIRE_IGNORE;
    reads(&s, RECORD, "Ulm -0 3", "{\"adr\":{\"city\":\"Ulm\"},\"age\":3.00}");
    reads(&s, LABELLED("\"sex\":\"SECRET\",\"who\":{\"sex\":1}"), "- -0 -0", "{\"who\":{}}");
    s.members.listed[WIRE_PASS] = (struct wire_names){(const char *const[]){"note"}, 1};
    reads(&s, RECORD, "Ulm -0 3", "{\"adr\":{\"city\":\"Ulm\"},\"age\":3.00,\"n\\u006fte\":\"x\"}");
    s.members.listed[WIRE_REFUSE] = (struct wire_names){listed, 1};
    reads(&s, RECORD, "unknown column 'trace'", NULL);
    s.members.others = WIRE_PASS;
    s.members.listed[WIRE_REFUSE].n = 0;
    reads(&s, RECORD, "Ulm -0 3", RECORD);
    reads(&s, LABELLED("\"who\":{\"name\":1}"), "- -0 -0", NULL);
    reads(&s, LABELLED("\"sex\":\"SECRET\""), "unknown column 'sex'", NULL);
    reads(&s, LABELLED("\"who\":{\"sex\":\"SECRET\"}"), "unknown column 'who.sex'", NULL);
    s.members.listed[WIRE_IGNORE] = (struct wire_names){listed, 2};
    reads(&s, RECORD, "Ulm -0 3",
          "{\"hired\":\"no\",\"adr\":{\"city\":\"Ulm\"},\"age\":3.00,\"n\\u006fte\":\"x\"}");
}

static void texts_may_be_numbers(void **state)
{
    (void)state;
    struct wire_schema s = schema;
    reads(&s, LABELLED("\"age\":\"41\""), "column age: number expected, text \"41\" found", NULL);
    s.numeric_text = true;
    reads(&s, LABELLED("\"age\":\" 41.50 \",\"adr.city\":\"7\""), "7 -0 41.5", NULL);
    reads(&s, LABELLED("\"age\":\" \""), "- -0 -0", NULL);
    reads(&s, LABELLED("\"age\":\"1,041\""), "column age: number expected, text \"1,041\" found",
          NULL);
    reads(&s, LABELLED("\"age\":\"-0\""), "- -0 0", NULL);
}

static void null_and_absent_are_the_same(void **state)
{
    (void)state;
    float x[D], y[D];
    struct wire_record r;
    assert_int_equal(record("{\"age\":null,\"job\":null,\"hours\":2}", x, &r, NULL), WIRE_OK);
    assert_int_equal(record("{\"hours\":2}", y, &r, NULL), WIRE_OK);
    assert_memory_equal(x, y, sizeof x);
    assert_int_equal(record("{}", y, &r, NULL), WIRE_OK);
}

static void an_id_comes_from_the_column_the_key_or_the_place(void **state)
{
    (void)state;
    float x[D];
    struct wire_record r;
    struct fis_error e;
    assert_int_equal(record("{\"id\":-9007199254740993}", x, &r, &e), WIRE_OK);
    id_is(&r.id, "-9007199254740993");
    assert_int_equal(record("{\"id\":null}", x, &r, &e), WIRE_OK);
    id_is(&r.id, "k1");
    struct wire_message m = message("{}", 2, NULL);
    assert_int_equal(wire_json_record(&schema, encoder, &m, &arena, x, &r, &e), WIRE_OK);
    id_is(&r.id, "t.records/2/71");
    m = message("{}", 2, "\xff");
    assert_int_equal(wire_json_record(&schema, encoder, &m, &arena, x, &r, &e), WIRE_BAD);
    char long_id[400];
    snprintf(long_id, sizeof long_id, "{\"id\":\"%0256d\"}", 7);
    assert_int_equal(record(long_id, x, &r, &e), WIRE_BAD);
    assert_non_null(strstr(e.text, "256 bytes"));
    snprintf(long_id, sizeof long_id, "{\"id\":\"%0255d\"}", 7);
    assert_int_equal(record(long_id, x, &r, &e), WIRE_OK);
}

/* What is refused, with a part of the reason; a good record before and after is untouched. */
static void bad_records_are_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *json, *reason;
    } bad[] = {
        {"", "empty, an object expected"},
        {"\xef\xbb\xbf", "empty, an object expected"},
        {"{\"age\":NaN}",
         "JSON: not JSON (which has no NaN and no Infinity), at column 10 (byte 10)"},
        {"{\"age\":1,\n\"hours\":nan}", "JSON: not JSON, at line 2, column"},
        {"{\"age\":Infinity}", "not JSON"},
        {"{\"age\":-Infinity}", "not JSON"},
        {"{\"age\":1e400}", "a number beyond what a double holds"},
        {"{\"age\":1e39}", "column age: 1e+39 does not fit a 32-bit float"},
        {"{\"age\":-1e39}", "column age: -1e+39 does not fit"},
        {"{\"age\":\"NaN\"}", "column age: number expected, text \"NaN\" found"},
        {"{\"age\":[1]}", "column age: number or text expected, an array found"},
        {"{\"age\":{}}", "column age: number or text expected, an object found"},
        {"{\"agee\":3}", "unknown column 'agee' (allowed: age, hours, job, score)"},
        {"{\"group\":\"A\"}", "unknown column 'group'"},
        {"{\"hired\":\"no\"}", "unknown column 'hired'"},
        {"{\"age\":1,\"age\":1}", "a key for the second time"},
        {"{\"age\":1} x", "something follows the end"},
        {"{\"age\":1}{}", "something follows the end"},
        {"{\"age\":1", "the text ends in the middle"},
        {"{\"age\":1,}", "not JSON"},
        {"{'age':1}", "not JSON"},
        {"[{\"age\":1}]", "an object expected, an array found"},
        {"3", "an object expected"},
        {"null", "an object expected"},
        {"{\"job\":\"\xff\"}", "not UTF-8"},
        {"{\"job\":\"\xed\xa0\x80\"}", "not UTF-8"},
        {"{\"job\":\"\\ud800\"}", "not JSON"},
        {"{\"job\":\"a\\u0000b\"}", "a NUL character"},
        {"{\"a\\u0000b\":1}", "a NUL character"},
        {"{\"id\":\"\"}", "id: the id is empty"},
        {"{\"id\":1.5}", "id: an id is a text or an integer, 1.5 found"},
        {"{\"id\":[\"a\"]}", "id: an id is a text or an integer, [\"a\"] found"},
        {"{\"\":1}", "unknown column ''"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        float x[D], before[D];
        struct wire_record r;
        struct fis_error e = {0};
        assert_int_equal(record(GOOD, before, &r, &e), WIRE_OK);
        memset(x, 0x55, sizeof x);
        enum wire_decoded d = record(bad[i].json, x, &r, &e);
        if (d != WIRE_BAD || e.kind != FIS_INPUT || !strstr(e.text, bad[i].reason))
            fail_msg("%s: %d, '%s', expected '%s'", bad[i].json, (int)d, e.text, bad[i].reason);
        for (size_t k = 0; k < sizeof x; k++)
            assert_int_equal(((unsigned char *)x)[k], 0x55);
        id_is(&r.id, "r1");
        assert_int_equal(record(GOOD, x, &r, &e), WIRE_OK);
        assert_memory_equal(x, before, sizeof x);
    }
}

static void tombstone_empty_and_too_large_are_three_things(void **state)
{
    (void)state;
    float x[D];
    struct wire_record r;
    struct fis_error e;
    struct wire_message m = message(NULL, 0, "k1");
    assert_int_equal(wire_json_record(&schema, encoder, &m, &arena, x, &r, &e), WIRE_TOMBSTONE);
    m = message("", 0, "k1");
    assert_int_equal(wire_json_record(&schema, encoder, &m, &arena, x, &r, &e), WIRE_BAD);
    size_t ten = (size_t)10 << 20;
    char *large = malloc(ten);
    memset(large, ' ', ten);
    m = message(large, ten, "k1");
    assert_int_equal(wire_json_record(&schema, encoder, &m, &arena, x, &r, &e), WIRE_BAD);
    assert_string_equal(e.text, "a value of 10485760 bytes, at most 1048576 allowed");
    assert_int_equal(arena.used, 0);
    free(large);
    message(NULL, 0, NULL);
}

static void decoding_takes_nothing_from_malloc(void **state)
{
    (void)state;
    float x[D];
    struct wire_record r;
    uint64_t before = fis_mem_count();
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(record(GOOD, x, &r, NULL), WIRE_OK);
        assert_int_equal(record("{\"age\":NaN}", x, &r, NULL), WIRE_BAD);
        assert_int_equal(record("{\"agee\":[{\"a\":1}]}", x, &r, NULL), WIRE_BAD);
    }
    assert_int_equal(fis_mem_count(), before);
}

/* With every size of arena a record is either refused for the lack of room or read rightly: never
 * read with something left out. */
static void a_small_arena_never_gives_a_wrong_record(void **state)
{
    (void)state;
    char json[2000], long_text[901];
    memset(long_text, 'n', 900);
    long_text[900] = 0;
    snprintf(json, sizeof json, "{\"id\":\"%.200s\",\"age\":39,\"job\":\"%s\"}", long_text,
             long_text);
    int refused = 0, read = 0;
    for (size_t size = 0; size < 16384; size += 16) {
        struct fis_arena small = {.base = storage, .size = size};
        struct wire_message m = message(json, strlen(json), NULL);
        float x[D];
        struct wire_record r;
        struct fis_error e;
        enum wire_decoded d = wire_json_record_by_tree(&schema, encoder, &m, &small, x, &r, &e);
        if (d == WIRE_BAD) {
            char want[80];
            snprintf(want, sizeof want, "JSON: needs more than %zu bytes to decode", size);
            /* An arena of no bytes at all is an arena still. */
            if (size)
                assert_string_equal(e.text, want);
            assert_int_equal(read, 0);
            refused++;
        } else {
            assert_int_equal(r.id.length, 200);
            assert_true(x[0] == 39.0f && x[4] == 1.0f);
            read++;
        }
    }
    assert_true(refused > 100 && read > 100);
}

static void any_bytes_end_in_an_answer(void **state)
{
    (void)state;
    struct fis_rng rng;
    fis_rng_seed(&rng, 11, 0);
    float x[D];
    struct wire_record r;
    struct fis_error e;
    for (size_t cut = 0; cut < strlen(GOOD); cut++) {
        struct wire_message m = message(GOOD, cut, NULL);
        assert_int_equal(wire_json_record(&schema, encoder, &m, &arena, x, &r, &e), WIRE_BAD);
    }
    for (int i = 0; i < 10000; i++) {
        char json[] = GOOD;
        for (uint32_t k = 1 + fis_rng_below(&rng, 3); k > 0; k--)
            json[fis_rng_below(&rng, sizeof json - 1)] = (char)fis_rng_below(&rng, 256);
        struct wire_message m = message(json, sizeof json - 1, NULL);
        enum wire_decoded d = wire_json_record(&schema, encoder, &m, &arena, x, &r, &e);
        assert_true(d == WIRE_OK || (d == WIRE_BAD && e.kind == FIS_INPUT && e.text[0]));
        if (d == WIRE_OK)
            for (int k = 0; k < D; k++)
                assert_true(x[k] - x[k] == 0.0f);
    }
}

static enum wire_decoded label(const struct wire_schema *s, const char *json, struct wire_label *l,
                               struct fis_error *e)
{
    struct wire_message m = message(json, strlen(json), "k7");
    return wire_json_label(s, &m, &arena, l, e);
}

/* A number is a number whatever its length, and a category by its value; an id keeps its digits. */
static void numbers_of_any_length(void **state)
{
    (void)state;
    static const struct {
        const char *json, *id, *same;
    } cases[] = {
        {"{\"id\":1,\"age\":327267367867168100000}", "1", "{\"age\":327267367867168100000.0}"},
        {"{\"id\":327267367867168100001,\"age\":1}", "327267367867168100001", "{\"age\":1}"},
        {"{\"id\":-0,\"age\":-0}", "-0", "{\"age\":0.0}"},
        {"{\"\\u0069d\":18446744073709551617}", "18446744073709551617", "{}"},
        {"{\"score\":-9999999999999999999999,\"id\" : 7 }", "7", "{\"score\":-1e22}"},
        {"{\"job\":1.0,\"id\":\"a\"}", "a", "{\"job\":\"1\"}"},
        {"{\"job\":12345678901234567891,\"id\":\"a\"}", "a", "{\"job\":\"12345678901234567891\"}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float x[D], want[D];
        struct wire_record r;
        struct fis_error e = {0};
        if (record(cases[i].json, x, &r, &e) != WIRE_OK)
            fail_msg("%s: %s", cases[i].json, e.text);
        id_is(&r.id, cases[i].id);
        assert_int_equal(record(cases[i].same, want, &r, &e), WIRE_OK);
        assert_memory_equal(x, want, sizeof x);
    }
    struct wire_label l;
    assert_int_equal(label(&schema,
                           "{\"x\":[\"}\",{\"id\":3}],\"id\":327267367867168100001,"
                           "\"class_index\":1,\"labelled_at_ms\":1700000000000}",
                           &l, NULL),
                     WIRE_OK);
    id_is(&l.id, "327267367867168100001");
    assert_int_equal(l.class_index, 1);
    assert_int_equal(l.labelled_at_ms, 1700000000000);
}

static void which_class_a_label_is(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int class_index; /* -1: refused */
        const char *reason;
    } cases[] = {
        {"{\"label\":\"yes\"}", 1, ""},
        {"{\"label\":\"no\"}", 0, ""},
        {"{\"label\":1}", -1, "label 1: not a class (allowed: \"no\", \"yes\")"},
        {"{\"label\":\"1\"}", -1, "label \"1\": not a class (allowed: \"no\", \"yes\")"},
        {"{\"label\":2}", -1, "label 2: not a class"},
        {"{\"label\":-1}", -1, "label -1: not a class"},
        {"{\"label\":\"YES\"}", -1, "label \"YES\": not a class"},
        {"{\"label\":\"ye\"}", -1, "label \"ye\": not a class"},
        {"{\"label\":true}", -1, "label true: not a class"},
        {"{\"label\":1.0}", -1, "label 1: not a class"},
        {"{\"label\":null}", -1, "label null: not a class"},
        {"{\"label\":\"\"}", -1, "label \"\": not a class"},
        {"{\"label\":[\"yes\"]}", -1, "label [\"yes\"]: not a class"},
        {"{}", -1, "no label (allowed: \"no\", \"yes\")"},
        {"{\"lable\":\"yes\"}", -1, "no label"},
        {"{\"class_index\":1}", 1, ""},
        {"{\"class_index\":0,\"label\":null}", 0, ""},
        {"{\"class_index\":0,\"label\":\"no\"}", 0, ""},
        {"{\"class_index\":0,\"label\":\"yes\"}", -1,
         "label \"yes\" and class_index 0 (\"no\") disagree"},
        {"{\"class_index\":2}", -1, "class_index 2: 0 to 1 allowed (\"no\", \"yes\")"},
        {"{\"class_index\":-1}", -1, "class_index -1: 0 to 1 allowed"},
        {"{\"class_index\":1.0}", 1, ""},
        {"{\"class_index\":1.5}", -1, "class_index 1.5: 0 to 1 allowed"},
        {"{\"label\":\" yes \"}", 1, ""},
        {"{\"class_index\":\"1\"}", -1, "class_index \"1\": 0 to 1 allowed"},
        {"{\"class_index\":1,\"label\":\"maybe\"}", -1, "label \"maybe\": not a class"},
        {"{\"label\":\"yes\",\"status\":\"done\"}", -1, "status \"done\": \"labelled\""},
        {"{\"label\":\"yes\",\"status\":1}", -1, "status 1: "},
        {"{\"label\":\"yes\",\"status\":\"skipped\"}", -1, "status skipped, but with a label"},
        {"{\"class_index\":1,\"status\":\"unsure\"}", -1, "status unsure, but with a label"},
        {"{\"label\":\"yes\",\"annotator\":\"ann\",\"labelled_at\":12,\"status\":\"labelled\"}", 1,
         ""},
        {"\"yes\"", -1, "an object expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire_label l = {.class_index = 77};
        struct fis_error e = {0};
        enum wire_decoded d = label(&schema, cases[i].json, &l, &e);
        if (cases[i].class_index < 0) {
            if (d != WIRE_BAD || !strstr(e.text, cases[i].reason) || l.class_index != 77)
                fail_msg("%s: %d, '%s', expected '%s'", cases[i].json, (int)d, e.text,
                         cases[i].reason);
            continue;
        }
        if (d != WIRE_OK || (int)l.class_index != cases[i].class_index)
            fail_msg("%s: %d '%s'", cases[i].json, (int)d, e.text);
        id_is(&l.id, "k7");
        assert_int_equal(l.status, WIRE_LABELLED);
    }
}

static void classes_that_are_numbers(void **state)
{
    (void)state;
    static const char *const digits[] = {"0", "1", "10"};
    struct wire_schema s = schema;
    s.classes = digits;
    s.n_classes = 3;
    struct wire_label l;
    assert_int_equal(label(&s, "{\"label\":1}", &l, NULL), WIRE_OK);
    assert_int_equal(l.class_index, 1);
    assert_int_equal(label(&s, "{\"label\":\"10\"}", &l, NULL), WIRE_OK);
    assert_int_equal(l.class_index, 2);
    assert_int_equal(label(&s, "{\"label\":10}", &l, NULL), WIRE_OK);
    assert_int_equal(l.class_index, 2);
    assert_int_equal(label(&s, "{\"label\":1.0}", &l, NULL), WIRE_OK);
    assert_int_equal(l.class_index, 1);
    assert_int_equal(label(&s, "{\"label\":\"1.0\"}", &l, NULL), WIRE_OK);
    assert_int_equal(l.class_index, 1);
    assert_int_equal(label(&s, "{\"label\":-0.0}", &l, NULL), WIRE_OK);
    assert_int_equal(l.class_index, 0);
    assert_int_equal(label(&s, "{\"label\":1e1}", &l, NULL), WIRE_OK);
    assert_int_equal(l.class_index, 2);
    assert_int_equal(label(&s, "{\"label\":1.5}", &l, NULL), WIRE_BAD);
    assert_int_equal(label(&s, "{\"label\":\"01\"}", &l, NULL), WIRE_BAD);
    assert_int_equal(label(&s, "{\"label\":2}", &l, NULL), WIRE_BAD);
    assert_int_equal(label(&s, "{\"label\":false}", &l, NULL), WIRE_BAD);
}

static void labels_of_other_kinds(void **state)
{
    (void)state;
    struct wire_label l;
    struct fis_error e;
    assert_int_equal(label(&schema, "{\"id\":\"a\",\"status\":\"skipped\",\"label\":null}", &l, &e),
                     WIRE_OK);
    assert_int_equal(l.status, WIRE_SKIPPED);
    id_is(&l.id, "a");
    assert_int_equal(label(&schema, "{\"id\":5,\"status\":\"unsure\"}", &l, &e), WIRE_OK);
    assert_int_equal(l.status, WIRE_UNSURE);
    id_is(&l.id, "5");
    struct wire_message m = message("{\"label\":\"yes\"}", 15, NULL);
    assert_int_equal(wire_json_label(&schema, &m, &arena, &l, &e), WIRE_BAD);
    assert_non_null(strstr(e.text, "no id"));
    m = message(NULL, 0, "a");
    assert_int_equal(wire_json_label(&schema, &m, &arena, &l, &e), WIRE_TOMBSTONE);
}

static void labels_come_back_as_they_went(void **state)
{
    (void)state;
    struct wire_buffer out = {0};
    for (int i = 0; i < 4; i++) {
        static const char id[] = "s3-\"\\\n\xc3\xa9/\x7f";
        struct wire_label sent = {.status = (enum wire_label_status)(i < 2 ? 0 : i - 1),
                                  .class_index = i == 1,
                                  .annotator = i % 2 ? "ann \"\xc3\xa9\"" : NULL,
                                  .labelled_at_ms = i ? 1700000000000 : 0},
                          got;
        assert_int_equal(fis_id_set(&sent.id, id, sizeof id - 1), 0);
        struct wire_schema own = schema;
        own.label_framing.kind = i < 3 ? WIRE_FRAMING_AUTO : WIRE_FRAMING_CONFLUENT;
        out.length = 0;
        assert_int_equal(wire_json_label_encode(&own, &sent, &out, NULL), 0);
        assert_int_equal(*out.data, i < 3 ? '{' : 0);
        struct wire_message m = message((const char *)out.data, out.length, NULL);
        assert_int_equal(wire_json_label(&own, &m, &arena, &got, NULL), WIRE_OK);
        assert_int_equal(fis_id_compare(&sent.id, &got.id), 0);
        assert_int_equal(got.status, sent.status);
        assert_int_equal(got.class_index, sent.class_index);
        assert_string_equal(got.annotator, sent.annotator ? sent.annotator : "");
        assert_int_equal(got.labelled_at_ms, sent.labelled_at_ms);
    }
    wire_buffer_done(&out);
}

static void who_labelled_and_when(void **state)
{
    (void)state;
    struct wire_label l;
    struct fis_error e;
    assert_int_equal(label(&schema, "{\"id\":\"a\",\"label\":\"yes\"}", &l, &e), WIRE_OK);
    assert_string_equal(l.annotator, "");
    assert_int_equal(l.labelled_at_ms, 0);
    assert_int_equal(label(&schema,
                           "{\"id\":\"a\",\"status\":\"skipped\",\"annotator\":17,"
                           "\"labelled_at_ms\":12}",
                           &l, &e),
                     WIRE_OK);
    assert_string_equal(l.annotator, "17");
    assert_int_equal(l.labelled_at_ms, 12);
    assert_int_equal(label(&schema,
                           "{\"id\":\"a\",\"label\":\"no\",\"annotator\":null,"
                           "\"labelled_at_ms\":null,\"labelled_at\":[]}",
                           &l, &e),
                     WIRE_OK);
    assert_string_equal(l.annotator, "");
    static const char *const bad[][2] = {
        {"\"annotator\":\"\"", "annotator \"\": a text of 1 to 255 bytes allowed"},
        {"\"annotator\":1.5", "annotator 1.5: a text"},
        {"\"annotator\":[\"ann\"]", "annotator [\"ann\"]: a text"},
        {"\"annotator\":true", "annotator true: a text"},
        {"\"labelled_at_ms\":-1", "labelled_at_ms -1: milliseconds since 1970 allowed"},
        {"\"labelled_at_ms\":1.5", "labelled_at_ms 1.5: milliseconds"},
        {"\"labelled_at_ms\":\"2024-01-01\"", "labelled_at_ms \"2024-01-01\": milliseconds"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[128];
        snprintf(text, sizeof text, "{\"id\":\"a\",\"label\":\"no\",%s}", bad[i][0]);
        assert_int_equal(label(&schema, text, &l, &e), WIRE_BAD);
        assert_int_equal(e.kind, FIS_INPUT);
        if (!strstr(e.text, bad[i][1]))
            fail_msg("\"%s\" is not in \"%s\"", bad[i][1], e.text);
    }
    char text[400];
    int n =
        snprintf(text, sizeof text, "{\"id\":\"a\",\"label\":\"no\",\"annotator\":\"%0256d\"}", 0);
    assert_true(n > 256);
    assert_int_equal(label(&schema, text, &l, &e), WIRE_BAD);
    assert_non_null(strstr(e.text, "a text of 1 to 255 bytes"));
}

static enum wire_decoded example(const char *json, int with_sensitive, struct wire_example *x,
                                 struct fis_error *e)
{
    struct wire_message m = message(json, strlen(json), "k9");
    return wire_json_example(&schema, columns, COLUMNS, with_sensitive, &m, &arena, x, e);
}

static void examples_carry_label_and_sensitive_columns(void **state)
{
    (void)state;
    struct wire_example x;
    struct fis_error e = {0};
    assert_int_equal(example("{\"id\":\"v1\",\"age\":3,\"job\":\"clerk\",\"hired\":\"yes\","
                             "\"group\":\"A\",\"race\":7}",
                             1, &x, &e),
                     WIRE_OK);
    id_is(&x.id, "v1");
    assert_int_equal(x.class_index, 1);
    assert_true(x.values[0].kind == FIS_VALUE_NUMBER && x.values[0].number == 3);
    assert_int_equal(x.values[1].kind, FIS_VALUE_MISSING);
    assert_memory_equal(x.values[2].text, "clerk", 5);
    assert_int_equal(x.sensitive[0].length, 1);
    assert_memory_equal(x.sensitive[1].text, "7", 1);

    assert_int_equal(example("{\"hired\":\"no\"}", 0, &x, &e), WIRE_OK);
    assert_null(x.sensitive);
    id_is(&x.id, "k9");
    struct wire_message m = message(NULL, 0, "s2-5");
    assert_int_equal(wire_json_example(&schema, columns, COLUMNS, 1, &m, &arena, &x, &e),
                     WIRE_TOMBSTONE);
    id_is(&x.id, "s2-5");
    m = message(NULL, 0, NULL);
    assert_int_equal(wire_json_example(&schema, columns, COLUMNS, 1, &m, &arena, &x, &e), WIRE_BAD);
}

/* A sensitive value is never in an error. */
static void bad_examples_are_refused_in_silence_about_people(void **state)
{
    (void)state;
    static const struct {
        int with_sensitive;
        const char *json, *reason;
    } bad[] = {
        {1, "{\"hired\":\"no\",\"group\":[\"SECRET\"],\"race\":1}",
         "column group: a text or a number expected"},
        {1, "{\"hired\":\"no\",\"group\":true,\"race\":\"SECRET\"}", "column group: a text or a"},
        {0, "{\"hired\":\"no\",\"group\":\"SECRET\"}", "unknown column 'group'"},
        {1, "{\"group\":\"SECRET\",\"race\":\"SECRET\"}", "column hired: no label"},
        {1, "{\"group\":\"SECRET\" \"race\":1}", "not JSON"},
        {1, "{\"hired\":1,\"group\":\"SECRET\",\"race\":1}", "column hired: not a class"},
        {0, "{\"hired\":1}", "column hired: label 1: not a class"},
        {1, "{\"hired\":\"SECRET\",\"group\":\"no\",\"race\":1}", "column hired: not a class"},
        {1, "{\"hired\":\"no\",\"age\":\"SECRET\",\"group\":\"a\",\"race\":1}",
         "column age: a number that fits a 32-bit float expected"},
        {0, "{\"hired\":\"no\",\"age\":1e39}", "column age: 1e+39 does not fit"},
        {1, "{\"hired\":\"no\",\"group\":\"SECRET\",\"race\":1,\"x\":1}", "unknown column 'x'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct wire_example x;
        struct fis_error e = {0};
        enum wire_decoded d = example(bad[i].json, bad[i].with_sensitive, &x, &e);
        if (d != WIRE_BAD || !strstr(e.text, bad[i].reason))
            fail_msg("%s: %d, '%s'", bad[i].json, (int)d, e.text);
        assert_null(strstr(e.text, "SECRET"));
        assert_null(strstr(e.text, "true"));
    }
}

static struct wire_label_request request(const char *record)
{
    struct wire_label_request r = {.round = 3,
                                   .criterion = "ekg",
                                   .head_version = 12,
                                   .requested_at_ms = 1700000000000,
                                   .encoding = WIRE_JSON,
                                   .record = {record, record ? strlen(record) : 0}};
    assert_int_equal(fis_id_set(&r.id, "r\"1", 3), 0);
    return r;
}

static void a_label_request_holds_the_record_untouched(void **state)
{
    (void)state;
    struct wire_buffer out = {0};
    struct fis_error e = {0};
    struct wire_label_request r = request("\xef\xbb\xbf{\"age\": 1.50,\n \"x\":null}");
    fis_arena_reset(&arena);
    assert_int_equal(wire_json_label_request(&schema, &r, NULL, &arena, &out, &e), 0);
    static const char want[] =
        "{\"id\":\"r\\\"1\",\"round\":3,\"criterion\":\"ekg\",\"head\":12,\"classes\":[\"no\","
        "\"yes\"],\"requested_at\":1700000000000,\"record\":{\"age\": 1.50,\n \"x\":null}}";
    assert_int_equal(out.length, sizeof want - 1);
    assert_memory_equal(out.data, want, sizeof want - 1);

    static const char *const not_objects[] = {"", "{", "[1]", "{}}", "{\"a\":1},\"id\":\"x\""};
    for (size_t i = 0; i < sizeof not_objects / sizeof *not_objects; i++) {
        r = request(not_objects[i]);
        fis_arena_reset(&arena);
        assert_int_equal(wire_json_label_request(&schema, &r, NULL, &arena, &out, &e), -FIS_INPUT);
        assert_int_equal(out.length, sizeof want - 1);
    }
    wire_buffer_done(&out);
}

static void a_label_request_for_a_record_of_numbers(void **state)
{
    (void)state;
    static const char *const names[] = {"f0", "f1", "f2", "f3"};
    const struct fis_value values[] = {
        {.kind = FIS_VALUE_NUMBER, .number = 0.1},
        {.kind = FIS_VALUE_MISSING},
        {.kind = FIS_VALUE_NUMBER, .number = -2},
        {.kind = FIS_VALUE_TEXT, .text = "a\tb", .length = 3},
    };
    static const char *const more[] = {"image", "\""};
    const struct fis_value texts[] = {{.kind = FIS_VALUE_TEXT, .text = "http://a/1", .length = 10},
                                      {.kind = FIS_VALUE_TEXT, .text = "", .length = 0}};
    const struct wire_named_values extra = {more, texts, 2, NULL}, none = {NULL, NULL, 0, NULL};
    struct wire_named_values named = {names, values, 4, &extra};
    struct wire_label_request r = request(NULL);
    struct wire_buffer out = {0};
    struct fis_error e = {0};
    r.encoding = WIRE_RAW;
    r.deadline_ms = 1700000000500;
    assert_int_equal(wire_json_label_request(&schema, &r, &named, &arena, &out, &e), 0);
    assert_int_equal(wire_buffer_append(&out, "", 1, &e), 0);
    assert_non_null(strstr((char *)out.data,
                           "\"deadline\":1700000000500,\"record\":{\"f0\":0.1,\"f2\":-2,"
                           "\"f3\":\"a\\u0009b\"},"
                           "\"attributes\":{\"image\":\"http://a/1\",\"\\\"\":\"\"}}"));
    out.length = 0;
    named.attributes = &none;
    assert_int_equal(wire_json_label_request(&schema, &r, &named, &arena, &out, &e), 0);
    assert_int_equal(wire_buffer_append(&out, "", 1, &e), 0);
    assert_non_null(strstr((char *)out.data, "\"f3\":\"a\\u0009b\"}}"));
    wire_buffer_done(&out);
}

static void assert_request(const struct wire_label_request *r, const char *want)
{
    struct wire_buffer out = {0};
    struct fis_error e = {0};
    fis_arena_reset(&arena);
    assert_int_equal(wire_json_label_request(&schema, r, NULL, &arena, &out, &e), 0);
    assert_int_equal(out.length, strlen(want));
    assert_memory_equal(out.data, want, out.length);
    wire_buffer_done(&out);
}

static void a_label_request_for_several_votes_and_one_withdrawn(void **state)
{
    (void)state;
    struct wire_label_request r = request("{\"age\":1}");
    struct wire_buffer out = {0};
    struct fis_error e = {0};
    r.votes = 3;
    assert_request(&r, "{\"id\":\"r\\\"1\",\"round\":3,\"criterion\":\"ekg\",\"head\":12,"
                       "\"classes\":[\"no\",\"yes\"],\"requested_at\":1700000000000,\"votes\":3,"
                       "\"record\":{\"age\":1}}");
    r = (struct wire_label_request){.id = r.id, .round = 4, .votes = 3, .cancelled = 1};
    assert_request(&r, "{\"id\":\"r\\\"1\",\"round\":4,\"head\":0,\"requested_at\":0,"
                       "\"cancelled\":true}");
    r.reason = "expired";
    r.deadline_ms = 7;
    assert_request(&r, "{\"id\":\"r\\\"1\",\"round\":4,\"head\":0,\"requested_at\":0,"
                       "\"deadline\":7,\"cancelled\":true,\"reason\":\"expired\"}");
    r.votes = WIRE_VOTES + 1;
    assert_int_equal(wire_json_label_request(&schema, &r, NULL, &arena, &out, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "100 votes, at most 99 allowed"));
    wire_buffer_done(&out);
}

static void survives_refused_memory(void **state)
{
    (void)state;
    struct wire_label_request r = request("{\"age\":1}");
    for (uint64_t n = 0; n < 100; n++) {
        struct wire_buffer out = {0};
        struct fis_error e = {0};
        fis_arena_reset(&arena);
        fis_mem_refuse_after(n);
        int rc = wire_json_label_request(&schema, &r, NULL, &arena, &out, &e);
        /* Outside an arena jansson's memory comes through the same seam. */
        json_t *v = rc ? NULL : wire_json_parse((struct wire_bytes){"{\"a\":[1,\"b\"]}", 13}, &e);
        fis_mem_refuse_after(UINT64_MAX);
        wire_buffer_done(&out);
        if (v) {
            json_decref(v);
            assert_true(n > 5);
            return;
        }
        assert_int_equal(e.kind, FIS_NOMEM);
    }
    fail_msg("never enough memory");
}

static void numbers_read_back_as_they_were(void **state)
{
    (void)state;
    struct fis_rng rng;
    fis_rng_seed(&rng, 5, 0);
    struct wire_buffer out = {0};
    for (int i = 0; i < 2000; i++) {
        union {
            uint64_t bits;
            double number;
        } u = {.bits = fis_rng_u64(&rng)};
        if (!(u.number - u.number == 0.0))
            continue;
        out.length = 0;
        assert_int_equal(wire_json_number(&out, u.number, NULL), 0);
        assert_int_equal(wire_buffer_append(&out, "", 1, NULL), 0);
        assert_true(strtod((char *)out.data, NULL) == u.number);
    }
    assert_int_equal(wire_json_number(&out, 1.0 / 0.0, NULL), -FIS_INPUT);
    assert_int_equal(wire_json_escape(&out, "\xff", 1, NULL), -FIS_INPUT);
    wire_buffer_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_becomes_features),
        cmocka_unit_test(members_by_their_path),
        cmocka_unit_test(unknown_members_are_refused_ignored_or_passed),
        cmocka_unit_test(texts_may_be_numbers),
        cmocka_unit_test(null_and_absent_are_the_same),
        cmocka_unit_test(an_id_comes_from_the_column_the_key_or_the_place),
        cmocka_unit_test(bad_records_are_refused_with_the_reason),
        cmocka_unit_test(numbers_of_any_length),
        cmocka_unit_test(tombstone_empty_and_too_large_are_three_things),
        cmocka_unit_test(decoding_takes_nothing_from_malloc),
        cmocka_unit_test(a_small_arena_never_gives_a_wrong_record),
        cmocka_unit_test(any_bytes_end_in_an_answer),
        cmocka_unit_test(which_class_a_label_is),
        cmocka_unit_test(classes_that_are_numbers),
        cmocka_unit_test(labels_of_other_kinds),
        cmocka_unit_test(labels_come_back_as_they_went),
        cmocka_unit_test(who_labelled_and_when),
        cmocka_unit_test(examples_carry_label_and_sensitive_columns),
        cmocka_unit_test(bad_examples_are_refused_in_silence_about_people),
        cmocka_unit_test(a_label_request_holds_the_record_untouched),
        cmocka_unit_test(a_label_request_for_a_record_of_numbers),
        cmocka_unit_test(a_label_request_for_several_votes_and_one_withdrawn),
        cmocka_unit_test(survives_refused_memory),
        cmocka_unit_test(numbers_read_back_as_they_were),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
