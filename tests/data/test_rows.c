/* Files of records: values and JSON objects out of CSV and JSON lines, and what is refused. */

#include "kit/cmocka.h"

#include <unistd.h>
#include <sys/resource.h>

#include <zlib.h>

#include "data/rows.h"
#include "kit/base/folder.h"
#include "fis/mem.h"
#include "wire/json_arena.h"

static const struct data_column columns[] = {
    {.name = "age", .cell = DATA_NUMBER},
    {.name = "job", .cell = DATA_STRING},
    {.name = "code", .cell = DATA_TEXT, .optional = 1},
    {.name = "group", .cell = DATA_TEXT, .optional = 1, .secret = 1},
};
static const struct data_options options = {.columns = columns, .n_columns = 4};

static int set_up(void **state)
{
    (void)state;
    wire_json_init();
    return make_folder();
}

static const char *const names[] = {"a.csv", "a.tsv", "a.jsonl", "a.txt", "A.CSV"};

static int tear_down(void **state)
{
    (void)state;
    return remove_folder(names, sizeof names / sizeof *names);
}

/* All rows as "line: number|text|text|text\n", or JSON objects; then the error. */
struct got {
    char text[2048];
    struct fis_error error;
    int rc;
    uint64_t unread, count;
};

static void show(struct got *g, uint64_t line, const struct fis_value *v)
{
    size_t n = strlen(g->text);
    n += (size_t)snprintf(g->text + n, sizeof g->text - n, "%d:", (int)line);
    for (int i = 0; i < 4; i++) {
        size_t left = sizeof g->text - n;
        int k = v[i].kind == FIS_VALUE_MISSING ? snprintf(g->text + n, left, " -")
                : v[i].kind == FIS_VALUE_NUMBER
                    ? snprintf(g->text + n, left, " %g", v[i].number)
                    : snprintf(g->text + n, left, " '%.*s'", (int)v[i].length, v[i].text);
        n += (size_t)k;
    }
    snprintf(g->text + n, sizeof g->text - n, "\n");
}

static void read_values(struct got *g, const char *path)
{
    memset(g, 0, sizeof *g);
    struct data_rows *r = data_rows_open(path, &options, &g->error);
    if (!r) {
        g->rc = -(int)g->error.kind;
        return;
    }
    struct fis_value v[4];
    while ((g->rc = data_rows_next(r, v, &g->error)) == 1)
        show(g, data_rows_line(r), v);
    g->count = data_rows_count(r);
    g->unread = data_rows_unread(r);
    data_rows_close(r);
}

static void read_objects(struct got *g, const char *path)
{
    memset(g, 0, sizeof *g);
    struct data_rows *r = data_rows_open(path, &options, &g->error);
    if (!r) {
        g->rc = -(int)g->error.kind;
        return;
    }
    struct byte_buffer out = {0};
    while ((g->rc = data_rows_next_json(r, &out, &g->error)) == 1)
        assert_int_equal(byte_buffer_append(&out, "\n", 1, NULL), 0);
    if (out.length)
        memcpy(g->text, out.data, out.length);
    byte_buffer_done(&out);
    g->count = data_rows_count(r);
    g->unread = data_rows_unread(r);
    data_rows_close(r);
}

static void values_of(const char *name, const char *file, const char *want)
{
    struct got g;
    read_values(&g, put(name, file));
    if (g.rc != 0 || strcmp(g.text, want))
        fail_msg("rc %d '%s': got\n%sexpected\n%s", g.rc, g.error.text, g.text, want);
    assert_int_equal(g.unread, 0);
}

static void refused(const char *name, const char *file, const char *want)
{
    struct got g;
    read_values(&g, put(name, file));
    if (g.rc != -FIS_INPUT || !strstr(g.error.text, want))
        fail_msg("rc %d '%s', expected '%s'", g.rc, g.error.text, want);
    assert_null(strstr(g.error.text, "SECRET"));
    assert_non_null(strstr(g.error.text, name));
}

static void csv_values(void **state)
{
    (void)state;
    values_of("a.csv", "job,age\nclerk,39\n\"a, b\",-1.5e1\n,\n",
              "2: 39 'clerk' - -\n3: -15 'a, b' - -\n4: - - - -\n");
    values_of("a.csv", "x,group,code,age,job\n?,A,007,0,\"1\n2\"\n?,B,,+1,?",
              "2: 0 '1\n2' '007' 'A'\n4: 1 '?' - 'B'\n");
    values_of("a.tsv", "age\tjob\n1\ta,b\n", "2: 1 'a,b' - -\n");
    values_of("A.CSV", "age,job\n1,a\n", "2: 1 'a' - -\n");
    values_of("a.csv", "age,job\n", "");
}

