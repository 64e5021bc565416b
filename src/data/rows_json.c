#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rows_impl.h"

#include "base/decimal.h"

/* One line without its end into r->text. 1, or 0 at the end of the file. */
static int next_line(struct data_rows *r, struct fis_error *e)
{
    r->text.length = 0;
    r->line++;
    for (;;) {
        if (r->chunk_at == r->chunk_end) {
            size_t n;
            int rc = r->at_end ? 0 : data_rows_fill(r, &n, e);
            if (rc)
                return data_rows_refuse(r, 0, e);
            if (r->at_end)
                return r->text.length > 0;
            r->chunk_at = 0;
            r->chunk_end = n;
        }
        const unsigned char *from = r->chunk + r->chunk_at;
        size_t left = r->chunk_end - r->chunk_at;
        const unsigned char *end = memchr(from, '\n', left);
        size_t n = end ? (size_t)(end - from) : left;
        r->chunk_at += n + (end != NULL);
        if (r->text.length + n > DATA_LINE_MAX) {
            fis_fail(e, FIS_INPUT, "a line of more than %zu bytes", DATA_LINE_MAX);
            return data_rows_refuse(r, r->line, e);
        }
        if (byte_buffer_append(&r->text, from, n, e))
            return data_rows_refuse(r, r->line, e);
        if (end)
            return 1;
    }
}

static bool is_blank(const struct byte_buffer *text)
{
    for (size_t i = 0; i < text->length; i++)
        if (!strchr(" \t\r", text->data[i]) || !text->data[i])
            return 0;
    return 1;
}

int data_json_next(struct data_rows *r, struct fis_error *e)
{
    int rc;
    do
        rc = next_line(r, e);
    while (rc == 1 && is_blank(&r->text));
    if (rc <= 0)
        return rc;
    while (r->text.length && r->text.data[r->text.length - 1] == '\r')
        r->text.length--;
    json_decref(r->object);
    r->object = wire_json_parse((struct wire_bytes){r->text.data, r->text.length}, e);
    return r->object ? 1 : data_rows_refuse(r, r->line, e);
}

static int refuse_kind(const struct data_column *column, const json_t *v, const char *expected,
                       struct fis_error *e)
{
    char shown[WIRE_JSON_SHOWN];
    if (column->secret)
        return fis_fail(e, FIS_INPUT, "column %s: %s expected", column->name, expected);
    wire_json_show(v, shown);
    return fis_fail(e, FIS_INPUT, "column %s: %s expected, %s found", column->name, expected,
                    shown);
}

static int read_member(const struct data_rows *r, const struct data_column *column, const json_t *v,
                       struct fis_value *value, struct fis_error *e)
{
    if (json_is_object(v) || json_is_array(v))
        return refuse_kind(column, v, column->cell == DATA_NUMBER ? "a number" : "a text", e);
    int rc = wire_json_value(v, column->name, column->cell == DATA_NUMBER, value, e);
    if (rc)
        return rc;
    if (column->cell == DATA_NUMBER && r->options->how.numeric_text)
        wire_number_of_text(value);
    if (column->cell == DATA_NUMBER && value->kind == FIS_VALUE_TEXT && !column->any)
        return refuse_kind(column, v, "a number", e);
    if (column->cell == DATA_NUMBER || value->kind != FIS_VALUE_NUMBER)
        return 0;
    *value =
        wire_json_number_value(v, (struct wire_bytes){r->text.data, r->text.length}, column->name);
    if (column->cell == DATA_TEXT)
        value->kind = FIS_VALUE_TEXT;
    return 0;
}

