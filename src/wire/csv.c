#include "wire/csv.h"

#include <assert.h>
#include <csv.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fis/mem.h"
#include "wire/utf8.h"

/* csv_parser.pstate, for which csv.h has no names. */
enum { ROW_NOT_BEGUN = 0, FIELD_BEGUN = 2, FIELD_MIGHT_HAVE_ENDED = 3 };

static const unsigned char mark[3] = {0xef, 0xbb, 0xbf};

struct field {
    size_t start, length; /* in text: the buffer moves when it grows */
};

struct wire_csv {
    struct csv_parser parser;
    const unsigned char *data; /* what was fed and not yet read */
    size_t left;
    int ended, finished, marked, after_cr, row_done;
    uint32_t mark_seen;
    uint64_t line, row_line, quote_line;
    struct wire_buffer text;
    struct field *fields;
    struct wire_bytes *row;
    uint32_t n, capacity, width; /* width: of the header; 0 before it */
    uint64_t error_line;
    struct fis_error error; /* FIS_OK until something was refused; final */
};

/* libcsv asks for a larger block without saying how large the old one was: kept in front. */
#define BLOCK_HEAD 64

static void *block_grow(void *old, size_t size)
{
    if (size > WIRE_CSV_FIELD_MAX)
        return NULL;
    unsigned char *p = fis_alloc(size + BLOCK_HEAD, 1);
    if (!p)
        return NULL;
    memcpy(p, &size, sizeof size);
    if (old) {
        unsigned char *before = (unsigned char *)old - BLOCK_HEAD;
        size_t had;
        memcpy(&had, before, sizeof had);
        memcpy(p + BLOCK_HEAD, old, had < size ? had : size);
        fis_free(before);
    }
    return p + BLOCK_HEAD;
}

static void block_free(void *p)
{
    if (p)
        fis_free((unsigned char *)p - BLOCK_HEAD);
}

struct wire_csv *wire_csv_new(char delimiter, struct fis_error *e)
{
    if (!delimiter || !strchr(",\t;|", delimiter)) {
        fis_fail(e, FIS_INPUT, "delimiter '%c': comma, tab, semicolon or bar allowed",
                 delimiter ? delimiter : '0');
        return NULL;
    }
    struct wire_csv *csv = fis_calloc(1, sizeof *csv);
    if (!csv) {
        fis_fail(e, FIS_NOMEM, "no memory to read CSV");
        return NULL;
    }
    csv_init(&csv->parser, CSV_STRICT);
    csv_set_delim(&csv->parser, (unsigned char)delimiter);
    csv_set_realloc_func(&csv->parser, block_grow);
    csv_set_free_func(&csv->parser, block_free);
    csv_set_blk_size(&csv->parser, 16384);
    csv->line = csv->row_line = 1;
    return csv;
}

void wire_csv_free(struct wire_csv *csv)
{
    if (!csv)
        return;
    csv_free(&csv->parser);
    wire_buffer_done(&csv->text);
    fis_free(csv->fields);
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
    csv->ended = 1;
}

/* "line N: …"; what was refused first stays. */
FIS_PRINTF(3, 4)
static void refuse(struct wire_csv *csv, uint64_t line, const char *format, ...)
{
    char text[FIS_ERROR_TEXT];
    va_list ap;
    if (csv->error.kind)
        return;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    fis_fail(&csv->error, FIS_INPUT, "line %" PRIu64 ": %.*s", line, FIS_ERROR_TEXT - 32, text);
    csv->error_line = line;
}

static int grow_fields(struct wire_csv *csv)
{
    uint32_t more = csv->capacity ? 2 * csv->capacity : 32;
    struct field *fields = fis_grow(csv->fields, csv->n, more, sizeof *fields);
    if (!fields)
        return -1;
    csv->fields = fields;
    struct wire_bytes *row = fis_grow(csv->row, csv->n, more, sizeof *row);
    if (!row)
        return -1;
    csv->row = row;
    csv->capacity = more;
    return 0;
}

