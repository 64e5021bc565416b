#include "wire/raw.h"

#include "wire/record.h"

const void *wire_floats(const void *bytes, size_t n, struct fis_arena *arena)
{
#if __BYTE_ORDER == __BIG_ENDIAN
    float *copy = fis_arena_alloc(arena, n * sizeof *copy);
    if (copy)
        wire_floats_from_le(copy, bytes, n);
    return copy;
#else
    (void)n, (void)arena;
    return bytes;
#endif
}

static int decode(const struct wire_schema *schema, const struct fis_encoder *encoder,
                  const struct wire_message *m, struct fis_arena *arena, float *x,
                  struct wire_record *record, struct fis_error *e)
{
    uint32_t n = fis_encoder_columns(encoder);
    size_t wanted = (size_t)n * sizeof(float);
    char place[FIS_ID_MAX];
    struct wire_bytes id;
    if (m->value.length > schema->max_bytes)
        return fis_refuse(e, FIS_CODE_TOO_LONG, "a record of %zu bytes, at most %zu allowed",
                          m->value.length, schema->max_bytes);
    if (m->value.length != wanted)
        return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "%zu bytes, %zu wanted (%u float32)",
                          m->value.length, wanted, n);
    const void *values = wire_floats(m->value.data, n, arena);
    if (!values)
        return fis_refuse(e, FIS_CODE_TOO_LONG, "decoding %u columns takes more than %zu bytes", n,
                          arena->size);
    int rc = wire_message_find_id(m, (struct wire_bytes){0}, 1, place, &id, e);
    if (!rc)
        rc = fis_encoder_encode_packed(encoder, values, n, x, e);
    if (!rc)
        wire_record_set(record, id, m->timestamp_ms, 0);
    return rc;
}

enum wire_decoded wire_raw_record(const struct wire_schema *schema,
                                  const struct fis_encoder *encoder, const struct wire_message *m,
                                  struct fis_arena *arena, float *x, struct wire_record *record,
                                  struct fis_error *e)
{
    if (!m->value.data)
        return wire_message_id(m, (struct wire_bytes){0}, 1, &record->id, e) ? WIRE_BAD
                                                                             : WIRE_TOMBSTONE;
    return decode(schema, encoder, m, arena, x, record, e) ? WIRE_BAD : WIRE_OK;
}
