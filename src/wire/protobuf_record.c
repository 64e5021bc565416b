/* Records are the hot path: one pass over the bytes, values straight into the arena. */
#include "fis.pb-c.h"

#include "wire/framing.h"
#include "wire/protobuf_codec.h"
#include "wire/protobuf_features.h"
#include "wire/protobuf_unpack.h"
#include "wire/record.h"
#include "wire/record_image.h"
#include "base/utf8.h"

/* A record is decoded in few functions: it takes so little that calls count. */
#define INLINE static inline __attribute__((always_inline))

/* What nearly all records are made of, taken without the descriptor's detour: 1, or 0 and nothing
 * is done. */
INLINE int usual(struct wire_reader *r, struct wire_features *features, struct wire_bytes *id)
{
    struct wire_reader after = {r->base, r->at + 1, r->end};
    struct wire_bytes piece;
    unsigned char tag = *r->at;
    if (!wire_reader_piece(&after, &piece))
        return 0;
    if (tag == 0x0a && utf8_plain(piece.data, piece.length))
        *id = piece;
    else if ((tag != 0x12 || !wire_features_whole(features, piece)) &&
             (tag != 0x1a || !wire_features_simple(features, piece)))
        return 0;
    r->at = after.at;
    return 1;
}

INLINE int read_fields(struct wire_bytes bytes, struct wire_features *features,
                       struct wire_bytes *id, int64_t *event_time, struct wire_image *image,
                       struct fis_error *e)
{
    struct wire_reader r = wire_reader_of(bytes);
    struct wire_field f;
    int rc;
    for (;;) {
        while (r.at < r.end && usual(&r, features, id))
            ;
        rc = r.at == r.end ? 0 : wire_reader_next(&r, &f, e);
        if (rc <= 0)
            return rc;
        rc = wire_protobuf_check_field(&fis__v1__record__descriptor, &r, &f, e);
        if (rc)
            return rc;
        switch (f.number) {
        case 1: /* the last one counts */
            *id = (struct wire_bytes){f.data, f.length};
            break;
        case 2:
            rc = wire_features_dense(features, (struct wire_bytes){f.data, f.length}, e);
            if (rc)
                return rc;
            break;
        case 3:
            rc = wire_features_sparse(features, &r, &f, e);
            if (rc)
                return rc;
            break;
        case 5:
            *event_time = (int64_t)f.value;
            break;
        case 6:
            rc = wire_image_read(&r, &f, image, e);
            if (rc)
                return rc;
            break;
        default: /* attributes and unknown fields stay in the original bytes */
            break;
        }
    }
}

/* In place of features: x. */
static int encode_image(const struct wire_schema *schema, const struct fis_encoder *encoder,
                        const struct wire_features *features, const struct wire_image *image,
                        float *x, struct fis_error *e)
{
    const float *numbers;
    int rc = wire_features_none(features, e);
    if (!rc)
        rc = wire_image_numbers(schema, image, features->arena, &numbers, e);
    return rc ? rc
              : fis_encoder_encode_packed(encoder, numbers, (uint32_t)image_numbers(&schema->image),
                                          x, e);
}

INLINE int decode(const struct wire_schema *schema, const struct fis_encoder *encoder,
                  const struct wire_message *m, struct fis_arena *arena, float *x,
                  struct wire_list *list, struct wire_record *record, struct fis_error *e)
{
    struct wire_bytes value = m->value, own = {0}, id;
    struct wire_features features;
    struct wire_image image = {0};
    char place[FIS_ID_MAX];
    int64_t event_time_ms = 0;
    int rc = wire_schema_fits(schema, value.length, e);
    if (rc)
        return rc;
    rc = wire_is_plain(&value, &schema->framing)
             ? 0
             : wire_unframe_protobuf(&value, &schema->framing, 0, "records", e);
    wire_features_start(&features, fis_encoder_columns(encoder), arena);
    if (list) {
        features.index = list->index;
        features.value = list->value;
    }
    if (!rc)
        rc = read_fields(value, &features, &own, &event_time_ms, &image, e);
    const bool pictured = image.data.data != NULL;
    int listed =
        !rc && !pictured && list && wire_features_listed(&features) && fis_encoder_lists(encoder);
    if (!rc && !listed && !pictured)
        rc = wire_features_finish(&features, e);
    if (!rc)
        rc = wire_record_find_id(m, own, place, &id, e);
    if (!rc && pictured)
        rc = encode_image(schema, encoder, &features, &image, x, e);
    else if (!rc && listed)
        list->n =
            fis_encoder_encode_list(encoder, list->index, list->value, (uint32_t)features.n_index);
    else if (!rc)
        rc = fis_encoder_encode_packed(encoder, features.whole ? features.whole : features.values,
                                       features.expected, x, e);
    if (!rc)
        wire_record_set(record, id, event_time_ms ? event_time_ms : m->timestamp_ms, 0);
    return rc;
}

enum wire_decoded wire_protobuf_record_or_list(const struct wire_schema *schema,
                                               const struct fis_encoder *encoder,
                                               const struct wire_message *m,
                                               struct fis_arena *arena, float *x,
                                               struct wire_list *list, struct wire_record *record,
                                               struct fis_error *e)
{
    if (!m->value.data)
        return wire_message_id(m, (struct wire_bytes){0}, 1, &record->id, e) ? WIRE_BAD
                                                                             : WIRE_TOMBSTONE;
    if (list)
        list->n = WIRE_NO_LIST;
    return decode(schema, encoder, m, arena, x, list, record, e) ? WIRE_BAD : WIRE_OK;
}

enum wire_decoded wire_protobuf_record(const struct wire_schema *schema,
                                       const struct fis_encoder *encoder,
                                       const struct wire_message *m, struct fis_arena *arena,
                                       float *x, struct wire_record *record, struct fis_error *e)
{
    return wire_protobuf_record_or_list(schema, encoder, m, arena, x, NULL, record, e);
}

int wire_protobuf_values(struct wire_bytes value, uint32_t n_columns, struct fis_arena *arena,
                         const float **values, struct wire_image *image, struct fis_error *e)
{
    struct wire_bytes id = {0};
    *image = (struct wire_image){0};
    struct wire_features features;
    int64_t event_time;
    int rc = wire_unframe_again(&value, e);
    wire_features_start(&features, n_columns, arena);
    if (!rc)
        rc = read_fields(value, &features, &id, &event_time, image, e);
    if (!rc && image->data.data)
        return wire_features_none(&features, e);
    if (!rc)
        rc = wire_features_finish(&features, e);
    if (rc)
        return rc;
    const float *found = wire_features_values(&features, e);
    if (!found)
        return -FIS_INPUT;
    *values = found;
    return 0;
}
