#include <math.h>
#include <string.h>

#include "wire/framing.h"
#include "wire/protobuf_codec.h"
#include "wire/protobuf_features.h"
#include "wire/protobuf_parts.h"
#include "wire/record_image.h"

#define EXAMPLE_INDEX 11 /* of LabelledExample in proto/fis.proto */

struct reading {
    const struct wire_schema *schema;
    struct fis_arena *arena;
    struct wire_features features;
    struct wire_bytes id, class_name;
    struct wire_image image;
    uint32_t class_index;
    struct fis_value *sensitive; /* [n_sensitive]; NULL: none are allowed */
};

static int full(const struct reading *r, struct fis_error *e)
{
    return fis_fail(e, FIS_INPUT, "decoding an example takes more than %zu bytes", r->arena->size);
}

static struct fis_value *named(const struct reading *r, struct wire_bytes name)
{
    for (uint32_t i = 0; i < r->schema->n_sensitive; i++) {
        const char *s = r->schema->sensitive[i];
        if (strlen(s) == name.length && !memcmp(s, name.data, name.length))
            return &r->sensitive[i];
    }
    return NULL;
}

/* One entry of the map: a message {key = 1, value = 2}; either may be left out when empty. */
static int read_sensitive(struct reading *r, const struct wire_reader *outer,
                          const struct wire_field *field, struct fis_error *e)
{
    struct wire_bytes name = {"", 0}, text = {"", 0};
    struct wire_reader inside = wire_reader_inside(outer, field);
    struct wire_field f;
    int rc;
    if (!r->sensitive)
        return fis_fail(e, FIS_INPUT, "an initial example with sensitive attributes");
    while ((rc = wire_reader_next(&inside, &f, e)) > 0)
        if (f.number == 1)
            name = (struct wire_bytes){f.data, f.length};
        else if (f.number == 2)
            text = (struct wire_bytes){f.data, f.length};
    if (rc)
        return rc;
    struct fis_value *v = named(r, name);
    if (!v) /* not naming it: somebody may have exchanged key and value */
        return fis_fail(e, FIS_INPUT, "the key of an entry is not one of the %u sensitive columns",
                        r->schema->n_sensitive);
    *v = (struct fis_value){.kind = FIS_VALUE_TEXT, .text = text.data, .length = text.length};
    return 0;
}

static int read_field(struct reading *r, const struct wire_reader *reader,
                      const struct wire_field *f, struct fis_error *e)
{
    switch (f->number) {
    case 1:
        r->id = (struct wire_bytes){f->data, f->length};
        return 0;
    case 2:
        return wire_features_dense(&r->features, (struct wire_bytes){f->data, f->length}, e);
    case 3:
        return wire_features_sparse(&r->features, reader, f, e);
    case 4:
        r->class_index = (uint32_t)f->value;
        return 0;
    case 5:
        r->class_name = (struct wire_bytes){f->data, f->length};
        return 0;
    case 6:
        return read_sensitive(r, reader, f, e);
    case 7:
        return wire_image_read(reader, f, &r->image, e);
    default:
        return 0;
    }
}

static int read_fields(struct reading *r, struct wire_bytes bytes, struct fis_error *e)
{
    struct wire_reader reader = wire_reader_of(bytes);
    struct wire_field f;
    int rc;
    while ((rc = wire_reader_next(&reader, &f, e)) > 0) {
        rc = wire_protobuf_check_field(&fis__v1__labelled_example__descriptor, &reader, &f, e);
        if (rc)
            return rc;
        rc = read_field(r, &reader, &f, e);
        if (rc) {
            fis_error_prefix(e, "field %u at byte %zu", f.number, f.offset);
            return rc;
        }
    }
    if (!rc && r->image.data.data)
        return wire_features_none(&r->features, e);
    return rc ? rc : wire_features_finish(&r->features, e);
}

static int take_values(struct reading *r, struct wire_example *out, struct fis_error *e)
{
    uint32_t n = r->features.expected;
    struct fis_value *values = fis_arena_alloc(r->arena, n * sizeof *values);
    if (!values)
        return full(r, e);
    out->values = values;
    out->sensitive = r->sensitive;
    if (r->image.data.data)
        return wire_image_values(r->schema, &r->image, r->arena, values, e);
    const float *from = wire_features_values(&r->features, e);
    if (!from)
        return -FIS_INPUT;
    for (uint32_t i = 0; i < n; i++) {
        float x = from[i];
        if (!isfinite(x))
            return fis_fail(e, FIS_INPUT, "feature %u: %g is not a finite number", i, (double)x);
        values[i] = (struct fis_value){.kind = FIS_VALUE_NUMBER, .number = (double)x};
    }
    return 0;
}

static int take_class(struct reading *r, struct wire_example *out, struct fis_error *e)
{
    char *name = fis_arena_alloc(r->arena, r->class_name.length + 1);
    if (!name)
        return full(r, e);
    if (r->class_name.length)
        memcpy(name, r->class_name.data, r->class_name.length);
    name[r->class_name.length] = 0;
    return wire_class_of(r->schema, r->class_index, name, &out->class_index, e);
}

static int decode(struct reading *r, uint32_t n_columns, const struct wire_message *m,
                  struct wire_example *example, struct fis_error *e)
{
    struct wire_bytes value = m->value;
    struct wire_example out = {0};
    if (value.length > r->schema->max_bytes)
        return fis_fail(e, FIS_INPUT, "an example of %zu bytes, at most %zu allowed", value.length,
                        r->schema->max_bytes);
    int rc = wire_unframe_protobuf(&value, &r->schema->framing, EXAMPLE_INDEX, "records", e);
    wire_features_start(&r->features, n_columns, r->arena);
    if (!rc)
        rc = read_fields(r, value, e);
    if (!rc)
        rc = take_values(r, &out, e);
    if (!rc)
        rc = take_class(r, &out, e);
    if (!rc)
        rc = wire_message_id(m, r->id, 1, &out.id, e);
    if (!rc)
        *example = out;
    return rc;
}

enum wire_decoded wire_protobuf_example(const struct wire_schema *schema, uint32_t n_columns,
                                        int sensitive, const struct wire_message *m,
                                        struct fis_arena *arena, struct wire_example *example,
                                        struct fis_error *e)
{
    struct reading r = {.schema = schema, .arena = arena};
    if (!m->value.data)
        return wire_message_id(m, (struct wire_bytes){0}, 0, &example->id, e) ? WIRE_BAD
                                                                              : WIRE_TOMBSTONE;
    if (sensitive) {
        size_t bytes = schema->n_sensitive * sizeof *r.sensitive;
        r.sensitive = fis_arena_alloc(arena, bytes);
        if (!r.sensitive) {
            full(&r, e);
            return WIRE_BAD;
        }
        memset(r.sensitive, 0, bytes);
    }
    return decode(&r, n_columns, m, example, e) ? WIRE_BAD : WIRE_OK;
}
