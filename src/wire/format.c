#include "wire/format_impl.h"

#include <string.h>

#define FRAME_BYTES 5u /* a zero byte and the schema's id */

struct wire_format {
    enum wire_format_kind kind;
    struct avro_plan *avro;
    struct proto_plan *protobuf;
};

int wire_format_new(struct wire_format **out, enum wire_format_kind kind,
                    const struct wire_format_text *texts, uint32_t n, struct fis_error *e)
{
    struct wire_format *f = fis_calloc(1, sizeof *f);
    if (!f)
        return fis_fail(e, FIS_NOMEM, "no memory for a schema");
    f->kind = kind;
    int rc = 0;
    if (kind == WIRE_FORMAT_AVRO)
        rc = avro_plan_new(&f->avro, texts, n, e);
    else if (kind == WIRE_FORMAT_PROTOBUF)
        rc = proto_plan_new(&f->protobuf, texts, n, e);
    if (rc)
        wire_format_free(f);
    else
        *out = f;
    return rc;
}

void wire_format_free(struct wire_format *f)
{
    if (!f)
        return;
    avro_plan_free(f->avro);
    proto_plan_free(f->protobuf);
    fis_free(f);
}

int wire_frame_id(struct wire_bytes value, uint32_t *id, struct fis_error *e)
{
    const unsigned char *p = value.data;
    if (value.length < FRAME_BYTES || p[0] != 0)
        return fis_refuse(e, FIS_CODE_MALFORMED,
                          "no frame with a schema's id (%zu bytes, the first is %d); "
                          "records.encoding is registry",
                          value.length, value.length ? p[0] : -1);
    *id = (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 | p[4];
    return 0;
}

static int write_json(const struct wire_format *f, struct wire_bytes inside,
                      struct fis_arena *arena, struct format_text *t, struct fis_error *e)
{
    if (f->kind == WIRE_FORMAT_AVRO)
        return avro_plan_json(f->avro, inside, t, e);
    if (f->kind == WIRE_FORMAT_PROTOBUF)
        return proto_plan_json(f->protobuf, inside, arena, t, e);
    format_put(t, inside.data, inside.length);
    return 0;
}

int wire_format_json(const struct wire_format *f, struct wire_bytes value, size_t max_bytes,
                     struct fis_arena *arena, struct wire_bytes *json, struct fis_error *e)
{
    uint32_t id;
    int rc = wire_frame_id(value, &id, e);
    if (rc)
        return rc;
    struct wire_bytes inside = {(const char *)value.data + FRAME_BYTES, value.length - FRAME_BYTES};
    size_t before = arena->used;
    struct format_text t = {.begin = fis_arena_alloc(arena, max_bytes)};
    if (!t.begin)
        return fis_refuse(e, FIS_CODE_TOO_LONG, "schema id %u: no room for a record of %zu bytes",
                          id, max_bytes);
    t.at = t.begin;
    t.end = t.begin + max_bytes;
    rc = write_json(f, inside, arena, &t, e);
    if (!rc && t.full)
        rc = fis_refuse(e, FIS_CODE_TOO_LONG, "the record as JSON is longer than %zu bytes",
                        max_bytes);
    arena->used = before;
    if (rc)
        return fis_error_prefix(e, "schema id %u", id);
    *json = (struct wire_bytes){fis_arena_alloc(arena, (size_t)(t.at - t.begin)),
                                (size_t)(t.at - t.begin)};
    return 0;
}