static void json_lines_values(void **state)
{
    (void)state;
    values_of("a.jsonl",
              "\xef\xbb\xbf{\"age\":39,\"job\":\"clerk\",\"x\":[1]}\r\n\n  \n"
              "{\"job\":3,\"code\":7,\"group\":1.0}\n{\"age\":null,\"code\":\"\",\"group\":0.1}",
              "1: 39 'clerk' - -\n4: - 3 '7' '1.0'\n5: - - '' '0.1'\n");
    values_of("a.jsonl", "", "");
}

static void refuses_with_file_and_line(void **state)
{
    (void)state;
    refused("a.csv", "", "a.csv: no header");
    refused("a.csv", "\xef\xbb\xbf", "a.csv: no header");
    refused("a.csv", "id,Age,job,x\n",
            "a.csv: line 1: no column 'age' in the header (found: id, "
            "Age, job, x)");
    refused("a.csv", "age,job\n1,a\n2\n", "a.csv: line 3: 1 field, but the header has 2");
    refused("a.csv", "age,job\nabc,a\n",
            "a.csv: line 2: column age: a decimal number expected, \"abc\" found");
    refused("a.csv", "age,job\nnan,a\n", "column age: a decimal number expected, \"nan\" found");
    refused("a.csv", "age,job\n0x10,a\n", "column age: a decimal number expected");
    refused("a.csv", "age,job\n1,caf\xe9\n", "a.csv: line 2: column job: not UTF-8 at byte 3");
    refused("a.csv", "age,job,group\n1,a,SECRET\xe9\n", "line 2: column group: not UTF-8");
    refused("a.jsonl", "{\"age\":1,\"job\":\"a\"}\n{\"age\":}\n",
            "a.jsonl: line 2: JSON: not JSON, at column 8");
    refused("a.jsonl", "{\"age\":\"1\"}\n", "line 1: column age: a number expected, \"1\" found");
    refused("a.jsonl", "{\"job\":[true]}\n", "line 1: column job: a text expected, [true] found");
    refused("a.jsonl", "{\"group\":[\"SECRET\"]}\n", "line 1: column group: a text expected");
    refused("a.jsonl", "[1]\n", "line 1: JSON: an object expected, an array found");
    refused("a.jsonl", "{\"age\":1}\n{\"age\":2,\"jobb\":\"x\"}\n", "no column 'job' in any of 2");
    refused("a.txt", "age,job\n1,a\n", "CSV or JSON lines?");
    struct got g;
    read_values(&g, "/nonexistent/a.csv");
    assert_string_equal(g.error.text,
                        "/nonexistent/a.csv: cannot be opened: No such file or directory");
    struct data_options as_csv = options, once = options;
    as_csv.how.format = DATA_CSV;
    assert_null(data_rows_open(folder, &as_csv, &g.error));
    assert_non_null(strstr(g.error.text, "Is a directory"));
    once.how.format = DATA_JSON_LINES;
    once.regular = 1;
    assert_null(data_rows_open("/dev/null", &once, &g.error));
    assert_non_null(strstr(g.error.text, "not a regular file"));
}

/* The bytes of a spreadsheet's export: mark, quotes, CRLF, no end to the last line. */
static void a_spreadsheets_export_becomes_plain_objects(void **state)
{
    (void)state;
    static const struct data_column selected[] = {{.name = "age", .cell = DATA_NUMBER},
                                                  {.name = "hours", .cell = DATA_NUMBER},
                                                  {.name = "job", .cell = DATA_STRING},
                                                  {.name = "score", .cell = DATA_NUMBER}};
    const struct data_options o = {.columns = selected, .n_columns = 4};
    struct data_rows *r = data_rows_open(
        put("a.csv",
            "\xef\xbb\xbf\"age\",hours,job,score\r\n39,40,\"clerk\",1.5\r\n50,13,driver,2"),
        &o, NULL);
    assert_non_null(r);
    struct byte_buffer out = {0};
    assert_int_equal(data_rows_next_json(r, &out, NULL), 1);
    assert_int_equal(data_rows_next_json(r, &out, NULL), 1);
    assert_int_equal(data_rows_next_json(r, &out, NULL), 0);
    static const char want[] = "{\"age\":39,\"hours\":40,\"job\":\"clerk\",\"score\":1.5}"
                               "{\"age\":50,\"hours\":13,\"job\":\"driver\",\"score\":2}";
    assert_int_equal(out.length, sizeof want - 1);
    assert_memory_equal(out.data, want, sizeof want - 1);
    byte_buffer_done(&out);
    data_rows_close(r);
}

