#include "wire/csv.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "fis/mem.h"
#include "base/utf8.h"

static const char mark[3] = "\xef\xbb\xbf";

/* Delimiters: the character, its name, and how an error shows it. */
static const struct {
    char character;
    const char *name, *shown;
} delimiters[] = {
    {',', "comma", "','"}, {';', "semicolon", "';'"}, {'\t', "tab", "a tab"}, {'|', "pipe", "'|'"}};
enum { DELIMITERS = sizeof delimiters / sizeof *delimiters };

/* Where the next byte stands. */
enum place {
    ROW_START,   /* nothing but white space in this row so far */
    FIELD_START, /* behind a delimiter and spaces */
    PLAIN,       /* in a field without quotes */
    QUOTED,
    CLOSED /* behind a quote in a quoted field: its end, or the first of a doubled one */
};

struct wire_csv {
    const char *data; /* what was fed and not yet read */
    size_t left, field_start;
    char delimiter;
    bool ended, finished, marked, after_cr, row_done, spaced; /* spaced: spaces behind the quote */
    enum place place;
    uint32_t mark_seen;
    uint64_t line, row_line, quote_line;
    struct byte_buffer text; /* of the row's fields, without anything between */
    struct wire_bytes *row;  /* [capacity]; until the row ends, of each field the length alone */
    uint32_t n, capacity, width;    /* width: of the header; 0 before it */
    uint32_t in_header[DELIMITERS]; /* each delimiter's count, outside quotes */
    uint64_t error_line;
    struct fis_error error; /* FIS_OK until something was refused; final */
};

char wire_csv_delimiter(const char *text)
{
    for (size_t i = 0; i < DELIMITERS; i++)
        if (strcmp(text, delimiters[i].name) == 0 ||
            (text[0] == delimiters[i].character && !text[1]))
            return delimiters[i].character;
    return 0;
}

struct wire_csv *wire_csv_new(char delimiter, struct fis_error *e)
{
    if (!wire_csv_delimiter((char[]){delimiter, 0})) {
        fis_fail(e, FIS_INPUT, "delimiter '%c': allowed comma, semicolon, tab, pipe",
                 delimiter ? delimiter : '0');
        return NULL;
    }
    struct wire_csv *csv = fis_calloc(1, sizeof *csv);
    if (!csv) {
        fis_fail(e, FIS_NOMEM, "no memory to read CSV");
        return NULL;
    }
    csv->delimiter = delimiter;
    csv->line = 1;
    return csv;
}

void wire_csv_free(struct wire_csv *csv)
{
    if (!csv)
        return;
    byte_buffer_done(&csv->text);
    fis_free(csv->row);
    fis_free(csv);
}

void wire_csv_feed(struct wire_csv *csv, const void *data, size_t length)
{
    assert(csv->left == 0 && !csv->ended);
    csv->data = data;
    csv->left = length;
}

void wire_csv_end(struct wire_csv *csv)
{
    csv->ended = true;
}

/* "line N: …", in a field "line N, column M: …"; what was refused first stays. */
FIS_PRINTF(4, 5)
static void refuse(struct wire_csv *csv, uint64_t line, uint32_t column, const char *format, ...)
{
    char text[FIS_ERROR_TEXT], at[32] = "";
    va_list ap;
    if (csv->error.kind)
        return;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (column)
        snprintf(at, sizeof at, ", column %u", column);
    fis_fail(&csv->error, FIS_INPUT, "line %" PRIu64 "%s: %.*s", line, at, FIS_ERROR_TEXT - 64,
             text);
    csv->error_line = line;
}

/* ---- bytes to fields ------------------------------------------------------------------------ */

static void append(struct wire_csv *csv, const char *bytes, size_t n)
{
    if (n > WIRE_CSV_FIELD_MAX - (csv->text.length - csv->field_start)) {
        if (csv->place == QUOTED)
            refuse(csv, csv->quote_line, csv->n + 1,
                   "quote opened and not closed within %zu bytes, the most a field may have",
                   WIRE_CSV_FIELD_MAX);
        else
            refuse(csv, csv->line, csv->n + 1, "a field of more than %zu bytes",
                   WIRE_CSV_FIELD_MAX);
    } else if (n > WIRE_CSV_ROW_MAX - csv->text.length) {
        refuse(csv, csv->row_line, 0, "over %zu bytes in one row", WIRE_CSV_ROW_MAX);
    } else {
        (void)!byte_buffer_append(&csv->text, bytes, n, &csv->error);
    }
}

static bool is_space(const struct wire_csv *csv, char c)
{
    return (c == ' ' || c == '\t') && c != csv->delimiter;
}

