#include <stdio.h>
#include <string.h>

#include "rows_impl.h"
#include "wire/record_image.h"
#include "base/category.h"
#include "base/decimal.h"
#include "base/likeness.h"
#include "base/utf8.h"
#include "wire/json_put.h"

int data_csv_next(struct data_rows *r, struct wire_csv_row *row, struct fis_error *e)
{
    int rc;
    while ((rc = wire_csv_next(r->csv, row, e)) == 0 && !r->at_end) {
        size_t n;
        rc = data_rows_fill(r, &n, e);
        if (rc)
            return data_rows_refuse(r, 0, e);
        if (n)
            wire_csv_feed(r->csv, r->chunk, n);
        else
            wire_csv_end(r->csv);
    }
    if (rc > 0)
        r->line = row->line;
    if (rc < 0) {
        /* Its text has the line already. */
        data_rows_refuse(r, 0, e);
        r->error_line = wire_csv_error_line(r->csv);
    }
    return rc;
}

bool data_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at && *at;) {
        size_t n = strcspn(at, ",");
        if (n == length && memcmp(at, name, n) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

static bool is_used(const struct data_options *o, const char *name)
{
    for (uint32_t c = 0; c < o->n_columns; c++)
        if (strcmp(o->columns[c].name, name) == 0)
            return true;
    return false;
}

static int keep_header(struct data_rows *r, const struct wire_csv_row *row)
{
    const struct data_options *o = r->options;
    const char *unnamed = o->how.unnamed ? o->how.unnamed : DATA_UNNAMED;
    r->names = fis_calloc(row->n, sizeof *r->names);
    r->numeric = fis_calloc(row->n, sizeof *r->numeric);
    r->dropped = fis_calloc(row->n, sizeof *r->dropped);
    if (!r->names || !r->numeric || !r->dropped)
        return -1;
    for (uint32_t i = 0; i < row->n; i++, r->n_names++) {
        struct wire_bytes name = row->fields[i];
        r->names[i] = name.length ? fis_memdup(name.data, name.length) : fis_strdup(unnamed);
        if (!r->names[i])
            return -1;
        bool index = strcmp(r->names[i], unnamed) == 0;
        r->dropped[i] =
            data_listed(o->leave_out, r->names[i]) || (index && !is_used(o, r->names[i]));
    }
    return 0;
}

static const char *nearest(const char *name, const char *const *names, uint32_t n)
{
    size_t least = likeness_limit(name);
    const char *best = NULL;
    for (uint32_t i = 0; i < n; i++) {
        size_t edits = likeness_edits(name, names[i]);
        best = edits < least ? names[i] : best;
        least = edits < least ? edits : least;
    }
    return best;
}

int data_no_column(const char *name, const char *const *names, uint32_t n, struct fis_error *e)
{
    static const char others[] = ",;|\t";
    static const char *const called[] = {"comma", "semicolon", "pipe", "tab"};
    char found[200] = "", hint[64] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < 4; k++)
            if (strchr(names[i], others[k]))
                snprintf(hint, sizeof hint, "; or use --delimiter %s / csv.delimiter: %s",
                         called[k], called[k]);
    for (uint32_t i = 0; i < n; i++) {
        size_t left = sizeof found - used;
        int k = snprintf(found + used, left, "%s%s", i ? ", " : "", names[i]);
        if (k < 0 || (size_t)k + 6 > left) {
            snprintf(found + used, left, "%s", i ? ", …" : "…");
            break;
        }
        used += (size_t)k;
    }
    const char *like = nearest(name, names, n);
    return fis_fail(e, FIS_INPUT, "no column '%s' in the header (found: %s)%s%s%s%s", name, found,
                    like ? "; did you mean '" : "", like ? like : "", like ? "'?" : "", hint);
}

/* All that are absent, in one text. */
static int refuse_absent(struct data_rows *r, const char *names, struct fis_error *e)
{
    int rc = data_no_column(names, (const char *const *)r->names, r->n_names, e);
    return rc ? data_rows_refuse(r, r->line, e) : 0;
}

/* The first of an image's numbers that the header has; NULL: none. */
static const char *numbered(const struct data_rows *r)
{
    for (uint32_t c = 0; c < data_image_numbers(r); c++)
        if (r->place[c] != ROWS_NO_COLUMN)
            return r->options->columns[c].name;
    return NULL;
}

/* Neither an image nor one of its numbers: what is missing is the image. */
static bool image_absent(const struct data_rows *r)
{
    return data_image_numbers(r) && !r->options->columns[0].optional && !r->pictured &&
           !numbered(r);
}

static int refuse_both(struct data_rows *r, struct fis_error *e)
{
    fis_fail(e, FIS_INPUT, "columns " WIRE_IMAGE " and %s: one of them expected", numbered(r));
    return data_rows_refuse(r, r->line, e);
}

int data_csv_open(struct data_rows *r, struct fis_error *e)
{
    struct wire_csv_row row;
    int rc = data_csv_next(r, &row, e);
    if (rc < 0)
        return rc;
    if (keep_header(r, &row)) {
        fis_fail(e, FIS_NOMEM, "no memory for a header of %u columns", row.n);
        return data_rows_refuse(r, 0, e);
    }
    char absent[120] = "";
    const struct wire_schema *images = r->options->images;
    for (uint32_t i = 0; images && images->image.height && i < r->n_names; i++)
        if (!strcmp(r->names[i], WIRE_IMAGE))
            r->image_column = i;
    r->pictured = r->image_column != ROWS_NO_COLUMN;
    for (uint32_t c = 0; c < r->options->n_columns; c++) {
        const struct data_column *column = &r->options->columns[c];
        uint32_t i = 0;
        while (i < r->n_names && strcmp(r->names[i], column->name) != 0)
            i++;
        size_t used = strlen(absent);
        if (i == r->n_names && !column->optional && c >= data_image_columns(r))
            snprintf(absent + used, sizeof absent - used, "%s%.60s", used ? "', '" : "",
                     column->name);
        r->place[c] = i < r->n_names ? i : ROWS_NO_COLUMN;
        if (i < r->n_names && column->cell == DATA_NUMBER)
            r->numeric[i] = 1;
    }
    return image_absent(r)              ? refuse_absent(r, WIRE_IMAGE, e)
           : absent[0]                  ? refuse_absent(r, absent, e)
           : r->pictured && numbered(r) ? refuse_both(r, e)
                                        : 0;
}

static int check_text(const char *column, const char *text, size_t length, struct fis_error *e)
{
    size_t valid = utf8_prefix(text, length);
    if (valid < length)
        return fis_fail(e, FIS_INPUT, "column %s: not UTF-8 at byte %zu of the cell", column,
                        valid);
    if (memchr(text, 0, length))
        return fis_fail(e, FIS_INPUT, "column %s: a NUL byte in the cell", column);
    return 0;
}

static int read_cell(const struct data_column *column, struct wire_bytes cell,
                     struct fis_value *value, struct fis_error *e)
{
    const char *text = cell.data;
    size_t length = cell.length;
    *value = (struct fis_value){.kind = FIS_VALUE_MISSING};
    category_trim(&text, &length);
    if (length == 0)
        return 0;
    int rc = check_text(column->name, cell.data, cell.length, e);
    if (rc)
        return rc;
    *value = (struct fis_value){.kind = FIS_VALUE_TEXT, .text = cell.data, .length = cell.length};
    if (column->cell != DATA_NUMBER)
        return 0;
    if (decimal_read(cell.data, cell.length, &value->number) == 0)
        value->kind = FIS_VALUE_NUMBER;
    if (value->kind == FIS_VALUE_NUMBER || column->any)
        return 0;
    if (column->secret)
        return fis_fail(e, FIS_INPUT, "column %s: a decimal number expected", column->name);
    size_t shown = utf8_prefix(cell.data, cell.length < 40 ? cell.length : 40);
    return fis_fail(e, FIS_INPUT, "column %s: a decimal number expected, \"%.*s%s\" found",
                    column->name, (int)shown, (const char *)cell.data,
                    shown < cell.length ? "…" : "");
}

int data_csv_values(struct data_rows *r, const struct wire_csv_row *row, struct fis_value *values,
                    struct fis_error *e)
{
    for (uint32_t c = data_image_columns(r); c < r->options->n_columns; c++) {
        struct wire_bytes cell = {"", 0};
        if (r->place[c] != ROWS_NO_COLUMN)
            cell = row->fields[r->place[c]];
        int rc = read_cell(&r->options->columns[c], cell, &values[c], e);
        if (rc)
            return rc;
    }
    if (!r->pictured)
        return 0;
    struct wire_bytes image = row->fields[r->image_column];
    return data_image_read(r, image.data, image.length, e);
}

int data_csv_cells(struct data_rows *r, const struct wire_csv_row *row, data_cell_fn *cell,
                   void *ctx, struct fis_error *e)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < row->n; i++) {
        struct data_column column = {.name = r->names[i], .cell = DATA_STRING};
        struct fis_value value = {.kind = FIS_VALUE_MISSING};
        if (!r->dropped[i])
            rc = read_cell(&column, row->fields[i], &value, e);
        if (!rc && value.kind != FIS_VALUE_MISSING)
            rc = cell(ctx, r->names[i], &value, e);
    }
    return rc;
}

