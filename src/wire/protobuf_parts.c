#include "wire/protobuf_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/utf8.h"

_Static_assert((int)WIRE_JSON == (int)FIS__V1__ENCODING__ENCODING_JSON &&
                   (int)WIRE_PROTOBUF == (int)FIS__V1__ENCODING__ENCODING_PROTOBUF &&
                   (int)WIRE_RAW == (int)FIS__V1__ENCODING__ENCODING_RAW,
               "encodings have one number, here and on the wire");

ProtobufCBinaryData wire_binary_of(const void *data, size_t length)
{
    /* protobuf-c only reads it. */
    return (ProtobufCBinaryData){length, (uint8_t *)(uintptr_t)data};
}

struct wire_bytes wire_bytes_of(ProtobufCBinaryData b)
{
    return (struct wire_bytes){b.len ? (const void *)b.data : "", b.len};
}

static const char *allowed_classes(const struct wire_schema *schema, char *text, size_t size)
{
    size_t n = 0;
    text[0] = 0;
    for (uint32_t k = 0; k < schema->n_classes && n < size; k++)
        n += (size_t)snprintf(text + n, size - n, "%s%s", k ? ", " : "", schema->classes[k]);
    return text;
}

int wire_class_of(const struct wire_schema *schema, uint32_t class_index, const char *class_name,
                  uint32_t *out, struct fis_error *e)
{
    char allowed[FIS_ERROR_TEXT / 2];
    if (class_index >= schema->n_classes)
        return fis_refuse(e, FIS_CODE_UNKNOWN_CLASS, "class %u: 0..%u allowed [%s]", class_index,
                          schema->n_classes - 1, allowed_classes(schema, allowed, sizeof allowed));
    if (!class_name || !*class_name) {
        *out = class_index;
        return 0;
    }
    int named = wire_schema_class(schema, class_name, strlen(class_name));
    if (named < 0)
        return fis_refuse(e, FIS_CODE_UNKNOWN_CLASS, "class \"%.40s\": not a class, allowed: [%s]",
                          class_name, allowed_classes(schema, allowed, sizeof allowed));
    if (class_index && (uint32_t)named != class_index)
        return fis_refuse(e, FIS_CODE_CONTRADICTION,
                          "class_index %u is \"%s\", class_name is \"%s\"", class_index,
                          schema->classes[class_index], class_name);
    *out = (uint32_t)named;
    return 0;
}

int wire_encoding_of(Fis__V1__Encoding from, enum wire_encoding *out, struct fis_error *e)
{
    if (from != FIS__V1__ENCODING__ENCODING_JSON && from != FIS__V1__ENCODING__ENCODING_PROTOBUF &&
        from != FIS__V1__ENCODING__ENCODING_RAW)
        return fis_refuse(e, FIS_CODE_BAD_FIELD, "the record's encoding is not given");
    *out = (enum wire_encoding)from;
    return 0;
}

static int32_t partition_at(const int32_t *first, size_t stride, size_t i)
{
    int32_t p;
    memcpy(&p, (const char *)first + i * stride, sizeof p);
    return p;
}

int wire_partitions_check(const int32_t *partition, size_t stride, size_t n, const char *what,
                          struct fis_error *e)
{
    if (n > WIRE_PARTITIONS)
        return fis_refuse(e, FIS_CODE_BAD_FIELD, "%s: %zu partitions, at most %u allowed", what, n,
                          WIRE_PARTITIONS);
    int32_t highest = -1;
    for (size_t i = 0; i < n; i++) {
        int32_t p = partition_at(partition, stride, i);
        if (p < 0)
            return fis_refuse(e, FIS_CODE_BAD_FIELD, "%s: partition %" PRId32, what, p);
        /* Mostly they ascend; only what does not costs a look at all before it. */
        for (size_t k = 0; p <= highest && k < i; k++)
            if (partition_at(partition, stride, k) == p)
                return fis_refuse(e, FIS_CODE_BAD_FIELD, "%s: partition %" PRId32 " twice", what,
                                  p);
        highest = p > highest ? p : highest;
    }
    return 0;
}

int wire_annotator_check(const char *annotator, struct fis_error *e)
{
    size_t length = strlen(annotator);
    if (length > WIRE_ANNOTATOR)
        return fis_refuse(e, FIS_CODE_BAD_FIELD,
                          "annotator: a name of %zu bytes, at most %d allowed", length,
                          WIRE_ANNOTATOR);
    return 0;
}

