/*
 * protobuf-c with reasons: bytes are walked with the message's descriptor before they are
 * unpacked, because protobuf-c only says that it failed.
 */
#ifndef WIRE_PROTOBUF_UNPACK_H
#define WIRE_PROTOBUF_UNPACK_H

#include <protobuf-c/protobuf-c.h>

#include "wire/protobuf_reader.h"

/* Whether `bytes` are a message of that kind: wire types, lengths, UTF-8 and no NUL in strings, no
 * unknown enum value, numbers that fit. The error gives the path of names and the offset. Strings
 * are never in it: they may be sensitive. */
int wire_protobuf_check(const ProtobufCMessageDescriptor *d, struct wire_bytes bytes,
                        struct fis_error *e) FIS_MUST_CHECK;
/* The same for a message inside another one, and for one field. */
int wire_protobuf_check_field(const ProtobufCMessageDescriptor *d, const struct wire_reader *r,
                              const struct wire_field *f, struct fis_error *e) FIS_MUST_CHECK;

/* Checked and unpacked into the arena, or, when it is NULL, into memory of mem.h, which
 * wire_protobuf_free gives back. NULL and *e when it fails. */
void *wire_protobuf_unpack(const ProtobufCMessageDescriptor *d, struct wire_bytes bytes,
                           struct fis_arena *arena, struct fis_error *e);
void wire_protobuf_free(void *message); /* NULL is fine */

/* Appends the message's bytes. */
int wire_protobuf_pack(const void *message, struct byte_buffer *out,
                       struct fis_error *e) FIS_MUST_CHECK;

#endif