static void objects_hold_what_the_file_says(void **state)
{
    (void)state;
    struct got g;
    read_objects(&g,
                 put("a.csv", "age,job,x y\n007,12,\"say \"\"hi\"\"\"\n+5,,\nNaN,a\\b,\"1\n2\"\n"
                              ".5,a,-\n5.,a,-\n1e39,a,-\n1.50,a,-\n-0.0,a,-\n"
                              "123456789012345678901234,a,-\n"));
    assert_int_equal(g.rc, 0);
    assert_string_equal(g.text, "{\"age\":7,\"job\":\"12\",\"x y\":\"say \\\"hi\\\"\"}\n"
                                "{\"age\":5}\n"
                                "{\"age\":\"NaN\",\"job\":\"a\\\\b\",\"x y\":\"1\\u000a2\"}\n"
                                "{\"age\":0.5,\"job\":\"a\",\"x y\":\"-\"}\n"
                                "{\"age\":5,\"job\":\"a\",\"x y\":\"-\"}\n"
                                "{\"age\":1e39,\"job\":\"a\",\"x y\":\"-\"}\n"
                                "{\"age\":1.50,\"job\":\"a\",\"x y\":\"-\"}\n"
                                "{\"age\":-0.0,\"job\":\"a\",\"x y\":\"-\"}\n"
                                "{\"age\":123456789012345678901234,\"job\":\"a\",\"x y\":\"-\"}\n");
    read_objects(&g, put("a.jsonl", "\xef\xbb\xbf {\"age\": 1.50,\"z\":{}}\r\n\n{\"age\":\"x\"}"));
    assert_int_equal(g.rc, 0);
    assert_string_equal(g.text, " {\"age\": 1.50,\"z\":{}}\n{\"age\":\"x\"}\n");
    read_objects(&g, put("a.csv", "age,job\n1,a\n2,\xff\n3,b\n"));
    assert_int_equal(g.rc, -FIS_INPUT);
    assert_string_equal(g.text, "{\"age\":1,\"job\":\"a\"}\n");
    assert_int_equal(g.unread, 2);
}

static void put_bytes(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* gzip is unpacked, in several members too; what is damaged or cut is refused. */
static void gzip_is_read(void **state)
{
    (void)state;
    static const char text[] = "age,job\n1,a\n2,b\n";
    struct got g;
    const char *path = put("a.csv", "");
    for (int half = 0; half < 2; half++) {
        gzFile z = gzopen(path, half ? "ab" : "wb");
        const char *part = half ? text + 8 : text;
        assert_int_equal(gzwrite(z, part, half ? 8 : 8), 8);
        assert_int_equal(gzclose(z), Z_OK);
    }
    read_objects(&g, path);
    assert_int_equal(g.rc, 0);
    assert_string_equal(g.text, "{\"age\":1,\"job\":\"a\"}\n{\"age\":2,\"job\":\"b\"}\n");
    unsigned char bytes[256];
    FILE *f = fopen(path, "rb");
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    put_bytes(path, bytes, n - 6);
    read_objects(&g, path);
    assert_int_equal(g.rc, -FIS_INPUT);
    bytes[12] ^= 0x55;
    put_bytes(path, bytes, n);
    read_objects(&g, path);
    assert_int_equal(g.rc, -FIS_INPUT);
}

/* What is no text of rows is named. */
static void other_files_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *name;
    } files[] = {
        {"PK\3\4....[Content_Types].xml", 27, "an Excel workbook (.xlsx)"},
        {"PK\3\4....a.csv", 13, "a zip archive"},
        {"PAR1\x15\0\x15", 7, "Parquet"},
        {"version https://git-lfs.github.com/spec/v1\n", 43, "git lfs pull"},
        {"\n<!DOCTYPE html>\n", 17, "an HTML page"},
        {"\xff\xfe" "a\0,\0", 6, "UTF-16"},
        {"a\0g\0e\0", 6, "UTF-16"},
        {"\xd0\xcf\x11\xe0\xa1", 5, "an Excel workbook (.xls)"},
        {"\x28\xb5\x2f\xfd\0", 5, "zstd"},
        {"\x04\x22\x4d\x18\x60", 5, "lz4"},
        {"\x78\x9c\x03\0", 4, "zlib"},
        {"\x80\x04\x95\0\0", 5, "a pickle"},
        {" [ {\"age\": 1}]", 14, "a JSON array"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const struct data_options o = {.how.format = DATA_CSV};
        struct fis_error e = {0};
        const char *path = put("a.csv", "");
        put_bytes(path, files[i].bytes, files[i].n);
        struct data_rows *r = data_rows_open(path, &o, &e);
        if (r || !strstr(e.text, files[i].name))
            fail_msg("'%s', expected %s", e.text, files[i].name);
    }
    struct got g;
    read_objects(&g, put("a.csv", "PAR1,age,job\n1,2,a\n"));
    assert_int_equal(g.rc, 0);
}

