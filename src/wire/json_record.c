#include "wire/framing.h"
#include "wire/json_codec.h"

#include <stdio.h>
#include <string.h>

#include "wire/json_impl.h"
#include "wire/json_text.h"
#include "wire/record.h"
#include "wire/record_image.h"

/* The columns that are needed: an encoder's, or a list. */
struct column_set {
    const struct wire_schema *schema;
    const struct fis_encoder *encoder; /* or NULL */
    const struct fis_column *columns;
    uint32_t n;
    bool example, with_sensitive;
};

static const char *column_name(const struct column_set *set, uint32_t i)
{
    return set->encoder ? fis_encoder_column(set->encoder, i)->name : set->columns[i].name;
}

static bool in_list(const char *const *names, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

static bool is_column(const struct column_set *set, const char *name)
{
    if (set->encoder)
        return fis_encoder_find(set->encoder, name, strlen(name)) >= 0;
    for (uint32_t i = 0; i < set->n; i++)
        if (strcmp(set->columns[i].name, name) == 0)
            return 1;
    return 0;
}

static bool is_image(const struct wire_schema *s, const char *name)
{
    return s->image.height && strcmp(name, WIRE_IMAGE) == 0;
}

static bool is_known(const struct column_set *set, const char *name)
{
    const struct wire_schema *s = set->schema;
    return is_column(set, name) || is_image(s, name) ||
           (s->id_column && strcmp(s->id_column, name) == 0) ||
           (set->example && s->label_column && strcmp(s->label_column, name) == 0) ||
           (set->with_sensitive && in_list(s->sensitive, s->n_sensitive, name));
}

static int refuse_unknown(const struct column_set *set, const char *name, struct fis_error *e)
{
    char allowed[200];
    size_t used = (size_t)snprintf(allowed, sizeof allowed, "%s",
                                   set->schema->image.height ? WIRE_IMAGE ", or " : "");
    for (uint32_t i = 0; i < set->n; i++) {
        size_t left = sizeof allowed - used;
        int n = snprintf(allowed + used, left, "%s%s", i ? ", " : "", column_name(set, i));
        if (n < 0 || (size_t)n + 6 > left) {
            snprintf(allowed + used, left, "%s", i ? ", …" : "…");
            break;
        }
        used += (size_t)n;
    }
    return fis_refuse(e, FIS_CODE_UNKNOWN_COLUMN, "unknown column '%.60s' (allowed: %s)", name,
                      allowed);
}

/* As the encoder will; for a validation example, whose row may be shifted by a column, no error has
 * a value in it. */
static int check_column(const struct column_set *set, uint32_t i, const struct fis_value *v,
                        struct fis_error *e)
{
    const struct fis_column *c = &set->columns[i];
    int rc = fis_column_check(c, v, e);
    if (rc && set->with_sensitive)
        return fis_refuse(e, FIS_CODE_WRONG_TYPE, "column %s: %s expected", c->name,
                          c->type == FIS_NUMERIC ? "a number that fits a 32-bit float" : "a text");
    return rc;
}

/* Members by their path. One that is known, or may pass, is so with all that is in it. */
static bool find_unknown(const struct column_set *set, json_t *object, char path[WIRE_JSON_PATH],
                         size_t at)
{
    const char *key;
    json_t *v;
    json_object_foreach(object, key, v)
    {
        int n = snprintf(path + at, WIRE_JSON_PATH - at, "%s%s", at ? "." : "", key);
        bool fits = n >= 0 && (size_t)n < WIRE_JSON_PATH - at;
        size_t length = fits ? at + (size_t)n : 0;
        bool inside = fits && json_object_size(v) && wire_schema_inside(set->schema, path, length);
        if (fits && is_known(set, path))
            continue;
        if (!inside && (fits ? wire_schema_unknown(set->schema, path, length)
                             : set->schema->members.others) != WIRE_REFUSE)
            continue;
        if (!fits || !json_object_size(v) || find_unknown(set, v, path, length))
            return true;
    }
    return false;
}

bool wire_json_unknown(const struct wire_schema *schema, const struct fis_column *columns,
                       uint32_t n_columns, json_t *object, char path[WIRE_JSON_PATH])
{
    const struct column_set set = {.schema = schema, .columns = columns, .n = n_columns};
    return find_unknown(&set, object, path, 0);
}

static bool is_categorical(const struct column_set *set, uint32_t i)
{
    return (set->encoder ? fis_encoder_column(set->encoder, i) : &set->columns[i])->type ==
           FIS_CATEGORICAL;
}

static int read_column(const struct column_set *set, const struct wire_message *m, uint32_t i,
                       const json_t *v, struct fis_value *value, struct fis_error *e)
{
    const char *name = column_name(set, i);
    int rc = wire_json_value(v, name, !is_categorical(set, i), value, e);
    if (rc)
        return rc;
    if (json_is_number(v) && is_categorical(set, i))
        *value = wire_json_number_value(v, m->value, name);
    else if (set->schema->numeric_text && !is_categorical(set, i))
        wire_number_of_text(value);
    return set->encoder ? 0 : check_column(set, i, value, e);
}

static int read_columns(const struct column_set *set, const struct wire_message *m, json_t *object,
                        struct fis_value *values, struct fis_error *e)
{
    size_t found = 0;
    for (uint32_t i = 0; i < set->n; i++) {
        const char *name = column_name(set, i);
        const json_t *v = json_object_get(object, name);
        found += v != NULL;
        if (!v)
            v = wire_json_member(object, name);
        int rc = read_column(set, m, i, v, &values[i], e);
        if (rc)
            return rc;
    }
    if (set->schema->image.height && found < set->n)
        return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "no image, and %zu of its %u numbers", found,
                          set->n);
    /* All keys were columns: the common case needs no second look. */
    if (found == json_object_size(object))
        return 0;
    char path[WIRE_JSON_PATH];
    return find_unknown(set, object, path, 0) ? refuse_unknown(set, path, e) : 0;
}

