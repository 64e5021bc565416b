#include "wire/protobuf_reader.h"

/* Longest encodings that readers agree on: 5 bytes for a tag or a length, 10 for a value. */
enum { TAG_BYTES = 5, VALUE_BYTES = 10 };

struct wire_reader wire_reader_inside(const struct wire_reader *outer, const struct wire_field *f)
{
    return (struct wire_reader){outer->base, f->data, f->data + f->length};
}

static int varint(struct wire_reader *r, unsigned most, uint64_t *value, struct fis_error *e)
{
    size_t start = (size_t)(r->at - r->base);
    uint64_t v = 0;
    for (unsigned i = 0; i < most; i++) {
        if (r->at == r->end)
            return fis_refuse(e, FIS_CODE_MALFORMED, "truncated: the varint at byte %zu has no end",
                              start);
        unsigned char c = *r->at++;
        if (i == VALUE_BYTES - 1 && c > 1)
            break;
        v |= (uint64_t)(c & 0x7f) << (7 * i);
        if (!(c & 0x80)) {
            *value = v;
            return 0;
        }
    }
    return fis_refuse(e, FIS_CODE_MALFORMED,
                      "the varint at byte %zu is longer than %u bytes or 64 bits", start, most);
}

int wire_reader_varint(struct wire_reader *r, uint64_t *value, struct fis_error *e)
{
    return varint(r, VALUE_BYTES, value, e);
}

static int take(struct wire_reader *r, struct wire_field *f, uint64_t length, struct fis_error *e)
{
    size_t left = (size_t)(r->end - r->at);
    if (length > left)
        return fis_refuse(e, FIS_CODE_MALFORMED,
                          "truncated: field %u at byte %zu needs %llu bytes, %zu left", f->number,
                          f->offset, (unsigned long long)length, left);
    f->data = r->at;
    f->length = (size_t)length;
    r->at += length;
    return 0;
}

int wire_reader_next(struct wire_reader *r, struct wire_field *f, struct fis_error *e)
{
    if (r->at == r->end)
        return 0;
    uint64_t tag = 0, length = 0;
    *f = (struct wire_field){.offset = (size_t)(r->at - r->base)};
    int rc = varint(r, TAG_BYTES, &tag, e);
    if (rc)
        return rc;
    if (tag < 8 || tag > UINT32_MAX)
        return fis_refuse(e, FIS_CODE_MALFORMED,
                          "not protobuf: no field has the number %llu (byte %zu)",
                          (unsigned long long)(tag >> 3), f->offset);
    f->number = (uint32_t)(tag >> 3);
    f->type = (unsigned)(tag & 7);
    switch (f->type) {
    case WIRE_VARINT:
        rc = varint(r, VALUE_BYTES, &f->value, e);
        break;
    case WIRE_FIXED64:
        rc = take(r, f, 8, e);
        break;
    case WIRE_FIXED32:
        rc = take(r, f, 4, e);
        break;
    case WIRE_LENGTH:
        rc = varint(r, TAG_BYTES, &length, e);
        if (!rc)
            rc = take(r, f, length, e);
        break;
    default:
        return fis_refuse(e, FIS_CODE_MALFORMED,
                          "field %u at byte %zu has wire type %u, 0, 1, 2 or 5 expected", f->number,
                          f->offset, f->type);
    }
    return rc ? rc : 1;
}
