#include "data/rows.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "rows_impl.h"

int data_rows_refuse(struct data_rows *r, uint64_t line, struct fis_error *e)
{
    if (line)
        fis_error_prefix(e, "%s: line %" PRIu64, r->path, line);
    else
        fis_error_prefix(e, "%s", r->path);
    r->error = *e;
    r->error_line = line;
    return -(int)e->kind;
}

/* A line ends in LF, CRLF or CR. */
static void count_lines(struct data_rows *r, const unsigned char *bytes, size_t n)
{
    unsigned char last = r->last_byte;
    for (size_t i = 0; i < n; i++) {
        r->lines_read += bytes[i] == '\n' ? last != '\r' : bytes[i] == '\r';
        last = bytes[i];
    }
    r->last_byte = last;
}

int data_rows_fill(struct data_rows *r, size_t *length, struct fis_error *e)
{
    int rc = data_file_read(r->file, r->chunk, ROWS_CHUNK, length, e);
    if (rc)
        return rc;
    count_lines(r, r->chunk, *length);
    r->at_end = *length == 0;
    return 0;
}

int data_format_of(const char *name, enum data_format *out, struct fis_error *e)
{
    static const char *const names[] = {"csv", "tsv", "jsonl"};
    static const enum data_format all[] = {DATA_CSV, DATA_TSV, DATA_JSON_LINES};
    *out = DATA_BY_NAME;
    for (int i = 0; name && i < 3; i++)
        if (!strcmp(name, names[i])) {
            *out = all[i];
            return 0;
        }
    return name ? fis_fail(e, FIS_INPUT, "found '%s', allowed csv, tsv, jsonl", name) : 0;
}

static int choose_format(const char *path, enum data_format *format, struct fis_error *e)
{
    static const struct {
        const char *end;
        enum data_format format;
    } known[] = {{".csv", DATA_CSV},
                 {".tsv", DATA_TSV},
                 {".jsonl", DATA_JSON_LINES},
                 {".ndjson", DATA_JSON_LINES},
                 {".json", DATA_JSON_LINES}};
    size_t length = strlen(path);
    if (length > 3 && strcasecmp(path + length - 3, ".gz") == 0)
        length -= 3;
    for (size_t i = 0; *format == DATA_BY_NAME && i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i].end);
        if (length > n && strncasecmp(path + length - n, known[i].end, n) == 0)
            *format = known[i].format;
    }
    if (*format == DATA_BY_NAME)
        return fis_fail(e, FIS_INPUT,
                        "%s: CSV or JSON lines? A name that ends in .csv, .tsv, .jsonl, .ndjson or "
                        ".json (and .gz) says so, and fisctl's --format",
                        path);
    return 0;
}

static int open_file(struct data_rows *r, enum data_format format, struct fis_error *e)
{
    const struct data_options *o = r->options;
    r->file = data_file_open(r->path, o->regular, e);
    if (!r->file)
        return data_rows_refuse(r, 0, e);
    r->is_json = format == DATA_JSON_LINES;
    if (r->is_json)
        return 0;
    char delimiter = o->how.standard_delimiter ? o->how.standard_delimiter : ',';
    if (format == DATA_TSV)
        delimiter = '\t';
    r->image_column = ROWS_NO_COLUMN;
    r->csv = wire_csv_new(o->how.delimiter ? o->how.delimiter : delimiter, e);
    return r->csv ? data_csv_open(r, e) : -(int)FIS_NOMEM;
}

struct data_rows *data_rows_open(const char *path, const struct data_options *options,
                                 struct fis_error *e)
{
    struct fis_error local;
    e = e ? e : &local;
    enum data_format format = options->how.format;
    if (choose_format(path, &format, e))
        return NULL;
    size_t n = options->n_columns ? options->n_columns : 1;
    struct data_rows *r = fis_calloc(1, sizeof *r);
    if (r) {
        r->options = options;
        r->path = fis_strdup(path);
        r->chunk = fis_alloc(ROWS_CHUNK, 1);
        r->place = fis_calloc(n, sizeof *r->place);
        r->seen = fis_calloc(n, sizeof *r->seen);
    }
    if (!r || !r->path || !r->chunk || !r->place || !r->seen)
        fis_fail(e, FIS_NOMEM, "%s: no memory to read it", path);
    else if (open_file(r, format, e) == 0)
        return r;
    data_rows_close(r);
    return NULL;
}

