/*
 * What several protobuf messages have in common: bytes, classes, encodings, vectors.
 */
#ifndef WIRE_PROTOBUF_PARTS_H
#define WIRE_PROTOBUF_PARTS_H

#include "fis.pb-c.h"

#include "wire/protobuf_unpack.h"

/* Between ProtobufCBinaryData, which is not const, and wire_bytes; what is absent in protobuf is
 * empty here, never NULL (which would be a tombstone). */
ProtobufCBinaryData wire_binary_of(const void *data, size_t length);
struct wire_bytes wire_bytes_of(ProtobufCBinaryData b);

/* The class that class_index and class_name (NULL or "": none) mean together, by the rules of
 * Label in proto/fis.proto. INPUT names what is allowed. The name is untrusted, not sensitive. */
int wire_class_of(const struct wire_schema *schema, uint32_t class_index, const char *class_name,
                  uint32_t *out, struct fis_error *e) FIS_MUST_CHECK;

/* INPUT when it is not one of the known ones (0: was not there). */
int wire_encoding_of(Fis__V1__Encoding from, enum wire_encoding *out,
                     struct fis_error *e) FIS_MUST_CHECK;

/* A list by partition: at most WIRE_PARTITIONS, none negative, none twice. `partition` is the first
 * one's; the others follow each `stride` bytes. INPUT begins with `what`. */
int wire_partitions_check(const int32_t *partition, size_t stride, size_t n, const char *what,
                          struct fis_error *e) FIS_MUST_CHECK;

/* A name of an annotator, "" for none: INPUT when it is too long. */
int wire_annotator_check(const char *annotator, struct fis_error *e) FIS_MUST_CHECK;

/* The string, cut to whole characters of UTF-8 and at most `max` bytes; a copy in the arena when
 * something had to go. NULL gives "". NULL: the arena is full. */
char *wire_text_of(const char *text, size_t max, struct fis_arena *a);

/* Packs `message`, in which `v` stands somewhere: x [d] dense or sparse, whichever is smaller. All
 * fields of v are written. x must be finite. No memory but the buffer's is used. */
int wire_vector_pack(const void *message, Fis__V1__Vector *v, const float *x, uint32_t d,
                     struct byte_buffer *out, struct fis_error *e) FIS_MUST_CHECK;
/* *x [*d], in the message or the arena; NULL and 0 for no vector. */
int wire_vector_read(const Fis__V1__Vector *v, struct fis_arena *arena, const float **x,
                     uint32_t *d, struct fis_error *e) FIS_MUST_CHECK;

#endif
