/* Whole tables: types by the bulk of the cells, codes, from CSV and JSON lines, plain and packed.
 */

#include "kit/cmocka.h"

#include <zlib.h>

#include "data/table.h"
#include "kit/base/folder.h"
#include "wire/json_arena.h"

static const struct data_options plain;

static int set_up(void **state)
{
    (void)state;
    wire_json_init();
    return make_folder();
}

static int tear_down(void **state)
{
    (void)state;
    return remove_folder((const char *const[]){"a.csv", "a.jsonl", "a.csv.gz"}, 3);
}

static struct data_table *read_text(const char *text, struct fis_error *e)
{
    return data_table_read(put("a.csv", text), &plain, e);
}

static void columns_have_types(void **state)
{
    struct fis_error e;
    struct data_table *t =
        read_text("n,text,mixed,gap,none\n1,a,1,-2.5e1,\n-3,b,x,,\n1,a,2,7,\n", &e);
    (void)state;
    assert_non_null(t);
    assert_int_equal(t->n, 3);
    static const enum fis_column_type types[] = {FIS_NUMERIC, FIS_CATEGORICAL, FIS_CATEGORICAL,
                                                 FIS_NUMERIC, FIS_CATEGORICAL};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(t->columns[i].type, types[i]);
    assert_int_equal(t->columns[0].n_values, 2);
    assert_true(t->columns[0].codes[0] == t->columns[0].codes[2]);
    assert_true(t->columns[0].values[t->columns[0].codes[1]].number == -3);
    assert_true(t->columns[3].codes[1] == DATA_MISSING);
    assert_true(t->columns[3].values[0].number == -25);
    assert_int_equal(t->columns[4].n_values, 0);
    assert_int_equal(data_table_find(t, "gap", &e), 3);
    assert_int_equal(data_table_find(t, "Gap", &e), -1);
    assert_non_null(strstr(e.text, "n, text, mixed, gap, none"));
    data_table_free(t);
}

/* The bulk of the cells decides a column's type, and the odd ones are named; 1 and 1.0 are one. */
static void the_bulk_of_the_cells_decides(void **state)
{
    (void)state;
    char text[2000] = "age,code,label\n";
    struct fis_error e;
    for (int i = 0; i < 40; i++)
        sprintf(text + strlen(text), "%s,%s,%s\n", i == 6 ? "NA" : "3.5", i % 3 ? "7" : "x",
                i % 2 ? "1" : "1.0");
    struct data_table *t = read_text(text, &e);
    assert_non_null(t);
    assert_int_equal(t->columns[0].type, FIS_NUMERIC);
    assert_int_equal(t->columns[0].codes[6], DATA_MISSING);
    assert_non_null(strstr(t->columns[0].odd, "column age: 1 of 40 cells is no number"));
    assert_non_null(strstr(t->columns[0].odd, "row 7: \"NA\""));
    assert_int_equal(t->columns[1].type, FIS_CATEGORICAL);
    assert_string_equal(t->columns[1].odd, "");
    assert_int_equal(t->columns[2].n_values, 1);
    data_table_free(t);
}

static void many_values_are_distinguished(void **state)
{
    struct fis_error e;
    char *text = malloc(200000), *at = text;
    (void)state;
    at += sprintf(at, "v\n");
    for (int i = 0; i < 12000; i++)
        at += sprintf(at, "%d\n", (i * 7919) % 5000);
    struct data_table *t = read_text(text, &e);
    assert_non_null(t);
    assert_int_equal(t->n, 12000);
    assert_int_equal(t->columns[0].n_values, 5000);
    for (uint32_t i = 0; i < t->n; i++)
        assert_true(t->columns[0].values[t->columns[0].codes[i]].number == (i * 7919) % 5000);
    data_table_free(t);
    free(text);
}

static void bad_files_are_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {{"", "no header"},
               {"a,b\n", "there are no rows"},
               {"a,b\n1\n", "line 2"},
               {"a,a\n1,2\n", "line 1"},
               {"a,b\n1,\"2\n", "line 2"}};
    struct fis_error e;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(read_text(bad[i].text, &e));
        assert_non_null(strstr(e.text, bad[i].says));
    }
    assert_null(data_table_read("/nowhere/at/all.csv", &(struct data_options){.n_columns = 0}, &e));
    assert_non_null(strstr(e.text, "/nowhere/at/all.csv: "));
}

