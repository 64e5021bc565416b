/*
 * Files of records and examples under every refused allocation: NOMEM each time, and nothing is
 * left behind.
 */

#include "kit/cmocka.h"

#include "kit/base/oom.h"
#include "data/examples.h"
#include "data/table.h"
#include "kit/base/folder.h"
#include "wire/json_arena.h"

static const char *const classes[] = {"no", "yes"};
static const char *const sensitive[] = {"sex", "race"};
static const struct wire_schema schema = {.classes = classes,
                                          .n_classes = 2,
                                          .id_column = "id",
                                          .label_column = "hired",
                                          .sensitive = sensitive,
                                          .n_sensitive = 2,
                                          .max_bytes = 4096};
static const struct fis_column columns[] = {{"age", FIS_NUMERIC, FIS_SCALE_STANDARD},
                                            {"job", FIS_CATEGORICAL, FIS_SCALE_NONE}};
static const char *const files[] = {"a.csv", "a.jsonl"};

/* More rows than room is made for at first, so that it has to grow. */
enum { ROWS = 1500 };

static const char *write_rows(int json)
{
    size_t room = ROWS * 128, n = 0;
    char *text = malloc(room);
    assert_non_null(text);
    if (!json)
        n += (size_t)snprintf(text, room, "id,age,job,hired,sex,race\n");
    for (int i = 0; i < ROWS; i++)
        n += (size_t)snprintf(text + n, room - n,
                              json ? "{\"id\":%d,\"age\":%d,\"job\":\"j%d\",\"hired\":\"%s\","
                                     "\"sex\":\"%c\",\"race\":%d}\n"
                                   : "%d,%d,j%d,%s,%c,%d\n",
                              i, 20 + i % 50, i % 3, classes[i % 2], "fm"[i / 2 % 2], i % 3);
    const char *path = put(files[json], text);
    free(text);
    return path;
}

static int load_examples(void *arg, struct fis_error *e)
{
    const struct data_source *s = arg;
    struct data_examples x;
    struct fis_encoder *encoder = data_fit_encoder(s, 10, e);
    if (!encoder)
        return oom_failed(e);
    int rc = data_examples_load(s, encoder, &x, e);
    if (rc == 0) {
        assert_int_equal(x.n, ROWS);
        assert_int_equal(x.names.n, s->with_sensitive ? 6 : 0);
        data_examples_done(&x);
    }
    fis_encoder_free(encoder);
    return rc;
}

static int read_objects(void *arg, struct fis_error *e)
{
    static const struct data_column expected[] = {{.name = "age", .cell = DATA_NUMBER}};
    const struct data_options o = {.columns = expected, .n_columns = 1};
    struct byte_buffer out = {0};
    int rc, rows = 0;
    struct data_rows *r = data_rows_open(arg, &o, e);
    if (!r)
        return oom_failed(e);
    while ((rc = data_rows_next_json(r, &out, e)) > 0)
        rows++;
    if (rc == 0)
        assert_int_equal(rows, ROWS);
    data_rows_close(r);
    byte_buffer_done(&out);
    return rc;
}

static int read_table(void *arg, struct fis_error *e)
{
    const struct data_options o = {.regular = true};
    struct data_table *t = data_table_read(arg, &o, e);
    if (!t)
        return oom_failed(e);
    assert_int_equal(t->n_columns, 3);
    data_table_free(t);
    return 0;
}

static void tables(void **state)
{
    (void)state;
    char text[20000] = "a,b,c\n";
    for (int i = 0; i < 1100; i++) /* room for rows and values grows */
        snprintf(text + strlen(text), 20, "%d,x,%d\n", i % 90, i % 2);
    assert_true(oom_run(read_table, (void *)(uintptr_t)put("a.csv", text)) > 90);
    assert_true(
        oom_run(read_table, (void *)(uintptr_t)put("a.jsonl", "{\"a\":1,\"b\":{\"c\":\"x\"}}\n"
                                                              "{\"a\":2,\"d\":\"y\"}\n")) > 20);
}

static void examples(void **state)
{
    (void)state;
    for (int with_sensitive = 0; with_sensitive < 2; with_sensitive++) {
        struct data_source s = {.path = write_rows(0),
                                .schema = &schema,
                                .columns = columns,
                                .n_columns = 2,
                                .with_sensitive = with_sensitive};
        assert_true(oom_run(load_examples, &s) > 40);
    }
}

static void objects(void **state)
{
    (void)state;
    assert_true(oom_run(read_objects, (void *)(uintptr_t)write_rows(0)) > 10);
}

/* Each line of JSON takes some twenty allocations: a few lines do. */
static int read_lines(void *arg, struct fis_error *e)
{
    static const struct data_column expected[] = {{.name = "age", .cell = DATA_NUMBER},
                                                  {.name = "job", .cell = DATA_TEXT}};
    const struct data_options o = {.columns = expected, .n_columns = 2};
    struct fis_value values[2];
    int rc, rows = 0;
    struct data_rows *r = data_rows_open(arg, &o, e);
    if (!r)
        return oom_failed(e);
    while ((rc = data_rows_next(r, values, e)) > 0 && rows < 3)
        rows++;
    data_rows_close(r);
    return rc < 0 ? rc : 0;
}

static void lines(void **state)
{
    (void)state;
    assert_true(oom_run(read_lines, (void *)(uintptr_t)write_rows(1)) > 30);
}

static int make(void **state)
{
    (void)state;
    wire_json_init();
    return make_folder();
}

static int clean(void **state)
{
    (void)state;
    return remove_folder(files, sizeof files / sizeof *files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables),
        cmocka_unit_test(examples),
        cmocka_unit_test(objects),
        cmocka_unit_test(lines),
    };
    return cmocka_run_group_tests(tests, make, clean);
}
