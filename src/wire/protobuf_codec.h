/*
 * The messages of proto/fis.proto between programs, except heads, models and the ledger, which
 * have headers of their own.
 *
 * Decoders check the bytes field by field first, so that an error says what is wrong and where:
 * "field 2 (features) at byte 4: 15 bytes, not a multiple of 4". Nothing is allocated outside the
 * arena; an arena that is too small is an INPUT error. Out parameters are written on WIRE_OK only,
 * except the id on WIRE_TOMBSTONE. The Confluent frame is taken off records, labels and examples
 * as the schema allows (wire/framing.h). Encoders append to the buffer, or leave it as it was.
 *
 * Thread: no state. Owns: nothing; what is decoded lives in the arena and in the message.
 */
#ifndef WIRE_PROTOBUF_CODEC_H
#define WIRE_PROTOBUF_CODEC_H

#include "wire/types.h"

/* One record to x [fis_encoder_dimension]: the values of the columns in order, dense or sparse,
 * through fis_encoder_encode_floats. The arena needs 4 bytes a column, 13 for sparse ones (and 64
 * more). Null value: WIRE_TOMBSTONE with record->id. Longer than schema->max_bytes, or anything
 * else not right: WIRE_BAD and *e. */
enum wire_decoded wire_protobuf_record(const struct wire_schema *schema,
                                       const struct fis_encoder *encoder,
                                       const struct wire_message *m, struct fis_arena *arena,
                                       float *x, struct wire_record *record,
                                       struct fis_error *e) FIS_MUST_CHECK;

/* The same; but a record of few numbers comes as the list of its features (fis_encoder_encode_list)
 * and x is left alone. index, value: room for the columns; n: how many, columns rising, or
 * WIRE_NO_LIST when x was written. */
#define WIRE_NO_LIST UINT32_MAX
struct wire_list {
    uint32_t n, *index;
    float *value;
};
enum wire_decoded wire_protobuf_record_or_list(const struct wire_schema *schema,
                                               const struct fis_encoder *encoder,
                                               const struct wire_message *m,
                                               struct fis_arena *arena, float *x,
                                               struct wire_list *list, struct wire_record *record,
                                               struct fis_error *e) FIS_MUST_CHECK;

/* The values [n_columns] of a record as they came, not encoded, or its image, where image->data is
 * not NULL: for showing it to a person. */
struct wire_image;
int wire_protobuf_values(struct wire_bytes value, uint32_t n_columns, struct fis_arena *arena,
                         const float **values, struct wire_image *image,
                         struct fis_error *e) FIS_MUST_CHECK;

/* The attributes of a record, by their names, none twice: texts for the people who label it. */
int wire_protobuf_attributes(struct wire_bytes value, struct fis_arena *arena,
                             struct wire_named_values *out, struct fis_error *e) FIS_MUST_CHECK;

/* No bytes at all with the id as key: class 0. The id is the field's or the key's. */
enum wire_decoded wire_protobuf_label(const struct wire_schema *schema,
                                      const struct wire_message *m, struct fis_arena *arena,
                                      struct wire_label *label, struct fis_error *e) FIS_MUST_CHECK;
int wire_protobuf_label_encode(const struct wire_schema *schema, const struct wire_label *label,
                               struct byte_buffer *out, struct fis_error *e) FIS_MUST_CHECK;

int wire_protobuf_request_encode(const struct wire_schema *schema,
                                 const struct wire_label_request *request, struct byte_buffer *out,
                                 struct fis_error *e) FIS_MUST_CHECK;
/* classes (may be NULL): the names that may be answered, [*n_classes]; none when cancelled. */
enum wire_decoded wire_protobuf_request(const struct wire_message *m, struct fis_arena *arena,
                                        struct wire_label_request *request,
                                        const char *const **classes, uint32_t *n_classes,
                                        struct fis_error *e) FIS_MUST_CHECK;

/* A message on `candidates`. A score of -inf is left out, and comes back as -inf; x goes dense or
 * sparse, whichever is smaller, and comes back bit for bit. Offers that are encoded one behind the
 * other are one offer with the candidates of all; the last may have progress. What fails to be
 * encoded leaves the buffer as it was. Decoded, all lies in the arena or the message. */
int wire_offer_encode(const struct wire_offer *offer, struct byte_buffer *out,
                      struct fis_error *e) FIS_MUST_CHECK;
enum wire_decoded wire_offer_decode(const struct wire_message *m, struct fis_arena *arena,
                                    struct wire_offer *offer, struct fis_error *e) FIS_MUST_CHECK;

/* A message on `control`: the key is the command's id (no NUL in it). What a kind has no use for (a
 * record, a version) is refused, and so is CANCEL without a record and PROMOTE without a version.
 * `by` and `reason` go cut to WIRE_CONTROL_TEXT bytes of UTF-8 and live in the arena. */
#define WIRE_CONTROL_TEXT 255
int wire_control_encode(const struct wire_control *control, struct byte_buffer *out,
                        struct fis_error *e) FIS_MUST_CHECK;
enum wire_decoded wire_control_decode(const struct wire_message *m, struct fis_arena *arena,
                                      struct wire_control *control,
                                      struct fis_error *e) FIS_MUST_CHECK;

/* An initial example (sensitive = 0: it must have no sensitive attributes) or a validation example
 * (1: exactly those of the schema, none empty). values [n_columns], all numbers. Null value:
 * WIRE_TOMBSTONE with example->id (the key). Errors never hold a sensitive value. */
enum wire_decoded wire_protobuf_example(const struct wire_schema *schema, uint32_t n_columns,
                                        int sensitive, const struct wire_message *m,
                                        struct fis_arena *arena, struct wire_example *example,
                                        struct fis_error *e) FIS_MUST_CHECK;

#endif
