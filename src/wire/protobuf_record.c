/* Records are the hot path: one pass over the bytes, values straight into the arena. */
#include "fis.pb-c.h"

#include "wire/protobuf_codec.h"
#include "wire/protobuf_features.h"
#include "wire/protobuf_unpack.h"
#include "wire/raw.h"
#include "wire/record.h"

/* What nearly all records have, taken without the descriptor's detour: features in one piece. */
static int usual(struct wire_features *features, const struct wire_field *f)
{
    if (f->type != WIRE_LENGTH)
        return 0;
    if (f->number == 2 && f->length % 4 == 0) {
        wire_features_dense(features, f);
        return 1;
    }
    return f->number == 3 && wire_features_simple(features, f);
}

static int read_fields(struct wire_bytes bytes, struct wire_features *features,
                       struct wire_bytes *id, int64_t *event_time, struct fis_error *e)
{
    struct wire_reader r = wire_reader_of(bytes);
    struct wire_field f;
    int rc;
    while ((rc = wire_reader_next(&r, &f, e)) > 0) {
        if (usual(features, &f))
            continue;
        rc = wire_protobuf_check_field(&fis__v1__record__descriptor, &r, &f, e);
        if (rc)
            return rc;
        switch (f.number) {
        case 1: /* the last one counts */
            *id = (struct wire_bytes){f.data, f.length};
            break;
        case 2:
            wire_features_dense(features, &f);
            break;
        case 3:
            rc = wire_features_sparse(features, &r, &f, e);
            if (rc)
                return rc;
            break;
        case 5:
            *event_time = (int64_t)f.value;
            break;
        default: /* attributes and unknown fields stay in the original bytes */
            break;
        }
    }
    return rc;
}

/* A record that is `features` in one piece and nothing else: where its floats are, or NULL. */
static const unsigned char *only_features(struct wire_bytes value, uint32_t wanted)
{
    const unsigned char *p = value.data, *end = p + value.length;
    size_t length = (size_t)wanted * 4;
    if (value.length <= length || *p++ != 0x12)
        return NULL;
    for (; length > 127 && p < end; length >>= 7)
        if (*p++ != (unsigned char)(length | 128))
            return NULL;
    return p < end && *p++ == length && (size_t)(end - p) == (size_t)wanted * 4 ? p : NULL;
}

/* Such a record with an id by its key or place; a failure is looked into by `decode`. */
static int decode_simple(const struct wire_schema *schema, const struct fis_encoder *encoder,
                         const struct wire_message *m, struct fis_arena *arena, float *x,
                         struct wire_record *record)
{
    uint32_t n = fis_encoder_columns(encoder);
    const unsigned char *bytes = only_features(m->value, n);
    const void *values = bytes ? wire_floats(bytes, n, arena) : NULL;
    char place[FIS_ID_MAX];
    struct wire_bytes id;
    if (!values || m->value.length > schema->max_bytes ||
        wire_message_find_id(m, (struct wire_bytes){0}, 1, place, &id, NULL) ||
        fis_encoder_encode_packed(encoder, values, n, x, NULL))
        return 0;
    wire_record_set(record, id, m->timestamp_ms, 0);
    return 1;
}

static int decode(const struct wire_schema *schema, const struct fis_encoder *encoder,
                  const struct wire_message *m, struct fis_arena *arena, float *x,
                  struct wire_record *record, struct fis_error *e)
{
    struct wire_bytes value = m->value, own = {0}, id;
    struct wire_features features;
    char place[FIS_ID_MAX];
    int64_t event_time_ms = 0;
    if (value.length > schema->max_bytes)
        return fis_refuse(e, FIS_CODE_TOO_LONG, "a record of %zu bytes, at most %zu allowed",
                          value.length, schema->max_bytes);
    int rc = wire_confluent_strip(&value, e);
    if (!rc)
        rc = wire_features_start(&features, fis_encoder_columns(encoder), arena, e);
    if (!rc)
        rc = read_fields(value, &features, &own, &event_time_ms, e);
    if (!rc)
        rc = wire_features_finish(&features, e);
    if (!rc)
        rc = wire_message_find_id(m, own, 1, place, &id, e);
    if (!rc)
        rc = fis_encoder_encode_floats(encoder, features.values, features.wanted, x, e);
    if (!rc)
        wire_record_set(record, id, event_time_ms ? event_time_ms : m->timestamp_ms, 0);
    return rc;
}

enum wire_decoded wire_protobuf_record(const struct wire_schema *schema,
                                       const struct fis_encoder *encoder,
                                       const struct wire_message *m, struct fis_arena *arena,
                                       float *x, struct wire_record *record, struct fis_error *e)
{
    if (!m->value.data)
        return wire_message_id(m, (struct wire_bytes){0}, 1, &record->id, e) ? WIRE_BAD
                                                                             : WIRE_TOMBSTONE;
    if (decode_simple(schema, encoder, m, arena, x, record))
        return WIRE_OK;
    return decode(schema, encoder, m, arena, x, record, e) ? WIRE_BAD : WIRE_OK;
}

int wire_protobuf_values(struct wire_bytes value, uint32_t n_columns, struct fis_arena *arena,
                         const float **values, struct fis_error *e)
{
    struct wire_bytes id = {0};
    struct wire_features features;
    int64_t event_time;
    int rc = wire_confluent_strip(&value, e);
    if (!rc)
        rc = wire_features_start(&features, n_columns, arena, e);
    if (!rc)
        rc = read_fields(value, &features, &id, &event_time, e);
    if (!rc)
        rc = wire_features_finish(&features, e);
    if (!rc)
        *values = features.values;
    return rc;
}