static void what_was_not_read_is_counted(void **state)
{
    (void)state;
    struct got g;
    char *text = malloc(200000), *p = text;
    p += sprintf(p, "age,job,x,y\n39,40,clerk,1\n50,13,\"driver,2\n");
    for (int i = 0; i < 1000; i++)
        p += sprintf(p, "%d,40,clerk,1\n", i);
    read_objects(&g, put("a.csv", text));
    assert_int_equal(g.rc, -FIS_INPUT);
    assert_non_null(strstr(g.error.text, "line 3, column 3: quote opened and not closed"));
    assert_int_equal(g.count, 1);
    assert_int_equal(g.unread, 1001);
    text[strlen(text) - 1] = 0;
    read_objects(&g, put("a.csv", text));
    assert_int_equal(g.unread, 1001);
    free(text);
    read_objects(&g, put("a.csv", "age,job\r\n1,a\r\n2\r\n3,b"));
    assert_int_equal(g.unread, 2);
    read_objects(&g, put("a.jsonl", "{\"age\":1}\n\n{\n{}\n\n{}\n"));
    assert_int_equal(g.count, 1);
    assert_int_equal(g.unread, 4);
}

static void a_quote_may_close_lines_later(void **state)
{
    (void)state;
    struct got g;
    read_objects(&g, put("a.csv", "age,job\n1,a\n2,\"dri\n\nver\"\n3,b\n"));
    assert_int_equal(g.rc, 0);
    assert_int_equal(g.count, 3);
    assert_string_equal(g.text, "{\"age\":1,\"job\":\"a\"}\n"
                                "{\"age\":2,\"job\":\"dri\\u000a\\u000aver\"}\n"
                                "{\"age\":3,\"job\":\"b\"}\n");
}

static long peak_kib(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

/* 300 MB behind an open quote: refused at the limit of a field, and memory stays flat. */
static void a_huge_file_with_an_open_quote(void **state)
{
    (void)state;
    static char piece[1 << 20];
    for (size_t i = 0; i < sizeof piece; i++)
        piece[i] = "40,clerk\n"[i % 9];
    const char *path = put("a.csv", "age,job\n39,a\n50,\"driver\n");
    FILE *f = fopen(path, "ab");
    assert_non_null(f);
    for (int i = 0; i < 300; i++)
        assert_int_equal(fwrite(piece, 1, sizeof piece, f), sizeof piece);
    assert_int_equal(fclose(f), 0);
    long before = peak_kib();
    struct got g;
    read_objects(&g, path);
    assert_int_equal(g.rc, -FIS_INPUT);
    assert_non_null(strstr(g.error.text, "a.csv: line 3, column 2: quote opened and not closed"));
    assert_int_equal(g.count, 1);
    /* The lines of 300 MiB, and line 3. */
    assert_true(g.unread > 34000000 && g.unread < 36000000);
    assert_true(peak_kib() - before < 64 * 1024);
    unlink(path);
}

static void errors_are_final(void **state)
{
    (void)state;
    struct fis_value v[4];
    struct fis_error e;
    struct data_rows *r = data_rows_open(put("a.csv", "age,job\nx,a\n1,b\n"), &options, NULL);
    assert_int_equal(data_rows_next(r, v, NULL), -FIS_INPUT);
    assert_int_equal(data_rows_next(r, v, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "line 2: column age"));
    data_rows_close(r);
}

static void survives_refused_memory(void **state)
{
    (void)state;
    static const char *const files[] = {"age,job\n1,a\n", "{\"age\":1,\"job\":\"a\"}\n"};
    for (int k = 0; k < 2; k++) {
        const char *path = put(k ? "a.jsonl" : "a.csv", files[k]);
        struct got g = {.rc = -1};
        for (uint64_t n = 0; n < 200 && g.rc; n++) {
            fis_mem_refuse_after(n);
            read_values(&g, path);
            fis_mem_refuse_after(UINT64_MAX);
            assert_true(g.rc == 0 || g.error.kind == FIS_NOMEM);
        }
        assert_int_equal(g.rc, 0);
        assert_int_equal(g.count, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_values),
        cmocka_unit_test(json_lines_values),
        cmocka_unit_test(refuses_with_file_and_line),
        cmocka_unit_test(a_spreadsheets_export_becomes_plain_objects),
        cmocka_unit_test(objects_hold_what_the_file_says),
        cmocka_unit_test(gzip_is_read),
        cmocka_unit_test(other_files_are_named),
        cmocka_unit_test(what_was_not_read_is_counted),
        cmocka_unit_test(a_quote_may_close_lines_later),
        cmocka_unit_test(a_huge_file_with_an_open_quote),
        cmocka_unit_test(errors_are_final),
        cmocka_unit_test(survives_refused_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