int data_json_values(struct data_rows *r, struct fis_value *values, struct fis_error *e)
{
    const json_t *image = data_image_member(r);
    r->pictured = image != NULL;
    for (uint32_t c = 0; c < data_image_columns(r); c++) {
        const char *name = r->options->columns[c].name;
        if (json_object_get(r->object, name))
            return fis_fail(e, FIS_INPUT, WIRE_IMAGE " and %s: one of them expected", name);
        r->seen[c] = 1;
    }
    for (uint32_t c = data_image_columns(r); c < r->options->n_columns; c++) {
        const struct data_column *column = &r->options->columns[c];
        const json_t *v = wire_json_member(r->object, column->name);
        r->seen[c] |= v != NULL;
        int rc = read_member(r, column, v, &values[c], e);
        if (rc)
            return rc;
    }
    return image ? data_image_read(r, json_string_value(image), json_string_length(image), e) : 0;
}

/* ---- all cells ------------------------------------------------------------------------------- */

enum { PATH_MOST = 256, WHOLE_MOST = 1 << 30 };

struct cells {
    struct wire_bytes text;
    data_cell_fn *cell;
    void *ctx;
    char path[PATH_MOST]; /* of the member at hand */
};

/* Digits that a double may not have are fetched from the text. */
static int give_cell(struct cells *c, const json_t *v, struct fis_error *e)
{
    struct fis_value value = {.kind = FIS_VALUE_MISSING};
    if (json_is_null(v))
        return 0;
    if (json_is_object(v) || json_is_array(v)) {
        value.kind = 0;
        return c->cell(c->ctx, c->path, &value, e);
    }
    int rc = wire_json_value(v, c->path, false, &value, e);
    if (!rc && value.kind == FIS_VALUE_NUMBER && fabs(value.number) >= WHOLE_MOST)
        value = wire_json_number_value(v, c->text, c->path);
    return rc ? rc : c->cell(c->ctx, c->path, &value, e);
}

static int each_member(struct cells *c, json_t *object, size_t at, struct fis_error *e)
{
    const char *key;
    json_t *v;
    json_object_foreach(object, key, v)
    {
        int n = snprintf(c->path + at, sizeof c->path - at, "%s%s", at ? "." : "", key);
        if (n < 0 || (size_t)n >= sizeof c->path - at)
            return fis_fail(e, FIS_INPUT, "member '%.60s…': a name of more than %d bytes", c->path,
                            PATH_MOST - 1);
        int rc = json_is_object(v) ? each_member(c, v, at + (size_t)n, e) : give_cell(c, v, e);
        if (rc)
            return rc;
    }
    return 0;
}

int data_json_cells(json_t *object, struct wire_bytes text, data_cell_fn *cell, void *ctx,
                    struct fis_error *e)
{
    struct cells c = {.text = text, .cell = cell, .ctx = ctx};
    return each_member(&c, object, 0, e);
}

int data_object_cells(struct wire_bytes object, data_cell_fn *cell, void *ctx, struct fis_error *e)
{
    json_t *o = wire_json_parse(object, e);
    int rc = o ? data_json_cells(o, object, cell, ctx, e) : -(int)FIS_INPUT;
    json_decref(o);
    return rc;
}

int data_json_check_seen(struct data_rows *r, struct fis_error *e)
{
    char absent[120] = "";
    const uint32_t numbers = data_image_numbers(r);
    uint32_t none = 0;
    while (none < numbers && !r->seen[none] && !r->options->columns[none].optional)
        none++;
    if (r->count && numbers && none == numbers)
        return fis_fail(e, FIS_INPUT, "no '" WIRE_IMAGE "' in any of %s",
                        DECIMAL_COUNT(r->count, "row"));
    for (uint32_t c = 0; r->count && c < r->options->n_columns; c++) {
        size_t used = strlen(absent);
        if (!r->seen[c] && !r->options->columns[c].optional)
            snprintf(absent + used, sizeof absent - used, "%s%.60s", used ? "', '" : "",
                     r->options->columns[c].name);
    }
    return absent[0] ? fis_fail(e, FIS_INPUT, "no column '%s' in any of %s", absent,
                                DECIMAL_COUNT(r->count, "row"))
                     : 0;
}
