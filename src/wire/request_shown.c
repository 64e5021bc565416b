#include "wire/request_shown.h"

#include <math.h>
#include <stdio.h>

#include "fis.pb-c.h"
#include "fis/mem.h"
#include "wire/json_text.h"
#include "wire/protobuf_codec.h"
#include "wire/raw.h"
#include "wire/record_image.h"

/* 1 when none is given. */
static int votes_of(const json_t *votes, uint32_t *out, struct fis_error *e)
{
    *out = 1;
    if (!votes || json_is_null(votes))
        return 0;
    int64_t n;
    if (!wire_json_whole(votes, &n) || n < 1 || n > WIRE_VOTES)
        return fis_fail(e, FIS_INPUT, "votes: a whole number from 1 to %d allowed", WIRE_VOTES);
    *out = (uint32_t)n;
    return 0;
}

static void copy_text(char to[WIRE_WORD], const char *from)
{
    snprintf(to, WIRE_WORD, "%s", from ? from : "");
}

/* A request's attributes and then its record, as one object; NULL: it has no record. */
static json_t *shown_of(const json_t *request)
{
    json_t *record = json_object_get(request, "record");
    json_t *attributes = json_object_get(request, "attributes");
    if (!json_is_object(record))
        return NULL;
    json_t *shown = json_is_object(attributes) ? json_copy(attributes) : NULL;
    if (shown && json_object_update(shown, record) == 0)
        return shown;
    json_decref(shown);
    return json_incref(record);
}

static int read_json(const struct wire_message *m, bool with_record, struct wire_request_shown *out,
                     struct fis_error *e)
{
    json_t *object = wire_json_parse(m->value, e);
    if (!object)
        return -(int)e->kind;
    const json_t *id = json_object_get(object, "id");
    struct wire_bytes own = {json_string_value(id), json_string_length(id)};
    int rc = wire_message_id(m, own, 0, &out->id, e);
    if (!rc)
        rc = votes_of(json_object_get(object, "votes"), &out->votes, e);
    if (!rc) {
        out->round = (uint32_t)json_number_value(json_object_get(object, "round"));
        out->requested_at_ms = json_integer_value(json_object_get(object, "requested_at"));
        out->deadline_ms = json_integer_value(json_object_get(object, "deadline"));
        copy_text(out->criterion, json_string_value(json_object_get(object, "criterion")));
        out->head = (uint64_t)json_integer_value(json_object_get(object, "head"));
        out->cancelled = json_is_true(json_object_get(object, "cancelled"));
        copy_text(out->reason, json_string_value(json_object_get(object, "reason")));
        out->record = with_record ? shown_of(object) : NULL;
    }
    json_decref(object);
    return rc ? rc : 1;
}

static void put_number(const struct wire_request_reader *w, json_t *to, uint32_t column,
                       float value)
{
    const char *name = w->column(w->arg, column);
    if (name)
        json_object_set_new(to, name, json_real((double)value));
}

static json_t *from_raw(const struct wire_request_reader *w, struct wire_bytes record)
{
    json_t *object = json_object();
    for (uint32_t i = 0; object && i < record.length / 4; i++) {
        float x;
        wire_floats_from_le(&x, (const char *)record.data + 4 * (size_t)i, 1);
        put_number(w, object, i, x);
    }
    return object;
}

static bool put_image(const struct wire_schema *schema, json_t *to, const struct wire_image *image)
{
    struct fis_arena arena = {.size = 2 * image->data.length + ((size_t)1 << 16)};
    struct wire_bytes text;
    struct fis_error none;
    arena.base = fis_alloc(arena.size, 1);
    const bool is = arena.base && !wire_image_text(schema, image, &arena, &text, &none);
    if (is)
        json_object_set_new(to, WIRE_IMAGE, json_stringn(text.data, text.length));
    fis_free(arena.base);
    return is;
}

/* Pixels [image_numbers] of the members that are an image's numbers; false: not all are there. */
static bool read_pixels(const struct wire_request_reader *w, const json_t *record,
                        unsigned char *pixels)
{
    for (uint32_t i = 0; i < image_numbers(&w->schema->image); i++) {
        const char *name = w->column(w->arg, i);
        const json_t *v = name ? json_object_get(record, name) : NULL;
        if (!json_is_number(v))
            return false;
        pixels[i] = (unsigned char)lround(fmin(fmax(127.5 * json_number_value(v) + 127.5, 0), 255));
    }
    return true;
}

