/* JSON label requests. */
#include "kit/wire/json_world.h"

static void a_label_request_holds_the_record_untouched(void **state)
{
    (void)state;
    struct byte_buffer out = {0};
    struct fis_error e = {0};
    struct wire_label_request r = json_request("\xef\xbb\xbf{\"age\": 1.50,\n \"x\":null}");
    fis_arena_reset(&json_arena);
    assert_int_equal(wire_json_label_request(&json_schema, &r, NULL, &json_arena, &out, &e), 0);
    static const char want[] =
        "{\"id\":\"r\\\"1\",\"round\":3,\"criterion\":\"ekg\",\"head\":12,\"classes\":[\"no\","
        "\"yes\"],\"requested_at\":1700000000000,\"record\":{\"age\": 1.50,\n \"x\":null}}";
    assert_int_equal(out.length, sizeof want - 1);
    assert_memory_equal(out.data, want, sizeof want - 1);

    static const char *const not_objects[] = {"", "{", "[1]", "{}}", "{\"a\":1},\"id\":\"x\""};
    for (size_t i = 0; i < sizeof not_objects / sizeof *not_objects; i++) {
        r = json_request(not_objects[i]);
        fis_arena_reset(&json_arena);
        assert_int_equal(wire_json_label_request(&json_schema, &r, NULL, &json_arena, &out, &e),
                         -FIS_INPUT);
        assert_int_equal(out.length, sizeof want - 1);
    }
    byte_buffer_done(&out);
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
    struct wire_label_request r = json_request(NULL);
    struct byte_buffer out = {0};
    struct fis_error e = {0};
    r.encoding = WIRE_RAW;
    r.deadline_ms = 1700000000500;
    assert_int_equal(wire_json_label_request(&json_schema, &r, &named, &json_arena, &out, &e), 0);
    assert_int_equal(byte_buffer_append(&out, "", 1, &e), 0);
    assert_non_null(strstr((char *)out.data,
                           "\"deadline\":1700000000500,\"record\":{\"f0\":0.1,\"f2\":-2,"
                           "\"f3\":\"a\\u0009b\"},"
                           "\"attributes\":{\"image\":\"http://a/1\",\"\\\"\":\"\"}}"));
    out.length = 0;
    named.attributes = &none;
    assert_int_equal(wire_json_label_request(&json_schema, &r, &named, &json_arena, &out, &e), 0);
    assert_int_equal(byte_buffer_append(&out, "", 1, &e), 0);
    assert_non_null(strstr((char *)out.data, "\"f3\":\"a\\u0009b\"}}"));
    byte_buffer_done(&out);
}

static void assert_request(const struct wire_label_request *r, const char *want)
{
    struct byte_buffer out = {0};
    struct fis_error e = {0};
    fis_arena_reset(&json_arena);
    assert_int_equal(wire_json_label_request(&json_schema, r, NULL, &json_arena, &out, &e), 0);
    assert_int_equal(out.length, strlen(want));
    assert_memory_equal(out.data, want, out.length);
    byte_buffer_done(&out);
}

static void a_label_request_for_several_votes_and_one_withdrawn(void **state)
{
    (void)state;
    struct wire_label_request r = json_request("{\"age\":1}");
    struct byte_buffer out = {0};
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
    assert_int_equal(wire_json_label_request(&json_schema, &r, NULL, &json_arena, &out, &e),
                     -FIS_INPUT);
    assert_non_null(strstr(e.text, "100 votes, at most 99 allowed"));
    byte_buffer_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_label_request_holds_the_record_untouched),
        cmocka_unit_test(a_label_request_for_a_record_of_numbers),
        cmocka_unit_test(a_label_request_for_several_votes_and_one_withdrawn),
    };
    return cmocka_run_group_tests(tests, json_set_up, json_tear_down);
}
