/* JSON labels and labelled examples: classes, people, other kinds. */
#include "kit/wire/json_world.h"

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
        enum wire_decoded d = json_label(&json_schema, cases[i].json, &l, &e);
        if (cases[i].class_index < 0) {
            if (d != WIRE_BAD || !strstr(e.text, cases[i].reason) || l.class_index != 77)
                fail_msg("%s: %d, '%s', expected '%s'", cases[i].json, (int)d, e.text,
                         cases[i].reason);
            continue;
        }
        if (d != WIRE_OK || (int)l.class_index != cases[i].class_index)
            fail_msg("%s: %d '%s'", cases[i].json, (int)d, e.text);
        json_id_is(&l.id, "k7");
        assert_int_equal(l.status, WIRE_LABELLED);
    }
}

static void classes_that_are_numbers(void **state)
{
    (void)state;
    static const char *const digits[] = {"0", "1", "10"};
    struct wire_schema s = json_schema;
    s.classes = digits;
    s.n_classes = 3;
    struct wire_label l;
    assert_int_equal(json_label(&s, "{\"label\":1}", &l, NULL), WIRE_OK);
    assert_int_equal(l.class_index, 1);
    assert_int_equal(json_label(&s, "{\"label\":\"10\"}", &l, NULL), WIRE_OK);
    assert_int_equal(l.class_index, 2);
    assert_int_equal(json_label(&s, "{\"label\":10}", &l, NULL), WIRE_OK);
    assert_int_equal(l.class_index, 2);
    assert_int_equal(json_label(&s, "{\"label\":1.0}", &l, NULL), WIRE_OK);
    assert_int_equal(l.class_index, 1);
    assert_int_equal(json_label(&s, "{\"label\":\"1.0\"}", &l, NULL), WIRE_OK);
    assert_int_equal(l.class_index, 1);
    assert_int_equal(json_label(&s, "{\"label\":-0.0}", &l, NULL), WIRE_OK);
    assert_int_equal(l.class_index, 0);
    assert_int_equal(json_label(&s, "{\"label\":1e1}", &l, NULL), WIRE_OK);
    assert_int_equal(l.class_index, 2);
    assert_int_equal(json_label(&s, "{\"label\":1.5}", &l, NULL), WIRE_BAD);
    assert_int_equal(json_label(&s, "{\"label\":\"01\"}", &l, NULL), WIRE_BAD);
    assert_int_equal(json_label(&s, "{\"label\":2}", &l, NULL), WIRE_BAD);
    assert_int_equal(json_label(&s, "{\"label\":false}", &l, NULL), WIRE_BAD);
}

static void labels_of_other_kinds(void **state)
{
    (void)state;
    struct wire_label l;
    struct fis_error e;
    assert_int_equal(
        json_label(&json_schema, "{\"id\":\"a\",\"status\":\"skipped\",\"label\":null}", &l, &e),
        WIRE_OK);
    assert_int_equal(l.status, WIRE_SKIPPED);
    json_id_is(&l.id, "a");
    assert_int_equal(json_label(&json_schema, "{\"id\":5,\"status\":\"unsure\"}", &l, &e), WIRE_OK);
    assert_int_equal(l.status, WIRE_UNSURE);
    json_id_is(&l.id, "5");
    struct wire_message m = json_message("{\"label\":\"yes\"}", 15, NULL);
    assert_int_equal(wire_json_label(&json_schema, &m, &json_arena, &l, &e), WIRE_BAD);
    assert_non_null(strstr(e.text, "no id"));
    m = json_message(NULL, 0, "a");
    assert_int_equal(wire_json_label(&json_schema, &m, &json_arena, &l, &e), WIRE_TOMBSTONE);
}

