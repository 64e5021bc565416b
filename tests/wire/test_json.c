/* JSON records: columns, ids, the arena; bad input of every kind; numbers. */
#include "kit/wire/json_world.h"

#define GOOD "{\"id\":\"r1\",\"age\":39,\"hours\":40.5,\"job\":\"nurse\",\"score\":-1e-3}"

static const float good_x[JSON_D] = {39, 40.5f, 0, 1, 0, 0, -1e-3f};

static void a_record_becomes_features(void **state)
{
    (void)state;
    float x[JSON_D];
    struct wire_record r;
    struct fis_error e = {0};
    assert_int_equal(json_record(GOOD, x, &r, &e), WIRE_OK);
    assert_memory_equal(x, good_x, sizeof x);
    json_id_is(&r.id, "r1");
    assert_int_equal(r.event_time_ms, 1234);
    assert_int_equal(r.unseen, 0);

    assert_int_equal(json_record("\xef\xbb\xbf" GOOD "\r\n", x, &r, &e), WIRE_OK);
    assert_memory_equal(x, good_x, sizeof x);
    assert_int_equal(json_record("{\"job\":\"pilot\",\"photo\":{\"url\":[1,true]}}", x, &r, &e),
                     WIRE_OK);
    float want[JSON_D] = {0, 0, 0, 0, 1, 0, 0};
    assert_memory_equal(x, want, sizeof x);
    assert_int_equal(r.unseen, 1);
    json_id_is(&r.id, "k1");
}

