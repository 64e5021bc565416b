/*
 * Rows of files. The first byte says what the rest is: 'c' CSV, 'n' a number, 'f' a CSV file of
 * examples, 'j' the same in JSON lines.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"

#include "data/examples.h"
#include "base/decimal.h"
#include "wire/csv.h"
#include "wire/json_arena.h"
#include "wire/json_text.h"

/* ---- CSV: the same rows however it is cut, and when it is written again ---------------------- */

static void append(struct byte_buffer *b, const void *data, size_t length)
{
    struct fis_error e = {0};
    if (byte_buffer_append(b, data, length, &e))
        FUZZ_FAIL("%s", e.text);
}

static void append_row(struct byte_buffer *rows, const struct wire_csv_row *row)
{
    append(rows, &row->n, sizeof row->n);
    for (uint32_t i = 0; i < row->n; i++) {
        FUZZ_HOLDS(row->fields[i].data);
        append(rows, &row->fields[i].length, sizeof row->fields[i].length);
        append(rows, row->fields[i].data, row->fields[i].length);
    }
}

static void append_quoted(struct byte_buffer *text, const struct wire_csv_row *row, char delimiter)
{
    for (uint32_t i = 0; i < row->n; i++) {
        const char *field = row->fields[i].data;
        append(text, i ? &delimiter : "\"", 1);
        if (i)
            append(text, "\"", 1);
        for (size_t k = 0; k < row->fields[i].length; k++)
            append(text, field[k] == '"' ? "\"\"" : field + k, field[k] == '"' ? 2 : 1);
        append(text, "\"", 1);
    }
    append(text, "\r\n", 2);
}

struct parse {
    struct byte_buffer rows, quoted; /* what was read; the same as CSV with quotes everywhere */
    struct fis_error error;
    uint64_t error_line, last_line;
};

static int take_rows(struct wire_csv *csv, struct parse *p, char delimiter)
{
    struct wire_csv_row row;
    int rc;
    while ((rc = wire_csv_next(csv, &row, &p->error)) > 0) {
        append_row(&p->rows, &row);
        append_quoted(&p->quoted, &row, delimiter);
        FUZZ_HOLDS(row.line >= p->last_line);
        p->last_line = row.line;
    }
    return rc;
}

static int parse(struct parse *p, char delimiter, struct wire_bytes text, size_t piece)
{
    struct fis_error e = {0};
    struct wire_csv *csv = wire_csv_new(delimiter, &e);
    const char *at = text.data;
    size_t left = text.length;
    int rc = 0;
    *p = (struct parse){0};
    if (!csv)
        FUZZ_FAIL("%s", e.text);
    while (left && rc == 0) {
        size_t n = piece < left ? piece : left;
        wire_csv_feed(csv, at, n);
        at += n;
        left -= n;
        rc = take_rows(csv, p, delimiter);
    }
    if (rc == 0) {
        wire_csv_end(csv);
        rc = take_rows(csv, p, delimiter);
    }
    p->error_line = wire_csv_error_line(csv);
    wire_csv_free(csv);
    fuzz_check_result(rc, &p->error);
    return rc;
}

static void parse_done(struct parse *p)
{
    byte_buffer_done(&p->rows);
    byte_buffer_done(&p->quoted);
}

static int same_rows(const struct parse *a, const struct parse *b)
{
    return fuzz_same_bytes((struct wire_bytes){a->rows.data, a->rows.length},
                           (struct wire_bytes){b->rows.data, b->rows.length});
}

static void try_csv(struct fuzz_input in)
{
    char delimiter = ",\t;|"[fuzz_byte(&in) & 3u];
    size_t piece = fuzz_byte(&in);
    struct wire_bytes text = {in.data, in.size};
    struct parse whole, pieces, again;
    int rc = parse(&whole, delimiter, text, in.size ? in.size : 1);
    FUZZ_HOLDS(parse(&pieces, delimiter, text, piece ? piece : 1) == rc);
    FUZZ_HOLDS(same_rows(&whole, &pieces) && whole.error_line == pieces.error_line);
    FUZZ_HOLDS(fuzz_same_text(whole.error.text, pieces.error.text));
    if (rc == 0) {
        struct wire_bytes quoted = {whole.quoted.data, whole.quoted.length};
        if (parse(&again, delimiter, quoted, quoted.length))
            FUZZ_FAIL("written with quotes: %s", again.error.text);
        FUZZ_HOLDS(same_rows(&whole, &again));
        parse_done(&again);
    }
    parse_done(&whole);
    parse_done(&pieces);
}

static void try_number(struct fuzz_input in)
{
    double number = 17, expected;
    char *text = fis_memdup(in.data, in.size), *end;
    FUZZ_HOLDS(text);
    int rc = decimal_read((const char *)in.data, in.size, &number);
    if (rc) {
        FUZZ_HOLDS(number == 17);
    } else {
        expected = strtod(text, &end);
        FUZZ_HOLDS(end == text + in.size && number == expected && number - number == 0);
    }
    fis_free(text);
}

