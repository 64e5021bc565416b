/* What the labelling page shows of a record, and who may use it. */
#include <string.h>

#include "daemon/labelling/label_fields.h"
#include "daemon/monitor/annotators.h"
#include "fis/mem.h"
#include "kit/cmocka.h"

static struct config shown_as(struct config_show *items, uint32_t n)
{
    struct config c = {0};
    c.records.id = (char *)(uintptr_t) "id";
    c.labels.show.items = items;
    c.labels.show.count = n;
    return c;
}

/* "as=value", of one column of a record. */
static void one(const char *column, int as, const char *template, const char *record,
                const char *kind, const char *value)
{
    struct config_show s = {
        .column = (char *)(uintptr_t)column, .as = as, .template = (char *)(uintptr_t) template};
    struct config c = shown_as(&s, 1);
    json_t *r = json_loads(record, 0, NULL);
    json_t *fields = label_fields(&c, r);
    assert_int_equal(json_array_size(fields), 1);
    const json_t *f = json_array_get(fields, 0);
    assert_string_equal(json_string_value(json_object_get(f, "as")), kind);
    assert_string_equal(json_string_value(json_object_get(f, "value")), value);
    json_decref(fields);
    json_decref(r);
}

static void values(void **state)
{
    (void)state;
    one("a", CONFIG_SHOW_TEXT, NULL, "{\"a\": \"<b>x</b>\"}", "text", "<b>x</b>");
    one("a", CONFIG_SHOW_TEXT, NULL, "{\"a\": 0.1}", "text", "0.1");
    one("a", CONFIG_SHOW_TEXT, NULL, "{\"a\": 12345678901}", "text", "12345678901");
    one("a", CONFIG_SHOW_TEXT, NULL, "{\"a\": [1, {\"b\": true}]}", "text", "[1,{\"b\":true}]");
    one("a", CONFIG_SHOW_TEXT, NULL, "{\"a\": null}", "missing", "");
    one("a.b", CONFIG_SHOW_TEXT, "{a.b}, {c}", "{\"a\": {\"b\": \"x\"}, \"c\": 1}", "text", "x, 1");
    one("a", CONFIG_SHOW_TEXT, NULL, "{}", "missing", "");
    one("a", CONFIG_SHOW_TEXT, "{a} of {b}, {c}", "{\"a\": 1, \"b\": \"x y\"}", "text",
        "1 of x y, ");
    one("a", CONFIG_SHOW_TEXT, NULL, "{\"a\": \"https://x.example/\"}", "text",
        "https://x.example/");
}

static void addresses(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "javascript:alert(1)",   "data:text/html;base64,x", "https://",
        "https://me@x.example/", "https:/x.example/",       "//x.example/",
        "ftp://x.example/",      "https://x.example/a b",   "https://x.example/\\n",
        " https://x.example/",   "https://me\\\\@x/",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char record[128];
        snprintf(record, sizeof record, "{\"a\": \"%s\"}", bad[i]);
        json_t *r = json_loads(record, 0, NULL);
        const char *text = json_string_value(json_object_get(r, "a"));
        one("a", CONFIG_SHOW_LINK, NULL, record, "text", text);
        one("a", CONFIG_SHOW_IMAGE, NULL, record, "text", text);
        json_decref(r);
    }
    one("a", CONFIG_SHOW_LINK, NULL, "{\"a\": \"HTTPS://x.example/y?z#w\"}", "link",
        "HTTPS://x.example/y?z#w");
    one("a", CONFIG_SHOW_IMAGE, NULL, "{\"a\": \"http://x.example/y.png\"}", "image",
        "http://x.example/y.png");
    one("a", CONFIG_SHOW_IMAGE, NULL, "{\"a\": \"data:image/png;base64,AA==\"}", "image",
        "data:image/png;base64,AA==");
    one("a", CONFIG_SHOW_LINK, NULL, "{\"a\": \"data:image/png;base64,AA==\"}", "text",
        "data:image/png;base64,AA==");
    one("a", CONFIG_SHOW_IMAGE, NULL, "{\"a\": \"data:image/svg+xml;base64,AA==\"}", "text",
        "data:image/svg+xml;base64,AA==");
}