static void on_field(void *text, size_t length, void *arg)
{
    struct wire_csv *csv = arg;
    if (csv->error.kind)
        return;
    if (csv->n == WIRE_CSV_FIELDS_MAX || length > WIRE_CSV_ROW_MAX - csv->text.length)
        refuse(csv, csv->row_line, "over %u fields or %zu bytes in one row", WIRE_CSV_FIELDS_MAX,
               WIRE_CSV_ROW_MAX);
    else if (csv->n == csv->capacity && grow_fields(csv))
        fis_fail(&csv->error, FIS_NOMEM, "no memory for a row of CSV");
    else if (wire_buffer_append(&csv->text, text ? text : "", length, &csv->error) == 0) {
        csv->fields[csv->n].start = csv->text.length - length;
        csv->fields[csv->n++].length = length;
    }
}

static void on_row(int terminator, void *arg)
{
    (void)terminator;
    ((struct wire_csv *)arg)->row_done = 1;
}

static int in_quotes(const struct wire_csv *csv)
{
    return csv->parser.quoted &&
           (csv->parser.pstate == FIELD_BEGUN || csv->parser.pstate == FIELD_MIGHT_HAVE_ENDED);
}

static void refuse_piece(struct wire_csv *csv, unsigned char at)
{
    int code = csv_error(&csv->parser);
    if (code == CSV_EPARSE && at == CSV_QUOTE && !csv->parser.quoted)
        refuse(csv, csv->line, "a quote inside a field that has none around it");
    else if (code == CSV_EPARSE)
        refuse(csv, csv->line, "text after a closing quote");
    else if (csv->parser.entry_pos + csv->parser.blk_size <= WIRE_CSV_FIELD_MAX)
        fis_fail(&csv->error, FIS_NOMEM, "no memory for a field of CSV");
    else if (csv->parser.quoted)
        refuse(csv, csv->quote_line,
               "quote opened and not closed within %zu bytes, the most a field may have",
               WIRE_CSV_FIELD_MAX);
    else
        refuse(csv, csv->line, "a field of more than %zu bytes", WIRE_CSV_FIELD_MAX);
}

/* Bytes with no line end but for the last: at most one row ends in them, on one line. */
static void parse_piece(struct wire_csv *csv, const unsigned char *piece, size_t length)
{
    int was_quoted = in_quotes(csv);
    uint32_t had = csv->n;
    if (csv->parser.pstate == ROW_NOT_BEGUN)
        csv->row_line = csv->line;
    /* If the field fails midway, the quote it is in opened here, unless it was open before. */
    uint64_t before = csv->quote_line;
    csv->quote_line = csv->line;
    size_t done = csv_parse(&csv->parser, piece, length, on_field, on_row, csv);
    if (was_quoted && csv->n == had && !csv->row_done)
        csv->quote_line = before;
    if (done < length && !csv->error.kind)
        refuse_piece(csv, piece[done]);
}

static void next_piece(struct wire_csv *csv)
{
    size_t n = 0;
    while (n < csv->left && csv->data[n] != '\n' && csv->data[n] != '\r')
        n++;
    int ends = n < csv->left;
    unsigned char last = ends ? csv->data[n] : 0;
    n += (size_t)ends;
    /* The LF of a CRLF ends the line that the CR has ended already. */
    int second = csv->after_cr && n == 1 && last == '\n';
    if (second)
        csv->line--;
    parse_piece(csv, csv->data, n);
    if (ends)
        csv->line++;
    csv->after_cr = last == '\r';
    csv->data += n;
    csv->left -= n;
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
    csv->marked = 1;
    if (csv->mark_seen && csv->mark_seen < sizeof mark)
        parse_piece(csv, mark, csv->mark_seen);
}

static void finish(struct wire_csv *csv)
{
    csv->finished = 1;
    if (csv->parser.quoted && csv->parser.pstate == FIELD_BEGUN) {
        refuse(csv, csv->quote_line, "quote opened and not closed");
        return;
    }
    if (csv_fini(&csv->parser, on_field, on_row, csv) && !csv->error.kind)
        refuse(csv, csv->row_line, "the last row is not whole");
    if (!csv->width && !csv->row_done && !csv->error.kind)
        fis_fail(&csv->error, FIS_INPUT, "no header: nothing but white space in it");
}

