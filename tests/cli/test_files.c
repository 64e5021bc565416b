/*
 * Files of records and of answers, and what is refused in them; the ids that are kept in mind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/answers.h"
#include "cli/records.h"
#include "config/schema.h"
#include "fis/mem.h"
#include "wire/json_arena.h"

struct files {
    struct cli c;
    char folder[64], path[128];
};

#define CONFIG CONFIG_WITH("{passthrough: [note]}")
#define CONFIG_WITH(records)                                                                       \
    "pipeline: t\nclasses: [\"no\", \"yes\", \"1\"]\n"                                             \
    "columns: [{name: age}, {name: job, type: categorical}]\n"                                     \
    "records: " records "\n"                                                                       \
    "initial: {file: i.csv, label: hired}\nvalidation: {file: v.csv, sensitive: [sex]}\n"
#define NUMBERS                                                                                    \
    "pipeline: t\nclasses: [\"no\", \"yes\"]\ndimension: 2\nrecords: {encoding: raw}\n"            \
    "initial: {file: i.csv}\nvalidation: {file: v.csv, sensitive: [sex]}\n"

static void setup(struct files *f, const char *config)
{
    struct fis_error e;
    *f = (struct files){.folder = "/tmp/fisctl-test-XXXXXX"};
    assert_non_null(mkdtemp(f->folder));
    if (config_load_text("t.yaml", config, strlen(config), &f->c.cfg, NULL, &e)) {
        print_error("%s\n", e.text);
        fail();
    }
    f->c.schema = config_validation_schema(&f->c.cfg);
}

static void teardown(struct files *f)
{
    unlink(f->path);
    assert_int_equal(rmdir(f->folder), 0);
    config_done(&f->c.cfg);
}

static const char *write_file(struct files *f, const char *name, const char *text)
{
    unlink(f->path);
    snprintf(f->path, sizeof f->path, "%s/%s", f->folder, name);
    FILE *out = fopen(f->path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
    return f->path;
}

static void open_records(struct files *f, struct records *r, const char *path,
                         enum wire_encoding encoding)
{
    struct fis_error e;
    const struct records_options o = {
        .path = path, .encoding = encoding, .id_column = "id", .to_records = true};
    if (records_open(r, &f->c, &o, &e)) {
        print_error("%s\n", e.text);
        fail();
    }
}

static void expect_json(struct records *r, const char *id, const char *value)
{
    struct fis_error e;
    assert_int_equal(records_next(r, &e), 1);
    assert_int_equal(r->value.length, strlen(value));
    assert_memory_equal(r->value.data, value, strlen(value));
    assert_int_equal(r->has_id, id != NULL);
    if (id) {
        assert_int_equal(r->id.length, strlen(id));
        assert_memory_equal(r->id.bytes, id, strlen(id));
    }
}

static void rows_become_json(void **state)
{
    (void)state;
    struct files f;
    struct records r;
    struct fis_error e;
    setup(&f, CONFIG);
    open_records(&f, &r,
                 write_file(&f, "a.csv", "\xef\xbb\xbf\"id\",age,job\r\n1,39,\"a,b\"\r\nx,,2"),
                 WIRE_JSON);
    expect_json(&r, "1", "{\"id\":\"1\",\"age\":39,\"job\":\"a,b\"}");
    expect_json(&r, "x", "{\"id\":\"x\",\"job\":\"2\"}");
    assert_int_equal(records_next(&r, &e), 0);
    assert_int_equal(records_left(&r), 0);
    records_close(&r);
    open_records(&f, &r, write_file(&f, "a.jsonl", "{\"id\":12,\"age\":3}\n{\"job\":\"a\"}\n"),
                 WIRE_JSON);
    expect_json(&r, "12", "{\"id\":12,\"age\":3}");
    expect_json(&r, NULL, "{\"job\":\"a\"}");
    records_close(&r);
    teardown(&f);
}

static void refused_at_once(struct files *f, const char *name, const char *text,
                            const char *leave_out, const char *reason)
{
    struct records r;
    struct fis_error e = {0};
    const struct records_options o = {.path = write_file(f, name, text),
                                      .encoding = WIRE_JSON,
                                      .id_column = "id",
                                      .leave_out = leave_out,
                                      .to_records = true};
    int rc = records_open(&r, &f->c, &o, &e);
    if (!reason && rc == 0) {
        assert_int_equal(records_next(&r, &e), 1);
        records_close(&r);
    } else if (!reason || rc != -FIS_INPUT || !strstr(e.text, reason)) {
        fail_msg("%d '%s', expected '%s'", rc, e.text, reason ? reason : "nothing");
    }
    assert_null(strstr(e.text, "SECRET"));
}

/* What fisd would refuse of each row is refused at the header. */
static void columns_are_checked_at_the_header(void **state)
{
    (void)state;
    struct files f;
    setup(&f, CONFIG);
    refused_at_once(&f, "a.csv", "age,job,sex\n39,a,SECRET\n", NULL,
                    "a.csv: line 1: column 'sex' is sen");
    refused_at_once(&f, "a.csv", "age,job,sex\n39,a,SECRET\n", "sex", NULL);
    refused_at_once(&f, "a.csv", "age,job,note,agee\n39,a,a,b\n", NULL,
                    "a.csv: line 1: column 'agee' is neither a feature");
    refused_at_once(&f, "a.csv", "age,job,note,agee\n39,a,a,b\n", "x,agee", NULL);
    refused_at_once(&f, "a.csv", "agee,job\n39,a\n", NULL,
                    "a.csv: line 1: no column 'age' in the header (found: agee, job)");
    refused_at_once(&f, "a.csv", "age;job,note\n39;a,b\n", NULL, "--delimiter semicolon");
    refused_at_once(&f, "a.csv", ",age,job\n0,39,a\n", NULL, NULL);
    refused_at_once(&f, "a.csv", "Unnamed: 0,age,job\n0,39,a\n", NULL, NULL);
    refused_at_once(&f, "a.jsonl", "{\"age\":1}\n", "age", "--leave-out: the file is JSON lines");
    teardown(&f);
}