/* Whether a decimal number is spelt as JSON spells numbers: no plus, no leading zero, digits on
 * both sides of the point. */
static bool is_json_number(const char *text, size_t length)
{
    size_t i = length && text[0] == '-';
    if (i == length || text[i] < '0' || text[i] > '9')
        return 0;
    if (text[i] == '0' && i + 1 < length && text[i + 1] >= '0' && text[i + 1] <= '9')
        return 0;
    for (; i + 1 < length; i++)
        if (text[i] == '.' && (text[i + 1] < '0' || text[i + 1] > '9'))
            return 0;
    return text[length - 1] != '.';
}

static void put_cell(struct wire_json_put *p, struct data_rows *r, uint32_t i,
                     struct wire_bytes cell)
{
    double number;
    if (!p->rc)
        p->rc = check_text(r->names[i], cell.data, cell.length, p->e);
    if (!p->rc && i == r->image_column)
        p->rc = data_image_text(r, &cell, p->e);
    if (!r->numeric[i] || decimal_read(cell.data, cell.length, &number))
        wire_put_bytes(p, r->names[i], cell.data, cell.length);
    else if (is_json_number(cell.data, cell.length))
        wire_put_json(p, r->names[i], cell.data, cell.length);
    else
        wire_put_number(p, r->names[i], number, 0);
}

int data_csv_object(struct data_rows *r, const struct wire_csv_row *row, struct byte_buffer *out,
                    struct fis_error *e)
{
    struct wire_json_put p = wire_put(out, e);
    wire_put_open(&p, NULL, '{');
    for (uint32_t i = 0; i < row->n; i++)
        if (row->fields[i].length && !r->dropped[i])
            put_cell(&p, r, i, row->fields[i]);
    wire_put_close(&p, '}');
    return wire_put_done(&p);
}
