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

int wire_raw_check(struct wire_bytes value, uint32_t n, struct fis_error *e)
{
    size_t expected = (size_t)n * sizeof(float);
    return value.length == expected
               ? 0
               : fis_refuse(e, FIS_CODE_WRONG_WIDTH, "%zu bytes, %zu expected (%u float32)",
                            value.length, expected, n);
}

static int decode(const struct wire_schema *schema, const struct fis_encoder *encoder,
                  const struct wire_message *m, struct fis_arena *arena, float *x,
                  struct wire_record *record, struct fis_error *e)
{
    uint32_t n = fis_encoder_columns(encoder);
    char place[FIS_ID_MAX];
    struct wire_bytes id;
    int rc = wire_schema_fits(schema, m->value.length, e);
    if (!rc)
        rc = wire_raw_check(m->value, n, e);
    if (rc)
        return rc;
    const void *values = wire_floats(m->value.data, n, arena);
    if (!values)
        return fis_refuse(e, FIS_CODE_TOO_LONG, "decoding %u columns takes more than %zu bytes", n,
                          arena->size);
    rc = wire_record_find_id(m, (struct wire_bytes){0}, place, &id, e);
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