/* The member `image` in place of the columns; image->data.data NULL: there is none. */
static int read_image(const struct column_set *set, json_t *object, struct fis_arena *arena,
                      struct wire_image *image, struct fis_error *e)
{
    const json_t *v = set->schema->image.height ? json_object_get(object, WIRE_IMAGE) : NULL;
    const char *key;
    json_t *other;
    char path[WIRE_JSON_PATH], shown[WIRE_JSON_SHOWN];
    *image = (struct wire_image){0};
    if (!v)
        return 0;
    json_object_foreach(object, key, other)
    {
        if (is_column(set, key))
            return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "image and %s: one of them expected", key);
    }
    if (find_unknown(set, object, path, 0))
        return refuse_unknown(set, path, e);
    if (!json_is_string(v)) {
        wire_json_show(v, shown);
        return fis_refuse(e, FIS_CODE_BAD_IMAGE,
                          "image: a PNG or JPEG in base64 expected, %s found", shown);
    }
    return wire_image_of_text((struct wire_bytes){json_string_value(v), json_string_length(v)},
                              arena, image, e);
}

static int encode_image(const struct column_set *set, const struct wire_image *image,
                        struct fis_arena *arena, float *x, struct fis_error *e)
{
    const struct wire_schema *s = set->schema;
    const float *numbers;
    int rc = wire_image_numbers(s, image, arena, &numbers, e);
    return rc ? rc
              : fis_encoder_encode_packed(set->encoder, numbers, (uint32_t)image_numbers(&s->image),
                                          x, e);
}

/* ---- what is offered ------------------------------------------------------------------------- */

struct keeping {
    const struct column_set *set;
    struct byte_buffer *out;
    char path[WIRE_JSON_PATH];
};

/* The path of a member; its length, 0 when it is too long. */
static size_t put_path(struct keeping *k, size_t at, struct wire_bytes key)
{
    json_t *s = json_loadb(key.data, key.length, JSON_DECODE_ANY, NULL);
    int n = snprintf(k->path + at, sizeof k->path - at, "%s%s", at ? "." : "",
                     s ? json_string_value(s) : "");
    json_decref(s);
    return n >= 0 && (size_t)n < sizeof k->path - at ? at + (size_t)n : 0;
}