char *wire_text_of(const char *text, size_t max, struct fis_arena *a)
{
    text = text ? text : "";
    size_t all = strlen(text);
    size_t length = utf8_prefix(text, all < max ? all : max);
    if (length == all)
        return (char *)(uintptr_t)text;
    char *copy = fis_arena_alloc(a, length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = 0;
    }
    return copy;
}

static size_t varint_bytes(uint32_t v)
{
    size_t n = 1;
    while (v >>= 7)
        n++;
    return n;
}

/* -0.0 is not nothing: x comes back bit for bit. */
static bool is_zero(const float *x)
{
    uint32_t bits;
    memcpy(&bits, x, sizeof bits);
    return bits == 0;
}

int wire_vector_pack(const void *message, Fis__V1__Vector *v, const float *x, uint32_t d,
                     struct byte_buffer *out, struct fis_error *e)
{
    size_t nonzero = 0, sparse_bytes = 0;
    for (uint32_t i = 0; i < d; i++) {
        if (!isfinite(x[i]))
            return fis_refuse(e, FIS_CODE_NOT_FINITE, "feature %u is not finite", i);
        if (!is_zero(x + i)) {
            nonzero++;
            sparse_bytes += varint_bytes(i) + sizeof *x;
        }
    }
    fis__v1__vector__init(v);
    v->size = d;
    v->n_dense = d;
    v->dense = (float *)(uintptr_t)x;
    if (sparse_bytes >= (size_t)d * sizeof *x)
        return wire_protobuf_pack(message, out, e);
    /* The lists are made behind the room for the message, which is shorter than the dense one. */
    size_t room = protobuf_c_message_get_packed_size(message) + 16;
    int rc = byte_buffer_reserve(out, room + nonzero * 8 + alignof(uint32_t), e);
    if (rc)
        return rc;
    uintptr_t at = (uintptr_t)(out->data + out->length + room);
    size_t gap = (alignof(uint32_t) - at % alignof(uint32_t)) % alignof(uint32_t);
    uint32_t *index = (uint32_t *)(void *)(out->data + out->length + room + gap);
    float *value = (float *)(index + nonzero);
    size_t n = 0;
    for (uint32_t i = 0; i < d; i++)
        if (!is_zero(x + i)) {
            index[n] = i;
            value[n++] = x[i];
        }
    v->n_dense = 0;
    v->n_index = v->n_value = n;
    v->index = index;
    v->value = value;
    out->length += protobuf_c_message_pack(message, out->data + out->length);
    return 0;
}

static int spread(const Fis__V1__Vector *v, float *x, struct fis_error *e)
{
    memset(x, 0, (size_t)v->size * sizeof *x);
    for (size_t i = 0; i < v->n_index; i++) {
        if (v->index[i] >= v->size)
            return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "vector: index %u of %u", v->index[i],
                              v->size);
        if (i && v->index[i] <= v->index[i - 1])
            return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "vector: index %u after %u", v->index[i],
                              v->index[i - 1]);
        x[v->index[i]] = v->value[i];
    }
    return 0;
}

int wire_vector_read(const Fis__V1__Vector *v, struct fis_arena *arena, const float **x,
                     uint32_t *d, struct fis_error *e)
{
    *x = NULL;
    *d = v ? v->size : 0;
    if (!*d)
        return 0;
    if (v->n_dense && (v->n_dense != v->size || v->n_index || v->n_value))
        return fis_refuse(e, FIS_CODE_WRONG_WIDTH,
                          "vector: %zu dense and %zu sparse numbers for a size of %u", v->n_dense,
                          v->n_value, v->size);
    if (v->n_index != v->n_value)
        return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "vector: %zu indexes for %s", v->n_index,
                          DECIMAL_COUNT(v->n_value, "value"));
    if (v->n_dense) {
        *x = v->dense;
    } else {
        float *all = fis_arena_alloc(arena, (size_t)v->size * sizeof *all);
        if (!all)
            return fis_refuse(e, FIS_CODE_TOO_LONG, "a vector of %u takes more than %zu bytes",
                              v->size, arena->size);
        int rc = spread(v, all, e);
        if (rc)
            return rc;
        *x = all;
    }
    for (uint32_t i = 0; i < *d; i++)
        if (!isfinite((*x)[i]))
            return fis_refuse(e, FIS_CODE_NOT_FINITE, "vector: number %u is not finite", i);
    return 0;
}