/* ---- files ------------------------------------------------------------------------------------
 */

/* A file in memory, and a path that opens it again. */
static const char *file_of(struct wire_bytes text)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        FUZZ_HOLDS(fd >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    FUZZ_HOLDS(ftruncate(fd, 0) == 0);
    FUZZ_HOLDS(pwrite(fd, text.data, text.length, 0) == (ssize_t)text.length);
    return path;
}

/* CSV: the marker is in a row, not in the header, and in no quotes. JSON: it is a member's value.
 */
static int is_hidden(struct wire_bytes text, int json)
{
    const char *at = text.data;
    int rows = 0, blank = 1;
    if (fuzz_markers(text.data, text.length) != 1)
        return 0;
    for (size_t i = 0; i < text.length && at[i] != '"' && !json; i++) {
        if (fuzz_markers(at + i, text.length - i) == 0)
            return 0;
        if (memcmp(at + i, FUZZ_MARKER, sizeof FUZZ_MARKER - 1) == 0)
            return rows > 0;
        int ends = at[i] == '\n' || at[i] == '\r';
        rows += ends && !blank;
        blank = ends || (blank && (at[i] == ' ' || at[i] == '\t'));
    }
    static const char *const members[] = {"\"sex\":\"" FUZZ_MARKER, "\"race\":\"" FUZZ_MARKER};
    for (size_t k = 0; k < 2 && json; k++)
        for (size_t n = strlen(members[k]), i = 0; i + n <= text.length; i++)
            if (memcmp(at + i, members[k], n) == 0)
                return 1;
    return 0;
}

static void check_failure(const struct fis_error *e, int hidden)
{
    fuzz_check_error(e);
    if (hidden && fuzz_markers(e->text, strlen(e->text)))
        FUZZ_FAIL("a sensitive value is shown: %s", e->text);
}

static void check_examples(const struct data_examples *x, int with_sensitive)
{
    FUZZ_HOLDS(x->n > 0 && x->d > 0);
    FUZZ_HOLDS((x->groups != NULL) == with_sensitive);
    for (uint32_t i = 0; i < x->n; i++) {
        FUZZ_HOLDS(x->labels[i] < fuzz_schema.n_classes && x->ids[i].length > 0);
        FUZZ_HOLDS(!with_sensitive || x->groups[i] < x->names.n);
    }
}

static void try_examples(struct wire_bytes text, int json, int with_sensitive)
{
    struct data_source source = {.path = file_of(text),
                                 .how.format = json ? DATA_JSON_LINES : DATA_CSV,
                                 .schema = &fuzz_schema,
                                 .columns = fuzz_mixed_columns,
                                 .n_columns = FUZZ_MIXED_COLUMNS,
                                 .with_sensitive = with_sensitive};
    struct data_examples x;
    struct fis_error e = {0};
    int hidden = with_sensitive && is_hidden(text, json);
    struct fis_encoder *encoder = data_fit_encoder(&source, 5, &e);
    if (!encoder) {
        check_failure(&e, hidden);
        return;
    }
    int rc = data_examples_load(&source, encoder, &x, &e);
    if (rc) {
        check_failure(&e, hidden);
    } else {
        check_examples(&x, with_sensitive);
        data_examples_done(&x);
    }
    fis_encoder_free(encoder);
}

/* Every row as JSON is a JSON object. */
static void try_objects(struct wire_bytes text, int json)
{
    static const struct data_column columns[] = {{"age", DATA_NUMBER, 1, 0, 0},
                                                 {"job", DATA_STRING, 1, 0, 0}};
    struct data_options options = {
        .how.format = json ? DATA_JSON_LINES : DATA_CSV, .columns = columns, .n_columns = 2};
    struct byte_buffer out = {0};
    struct fis_error e = {0};
    struct data_rows *rows = data_rows_open(file_of(text), &options, &e);
    int rc = rows ? 1 : -(int)e.kind;
    while (rc > 0) {
        out.length = 0;
        rc = data_rows_next_json(rows, &out, &e);
        if (rc > 0) {
            json_t *object = wire_json_parse((struct wire_bytes){out.data, out.length}, &e);
            if (!object)
                FUZZ_FAIL("%s: %.*s", e.text, (int)out.length, (const char *)out.data);
            json_decref(object);
        }
    }
    fuzz_check_result(rc, &e);
    data_rows_close(rows);
    byte_buffer_done(&out);
}

static void try_file(struct fuzz_input in, int json)
{
    uint8_t how = fuzz_byte(&in);
    struct wire_bytes text = {in.data, in.size};
    if (how & 1u)
        try_objects(text, json);
    else
        try_examples(text, json, (how & 2u) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int begun;
    struct fuzz_input in = {data, size};
    if (!begun)
        wire_json_init();
    begun = 1;
    switch (fuzz_byte(&in)) {
    case 'c':
        try_csv(in);
        break;
    case 'n':
        try_number(in);
        break;
    case 'f':
        try_file(in, 0);
        break;
    case 'j':
        try_file(in, 1);
        break;
    default:
        break;
    }
    return 0;
}
