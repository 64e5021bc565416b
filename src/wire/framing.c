#include "wire/framing.h"

#include <stdio.h>

#define ID_BYTES 5 /* with the zero before it */

/* The schema's id, when there is a frame; whether there is one. */
static bool schema_id(struct wire_bytes value, uint32_t *id)
{
    const unsigned char *p = value.data;
    if (value.length < ID_BYTES || p[0] != 0)
        return false;
    *id = (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 | p[4];
    return true;
}

/* *path [WIRE_PATH_MAX]; an encoded count of 0 stands for the path 0. */
int wire_read_path(struct wire_reader *r, uint64_t *path, uint32_t *n, struct fis_error *e)
{
    uint64_t count = 0;
    int rc = wire_reader_varint(r, &count, e);
    /* Zigzag: an odd number is negative. The path of nested messages is short. */
    if (!rc && ((count & 1) || count / 2 > WIRE_PATH_MAX))
        return fis_refuse(e, FIS_CODE_MALFORMED,
                          "Confluent frame: %lld message indexes, 0..%d allowed",
                          (long long)(count >> 1) ^ -(long long)(count & 1), WIRE_PATH_MAX);
    *n = (uint32_t)(count / 2);
    for (uint32_t i = 0; !rc && i < *n; i++) {
        rc = wire_reader_varint(r, &path[i], e);
        path[i] = path[i] & 1 ? UINT64_MAX : path[i] / 2;
    }
    if (!rc && *n == 0)
        path[(*n)++] = 0;
    return rc;
}

/* "1.2", for people. */
static const char *path_text(const uint64_t *path, uint32_t n, char out[96])
{
    int at = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < n && at < 80; i++)
        at += snprintf(out + at, 96 - (size_t)at, i ? ".%lld" : "%lld", (long long)path[i]);
    return out;
}

static bool is_path(const uint64_t *path, uint32_t n, const uint32_t *own, uint32_t n_own)
{
    bool same = n == n_own;
    for (uint32_t i = 0; same && i < n; i++)
        same = path[i] == own[i];
    return same;
}

static int check_path(const uint64_t *path, uint32_t n, uint32_t id, const struct wire_framing *f,
                      uint32_t own, const char *topic, struct fis_error *e)
{
    const uint32_t zero = 0;
    uint64_t allowed[WIRE_INDEX_MAX] = {own};
    char found[96], expected[96];
    for (uint32_t i = 0; i < f->n_index; i++)
        allowed[i] = f->index[i];
    if (f->n_index ? is_path(path, n, f->index, f->n_index)
                   : is_path(path, n, &own, 1) || is_path(path, n, &zero, 1))
        return 0;
    return fis_refuse(e, FIS_CODE_MALFORMED,
                      "Confluent frame, schema id %u: the message index is %s, %s%s is expected "
                      "(%s.message_index); or the bytes are not protobuf",
                      id, path_text(path, n, found), !f->n_index && own ? "0 or " : "",
                      path_text(allowed, f->n_index ? f->n_index : 1, expected), topic);
}

static int no_frame(const struct wire_bytes *value, const char *topic, struct fis_error *e)
{
    return fis_refuse(e, FIS_CODE_MALFORMED,
                      "no Confluent frame (%zu bytes, the first is %d); %s.framing is confluent",
                      value->length, value->length ? *(const unsigned char *)value->data : -1,
                      topic);
}

static int refuse_frame(uint32_t id, const char *topic, struct fis_error *e)
{
    return fis_refuse(e, FIS_CODE_MALFORMED, "Confluent frame, schema id %u; %s.framing is none",
                      id, topic);
}

/* Behind the schema's id. */
static int enter(struct wire_bytes value, struct wire_reader *r, uint32_t *id, struct fis_error *e)
{
    if (!schema_id(value, id) || value.length == ID_BYTES)
        return fis_refuse(e, FIS_CODE_MALFORMED,
                          "Confluent frame (first byte 0): %zu bytes, at least 6 expected",
                          value.length);
    *r = wire_reader_of(value);
    r->at += ID_BYTES;
    return 0;
}

/* Never NULL: an empty message in a frame is no tombstone. */
static void rest(struct wire_bytes *value, const struct wire_reader *r)
{
    *value = (struct wire_bytes){r->at, (size_t)(r->end - r->at)};
}

int wire_unframe_protobuf(struct wire_bytes *value, const struct wire_framing *f, uint32_t own,
                          const char *topic, struct fis_error *e)
{
    uint64_t path[WIRE_PATH_MAX];
    uint32_t n, id;
    if (wire_is_plain(value, f))
        return 0;
    if (!value->length || *(const unsigned char *)value->data != 0)
        return no_frame(value, topic, e);
    struct wire_reader r;
    int rc = enter(*value, &r, &id, e);
    if (!rc && f->kind == WIRE_FRAMING_NONE)
        rc = refuse_frame(id, topic, e);
    if (!rc)
        rc = wire_read_path(&r, path, &n, e);
    if (!rc)
        rc = check_path(path, n, id, f, own, topic, e);
    if (!rc)
        rest(value, &r);
    return rc;
}

int wire_unframe_json(struct wire_bytes *value, const struct wire_framing *f, const char *topic,
                      struct fis_error *e)
{
    uint32_t id;
    if (wire_is_plain(value, f))
        return 0;
    bool framed = schema_id(*value, &id);
    if (f->kind == WIRE_FRAMING_CONFLUENT && !framed)
        return no_frame(value, topic, e);
    if (framed && f->kind == WIRE_FRAMING_NONE)
        return refuse_frame(id, topic, e);
    if (framed && f->kind == WIRE_FRAMING_AUTO)
        return fis_refuse(e, FIS_CODE_MALFORMED,
                          "Confluent frame, schema id %u; %s.encoding is json (a frame around JSON "
                          "is taken off with %s.framing: confluent)",
                          id, topic, topic);
    if (framed)
        *value =
            (struct wire_bytes){(const char *)value->data + ID_BYTES, value->length - ID_BYTES};
    return 0; /* a zero byte alone: JSON's to refuse */
}

/* Zigzag, as all that is written here is positive. */
static size_t put_varint(unsigned char *at, uint64_t n)
{
    size_t used = 0;
    for (n *= 2; n > 127; n >>= 7)
        at[used++] = (unsigned char)(n & 127) | 128;
    at[used++] = (unsigned char)n;
    return used;
}

int wire_frame(const struct wire_framing *f, bool path, struct byte_buffer *out,
               struct fis_error *e)
{
    unsigned char bytes[ID_BYTES + 6 * (WIRE_INDEX_MAX + 1)] = {0};
    size_t n = ID_BYTES;
    if (f->kind != WIRE_FRAMING_CONFLUENT)
        return 0;
    if (path)
        n += put_varint(bytes + n, f->n_index);
    for (uint32_t i = 0; path && i < f->n_index; i++)
        n += put_varint(bytes + n, f->index[i]);
    return byte_buffer_append(out, bytes, n, e);
}

int wire_unframe_again(struct wire_bytes *value, struct fis_error *e)
{
    uint64_t path[WIRE_PATH_MAX];
    uint32_t n, id;
    struct wire_reader r;
    if (!value->length || *(const unsigned char *)value->data != 0)
        return 0;
    int rc = enter(*value, &r, &id, e);
    if (!rc)
        rc = wire_read_path(&r, path, &n, e);
    if (!rc)
        rest(value, &r);
    return rc;
}