/* What is sent follows records.unknown and its lists; nested members are columns by their path. */
static void unknown_columns_as_configured(void **state)
{
    (void)state;
    struct files f;
    struct records r;
    struct fis_error e;
    setup(&f, CONFIG_WITH("{passthrough: [note], ignore: [sex, trace], unknown: pass, "
                          "numeric_text: true}"));
    refused_at_once(&f, "a.csv", "age,job,sex,x\n39,a,M,1\n", NULL, NULL);
    open_records(
        &f, &r,
        write_file(
            &f, "a.jsonl",
            "{\"age\":\"1\",\"job\":\"a\",\"x\":{\"y\":1},\"sex\":\"M\"}\n{\"age\":\"x\"}\n"),
        WIRE_JSON);
    assert_int_equal(records_next(&r, &e), 1);
    assert_int_equal(r.odd, 0);
    assert_int_equal(records_next(&r, &e), 1);
    assert_int_equal(r.odd, 1);
    records_close(&r);
    teardown(&f);
}

static void columns_of_json_lines_are_checked_row_by_row(void **state)
{
    (void)state;
    struct files f;
    struct records r;
    struct fis_error e;
    setup(&f, CONFIG);
    open_records(&f, &r, write_file(&f, "a.jsonl", "{\"age\":1}\n{\"age\":\"x\"}\n"), WIRE_JSON);
    assert_int_equal(records_next(&r, &e), 1);
    assert_int_equal(records_next(&r, &e), 1);
    assert_int_equal(r.odd, 1);
    assert_int_equal(r.odd_line, 2);
    assert_int_equal(records_next(&r, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "a.jsonl: no column 'job' in any of 2 rows"));
    records_close(&r);
    open_records(&f, &r, write_file(&f, "a.jsonl", "{\"age\":1}\n{\"agee\":2}\n{\"age\":3}\n"),
                 WIRE_JSON);
    assert_int_equal(records_next(&r, &e), 1);
    assert_int_equal(records_next(&r, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "a.jsonl: line 2: column 'agee'"));
    assert_int_equal(records_left(&r), 2);
    records_close(&r);
    teardown(&f);
}

static void an_open_quote_ends_it(void **state)
{
    (void)state;
    struct files f;
    struct records r;
    struct fis_error e;
    char text[16000] = "age,job,id\n39,clerk,1\n50,\"driver,2\n";
    setup(&f, CONFIG);
    for (int i = 0; i < 1000; i++)
        strcat(text, "39,clerk,3\n");
    open_records(&f, &r, write_file(&f, "a.csv", text), WIRE_JSON);
    expect_json(&r, "1", "{\"age\":39,\"job\":\"clerk\",\"id\":\"1\"}");
    assert_int_equal(records_next(&r, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "line 3, column 2: quote opened and not closed"));
    assert_int_equal(records_left(&r), 1001);
    records_close(&r);
    teardown(&f);
}