static int keep_object(struct keeping *k, struct wire_bytes text, size_t at, struct fis_error *e)
{
    struct wire_json_part part;
    bool first = true;
    int rc = wire_json_append(k->out, "{", e);
    for (size_t next = 0; !rc && wire_json_each(text, &next, &part);) {
        size_t length = put_path(k, at, part.key);
        const struct wire_schema *s = k->set->schema;
        bool object = *(const char *)part.value.data == '{';
        bool all = length ? is_known(k->set, k->path) ||
                                wire_schema_unknown(s, k->path, length) == WIRE_PASS
                          : s->members.others == WIRE_PASS;
        if (length && object && !is_known(k->set, k->path) &&
            wire_schema_inside(s, k->path, length))
            all = false;
        if (!all && (!length || !object))
            continue;
        rc = first ? 0 : wire_json_append(k->out, ",", e);
        first = false;
        if (!rc)
            rc = byte_buffer_append(k->out, part.key.data, part.key.length, e);
        if (!rc)
            rc = wire_json_append(k->out, ":", e);
        if (!rc)
            rc = all ? byte_buffer_append(k->out, part.value.data, part.value.length, e)
                     : keep_object(k, part.value, length, e);
    }
    return rc ? rc : wire_json_append(k->out, "}", e);
}

int wire_json_keep(const struct wire_schema *schema, const struct fis_column *columns,
                   uint32_t n_columns, struct wire_bytes *record, struct byte_buffer *out,
                   struct fis_error *e)
{
    struct column_set set = {.schema = schema, .columns = columns, .n = n_columns};
    struct keeping k = {.set = &set, .out = out};
    if (schema->members.others != WIRE_IGNORE && !schema->members.listed[WIRE_IGNORE].n)
        return 0;
    out->length = 0;
    int rc = keep_object(&k, wire_json_skip_mark(*record), 0, e);
    if (!rc)
        *record = (struct wire_bytes){out->data, out->length};
    return rc;
}

static struct fis_value *take_values(struct fis_arena *arena, uint32_t n, struct fis_error *e)
{
    struct fis_value *values = fis_arena_alloc(arena, n * sizeof *values);
    if (!values)
        fis_refuse(e, FIS_CODE_TOO_LONG, "JSON: needs more than %zu bytes to decode", arena->size);
    return values;
}

static const json_t *member(const json_t *object, const char *name)
{
    return name ? wire_json_member(object, name) : NULL;
}

static int read_record(const struct column_set *set, const struct wire_message *m,
                       struct fis_arena *arena, float *x, struct wire_record *record,
                       struct fis_error *e)
{
    const char *id = set->schema->id_column;
    struct wire_record out = {.event_time_ms = m->timestamp_ms};
    struct wire_image image;
    json_t *object = wire_json_open(set->schema, m, e);
    int rc = object ? read_image(set, object, arena, &image, e) : -(int)FIS_INPUT;
    const bool pictured = !rc && image.data.data;
    struct fis_value *values = rc || pictured ? NULL : take_values(arena, set->n, e);
    if (!rc && !pictured)
        rc = values ? read_columns(set, m, object, values, e) : -(int)FIS_INPUT;
    if (!rc)
        rc = wire_json_id(m, member(object, id), id ? id : "id", 1, &out.id, e);
    if (!rc)
        rc = pictured ? encode_image(set, &image, arena, x, e)
                      : fis_encoder_encode(set->encoder, values, x, &out.unseen, e);
    if (!rc)
        *record = out;
    return rc;
}

enum wire_decoded wire_json_record_by_tree(const struct wire_schema *schema,
                                           const struct fis_encoder *encoder,
                                           const struct wire_message *m, struct fis_arena *arena,
                                           float *x, struct wire_record *record,
                                           struct fis_error *e)
{
    struct column_set set = {
        .schema = schema, .encoder = encoder, .n = fis_encoder_columns(encoder)};
    struct wire_message inside = *m;
    if (wire_unframe_json(&inside.value, &schema->framing, "records", e))
        return WIRE_BAD;
    wire_json_arena_enter(arena);
    int rc = read_record(&set, &inside, arena, x, record, e);
    wire_json_arena_leave();
    return rc ? WIRE_BAD : WIRE_OK;
}