/* ---- nested members, members that are no json_columns, numbers in texts
 * ------------------------------
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
    struct wire_message m = json_message(json, strlen(json), "k");
    struct wire_example x;
    struct fis_error e = {0};
    char got[FIS_ERROR_TEXT + 40] = "";
    enum wire_decoded rc = wire_json_example(s, nested, 3, 0, &m, &json_arena, &x, &e);
    if (rc != WIRE_OK)
        snprintf(got, sizeof got, "%s", e.text);
    for (int i = 0; rc == WIRE_OK && i < 3; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), i ? " %s%.*s%.15g" : "%s%.*s",
                 x.values[i].kind == FIS_VALUE_MISSING ? "-" : "",
                 x.values[i].kind == FIS_VALUE_TEXT ? (int)x.values[i].length : 0,
                 x.values[i].text ? x.values[i].text : "",
                 x.values[i].kind == FIS_VALUE_NUMBER ? x.values[i].number : 0);
    if (strncmp(got, want, strlen(want)) != 0)
        fail_msg("%s\nread    '%s'\nexpected '%s'", json, got, want);
    if (!kept)
        return;
    struct byte_buffer out = {0};
    struct wire_bytes json_record = m.value;
    assert_int_equal(wire_json_keep(s, nested, 3, &json_record, &out, &e), 0);
    if (json_record.length != strlen(kept) ||
        memcmp(json_record.data, kept, json_record.length) != 0)
        fail_msg("%s\nkept    '%.*s'\nexpected '%s'", json, (int)json_record.length,
                 (const char *)json_record.data, kept);
    byte_buffer_done(&out);
}

#define LABELLED(members) "{\"hired\":\"no\"," members "}"

static void members_by_their_path(void **state)
{
    (void)state;
    struct wire_schema s = json_schema;
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
    struct wire_schema s = json_schema;
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
    struct wire_schema s = json_schema;
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
    float x[JSON_D], y[JSON_D];
    struct wire_record r;
    assert_int_equal(json_record("{\"age\":null,\"job\":null,\"hours\":2}", x, &r, NULL), WIRE_OK);
    assert_int_equal(json_record("{\"hours\":2}", y, &r, NULL), WIRE_OK);
    assert_memory_equal(x, y, sizeof x);
    assert_int_equal(json_record("{}", y, &r, NULL), WIRE_OK);
}

static void an_id_comes_from_the_column_the_key_or_the_place(void **state)
{
    (void)state;
    float x[JSON_D];
    struct wire_record r;
    struct fis_error e;
    assert_int_equal(json_record("{\"id\":-9007199254740993}", x, &r, &e), WIRE_OK);
    json_id_is(&r.id, "-9007199254740993");
    assert_int_equal(json_record("{\"id\":null}", x, &r, &e), WIRE_OK);
    json_id_is(&r.id, "k1");
    struct wire_message m = json_message("{}", 2, NULL);
    assert_int_equal(wire_json_record(&json_schema, json_encoder, &m, &json_arena, x, &r, &e),
                     WIRE_OK);
    json_id_is(&r.id, "t.records/2/71");
    m = json_message("{}", 2, "\xff");
    assert_int_equal(wire_json_record(&json_schema, json_encoder, &m, &json_arena, x, &r, &e),
                     WIRE_BAD);
    char long_id[400];
    snprintf(long_id, sizeof long_id, "{\"id\":\"%0256d\"}", 7);
    assert_int_equal(json_record(long_id, x, &r, &e), WIRE_BAD);
    assert_non_null(strstr(e.text, "256 bytes"));
    snprintf(long_id, sizeof long_id, "{\"id\":\"%0255d\"}", 7);
    assert_int_equal(json_record(long_id, x, &r, &e), WIRE_OK);
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
        float x[JSON_D], before[JSON_D];
        struct wire_record r;
        struct fis_error e = {0};
        assert_int_equal(json_record(GOOD, before, &r, &e), WIRE_OK);
        memset(x, 0x55, sizeof x);
        enum wire_decoded d = json_record(bad[i].json, x, &r, &e);
        if (d != WIRE_BAD || e.kind != FIS_INPUT || !strstr(e.text, bad[i].reason))
            fail_msg("%s: %d, '%s', expected '%s'", bad[i].json, (int)d, e.text, bad[i].reason);
        for (size_t k = 0; k < sizeof x; k++)
            assert_int_equal(((unsigned char *)x)[k], 0x55);
        json_id_is(&r.id, "r1");
        assert_int_equal(json_record(GOOD, x, &r, &e), WIRE_OK);
        assert_memory_equal(x, before, sizeof x);
    }
}

static void tombstone_empty_and_too_large_are_three_things(void **state)
{
    (void)state;
    float x[JSON_D];
    struct wire_record r;
    struct fis_error e;
    struct wire_message m = json_message(NULL, 0, "k1");
    assert_int_equal(wire_json_record(&json_schema, json_encoder, &m, &json_arena, x, &r, &e),
                     WIRE_TOMBSTONE);
    m = json_message("", 0, "k1");
    assert_int_equal(wire_json_record(&json_schema, json_encoder, &m, &json_arena, x, &r, &e),
                     WIRE_BAD);
    size_t ten = (size_t)10 << 20;
    char *large = malloc(ten);
    memset(large, ' ', ten);
    m = json_message(large, ten, "k1");
    assert_int_equal(wire_json_record(&json_schema, json_encoder, &m, &json_arena, x, &r, &e),
                     WIRE_BAD);
    assert_string_equal(e.text, "a value of 10485760 bytes, at most 1048576 allowed");
    assert_int_equal(json_arena.used, 0);
    free(large);
    json_message(NULL, 0, NULL);
}

static void decoding_takes_nothing_from_malloc(void **state)
{
    (void)state;
    float x[JSON_D];
    struct wire_record r;
    uint64_t before = fis_mem_count();
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(json_record(GOOD, x, &r, NULL), WIRE_OK);
        assert_int_equal(json_record("{\"age\":NaN}", x, &r, NULL), WIRE_BAD);
        assert_int_equal(json_record("{\"agee\":[{\"a\":1}]}", x, &r, NULL), WIRE_BAD);
    }
    assert_int_equal(fis_mem_count(), before);
}

/* With every size of json_arena a json_record is either refused for the lack of room or read
 * rightly: never read with something left out. */
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
        struct fis_arena small = {.base = json_storage, .size = size};
        struct wire_message m = json_message(json, strlen(json), NULL);
        float x[JSON_D];
        struct wire_record r;
        struct fis_error e;
        enum wire_decoded d =
            wire_json_record_by_tree(&json_schema, json_encoder, &m, &small, x, &r, &e);
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
    float x[JSON_D];
    struct wire_record r;
    struct fis_error e;
    for (size_t cut = 0; cut < strlen(GOOD); cut++) {
        struct wire_message m = json_message(GOOD, cut, NULL);
        assert_int_equal(wire_json_record(&json_schema, json_encoder, &m, &json_arena, x, &r, &e),
                         WIRE_BAD);
    }
    for (int i = 0; i < 10000; i++) {
        char json[] = GOOD;
        for (uint32_t k = 1 + fis_rng_below(&rng, 3); k > 0; k--)
            json[fis_rng_below(&rng, sizeof json - 1)] = (char)fis_rng_below(&rng, 256);
        struct wire_message m = json_message(json, sizeof json - 1, NULL);
        enum wire_decoded d =
            wire_json_record(&json_schema, json_encoder, &m, &json_arena, x, &r, &e);
        assert_true(d == WIRE_OK || (d == WIRE_BAD && e.kind == FIS_INPUT && e.text[0]));
        if (d == WIRE_OK)
            for (int k = 0; k < JSON_D; k++)
                assert_true(x[k] - x[k] == 0.0f);
    }
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
        float x[JSON_D], want[JSON_D];
        struct wire_record r;
        struct fis_error e = {0};
        if (json_record(cases[i].json, x, &r, &e) != WIRE_OK)
            fail_msg("%s: %s", cases[i].json, e.text);
        json_id_is(&r.id, cases[i].id);
        assert_int_equal(json_record(cases[i].same, want, &r, &e), WIRE_OK);
        assert_memory_equal(x, want, sizeof x);
    }
    struct wire_label l;
    assert_int_equal(json_label(&json_schema,
                                "{\"x\":[\"}\",{\"id\":3}],\"id\":327267367867168100001,"
                                "\"class_index\":1,\"labelled_at_ms\":1700000000000}",
                                &l, NULL),
                     WIRE_OK);
    json_id_is(&l.id, "327267367867168100001");
    assert_int_equal(l.class_index, 1);
    assert_int_equal(l.labelled_at_ms, 1700000000000);
}

