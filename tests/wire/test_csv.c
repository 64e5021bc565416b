/* CSV: what is read, what is refused and with which words, memory, every way to cut the input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fis/mem.h"
#include "wire/csv.h"

/* Rows as "line:field|field|\n", then "ERROR text" if there was one; fed `step` bytes at a time. */
struct read {
    char text[4096];
    struct fis_error error;
    int rc;
};

static void show(struct read *r, const struct wire_csv_row *row)
{
    size_t n = strlen(r->text);
    n += (size_t)snprintf(r->text + n, sizeof r->text - n, "%d:", (int)row->line);
    for (uint32_t i = 0; i < row->n; i++)
        n += (size_t)snprintf(r->text + n, sizeof r->text - n, "%.*s|", (int)row->fields[i].length,
                              (const char *)row->fields[i].data);
    snprintf(r->text + n, sizeof r->text - n, "\n");
}

static void read_all(struct read *r, char delimiter, const char *input, size_t length, size_t step)
{
    memset(r, 0, sizeof *r);
    struct wire_csv *csv = wire_csv_new(delimiter, &r->error);
    if (!csv)
        return;
    struct wire_csv_row row;
    for (size_t at = 0; at <= length && r->rc >= 0;) {
        size_t n = step < length - at ? step : length - at;
        if (n) {
            /* A copy of just these bytes: reading past them is an error that a tool can see. */
            char *piece = malloc(n);
            memcpy(piece, input + at, n);
            wire_csv_feed(csv, piece, n);
            while ((r->rc = wire_csv_next(csv, &row, &r->error)) == 1)
                show(r, &row);
            free(piece);
            at += n;
        } else {
            wire_csv_end(csv);
            while ((r->rc = wire_csv_next(csv, &row, &r->error)) == 1)
                show(r, &row);
            break;
        }
    }
    if (r->rc < 0) {
        struct fis_error again;
        assert_int_equal(wire_csv_next(csv, &row, &again), r->rc);
        assert_string_equal(again.text, r->error.text);
    }
    wire_csv_free(csv);
}

static void check(const char *input, size_t length, const char *rows, const char *error)
{
    for (size_t step = 1; step <= length + 1; step++) {
        struct read r;
        read_all(&r, ',', input, length, step);
        if (error ? (r.rc != -FIS_INPUT || strcmp(r.error.text, error)) : r.rc != 0)
            fail_msg("'%s' by %zu: rc %d, error '%s'", input, step, r.rc, r.error.text);
        if (strcmp(r.text, rows))
            fail_msg("'%s' by %zu: got '%s', expected '%s'", input, step, r.text, rows);
    }
}

#define READS(input, rows) check(input, sizeof(input) - 1, rows, NULL)
#define REFUSES(input, rows, error) check(input, sizeof(input) - 1, rows, error)

static void reads_what_the_standard_allows(void **state)
{
    (void)state;
    READS("a,b\n1,2\n", "1:a|b|\n2:1|2|\n");
    READS("a,b\n1,2", "1:a|b|\n2:1|2|\n");
    READS("a,b\r\n1,2\r\n", "1:a|b|\n2:1|2|\n");
    READS("a,b\r1,2\r3,4", "1:a|b|\n2:1|2|\n3:3|4|\n");
    READS("a,b\n\n\r\n1,2\n", "1:a|b|\n4:1|2|\n");
    READS("a,b\n1,\n,2\n,", "1:a|b|\n2:1||\n3:|2|\n4:||\n");
    READS("a\n\"\"\n", "1:a|\n2:|\n");
    READS("a,b\n\"x,y\",\"say \"\"hi\"\"\"\n", "1:a|b|\n2:x,y|say \"hi\"|\n");
    READS("a , b\n 1\t,  two words \n", "1:a|b|\n2:1|two words|\n");
    READS("a,b\n\" 1 \" ,x\n", "1:a|b|\n2: 1 |x|\n");
    READS("a,b\n1,2\n   \n", "1:a|b|\n2:1|2|\n");
    READS("a,b\n", "1:a|b|\n");
    READS("a", "1:a|\n");
}

static void lines_are_where_rows_begin(void **state)
{
    (void)state;
    READS("a,b\n\"1\n2\",x\ny,z\n", "1:a|b|\n2:1\n2|x|\n4:y|z|\n");
    READS("a,b\r\n\"1\r\n2\",x\r\ny,z\r\n", "1:a|b|\n2:1\r\n2|x|\n4:y|z|\n");
    READS("a,b\n\"1\r2\",x\ny,z", "1:a|b|\n2:1\r2|x|\n4:y|z|\n");
}

