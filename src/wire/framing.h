/*
 * The frame of Confluent's serializers around a message: a zero byte, 4 bytes of schema id and, for
 * protobuf, the path of message indexes in that schema. What is framed must be of the message that
 * is expected: bytes of another one may decode too, to other values.
 * Thread: no state. Owns: nothing.
 */
#ifndef WIRE_FRAMING_H
#define WIRE_FRAMING_H

#include "wire/protobuf_reader.h"

/* Takes the frame of a protobuf value off, or refuses it. `own`: the message's index in
 * proto/fis.proto; that path is right, and so is [0], unless a path is configured. `topic`: the
 * section of the configuration, for errors ("records"). */
int wire_unframe_protobuf(struct wire_bytes *value, const struct wire_framing *f, uint32_t own,
                          const char *topic, struct fis_error *e) FIS_MUST_CHECK;
/* The same of JSON, whose frame has no path; it is taken off where it is configured, and else
 * refused by its name. */
int wire_unframe_json(struct wire_bytes *value, const struct wire_framing *f, const char *topic,
                      struct fis_error *e) FIS_MUST_CHECK;
/* Begins a value with the frame that is configured, if one is: of schema 0, since fisd registers
 * none. path: of protobuf. */
int wire_frame(const struct wire_framing *f, bool path, struct byte_buffer *out,
               struct fis_error *e) FIS_MUST_CHECK;
/* A value that was taken with its frame before: without it, whatever the path. */
int wire_unframe_again(struct wire_bytes *value, struct fis_error *e) FIS_MUST_CHECK;

/* The path of the message, which stands behind the schema's id: path [WIRE_PATH_MAX]. */
#define WIRE_PATH_MAX 32
int wire_read_path(struct wire_reader *r, uint64_t *path, uint32_t *n,
                   struct fis_error *e) FIS_MUST_CHECK;

/* Nearly all values: nothing is to be done. */
static inline bool wire_is_plain(const struct wire_bytes *value, const struct wire_framing *f)
{
    return f->kind != WIRE_FRAMING_CONFLUENT &&
           (!value->length || *(const unsigned char *)value->data != 0);
}

#endif