/* People are shown the picture that an image's numbers are. */
static void numbers_to_image(const struct wire_request_reader *w, json_t *record)
{
    const struct image_shape *shape = &w->schema->image;
    const size_t n = image_numbers(shape);
    unsigned char *pixels = n ? fis_alloc(n, 1) : NULL;
    const struct wire_image image = {{pixels, n}, *shape};
    if (pixels && read_pixels(w, record, pixels) && put_image(w->schema, record, &image))
        for (uint32_t i = 0; i < n; i++)
            json_object_del(record, w->column(w->arg, i));
    fis_free(pixels);
}

static json_t *from_protobuf(const struct wire_request_reader *w, struct wire_bytes record)
{
    Fis__V1__Record *r = fis__v1__record__unpack(NULL, record.length, record.data);
    json_t *object = r ? json_object() : NULL;
    for (size_t i = 0; object && i < r->n_attributes; i++)
        json_object_set_new(object, r->attributes[i]->key, json_string(r->attributes[i]->value));
    for (size_t i = 0; object && i < r->n_features; i++)
        put_number(w, object, (uint32_t)i, r->features[i]);
    for (size_t i = 0; object && r->sparse && i < r->sparse->n_index && i < r->sparse->n_value; i++)
        put_number(w, object, r->sparse->index[i], r->sparse->value[i]);
    const Fis__V1__Image *i = r ? r->image : NULL;
    if (object && i)
        put_image(
            w->schema, object,
            &(struct wire_image){{i->data.data, i->data.len}, {i->height, i->width, i->channels}});
    if (r)
        fis__v1__record__free_unpacked(r, NULL);
    return object;
}

static json_t *show_record(const struct wire_request_reader *w, const struct wire_label_request *r)
{
    struct fis_error none;
    switch (r->encoding) {
    case WIRE_JSON:
        return wire_json_parse(r->record, &none);
    case WIRE_PROTOBUF:
        return from_protobuf(w, r->record);
    case WIRE_RAW:
        return from_raw(w, r->record);
    case WIRE_REGISTRY: /* of no request */
        break;
    }
    return NULL;
}

static int read_protobuf(const struct wire_request_reader *w, const struct wire_message *m,
                         bool with_record, struct wire_request_shown *out, struct fis_error *e)
{
    struct wire_label_request r;
    struct fis_arena arena = {.size = 8 * m->value.length + 65536};
    arena.base = fis_alloc(1, arena.size);
    if (!arena.base)
        return fis_fail(e, FIS_NOMEM, "no memory for a label request");
    enum wire_decoded d = wire_protobuf_request(m, &arena, &r, NULL, NULL, e);
    if (d == WIRE_OK) {
        out->id = r.id;
        out->round = r.round;
        out->requested_at_ms = r.requested_at_ms;
        out->deadline_ms = r.deadline_ms;
        copy_text(out->criterion, r.criterion);
        out->votes = r.votes;
        out->head = r.head_version;
        out->cancelled = r.cancelled != 0;
        copy_text(out->reason, r.reason);
        out->record = with_record && !r.cancelled ? show_record(w, &r) : NULL;
    }
    fis_free(arena.base);
    return d == WIRE_OK ? 1 : d == WIRE_TOMBSTONE ? 0 : -(int)FIS_INPUT;
}

int wire_request_show(const struct wire_request_reader *r, const struct wire_message *m,
                      bool with_record, struct wire_request_shown *out, struct fis_error *e)
{
    *out = (struct wire_request_shown){0};
    if (!m->value.data)
        return 0;
    int rc = r->encoding == WIRE_PROTOBUF ? read_protobuf(r, m, with_record, out, e)
                                          : read_json(m, with_record, out, e);
    if (rc > 0 && out->record)
        numbers_to_image(r, out->record);
    return rc;
}

void wire_request_shown_done(struct wire_request_shown *r)
{
    if (r->record)
        json_decref(r->record);
    *r = (struct wire_request_shown){0};
}