static void numbers_become_floats(void **state)
{
    (void)state;
    static const unsigned char one_minus_two[8] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0};
    struct files f;
    struct records r;
    struct fis_error e;
    setup(&f, NUMBERS);
    open_records(&f, &r, write_file(&f, "a.csv", "f1,id,f0\n-2,a,1\n1e39,b,1\n"), WIRE_RAW);
    assert_int_equal(records_next(&r, &e), 1);
    assert_int_equal(r.value.length, 8);
    assert_memory_equal(r.value.data, one_minus_two, 8);
    assert_true(r.has_id && r.id.length == 1);
    assert_int_equal(records_next(&r, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "line 3: column 'f1'"));
    records_close(&r);
    open_records(&f, &r, write_file(&f, "a.csv", "f1,id,f0\n-2,a,1\n"), WIRE_PROTOBUF);
    assert_int_equal(records_next(&r, &e), 1);
    /* field 1: the id; field 2: 8 bytes of packed floats */
    assert_int_equal(r.value.length, 13);
    assert_memory_equal(r.value.data,
                        "\x0a\x01"
                        "a\x12\x08",
                        5);
    assert_memory_equal(r.value.data + 5, one_minus_two, 8);
    records_close(&r);
    teardown(&f);
}

static void load_answers(struct files *f, const char *name, const char *text, int expected,
                         const char *message, uint64_t count)
{
    struct id_map m = {0};
    struct fis_error e = {0};
    assert_int_equal(answers_load(&f->c, write_file(f, name, text), 0, NULL, &m, &e), expected);
    if (message && !strstr(e.text, message)) {
        print_error("found '%s', expected '%s'\n", e.text, message);
        fail();
    }
    if (!expected)
        assert_int_equal(m.count, count);
    id_map_done(&m);
}

static void answers(void **state)
{
    (void)state;
    struct files f;
    setup(&f, CONFIG);
    load_answers(&f, "a.csv", "id,hired\na,no\nb,yes\nc,1\na,no\n", 0, NULL, 3);
    load_answers(&f, "a.csv", "label,id\nno,a\n", 0, NULL, 1);
    load_answers(&f, "a.jsonl", "{\"id\":7,\"label\":1}\n{\"id\":\"8\",\"label\":\"no\"}\n", 0,
                 NULL, 2);
    load_answers(&f, "a.csv", "id,hired\na,no\nb,No\n", -FIS_INPUT,
                 "a.csv: line 3: label: found 'No', allowed 'no', 'yes', '1'", 0);
    load_answers(&f, "a.csv", "id,hired\na,\n", -FIS_INPUT, "line 2: no label", 0);
    load_answers(&f, "a.csv", "id,hired\n,no\n", -FIS_INPUT, "line 2: no id", 0);
    load_answers(&f, "a.csv", "id,hired\na,no\na,yes\n", -FIS_INPUT, "line 3: id 'a' stands here",
                 0);
    load_answers(&f, "a.csv", "id,x\na,no\n", -FIS_INPUT, "no label in column 'hired' or 'label'",
                 0);
    teardown(&f);
}

static void ids(void **state)
{
    (void)state;
    struct id_map m = {0};
    struct fis_id id;
    struct fis_error e;
    uint32_t n;
    for (uint32_t i = 0; i < 3000; i++) {
        assert_int_equal(fis_id_set(&id, &i, sizeof i), 0);
        assert_int_equal(id_map_add(&m, &id, i, NULL, &e), 1);
    }
    for (uint32_t i = 0; i < 3000; i++) {
        assert_int_equal(fis_id_set(&id, &i, sizeof i), 0);
        assert_int_equal(id_map_get(&m, &id, &n), 1);
        assert_int_equal(n, i);
        assert_int_equal(id_map_add(&m, &id, 5, &n, &e), 0);
        assert_int_equal(n, i);
        assert_int_equal(id_map_remove(&m, &id), 1);
        assert_int_equal(id_map_remove(&m, &id), 0);
    }
    assert_int_equal(m.count, 0);
    id_map_done(&m);
}

/* Whichever allocation is refused, the map stays whole. */
static void ids_without_memory(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_id id;
    int rc = -1;
    assert_int_equal(fis_id_set(&id, "a", 1), 0);
    for (uint64_t allowed = 0; rc < 0; allowed++) {
        struct id_map m = {0};
        fis_mem_refuse_after(allowed);
        rc = id_map_add(&m, &id, 1, NULL, &e);
        fis_mem_refuse_after(UINT64_MAX);
        assert_true(rc == 1 || rc == -FIS_NOMEM);
        assert_int_equal(m.count, rc == 1);
        assert_int_equal(id_map_get(&m, &id, NULL), rc == 1);
        id_map_done(&m);
        assert_true(allowed < 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_become_json),
        cmocka_unit_test(columns_are_checked_at_the_header),
        cmocka_unit_test(unknown_columns_as_configured),
        cmocka_unit_test(columns_of_json_lines_are_checked_row_by_row),
        cmocka_unit_test(an_open_quote_ends_it),
        cmocka_unit_test(numbers_become_floats),
        cmocka_unit_test(answers),
        cmocka_unit_test(ids),
        cmocka_unit_test(ids_without_memory),
    };
    wire_json_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