static void templates(void **state)
{
    (void)state;
    const char *t = "https://x.example/{a}/{b}.jpg";
    one("a", CONFIG_SHOW_IMAGE, t, "{\"a\": \"../?#%\", \"b\": \"\xc3\xbc\"}", "image",
        "https://x.example/..%2F%3F%23%25/%C3%BC.jpg");
    one("a", CONFIG_SHOW_LINK, t, "{\"a\": \"\\\"><script>\", \"b\": 7}", "link",
        "https://x.example/%22%3E%3Cscript%3E/7.jpg");
    one("a", CONFIG_SHOW_LINK, t, "{\"b\": 7}", "missing", "https://x.example//7.jpg");
}

static void all_columns(void **state)
{
    (void)state;
    struct config c = shown_as(NULL, 0);
    json_t *r =
        json_loads("{\"id\": \"x\", \"z\": 1, \"a\": \"b\", \"url\": \"https://x/\"}", 0, NULL);
    json_t *fields = label_fields(&c, r);
    char *text = json_dumps(fields, JSON_COMPACT);
    assert_string_equal(
        text, "[{\"name\":\"z\",\"help\":null,\"as\":\"text\",\"value\":\"1\"},"
              "{\"name\":\"a\",\"help\":null,\"as\":\"text\",\"value\":\"b\"},"
              "{\"name\":\"url\",\"help\":null,\"as\":\"text\",\"value\":\"https://x/\"}]");
    fis_free(text);
    json_decref(fields);
    json_decref(r);
}

/* ---- people -----------------------------------------------------------------------------------
 */

static int parse(struct annotators *a, const char *text, struct fis_error *e)
{
    return annotators_parse(a, fis_strdup(text), e);
}

static void people(void **state)
{
    (void)state;
    struct annotators a;
    struct fis_error e;
    assert_int_equal(parse(&a,
                           "# who may label\n\n  Ann Lee \t 0123456789abcdef\r\n"
                           "bob 0123456789abcdeg\nAnn Lee abcdef0123456789",
                           &e),
                     0);
    assert_int_equal(a.n, 3);
    assert_string_equal(annotators_find(&a, "0123456789abcdef"), "Ann Lee");
    assert_string_equal(annotators_find(&a, "abcdef0123456789"), "Ann Lee");
    assert_string_equal(annotators_find(&a, "0123456789abcdeg"), "bob");
    assert_null(annotators_find(&a, "0123456789abcde"));
    assert_null(annotators_find(&a, "0123456789abcdefg"));
    assert_null(annotators_find(&a, ""));
    annotators_done(&a);
}

static void bad_people(void **state)
{
    (void)state;
    static const char *const bads[][2] = {
        {"", "nobody"},
        {"# ann secret-secret-secret", "nobody"},
        {"secret-secret-secret", "line 1"},
        {"ann 0123456789abcdef\nbob secret", "line 2"},
        {"ann secret-secret-secret\nbob secret-secret-secret", "line 2"},
        {"an\x01n secret-secret-secret", "line 1"},
        {"an\xffn secret-secret-secret", "line 1"},
    };
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        struct annotators a;
        struct fis_error e;
        assert_int_equal(parse(&a, bads[i][0], &e), -FIS_INPUT);
        assert_non_null(strstr(e.text, bads[i][1]));
        assert_null(strstr(e.text, "secret"));
        assert_null(a.all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),      cmocka_unit_test(addresses), cmocka_unit_test(templates),
        cmocka_unit_test(all_columns), cmocka_unit_test(people),    cmocka_unit_test(bad_people),
    };
    return cmocka_run_group_tests_name("daemon/label_fields", tests, NULL, NULL);
}