static int same_bytes(const void *a, const void *b)
{
    const struct wire_bytes *x = a, *y = b;
    int c = memcmp(x->data, y->data, x->length < y->length ? x->length : y->length);
    return c ? c : (x->length > y->length) - (x->length < y->length);
}

static void check_header(struct wire_csv *csv)
{
    uint64_t line = csv->row_line;
    struct wire_bytes *sorted = fis_calloc(csv->n, sizeof *sorted);
    if (!sorted) {
        fis_fail(&csv->error, FIS_NOMEM, "no memory for a header of %u columns", csv->n);
        return;
    }
    for (uint32_t i = 0; i < csv->n && !csv->error.kind; i++) {
        struct wire_bytes f = csv->row[i];
        if (f.length == 0)
            refuse(csv, line, "column %u of the header has no name", i + 1);
        else if (wire_utf8_prefix(f.data, f.length) < f.length || memchr(f.data, 0, f.length))
            refuse(csv, line, "the name of column %u is not UTF-8 text; is the file UTF-8?", i + 1);
        sorted[i] = f;
    }
    if (!csv->error.kind)
        qsort(sorted, csv->n, sizeof *sorted, same_bytes);
    for (uint32_t i = 1; i < csv->n && !csv->error.kind; i++)
        if (same_bytes(&sorted[i - 1], &sorted[i]) == 0)
            refuse(csv, line, "two columns are named \"%.*s\"",
                   (int)(sorted[i].length < 80 ? sorted[i].length : 80),
                   (const char *)sorted[i].data);
    fis_free(sorted);
    csv->width = csv->n;
}

static void take_row(struct wire_csv *csv, struct wire_csv_row *row)
{
    for (uint32_t i = 0; i < csv->n; i++)
        csv->row[i] = (struct wire_bytes){
            csv->text.length ? (const char *)csv->text.data + csv->fields[i].start : "",
            csv->fields[i].length};
    if (!csv->width)
        check_header(csv);
    else if (csv->n != csv->width)
        refuse(csv, csv->row_line, "%u fields, %u wanted", csv->n, csv->width);
    *row = (struct wire_csv_row){.fields = csv->row, .n = csv->n, .line = csv->row_line};
    csv->row_done = 0;
    csv->n = 0;
    csv->text.length = 0;
}

int wire_csv_next(struct wire_csv *csv, struct wire_csv_row *row, struct fis_error *e)
{
    while (!csv->error.kind && !csv->row_done) {
        if (!csv->marked && (csv->left || csv->ended))
            skip_mark(csv);
        else if (csv->left)
            next_piece(csv);
        else if (csv->ended && !csv->finished)
            finish(csv);
        else
            return 0;
    }
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

int wire_csv_number(const char *text, size_t length, double *number)
{
    char copy[512];
    if (length == 0 || length >= sizeof copy)
        return -1;
    size_t i = text[0] == '-' || text[0] == '+', digits = 0;
    for (; i < length && text[i] >= '0' && text[i] <= '9'; i++)
        digits++;
    if (i < length && text[i] == '.')
        for (i++; i < length && text[i] >= '0' && text[i] <= '9'; i++)
            digits++;
    if (digits && i < length && (text[i] == 'e' || text[i] == 'E')) {
        i++;
        if (i < length && (text[i] == '-' || text[i] == '+'))
            i++;
        if (i == length)
            return -1;
        while (i < length && text[i] >= '0' && text[i] <= '9')
            i++;
    }
    if (!digits || i != length)
        return -1;
    memcpy(copy, text, length);
    copy[length] = 0;
    double v = strtod(copy, NULL);
    /* Beyond a double strtod gives infinity. */
    if (!(v - v == 0.0))
        return -1;
    *number = v;
    return 0;
}
