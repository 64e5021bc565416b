/*
 * The scoring head, to bytes and back. What wire_head_encode writes, wire_head_decode reads: both
 * refuse a head whose shape, encoder and slabs do not fit together, or with a number that is not
 * finite. Directions are sent from their first layer that is not all 0.
 */
#ifndef WIRE_HEAD_H
#define WIRE_HEAD_H

#include "wire/types.h"

int wire_head_encode(const struct wire_head *head, struct byte_buffer *out,
                     struct fis_error *e) FIS_MUST_CHECK;

/* INPUT with the reason, or NOMEM; *out is written on success only, and then ended with
 * wire_head_done. Owns: everything, by copy. */
int wire_head_decode(struct wire_bytes bytes, struct wire_head_owned *out,
                     struct fis_error *e) FIS_MUST_CHECK;
void wire_head_done(struct wire_head_owned *head); /* NULL and all-zero are fine; twice too */

#endif
