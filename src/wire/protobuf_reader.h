/*
 * The protobuf wire format, one field at a time, with a reason when it is broken. Offsets count
 * from the start of the outermost message.
 */
#ifndef WIRE_PROTOBUF_READER_H
#define WIRE_PROTOBUF_READER_H

#include <stdbool.h>

#include "wire/types.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 }; /* wire types */

struct wire_reader {
    const unsigned char *base, *at, *end;
};
struct wire_field {
    uint32_t number;
    unsigned type;
    size_t offset;             /* of its tag */
    uint64_t value;            /* VARINT */
    const unsigned char *data; /* the others: where its bytes lie, and how many */
    size_t length;
};

static inline struct wire_reader wire_reader_of(struct wire_bytes bytes)
{
    static const unsigned char none[1];
    const unsigned char *p = bytes.length ? bytes.data : none;
    return (struct wire_reader){p, p, p + bytes.length};
}
/* The message inside a field of type LENGTH. */
struct wire_reader wire_reader_inside(const struct wire_reader *outer, const struct wire_field *f);
/* 1: *f is the next field; 0: the end; -INPUT. */
int wire_reader_next(struct wire_reader *r, struct wire_field *f,
                     struct fis_error *e) FIS_MUST_CHECK;
int wire_reader_varint(struct wire_reader *r, uint64_t *value, struct fis_error *e) FIS_MUST_CHECK;

/* The length (below 2^14) and the bytes of a field of type LENGTH whose tag was read, for what is
 * done for nearly every record: 1, or 0 and nothing is moved. */
static inline bool wire_reader_piece(struct wire_reader *r, struct wire_bytes *out)
{
    const unsigned char *p = r->at;
    size_t left = (size_t)(r->end - p), length, head = 1;
    if (left < 2)
        return false;
    length = p[0];
    if (length > 127) {
        length = (length & 127) | (size_t)p[1] << 7;
        head = 2;
    }
    if (length >= 1 << 14 || length > left - head)
        return false;
    *out = (struct wire_bytes){p + head, length};
    r->at = p + head + length;
    return true;
}

#endif