/* False: let jansson have a look. */
static int read_flat(const struct wire_schema *schema, const struct fis_encoder *encoder,
                     const struct wire_message *m, struct fis_arena *arena, float *x,
                     struct wire_record *record)
{
    struct fis_arena before = *arena;
    struct fis_value *values;
    struct wire_bytes own, id;
    char place[FIS_ID_MAX];
    uint32_t unseen;
    struct fis_error e;
    int ok = m->value.length <= schema->max_bytes &&
             wire_json_flat(schema, encoder, m->value, arena, &values, &own) &&
             !wire_record_find_id(m, own, place, &id, &e) &&
             !fis_encoder_encode(encoder, values, x, &unseen, &e);
    if (ok)
        wire_record_set(record, id, m->timestamp_ms, unseen);
    else
        arena->used = before.used;
    return ok;
}

enum wire_decoded wire_json_record(const struct wire_schema *schema,
                                   const struct fis_encoder *encoder, const struct wire_message *m,
                                   struct fis_arena *arena, float *x, struct wire_record *record,
                                   struct fis_error *e)
{
    struct wire_message inside = *m;
    if (!m->value.data)
        return WIRE_TOMBSTONE;
    if (wire_unframe_json(&inside.value, &schema->framing, "records", e))
        return WIRE_BAD;
    if (read_flat(schema, encoder, &inside, arena, x, record))
        return WIRE_OK;
    return wire_json_record_by_tree(schema, encoder, m, arena, x, record, e);
}

/* Errors name the column and never the value. */
static int read_sensitive(const json_t *v, struct wire_bytes text, const char *name,
                          struct fis_value *out, struct fis_error *e)
{
    if (v && !json_is_null(v) && !json_is_string(v) && !json_is_number(v))
        return fis_refuse(e, FIS_CODE_WRONG_TYPE, "column %s: a text or a number expected", name);
    if (json_is_number(v)) {
        *out = wire_json_number_value(v, text, name);
        return 0;
    }
    return wire_json_value(v, name, false, out, e);
}

static int read_example(const struct column_set *set, const struct wire_message *m,
                        struct fis_arena *arena, struct wire_example *example, struct fis_error *e)
{
    const struct wire_schema *s = set->schema;
    uint32_t n_sensitive = set->with_sensitive ? s->n_sensitive : 0;
    struct wire_example out = {0};
    struct wire_image image;
    json_t *object = wire_json_open(s, m, e);
    struct fis_value *values = object ? take_values(arena, set->n + n_sensitive, e) : NULL;
    if (!values)
        return -(int)FIS_INPUT;
    int rc = read_image(set, object, arena, &image, e);
    if (!rc)
        rc = image.data.data ? wire_image_values(s, &image, arena, values, e)
                             : read_columns(set, m, object, values, e);
    if (!rc)
        rc = wire_json_id(m, member(object, s->id_column), s->id_column ? s->id_column : "id", 1,
                          &out.id, e);
    if (!rc && (rc = wire_json_class(s, m, object, s->label_column ? s->label_column : "label",
                                     set->with_sensitive, &out.class_index, e)))
        fis_error_prefix(e, "column %s", s->label_column ? s->label_column : "label");
    for (uint32_t i = 0; !rc && i < n_sensitive; i++)
        rc = read_sensitive(wire_json_member(object, s->sensitive[i]), m->value, s->sensitive[i],
                            &values[set->n + i], e);
    if (rc)
        return rc;
    out.values = values;
    out.sensitive = set->with_sensitive ? values + set->n : NULL;
    *example = out;
    return 0;
}

enum wire_decoded wire_json_example(const struct wire_schema *schema,
                                    const struct fis_column *columns, uint32_t n_columns,
                                    int with_sensitive, const struct wire_message *m,
                                    struct fis_arena *arena, struct wire_example *example,
                                    struct fis_error *e)
{
    if (!m->value.data) {
        struct fis_id id;
        if (wire_message_id(m, (struct wire_bytes){NULL, 0}, 0, &id, e))
            return WIRE_BAD;
        example->id = id;
        return WIRE_TOMBSTONE;
    }
    struct wire_message inside = *m;
    if (wire_unframe_json(&inside.value, &schema->framing, "records", e))
        return WIRE_BAD;
    struct column_set set = {.schema = schema,
                             .columns = columns,
                             .n = n_columns,
                             .example = 1,
                             .with_sensitive = with_sensitive};
    wire_json_arena_enter(arena);
    int rc = read_example(&set, &inside, arena, example, e);
    wire_json_arena_leave();
    return rc ? WIRE_BAD : WIRE_OK;
}