void data_rows_close(struct data_rows *r)
{
    if (!r)
        return;
    data_file_close(r->file);
    wire_csv_free(r->csv);
    for (uint32_t i = 0; i < r->n_names; i++)
        fis_free(r->names[i]);
    fis_free(r->names);
    fis_free(r->numeric);
    fis_free(r->dropped);
    fis_free(r->place);
    fis_free(r->seen);
    fis_free(r->chunk);
    fis_free(r->path);
    byte_buffer_done(&r->text);
    byte_buffer_done(&r->image);
    byte_buffer_done(&r->base64);
    json_decref(r->object);
    fis_free(r);
}

/* The next row, as it stands: 1, 0 at the end; what was wrong for good stays so. */
static int read_next(struct data_rows *r, struct wire_csv_row *row, struct fis_error *e)
{
    if (r->error.kind) {
        *e = r->error;
        return -(int)r->error.kind;
    }
    return r->is_json ? data_json_next(r, e) : data_csv_next(r, row, e);
}

int data_rows_next(struct data_rows *r, struct fis_value *values, struct fis_error *e)
{
    struct fis_error local;
    struct wire_csv_row row;
    e = e ? e : &local;
    int rc = read_next(r, &row, e);
    if (rc == 0 && r->is_json)
        return data_json_check_seen(r, e) ? data_rows_refuse(r, 0, e) : 0;
    if (rc <= 0)
        return rc;
    rc = r->is_json ? data_json_values(r, values, e) : data_csv_values(r, &row, values, e);
    if (!rc && r->pictured)
        rc = data_image_values(r, values, e);
    if (rc)
        return data_rows_refuse(r, r->line, e);
    r->count++;
    return 1;
}

int data_rows_next_json(struct data_rows *r, struct byte_buffer *out, struct fis_error *e)
{
    struct fis_error local;
    struct wire_csv_row row;
    size_t before = out->length;
    e = e ? e : &local;
    int rc = read_next(r, &row, e);
    if (rc <= 0)
        return rc;
    if (r->is_json) {
        struct wire_bytes text =
            wire_json_skip_mark((struct wire_bytes){r->text.data, r->text.length});
        const json_t *image = data_image_member(r);
        rc = image ? data_image_object(r, text, image, out, e)
                   : byte_buffer_append(out, text.data, text.length, e);
    } else {
        rc = data_csv_object(r, &row, out, e);
    }
    if (rc) {
        out->length = before;
        return data_rows_refuse(r, r->line, e);
    }
    r->count++;
    return 1;
}

int data_rows_next_cells(struct data_rows *r, data_cell_fn *cell, void *ctx, struct fis_error *e)
{
    struct fis_error local;
    struct wire_csv_row row;
    e = e ? e : &local;
    int rc = read_next(r, &row, e);
    if (rc <= 0)
        return rc;
    rc = r->is_json ? data_json_cells(r->object, (struct wire_bytes){r->text.data, r->text.length},
                                      cell, ctx, e)
                    : data_csv_cells(r, &row, cell, ctx, e);
    if (rc)
        return data_rows_refuse(r, r->line, e);
    r->count++;
    return 1;
}

uint64_t data_rows_line(const struct data_rows *r)
{
    return r->line;
}

uint64_t data_rows_count(const struct data_rows *r)
{
    return r->count;
}

uint64_t data_rows_unread(struct data_rows *r)
{
    size_t n;
    struct fis_error e;
    while (!r->at_end)
        if (data_rows_fill(r, &n, &e))
            break;
    /* A last line without an end is a line. */
    uint64_t lines = r->lines_read + (r->last_byte && r->last_byte != '\n' && r->last_byte != '\r');
    return r->error_line && lines >= r->error_line ? lines - r->error_line + 1 : 0;
}

const char *const *data_rows_names(const struct data_rows *r, uint32_t *n)
{
    *n = r->n_names;
    return (const char *const *)r->names;
}

bool data_rows_dropped(const struct data_rows *r, uint32_t column)
{
    return r->dropped[column] != 0;
}
