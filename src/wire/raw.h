/*
 * Raw records: little-endian float32, one for each column, nothing else.
 */
#ifndef WIRE_RAW_H
#define WIRE_RAW_H

#include <endian.h>
#include <string.h>

#include "wire/types.h"

/* As wire_protobuf_record. An empty value is "0 bytes, 16 expected". */
enum wire_decoded wire_raw_record(const struct wire_schema *schema,
                                  const struct fis_encoder *encoder, const struct wire_message *m,
                                  struct fis_arena *arena, float *x, struct wire_record *record,
                                  struct fis_error *e) FIS_MUST_CHECK;

/* INPUT: it has not the length of n float32. */
int wire_raw_check(struct wire_bytes value, uint32_t n, struct fis_error *e) FIS_MUST_CHECK;

/* out [n] from 4 n bytes, little-endian, at any address. */
static inline void wire_floats_from_le(float *out, const void *bytes, size_t n)
{
    if (!n)
        return;
    memcpy(out, bytes, n * sizeof *out);
#if __BYTE_ORDER == __BIG_ENDIAN
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, out + i, sizeof bits);
        bits = le32toh(bits);
        memcpy(out + i, &bits, sizeof bits);
    }
#endif
}

/* n floats of the wire as floats of this machine, at any address: the bytes themselves, or a copy
 * in the arena; NULL when that is full. */
const void *wire_floats(const void *bytes, size_t n, struct fis_arena *arena);

#endif