static void end_field(struct wire_csv *csv)
{
    while (csv->place == PLAIN && csv->text.length > csv->field_start &&
           is_space(csv, (char)csv->text.data[csv->text.length - 1]))
        csv->text.length--;
    if (csv->n == WIRE_CSV_FIELDS_MAX) {
        refuse(csv, csv->row_line, 0, "over %u fields in one row", WIRE_CSV_FIELDS_MAX);
        return;
    }
    if (csv->n == csv->capacity) {
        uint32_t more = csv->capacity ? 2 * csv->capacity : 32;
        if (!fis_grow(&csv->row, csv->n, more, sizeof *csv->row)) {
            fis_fail(&csv->error, FIS_NOMEM, "no memory for a row of CSV");
            return;
        }
        csv->capacity = more;
    }
    csv->row[csv->n++].length = csv->text.length - csv->field_start;
    csv->field_start = csv->text.length;
    csv->place = FIELD_START;
}

static void end_row(struct wire_csv *csv)
{
    end_field(csv);
    csv->place = ROW_START;
    csv->row_done = true;
}

static void refuse_after_quote(struct wire_csv *csv, char c)
{
    for (size_t i = 0; !csv->width && i < DELIMITERS; i++)
        if (c == delimiters[i].character)
            refuse(csv, csv->line, csv->n + 1,
                   "%s after a closing quote: use --delimiter %s / csv.delimiter: %s",
                   delimiters[i].shown, delimiters[i].name, delimiters[i].name);
    refuse(csv, csv->line, csv->n + 1, "text after a closing quote");
}

static void take_quote(struct wire_csv *csv)
{
    if (csv->place == QUOTED) {
        csv->place = CLOSED;
        csv->spaced = false;
    } else if (csv->place == CLOSED && !csv->spaced) {
        csv->place = QUOTED;
        append(csv, "\"", 1);
    } else if (csv->place == CLOSED) {
        refuse_after_quote(csv, '"');
    } else if (csv->place == PLAIN) {
        refuse(csv, csv->line, csv->n + 1, "a quote inside a field that has none around it");
    } else {
        csv->place = QUOTED;
        csv->quote_line = csv->line;
    }
}

static void count_delimiter(struct wire_csv *csv, char c)
{
    for (size_t i = 0; i < DELIMITERS; i++)
        csv->in_header[i] += c == delimiters[i].character;
}

/* One byte outside quotes, and no quote. */
static void take_outside(struct wire_csv *csv, char c)
{
    if (!csv->width)
        count_delimiter(csv, c);
    if (c == '\n' || c == '\r') {
        if (csv->place != ROW_START)
            end_row(csv);
        else
            memset(csv->in_header, 0, sizeof csv->in_header); /* a blank line */
    } else if (c == csv->delimiter) {
        end_field(csv);
    } else if (csv->place == CLOSED) {
        csv->spaced = true;
        if (!is_space(csv, c))
            refuse_after_quote(csv, c);
    } else if (csv->place == PLAIN || !is_space(csv, c)) {
        csv->place = PLAIN;
        append(csv, &c, 1);
    }
}

static void take_byte(struct wire_csv *csv, char c)
{
    if (csv->place == ROW_START)
        csv->row_line = csv->line;
    if (c == '"')
        take_quote(csv);
    else if (csv->place == QUOTED)
        append(csv, &c, 1);
    else
        take_outside(csv, c);
    /* The LF of a CRLF ends the line that the CR has ended already. */
    csv->line += c == '\r' || (c == '\n' && !csv->after_cr);
    csv->after_cr = c == '\r';
}

/* How many bytes from here on belong to the field whatever they are followed by. */
static size_t run_length(const struct wire_csv *csv)
{
    char delimiter = csv->place == QUOTED ? '"' : csv->delimiter;
    size_t n = 0;
    if (!csv->width || (csv->place != PLAIN && csv->place != QUOTED))
        return 0;
    for (; n < csv->left; n++) {
        char c = csv->data[n];
        if (c == '"' || c == '\n' || c == '\r' || c == delimiter)
            break;
    }
    return n;
}

/* Up to the end of a row at the most. */
static void take_bytes(struct wire_csv *csv)
{
    while (csv->left && !csv->row_done && !csv->error.kind) {
        size_t n = run_length(csv);
        if (n) {
            append(csv, csv->data, n);
            csv->after_cr = false;
        } else {
            take_byte(csv, csv->data[n++]);
        }
        csv->data += n;
        csv->left -= n;
    }
}

/* Takes the byte order mark, which may come in pieces; gives back what only looked like one. */
static void skip_mark(struct wire_csv *csv)
{
    while (csv->left && csv->mark_seen < sizeof mark && csv->data[0] == mark[csv->mark_seen]) {
        csv->mark_seen++;
        csv->data++;
        csv->left--;
    }
    if (csv->mark_seen < sizeof mark && csv->left == 0 && !csv->ended)
        return;
    csv->marked = true;
    for (uint32_t i = 0; csv->mark_seen < sizeof mark && i < csv->mark_seen; i++)
        take_byte(csv, mark[i]);
}