static void survives_refused_memory(void **state)
{
    (void)state;
    struct wire_label_request r = json_request("{\"age\":1}");
    for (uint64_t n = 0; n < 100; n++) {
        struct byte_buffer out = {0};
        struct fis_error e = {0};
        fis_arena_reset(&json_arena);
        fis_mem_refuse_after(n);
        int rc = wire_json_label_request(&json_schema, &r, NULL, &json_arena, &out, &e);
        /* Outside an arena jansson's memory comes through the same seam. */
        json_t *v = rc ? NULL : wire_json_parse((struct wire_bytes){"{\"a\":[1,\"b\"]}", 13}, &e);
        fis_mem_refuse_after(UINT64_MAX);
        byte_buffer_done(&out);
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
    struct byte_buffer out = {0};
    for (int i = 0; i < 2000; i++) {
        union {
            uint64_t bits;
            double number;
        } u = {.bits = fis_rng_u64(&rng)};
        if (!(u.number - u.number == 0.0))
            continue;
        out.length = 0;
        assert_int_equal(wire_json_number(&out, u.number, NULL), 0);
        assert_int_equal(byte_buffer_append(&out, "", 1, NULL), 0);
        assert_true(strtod((char *)out.data, NULL) == u.number);
    }
    assert_int_equal(wire_json_number(&out, 1.0 / 0.0, NULL), -FIS_INPUT);
    assert_int_equal(wire_json_escape(&out, "\xff", 1, NULL), -FIS_INPUT);
    byte_buffer_done(&out);
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
        cmocka_unit_test(survives_refused_memory),
        cmocka_unit_test(numbers_read_back_as_they_were),
    };
    return cmocka_run_group_tests(tests, json_set_up, json_tear_down);
}