static void is_column(const struct data_table *t, const char *name, enum fis_column_type type,
                      const char *cells)
{
    struct fis_error e;
    char got[200] = "";
    int i = data_table_find(t, name, &e);
    if (i < 0)
        fail_msg("%s", e.text);
    const struct data_table_column *c = &t->columns[i];
    for (uint32_t r = 0; r < t->n; r++)
        sprintf(got + strlen(got), "%s|",
                c->codes[r] == DATA_MISSING ? "-" : c->values[c->codes[r]].text);
    assert_string_equal(got, cells);
    assert_int_equal(c->type, type);
}

/* Nested members are columns by their path, and what comes late is missing before. */
static void json_lines_are_a_table(void **state)
{
    struct fis_error e;
    (void)state;
    struct data_table *t = data_table_read(
        put("a.jsonl",
            "{\"age\":41,\"address\":{\"city\":\"Ulm\",\"geo\":{\"lat\":48.4}}}\n\n"
            "{\"age\":\"17.50\",\"job\":\" \",\"tags\":[1],\"id\":123456789012345678901}\n"
            "{\"address\":{\"city\":null},\"age\":-0.0,\"job\":\"clerk\",\"tags\":true}\n"),
        &plain, &e);
    assert_non_null(t);
    assert_true(t->json);
    is_column(t, "age", FIS_NUMERIC, "41|17.50|0|");
    is_column(t, "address.city", FIS_CATEGORICAL, "Ulm|-|-|");
    is_column(t, "address.geo.lat", FIS_NUMERIC, "48.4|-|-|");
    is_column(t, "job", FIS_CATEGORICAL, "-|-|clerk|");
    is_column(t, "id", FIS_NUMERIC, "-|123456789012345678901|-|");
    is_column(t, "tags", FIS_CATEGORICAL, "-|-|true|");
    assert_int_equal(t->columns[0].quoted, 1);
    assert_string_equal(t->columns[data_table_find(t, "tags", &e)].odd,
                        "column tags: 1 of 3 cells are neither a number nor a text");
    data_table_free(t);
    assert_null(data_table_read(put("a.jsonl", "{\"age\":1}\n[1]\n"), &plain, &e));
    assert_non_null(strstr(e.text, "a.jsonl: line 2"));
    struct data_table_builder *b = data_table_begin(&e);
    assert_int_equal(data_table_add(b, (struct wire_bytes){"{\"x\":1}", 7}, &e), 0);
    assert_int_equal(data_table_add(b, (struct wire_bytes){"{\"x\":", 5}, &e), -FIS_INPUT);
    assert_int_equal(data_table_add(b, (struct wire_bytes){"{\"y\":2}", 7}, &e), 0);
    t = data_table_end(b, &e);
    is_column(t, "x", FIS_NUMERIC, "1|-|");
    is_column(t, "y", FIS_NUMERIC, "-|2|");
    data_table_free(t);
}

/* The index of pandas is no column unless it is asked for; gzip, other delimiters, white space. */
static void files_are_read_as_elsewhere(void **state)
{
    static const struct data_column asked[] = {
        {.name = DATA_UNNAMED, .cell = DATA_TEXT, .optional = true}};
    const struct data_options with_index = {
        .how = {.delimiter = ';'}, .columns = asked, .n_columns = 1};
    const struct data_options semicolon = {.how = {.standard_delimiter = ';'}};
    static const char text[] = ";age;job\n0;1,5;\"  \"\n1;2;a\n";
    struct fis_error e;
    (void)state;
    struct data_table *t = data_table_read(put("a.csv", text), &semicolon, &e);
    assert_non_null(t);
    assert_int_equal(t->n_columns, 2);
    is_column(t, "job", FIS_CATEGORICAL, "-|a|");
    data_table_free(t);
    gzFile z = gzopen(put("a.csv.gz", ""), "wb");
    assert_int_equal(gzwrite(z, text, sizeof text - 1), sizeof text - 1);
    assert_int_equal(gzclose(z), Z_OK);
    char path[200];
    snprintf(path, sizeof path, "%s/a.csv.gz", folder);
    t = data_table_read(path, &with_index, &e);
    assert_non_null(t);
    is_column(t, DATA_UNNAMED, FIS_NUMERIC, "0|1|");
    data_table_free(t);
    assert_null(data_table_read(put("a.csv", "\xff\xfe"
                                             "a"),
                                &plain, &e));
    assert_non_null(strstr(e.text, "UTF-16"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_have_types),
        cmocka_unit_test(the_bulk_of_the_cells_decides),
        cmocka_unit_test(many_values_are_distinguished),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(json_lines_are_a_table),
        cmocka_unit_test(files_are_read_as_elsewhere),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