static void a_byte_order_mark_is_no_part_of_the_header(void **state)
{
    (void)state;
    READS("\xef\xbb\xbf\"age\",hours,job,score\r\n39,40,\"clerk\",1.5\r\n50,13,driver,2",
          "1:age|hours|job|score|\n2:39|40|clerk|1.5|\n3:50|13|driver|2|\n");
    READS("\xef\xbb\xbf"
          "a\n1\n",
          "1:a|\n2:1|\n");
    REFUSES("\xef\xbb\xbf", "", "no header: nothing but white space in it");
    REFUSES("", "", "no header: nothing but white space in it");
    REFUSES("\n \r\n", "", "no header: nothing but white space in it");
    REFUSES("\xef\xbb"
            "a\n1\n",
            "", "line 1: the name of column 1 is not UTF-8 text; is the file UTF-8?");
    REFUSES("\xef", "", "line 1: the name of column 1 is not UTF-8 text; is the file UTF-8?");
    REFUSES("\xff\xfe"
            "a\0\n\0",
            "", "line 1: the name of column 1 is not UTF-8 text; is the file UTF-8?");
}

static void refuses_with_the_line(void **state)
{
    (void)state;
    REFUSES("a,b\n1,2,3\n", "1:a|b|\n", "line 2: 3 fields, but the header has 2");
    REFUSES("a,b\n1,2\n\n1\n", "1:a|b|\n2:1|2|\n", "line 4: 1 field, but the header has 2");
    REFUSES("a,b\n1,x\"y\n", "1:a|b|\n",
            "line 2, column 2: a quote inside a field that has none around it");
    REFUSES("a,b\n\"1\"x,2\n", "1:a|b|\n", "line 2, column 1: text after a closing quote");
    REFUSES("a,b\n\"1\n2\"x,2\n", "1:a|b|\n", "line 3, column 1: text after a closing quote");
    REFUSES("a,,b\n", "", "line 1: column 2 of the header has no name");
    REFUSES("a,b,\n", "", "line 1: column 3 of the header has no name");
    REFUSES("a,\"\",b\n", "", "line 1: column 2 of the header has no name");
    REFUSES("\n\nb,a, b\n", "", "line 3: two columns are named \"b\"");
    REFUSES("a,\xe9\n", "", "line 1: the name of column 2 is not UTF-8 text; is the file UTF-8?");
}

static void an_open_quote_is_named_by_its_line(void **state)
{
    (void)state;
    REFUSES("a,b,c,d\n39,40,clerk,1\n50,13,\"driver,2\n1,2,x,3\n", "1:a|b|c|d|\n2:39|40|clerk|1|\n",
            "line 3, column 3: quote opened and not closed");
    REFUSES("a,b\n\"x\ny\",\"z\n\n", "1:a|b|\n", "line 3, column 2: quote opened and not closed");
    REFUSES("a,b\n\"", "1:a|b|\n", "line 2, column 1: quote opened and not closed");
    REFUSES("\"a", "", "line 1, column 1: quote opened and not closed");
    READS("a,b\n\"x\n\ny\",z\n1,2\n", "1:a|b|\n2:x\n\ny|z|\n5:1|2|\n");
}

/* 300 MB that never close a quote cost no more than one field may have. */
static void an_open_quote_costs_bounded_memory(void **state)
{
    (void)state;
    static char piece[65536];
    for (size_t i = 0; i < sizeof piece; i++)
        piece[i] = "1,2,clerk,3\n"[i % 12];
    static const char start[] = "a,b,c,d\n1,2,x,3\n5,6,\"driver,2\n";
    struct wire_csv *csv = wire_csv_new(',', NULL);
    struct wire_csv_row row;
    struct fis_error e = {0};
    wire_csv_feed(csv, start, sizeof start - 1);
    assert_int_equal(wire_csv_next(csv, &row, &e), 1);
    assert_int_equal(wire_csv_next(csv, &row, &e), 1);
    assert_int_equal(wire_csv_next(csv, &row, &e), 0);
    size_t fed = 0;
    int rc = 0;
    for (; rc == 0 && fed < (size_t)300 << 20; fed += sizeof piece) {
        wire_csv_feed(csv, piece, sizeof piece);
        rc = wire_csv_next(csv, &row, &e);
    }
    assert_int_equal(rc, -FIS_INPUT);
    assert_string_equal(e.text,
                        "line 3, column 3: quote opened and not closed within 1048576 bytes, the "
                        "most a field may have");
    assert_true(fed <= WIRE_CSV_FIELD_MAX + 2 * sizeof piece);
    wire_csv_free(csv);
}

static void a_field_has_a_limit(void **state)
{
    (void)state;
    size_t length = 2 + WIRE_CSV_FIELD_MAX + 2;
    char *input = malloc(length);
    memset(input, 'x', length);
    memcpy(input, "a\n", 2);
    static struct read r;
    read_all(&r, ',', input, length, 65536);
    assert_int_equal(r.rc, -FIS_INPUT);
    assert_string_equal(r.error.text, "line 2, column 1: a field of more than 1048576 bytes");

    struct wire_csv *csv = wire_csv_new(',', NULL);
    struct wire_csv_row row;
    wire_csv_feed(csv, input, length - 2);
    assert_int_equal(wire_csv_next(csv, &row, NULL), 1);
    assert_int_equal(wire_csv_next(csv, &row, NULL), 0);
    wire_csv_end(csv);
    assert_int_equal(wire_csv_next(csv, &row, NULL), 1);
    assert_int_equal(row.fields[0].length, WIRE_CSV_FIELD_MAX);
    wire_csv_free(csv);
    free(input);
}

