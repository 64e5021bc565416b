#include "wire/protobuf_unpack.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Each field costs memory when it is unpacked, an empty one too. */
#define MOST_FIELDS (1u << 22)

static unsigned wire_type_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return WIRE_FIXED32;
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return WIRE_FIXED64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return WIRE_LENGTH;
    default:
        return WIRE_VARINT;
    }
}

static int check_number(const ProtobufCFieldDescriptor *d, uint64_t value, struct fis_error *e)
{
    int64_t as_signed = (int64_t)value;
    bool fits = true;
    if (d->type == PROTOBUF_C_TYPE_UINT32)
        fits = value <= UINT32_MAX;
    else if (d->type == PROTOBUF_C_TYPE_INT32 || d->type == PROTOBUF_C_TYPE_ENUM)
        fits = as_signed >= INT32_MIN && as_signed <= INT32_MAX;
    if (!fits)
        return fis_refuse(e, FIS_CODE_MALFORMED, "%llu does not fit 32 bits",
                          (unsigned long long)value);
    if (d->type != PROTOBUF_C_TYPE_ENUM)
        return 0;
    const ProtobufCEnumDescriptor *values = d->descriptor;
    if (protobuf_c_enum_descriptor_get_value(values, (int)as_signed))
        return 0;
    char allowed[FIS_ERROR_TEXT / 2] = "";
    size_t n = 0;
    for (unsigned i = 0; i < values->n_values && n < sizeof allowed; i++)
        n += (size_t)snprintf(allowed + n, sizeof allowed - n, "%s%d %s", i ? ", " : "",
                              values->values[i].value, values->values[i].name);
    return fis_refuse(e, FIS_CODE_MALFORMED, "%lld is not known, allowed: %s", (long long)as_signed,
                      allowed);
}

static int check_packed(const ProtobufCFieldDescriptor *d, const struct wire_reader *r,
                        const struct wire_field *f, struct fis_error *e)
{
    unsigned type = wire_type_of(d->type), size = type == WIRE_FIXED32 ? 4 : 8;
    if (type != WIRE_VARINT) {
        if (f->length % size)
            return fis_refuse(e, FIS_CODE_MALFORMED, "%zu bytes, not a multiple of %u", f->length,
                              size);
        return 0;
    }
    struct wire_reader inside = wire_reader_inside(r, f);
    while (inside.at < inside.end) {
        uint64_t value;
        int rc = wire_reader_varint(&inside, &value, e);
        if (!rc)
            rc = check_number(d, value, e);
        if (rc)
            return rc;
    }
    return 0;
}

static int check_string(const struct wire_field *f, struct fis_error *e)
{
    size_t valid = utf8_prefix(f->data, f->length);
    if (valid < f->length)
        return fis_refuse(e, FIS_CODE_MALFORMED, "not UTF-8 after %zu of %zu bytes", valid,
                          f->length);
    if (f->length && memchr(f->data, 0, f->length))
        return fis_refuse(e, FIS_CODE_MALFORMED, "holds a NUL, which a string may not");
    return 0;
}

static int check_message(const ProtobufCMessageDescriptor *d, struct wire_reader r,
                         uint32_t *fields, struct fis_error *e);

static int check_content(const ProtobufCFieldDescriptor *d, const struct wire_reader *r,
                         const struct wire_field *f, uint32_t *fields, struct fis_error *e)
{
    unsigned expected = wire_type_of(d->type);
    if (f->type != expected) {
        if (d->label == PROTOBUF_C_LABEL_REPEATED && f->type == WIRE_LENGTH)
            return check_packed(d, r, f, e);
        return fis_refuse(e, FIS_CODE_MALFORMED, "wire type %u, %u expected", f->type, expected);
    }
    if (d->type == PROTOBUF_C_TYPE_MESSAGE)
        return check_message(d->descriptor, wire_reader_inside(r, f), fields, e);
    if (d->type == PROTOBUF_C_TYPE_STRING)
        return check_string(f, e);
    return expected == WIRE_VARINT ? check_number(d, f->value, e) : 0;
}

static int check_field(const ProtobufCMessageDescriptor *d, const struct wire_reader *r,
                       const struct wire_field *f, uint32_t *fields, struct fis_error *e)
{
    const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(d, f->number);
    if (!field)
        return 0;
    if (++*fields > MOST_FIELDS)
        return fis_refuse(e, FIS_CODE_MALFORMED, "more than %u fields", MOST_FIELDS);
    int rc = check_content(field, r, f, fields, e);
    if (rc)
        fis_error_prefix(e, "field %u (%s) at byte %zu", f->number, field->name, f->offset);
    return rc;
}

static int check_message(const ProtobufCMessageDescriptor *d, struct wire_reader r,
                         uint32_t *fields, struct fis_error *e)
{
    struct wire_field f;
    int rc;
    while ((rc = wire_reader_next(&r, &f, e)) > 0) {
        rc = check_field(d, &r, &f, fields, e);
        if (rc)
            return rc;
    }
    return rc;
}

int wire_protobuf_check(const ProtobufCMessageDescriptor *d, struct wire_bytes bytes,
                        struct fis_error *e)
{
    uint32_t fields = 0;
    return check_message(d, wire_reader_of(bytes), &fields, e);
}

int wire_protobuf_check_field(const ProtobufCMessageDescriptor *d, const struct wire_reader *r,
                              const struct wire_field *f, struct fis_error *e)
{
    uint32_t fields = 0;
    return check_field(d, r, f, &fields, e);
}

struct source { /* of memory for protobuf-c */
    struct fis_arena *arena;
    bool refused;
};

static void *source_take(void *data, size_t size)
{
    struct source *s = data;
    void *p = s->arena ? fis_arena_alloc(s->arena, size) : fis_alloc(size, 1);
    if (!p)
        s->refused = 1;
    return p;
}

static void source_give(void *data, void *p)
{
    struct source *s = data;
    if (!s->arena)
        fis_free(p);
}

void *wire_protobuf_unpack(const ProtobufCMessageDescriptor *d, struct wire_bytes bytes,
                           struct fis_arena *arena, struct fis_error *e)
{
    if (wire_protobuf_check(d, bytes, e))
        return NULL;
    struct source source = {.arena = arena};
    ProtobufCAllocator allocator = {source_take, source_give, &source};
    void *m = protobuf_c_message_unpack(d, &allocator, bytes.length, wire_reader_of(bytes).base);
    if (m)
        return m;
    if (source.refused && arena)
        fis_refuse(e, FIS_CODE_TOO_LONG, "decoding a %s of %zu bytes takes more than %zu bytes",
                   d->short_name, bytes.length, arena->size);
    else if (source.refused)
        fis_fail(e, FIS_NOMEM, "no memory to decode a %s of %zu bytes", d->short_name,
                 bytes.length);
    else
        fis_refuse(e, FIS_CODE_MALFORMED, "not a %s", d->short_name);
    return NULL;
}

void wire_protobuf_free(void *message)
{
    struct source source = {0};
    ProtobufCAllocator allocator = {source_take, source_give, &source};
    if (message)
        protobuf_c_message_free_unpacked(message, &allocator);
}

int wire_protobuf_pack(const void *message, struct byte_buffer *out, struct fis_error *e)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    int rc = byte_buffer_reserve(out, size, e);
    if (rc)
        return rc;
    out->length += protobuf_c_message_pack(message, out->data + out->length);
    return 0;
}
