/*
 * The format of framed records, compiled from the schema that a registry keeps under the id in
 * their frame: Avro (the writer's schema) or protobuf (a .proto file), or JSON, whose frame only
 * comes off. A record of it is rewritten as a JSON object with the schema's names, so that all that
 * holds for JSON records (columns by dotted names, unknown columns, sensitive ones, numeric text,
 * missing values, what labellers see) holds for it.
 *
 *   boolean                         true, false
 *   integers                        digits; those above 2^63 a text of digits
 *   float, double                   the shortest decimal; NaN and infinities as texts
 *   string, enum                    a text; an unknown number of a protobuf enum as digits
 *   bytes, fixed                    a text in base64
 *   array, repeated; map            an array; an object
 *   record, message                 an object
 *   null, an absent field           null
 *   Avro union                      the value of its branch
 *   Avro decimal                    digits with a point: 12.30
 *   other Avro logical types        what they are stored as (a date: days since 1970)
 *   protobuf without presence       its default where it is not sent
 *   google.protobuf.DoubleValue, …  the value inside
 *
 * Thread: compiled by one thread at a time (libavro's last error is a global); a compiled format is
 * immutable, and used by any. Owns: its storage.
 */
#ifndef WIRE_FORMAT_H
#define WIRE_FORMAT_H

#include "wire/types.h"

enum wire_format_kind { WIRE_FORMAT_AVRO, WIRE_FORMAT_PROTOBUF, WIRE_FORMAT_JSON };

/* Limits of a schema, and of a record's nesting. */
#define WIRE_FORMAT_DEPTH 64u
#define WIRE_FORMAT_NODES 20000u
#define WIRE_FORMAT_BYTES ((size_t)1 << 20) /* of all its texts */

/* A schema's text. name: by which others import it. */
struct wire_format_text {
    const char *name;
    struct wire_bytes text;
};

struct wire_format;
/* Of texts[n - 1]; those before it are what it refers to, each behind what it refers to itself.
 * INPUT: what is wrong with it, or not supported; NOMEM. */
int wire_format_new(struct wire_format **out, enum wire_format_kind kind,
                    const struct wire_format_text *texts, uint32_t n,
                    struct fis_error *e) FIS_MUST_CHECK;
void wire_format_free(struct wire_format *f); /* NULL is fine */

/* The schema's id in the frame of a value. INPUT: it has no frame. */
int wire_frame_id(struct wire_bytes value, uint32_t *id, struct fis_error *e) FIS_MUST_CHECK;

/* A framed value as a JSON object of at most max_bytes, which lies in the arena. INPUT: the bytes
 * do not fit the schema, or the text or the work takes more room than there is. */
int wire_format_json(const struct wire_format *f, struct wire_bytes value, size_t max_bytes,
                     struct fis_arena *arena, struct wire_bytes *json,
                     struct fis_error *e) FIS_MUST_CHECK;

#endif