static void other_delimiters(void **state)
{
    (void)state;
    struct read r;
    read_all(&r, '\t', "a\tb\n\tx, y\n", 10, 3);
    assert_int_equal(r.rc, 0);
    assert_string_equal(r.text, "1:a|b|\n2:|x, y|\n");
    read_all(&r, ';', "a;b\n1,5;2\n", 10, 3);
    assert_string_equal(r.text, "1:a|b|\n2:1,5|2|\n");
    assert_int_equal(wire_csv_delimiter("semicolon"), ';');
    assert_int_equal(wire_csv_delimiter("comma"), ',');
    assert_int_equal(wire_csv_delimiter("|"), '|');
    assert_int_equal(wire_csv_delimiter("\t"), '\t');
    assert_int_equal(wire_csv_delimiter("tab"), '\t');
    assert_int_equal(wire_csv_delimiter(""), 0);
    assert_int_equal(wire_csv_delimiter(";;"), 0);
    assert_int_equal(wire_csv_delimiter("colon"), 0);
    assert_null(wire_csv_new('x', &r.error));
    assert_int_equal(r.error.kind, FIS_INPUT);
    assert_null(wire_csv_new('"', NULL));
    assert_null(wire_csv_new(0, NULL));
}

static void a_wrong_delimiter_is_named(void **state)
{
    (void)state;
    REFUSES("a;b;c\n1;2;3\n", "",
            "line 1: the header has 1 column with ',' and 3 with ';': use --delimiter semicolon / "
            "csv.delimiter: semicolon");
    REFUSES("\t\t \n\na\tb|c\td\n", "",
            "line 3: the header has 1 column with ',' and 3 with a tab: use --delimiter tab / "
            "csv.delimiter: tab");
    REFUSES("\"a\" ; \"b\"\n1;2\n", "",
            "line 1, column 1: ';' after a closing quote: use --delimiter semicolon / "
            "csv.delimiter: semicolon");
    READS("\"a;b\"\n1;2\n", "1:a;b|\n2:1;2|\n");
    READS("a\n1;2\n", "1:a|\n2:1;2|\n");
    struct read r;
    read_all(&r, ';', "a,b\n1,2\n", 8, 3);
    assert_int_equal(r.rc, -FIS_INPUT);
    assert_string_equal(r.error.text, "line 1: the header has 1 column with ';' and 2 with ',': "
                                      "use --delimiter comma / csv.delimiter: comma");
}

/* Random bytes of the characters that matter: never a crash, and the same for every cut. */
static void any_bytes_read_the_same_however_cut(void **state)
{
    (void)state;
    static const char alphabet[] = "\"\",,\n\r a1\t";
    srand(7);
    for (int round = 0; round < 3000; round++) {
        char input[25] = "a,b\n";
        for (int i = 4; i < 24; i++)
            input[i] = alphabet[(size_t)rand() % (sizeof alphabet - 1)];
        struct read whole, cut;
        read_all(&whole, ',', input, 24, 24);
        for (size_t step = 1; step < 24; step += 3) {
            read_all(&cut, ',', input, 24, step);
            assert_int_equal(cut.rc, whole.rc);
            assert_string_equal(cut.text, whole.text);
            assert_string_equal(cut.error.text, whole.error.text);
        }
    }
}

static void survives_refused_memory(void **state)
{
    (void)state;
    static const char input[] = "a,b\n\"x\",y\n";
    int refused = 0;
    for (uint64_t n = 0; n < 100; n++) {
        struct read r;
        fis_mem_refuse_after(n);
        read_all(&r, ',', input, sizeof input - 1, 4);
        fis_mem_refuse_after(UINT64_MAX);
        if (r.rc == 0 && r.error.kind == FIS_OK) {
            assert_string_equal(r.text, "1:a|b|\n2:x|y|\n");
            assert_true(refused > 3);
            return;
        }
        assert_int_equal(r.error.kind, FIS_NOMEM);
        refused++;
    }
    fail_msg("never enough memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_the_standard_allows),
        cmocka_unit_test(lines_are_where_rows_begin),
        cmocka_unit_test(a_byte_order_mark_is_no_part_of_the_header),
        cmocka_unit_test(refuses_with_the_line),
        cmocka_unit_test(an_open_quote_is_named_by_its_line),
        cmocka_unit_test(an_open_quote_costs_bounded_memory),
        cmocka_unit_test(a_field_has_a_limit),
        cmocka_unit_test(other_delimiters),
        cmocka_unit_test(a_wrong_delimiter_is_named),
        cmocka_unit_test(any_bytes_read_the_same_however_cut),
        cmocka_unit_test(survives_refused_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