static void labels_come_back_as_they_went(void **state)
{
    (void)state;
    struct byte_buffer out = {0};
    for (int i = 0; i < 4; i++) {
        static const char id[] = "s3-\"\\\n\xc3\xa9/\x7f";
        struct wire_label sent = {.status = (enum wire_label_status)(i < 2 ? 0 : i - 1),
                                  .class_index = i == 1,
                                  .annotator = i % 2 ? "ann \"\xc3\xa9\"" : NULL,
                                  .labelled_at_ms = i ? 1700000000000 : 0},
                          got;
        assert_int_equal(fis_id_set(&sent.id, id, sizeof id - 1), 0);
        struct wire_schema own = json_schema;
        own.label_framing.kind = i < 3 ? WIRE_FRAMING_AUTO : WIRE_FRAMING_CONFLUENT;
        out.length = 0;
        assert_int_equal(wire_json_label_encode(&own, &sent, &out, NULL), 0);
        assert_int_equal(*out.data, i < 3 ? '{' : 0);
        struct wire_message m = json_message((const char *)out.data, out.length, NULL);
        assert_int_equal(wire_json_label(&own, &m, &json_arena, &got, NULL), WIRE_OK);
        assert_int_equal(fis_id_compare(&sent.id, &got.id), 0);
        assert_int_equal(got.status, sent.status);
        assert_int_equal(got.class_index, sent.class_index);
        assert_string_equal(got.annotator, sent.annotator ? sent.annotator : "");
        assert_int_equal(got.labelled_at_ms, sent.labelled_at_ms);
    }
    byte_buffer_done(&out);
}

static void who_labelled_and_when(void **state)
{
    (void)state;
    struct wire_label l;
    struct fis_error e;
    assert_int_equal(json_label(&json_schema, "{\"id\":\"a\",\"label\":\"yes\"}", &l, &e), WIRE_OK);
    assert_string_equal(l.annotator, "");
    assert_int_equal(l.labelled_at_ms, 0);
    assert_int_equal(json_label(&json_schema,
                                "{\"id\":\"a\",\"status\":\"skipped\",\"annotator\":17,"
                                "\"labelled_at_ms\":12}",
                                &l, &e),
                     WIRE_OK);
    assert_string_equal(l.annotator, "17");
    assert_int_equal(l.labelled_at_ms, 12);
    assert_int_equal(json_label(&json_schema,
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
        assert_int_equal(json_label(&json_schema, text, &l, &e), WIRE_BAD);
        assert_int_equal(e.kind, FIS_INPUT);
        if (!strstr(e.text, bad[i][1]))
            fail_msg("\"%s\" is not in \"%s\"", bad[i][1], e.text);
    }
    char text[400];
    int n =
        snprintf(text, sizeof text, "{\"id\":\"a\",\"label\":\"no\",\"annotator\":\"%0256d\"}", 0);
    assert_true(n > 256);
    assert_int_equal(json_label(&json_schema, text, &l, &e), WIRE_BAD);
    assert_non_null(strstr(e.text, "a text of 1 to 255 bytes"));
}

static enum wire_decoded example(const char *json, int with_sensitive, struct wire_example *x,
                                 struct fis_error *e)
{
    struct wire_message m = json_message(json, strlen(json), "k9");
    return wire_json_example(&json_schema, json_columns, JSON_COLUMNS, with_sensitive, &m,
                             &json_arena, x, e);
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
    json_id_is(&x.id, "v1");
    assert_int_equal(x.class_index, 1);
    assert_true(x.values[0].kind == FIS_VALUE_NUMBER && x.values[0].number == 3);
    assert_int_equal(x.values[1].kind, FIS_VALUE_MISSING);
    assert_memory_equal(x.values[2].text, "clerk", 5);
    assert_int_equal(x.sensitive[0].length, 1);
    assert_memory_equal(x.sensitive[1].text, "7", 1);

    assert_int_equal(example("{\"hired\":\"no\"}", 0, &x, &e), WIRE_OK);
    assert_null(x.sensitive);
    json_id_is(&x.id, "k9");
    struct wire_message m = json_message(NULL, 0, "s2-5");
    assert_int_equal(
        wire_json_example(&json_schema, json_columns, JSON_COLUMNS, 1, &m, &json_arena, &x, &e),
        WIRE_TOMBSTONE);
    json_id_is(&x.id, "s2-5");
    m = json_message(NULL, 0, NULL);
    assert_int_equal(
        wire_json_example(&json_schema, json_columns, JSON_COLUMNS, 1, &m, &json_arena, &x, &e),
        WIRE_BAD);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_class_a_label_is),
        cmocka_unit_test(classes_that_are_numbers),
        cmocka_unit_test(labels_of_other_kinds),
        cmocka_unit_test(labels_come_back_as_they_went),
        cmocka_unit_test(who_labelled_and_when),
        cmocka_unit_test(examples_carry_label_and_sensitive_columns),
        cmocka_unit_test(bad_examples_are_refused_in_silence_about_people),
    };
    return cmocka_run_group_tests(tests, json_set_up, json_tear_down);
}
