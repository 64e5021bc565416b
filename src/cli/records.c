#include "cli/records.h"

#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "cli/options.h"
#include "fis/mem.h"
#include "fis.pb-c.h"
#include "wire/json_codec.h"
#include "wire/json_text.h"
#include "wire/record_image.h"

/* JSON needs to know which cells are numbers and takes what there is. Protobuf and raw records
 * are the numbers of all columns in order. The id stands last. */
static int name_columns(struct records *r, struct fis_error *e)
{
    const struct config_columns *columns = &r->cli->cfg.columns;
    bool json = r->o.encoding == WIRE_JSON;
    uint32_t n = 0;
    r->columns = fis_calloc((size_t)columns->count + 1, sizeof *r->columns);
    r->features = fis_calloc((size_t)columns->count + 1, sizeof *r->features);
    r->values = fis_calloc((size_t)columns->count + 1, sizeof *r->values);
    r->floats = fis_calloc((size_t)columns->count + 1, sizeof *r->floats);
    r->seen = fis_calloc((size_t)columns->count + 1, sizeof *r->seen);
    if (!r->seen || !r->columns || !r->features || !r->values || !r->floats)
        return fis_fail(e, FIS_NOMEM, "no memory for %u columns", columns->count);
    for (uint32_t i = 0; i < columns->count; i++) {
        bool number = columns->items[i].type == CONFIG_NUMERIC;
        if (!number && !json)
            return fis_fail(e, FIS_INPUT, "column '%s' is categorical: such records are JSON",
                            columns->items[i].name);
        r->features[n].name = columns->items[i].name;
        r->columns[n++] = (struct data_column){.name = columns->items[i].name,
                                               .cell = number ? DATA_NUMBER : DATA_STRING,
                                               .optional = !r->o.to_records && json};
    }
    r->columns[n++] =
        (struct data_column){.name = r->o.id_column, .cell = DATA_TEXT, .optional = 1};
    r->data = (struct data_options){.how = cli_reading(r->cli, r->o.read),
                                    .leave_out = r->o.leave_out,
                                    .columns = r->columns,
                                    .n_columns = n,
                                    .images = r->cli->schema.image.height ? &r->cli->schema : NULL};
    return 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int reject(struct records *r, struct fis_error *e)
{
    r->rejected = 1;
    return fis_error_prefix(e, "%s: line %llu", base_name(r->o.path),
                            (unsigned long long)data_rows_line(r->rows));
}

static bool is_refused(const struct records *r, const char *name)
{
    if (r->data.images && !strcmp(name, WIRE_IMAGE))
        return false;
    for (uint32_t i = 0; i < r->data.n_columns; i++)
        if (!strcmp(r->columns[i].name, name))
            return false;
    return wire_schema_unknown(&r->cli->schema, name, strlen(name)) == WIRE_REFUSE;
}

static int refuse_unknown(const struct records *r, const char *name, struct fis_error *e)
{
    const struct config_names *sensitive = &r->cli->cfg.validation.sensitive;
    for (uint32_t i = 0; i < sensitive->count; i++)
        if (!strcmp(sensitive->items[i], name))
            return fis_fail(e, FIS_INPUT,
                            "column '%s' is sensitive and has no place among the records; leave it "
                            "out (of CSV: --leave-out %s), or list it in records.ignore",
                            name, name);
    return fis_fail(e, FIS_INPUT,
                    "column '%s' is neither a feature nor in records.passthrough: fisd refuses "
                    "records that have it; list it there or in records.ignore, or leave it out (of "
                    "CSV: --leave-out %s)",
                    name, name);
}

/* What fisd would refuse of every row is refused before one is sent. */
static int check_header(const struct records *r, struct fis_error *e)
{
    const struct config *cfg = &r->cli->cfg;
    uint32_t n;
    const char *const *names = data_rows_names(r->rows, &n);
    for (uint32_t i = 0; r->o.to_records && r->o.encoding == WIRE_JSON && i < n; i++)
        if (is_refused(r, names[i]) && !data_listed(r->o.leave_out, names[i]) &&
            strcmp(names[i], cfg->csv.unnamed) != 0 && refuse_unknown(r, names[i], e))
            return fis_error_prefix(e, "%s: line %llu", base_name(r->o.path),
                                    (unsigned long long)data_rows_line(r->rows));
    return n == 0 && r->o.leave_out
               ? fis_fail(e, FIS_INPUT, "--leave-out: the file is JSON lines, and not CSV")
               : 0;
}

int records_open(struct records *r, const struct cli *c, const struct records_options *o,
                 struct fis_error *e)
{
    *r = (struct records){.cli = c, .o = *o};
    int rc = name_columns(r, e);
    if (!rc) {
        r->rows = data_rows_open(o->path, &r->data, e);
        rc = r->rows ? check_header(r, e) : -(int)e->kind;
    }
    if (rc)
        records_close(r);
    return rc;
}

void records_close(struct records *r)
{
    if (r->rows)
        data_rows_close(r->rows);
    byte_buffer_done(&r->value);
    fis_free(r->columns);
    fis_free(r->features);
    fis_free(r->values);
    fis_free(r->floats);
    fis_free(r->seen);
    *r = (struct records){0};
}

static bool is_number(const struct records *r, const json_t *v)
{
    struct fis_error none;
    struct fis_value value;
    if (wire_json_value(v, "", true, &value, &none))
        return false;
    if (r->data.how.numeric_text)
        wire_number_of_text(&value);
    return value.kind != FIS_VALUE_TEXT;
}

/* Of an object for the records topic: its columns are known, and a text in a numeric one counts. */
static int look_at(struct records *r, json_t *object, struct fis_error *e)
{
    json_t *value;
    bool odd = false;
    char path[WIRE_JSON_PATH];
    if (wire_json_unknown(&r->cli->schema, r->features, r->data.n_columns - 1, object, path))
        return refuse_unknown(r, path, e);
    r->pictured = r->data.images && json_object_get(object, WIRE_IMAGE);
    for (uint32_t i = 0; !r->pictured && i + 1 < r->data.n_columns; i++) {
        value = wire_json_member(object, r->columns[i].name);
        r->seen[i] |= value != NULL;
        if (r->columns[i].cell != DATA_NUMBER || is_number(r, value))
            continue;
        if (!r->odd) {
            r->odd_line = data_rows_line(r->rows);
            r->odd_column = r->columns[i].name;
        }
        odd = true;
    }
    r->odd += odd;
    return 0;
}

/* At the end of JSON lines: a column that no row has is misspelt. */
static int check_seen(const struct records *r, struct fis_error *e)
{
    uint32_t n;
    data_rows_names(r->rows, &n);
    for (uint32_t i = 0;
         n == 0 && !r->pictured && data_rows_count(r->rows) && i + 1 < r->data.n_columns; i++)
        if (!r->seen[i])
            return fis_fail(e, FIS_INPUT, "%s: no column '%s' in any of %s", base_name(r->o.path),
                            r->columns[i].name, DECIMAL_COUNT(data_rows_count(r->rows), "row"));
    return 0;
}

static int take_id(struct records *r, const json_t *id)
{
    if (json_is_string(id))
        return fis_id_set(&r->id, json_string_value(id), json_string_length(id));
    if (!json_is_number(id))
        return -1;
    struct wire_bytes digits =
        wire_json_digits((struct wire_bytes){r->value.data, r->value.length}, r->o.id_column);
    return fis_id_set(&r->id, digits.data, digits.length);
}

static int next_json(struct records *r, struct fis_error *e)
{
    r->value.length = 0;
    int rc = data_rows_next_json(r->rows, &r->value, e);
    if (rc <= 0)
        return rc || !r->o.to_records ? rc : check_seen(r, e);
    json_t *object = wire_json_parse((struct wire_bytes){r->value.data, r->value.length}, e);
    if (!object)
        return reject(r, e);
    rc = r->o.to_records && look_at(r, object, e) ? reject(r, e) : 1;
    r->has_id = !take_id(r, wire_json_member(object, r->o.id_column));
    json_decref(object);
    return rc;
}

static int pack(struct records *r, uint32_t n, struct fis_error *e)
{
    if (r->o.encoding == WIRE_RAW) {
        /* Little-endian, byte by byte, on any machine. */
        int rc = byte_buffer_reserve(&r->value, 4 * (size_t)n, e);
        for (uint32_t i = 0; !rc && i < n; i++) {
            uint32_t bits;
            memcpy(&bits, &r->floats[i], 4);
            for (int k = 0; k < 4; k++)
                r->value.data[r->value.length++] = (unsigned char)(bits >> (8 * k));
        }
        return rc;
    }
    Fis__V1__Record record = FIS__V1__RECORD__INIT;
    Fis__V1__Image image = FIS__V1__IMAGE__INIT;
    struct wire_bytes picture = data_rows_image(r->rows);
    if (picture.data) {
        image.data = (ProtobufCBinaryData){picture.length, (uint8_t *)(uintptr_t)picture.data};
        record.image = &image;
    } else {
        record.n_features = n;
        record.features = r->floats;
    }
    if (r->has_id) {
        record.id.len = r->id.length;
        record.id.data = (uint8_t *)r->id.bytes;
    }
    size_t size = fis__v1__record__get_packed_size(&record);
    int rc = byte_buffer_reserve(&r->value, size, e);
    if (!rc)
        r->value.length += fis__v1__record__pack(&record, r->value.data + r->value.length);
    return rc;
}

static int next_numbers(struct records *r, struct fis_error *e)
{
    uint32_t n = r->data.n_columns - 1;
    int rc = data_rows_next(r->rows, r->values, e);
    if (rc <= 0)
        return rc;
    for (uint32_t i = 0; i < n; i++) {
        r->floats[i] = (float)r->values[i].number;
        if (r->values[i].kind != FIS_VALUE_NUMBER || !isfinite(r->floats[i])) {
            fis_fail(e, FIS_INPUT, "column '%s': found %s, allowed a number that fits float32",
                     r->columns[i].name,
                     r->values[i].kind == FIS_VALUE_MISSING ? "nothing" : "another value");
            return reject(r, e);
        }
    }
    r->has_id = r->values[n].kind == FIS_VALUE_TEXT &&
                !fis_id_set(&r->id, r->values[n].text, r->values[n].length);
    r->value.length = 0;
    rc = pack(r, n, e);
    return rc ? rc : 1;
}

int records_next(struct records *r, struct fis_error *e)
{
    r->has_id = false;
    return r->o.encoding == WIRE_JSON ? next_json(r, e) : next_numbers(r, e);
}

uint64_t records_left(struct records *r)
{
    struct fis_error e;
    uint64_t n = r->rejected;
    int rc;
    do {
        r->value.length = 0;
        rc = r->o.encoding == WIRE_JSON ? data_rows_next_json(r->rows, &r->value, &e)
                                        : data_rows_next(r->rows, r->values, &e);
        n += rc > 0;
    } while (rc > 0);
    return rc < 0 ? n + data_rows_unread(r->rows) : n;
}