static void finish(struct wire_csv *csv)
{
    csv->finished = true;
    if (csv->place == QUOTED)
        refuse(csv, csv->quote_line, csv->n + 1, "quote opened and not closed");
    else if (csv->place != ROW_START)
        end_row(csv);
    else if (!csv->width)
        fis_fail(&csv->error, FIS_INPUT, "no header: nothing but white space in it");
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int same_bytes(const void *a, const void *b)
{
    const struct wire_bytes *x = a, *y = b;
    int c = memcmp(x->data, y->data, x->length < y->length ? x->length : y->length);
    return c ? c : (x->length > y->length) - (x->length < y->length);
}

/* A header of one column that another delimiter makes several of. */
static void check_delimiter(struct wire_csv *csv)
{
    size_t own = 0, best = 0;
    for (size_t i = 0; i < DELIMITERS; i++) {
        if (delimiters[i].character == csv->delimiter)
            own = i;
        if (csv->in_header[i] > csv->in_header[best])
            best = i;
    }
    if (csv->n == 1 && csv->in_header[best])
        refuse(csv, csv->row_line, 0,
               "the header has 1 column with %s and %u with %s: use --delimiter %s / "
               "csv.delimiter: %s",
               delimiters[own].shown, csv->in_header[best] + 1, delimiters[best].shown,
               delimiters[best].name, delimiters[best].name);
}

static void check_header(struct wire_csv *csv)
{
    uint64_t line = csv->row_line;
    check_delimiter(csv);
    struct wire_bytes *sorted = fis_calloc(csv->n, sizeof *sorted);
    if (!sorted) {
        fis_fail(&csv->error, FIS_NOMEM, "no memory for a header of %u columns", csv->n);
        return;
    }
    for (uint32_t i = 0; i < csv->n && !csv->error.kind; i++) {
        struct wire_bytes f = csv->row[i];
        if (f.length == 0 && (i > 0 || csv->n == 1))
            refuse(csv, line, 0, "column %u of the header has no name", i + 1);
        else if (utf8_prefix(f.data, f.length) < f.length || memchr(f.data, 0, f.length))
            refuse(csv, line, 0, "the name of column %u is not UTF-8 text; is the file UTF-8?",
                   i + 1);
        sorted[i] = f;
    }
    if (!csv->error.kind)
        qsort(sorted, csv->n, sizeof *sorted, same_bytes);
    for (uint32_t i = 1; i < csv->n && !csv->error.kind; i++)
        if (same_bytes(&sorted[i - 1], &sorted[i]) == 0)
            refuse(csv, line, 0, "two columns are named \"%.*s\"",
                   (int)(sorted[i].length < 80 ? sorted[i].length : 80),
                   (const char *)sorted[i].data);
    fis_free(sorted);
    csv->width = csv->n;
}

static void take_row(struct wire_csv *csv, struct wire_csv_row *row)
{
    const char *text = csv->text.length ? (const char *)csv->text.data : "";
    for (uint32_t i = 0; i < csv->n; i++) {
        csv->row[i].data = text;
        text += csv->row[i].length;
    }
    if (!csv->width)
        check_header(csv);
    else if (csv->n != csv->width)
        refuse(csv, csv->row_line, 0, "%s, but the header has %u", DECIMAL_COUNT(csv->n, "field"),
               csv->width);
    *row = (struct wire_csv_row){.fields = csv->row, .n = csv->n, .line = csv->row_line};
    csv->row_done = false;
    csv->n = 0;
    csv->text.length = csv->field_start = 0;
}

int wire_csv_next(struct wire_csv *csv, struct wire_csv_row *row, struct fis_error *e)
{
    while (!csv->error.kind && !csv->row_done)
        if (!csv->marked && (csv->left || csv->ended))
            skip_mark(csv);
        else if (csv->left)
            take_bytes(csv);
        else if (csv->ended && !csv->finished)
            finish(csv);
        else
            return 0;
    struct wire_csv_row found;
    if (!csv->error.kind)
        take_row(csv, &found);
    if (csv->error.kind) {
        if (e)
            *e = csv->error;
        return -(int)csv->error.kind;
    }
    *row = found;
    return 1;
}

uint64_t wire_csv_error_line(const struct wire_csv *csv)
{
    return csv->error_line;
}

void wire_csv_put(FILE *f, const char *text, size_t length)
{
    bool quoted = length && (text[0] == ' ' || text[length - 1] == ' ');
    for (size_t i = 0; i < length && !quoted; i++)
        quoted = strchr(",;|\t\"\r\n", text[i]) != NULL;
    if (!quoted) {
        fwrite(text, 1, length, f);
        return;
    }
    putc('"', f);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"')
            putc('"', f);
        putc(text[i], f);
    }
    putc('"', f);
}
