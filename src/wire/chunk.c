#include "wire/chunk.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "wire/chunk_checksum.h"
#include "wire/protobuf_parts.h"

struct wire_checksum wire_checksum_of(const void *bytes, size_t length)
{
    XXH128_hash_t h = XXH3_128bits(bytes, length);
    return (struct wire_checksum){h.low64, h.high64};
}

int wire_chunks_start(struct wire_chunks *c, uint64_t version, struct wire_bytes payload,
                      size_t max, struct fis_error *e)
{
    if (payload.length > WIRE_CHUNK_TOTAL || !max || payload.length / max >= WIRE_CHUNK_COUNT)
        return fis_fail(e, FIS_INPUT, "%zu bytes in chunks of %zu: at most %zu, in %u chunks",
                        payload.length, max, WIRE_CHUNK_TOTAL, WIRE_CHUNK_COUNT);
    *c = (struct wire_chunks){
        .version = version,
        .payload = payload.length ? payload : (struct wire_bytes){"", 0},
        .max = max,
        .count = payload.length ? (uint32_t)((payload.length - 1) / max + 1) : 1,
    };
    c->checksum = wire_checksum_of(c->payload.data, c->payload.length);
    return 0;
}

int wire_chunks_next(struct wire_chunks *c, struct byte_buffer *out, struct fis_error *e)
{
    if (c->next == c->count)
        return 0;
    size_t at = c->next * c->max, left = c->payload.length - at;
    Fis__V1__Chunk chunk = FIS__V1__CHUNK__INIT;
    chunk.version = c->version;
    chunk.index = c->next;
    chunk.count = c->count;
    chunk.total_bytes = c->payload.length;
    chunk.checksum_low = c->checksum.low;
    chunk.checksum_high = c->checksum.high;
    chunk.data = wire_binary_of((const char *)c->payload.data + at, left < c->max ? left : c->max);
    int rc = wire_protobuf_pack(&chunk, out, e);
    if (rc)
        return rc;
    c->next++;
    return 1;
}

int wire_floors_encode(const struct wire_floors *f, struct byte_buffer *out, struct fis_error *e)
{
    Fis__V1__Chunk chunk = FIS__V1__CHUNK__INIT;
    Fis__V1__Floors floors = FIS__V1__FLOORS__INIT;
    Fis__V1__Score scores[FIS_MAX_CRITERIA], *list[FIS_MAX_CRITERIA];
    chunk.floors = &floors;
    floors.head_version = f->head_version;
    floors.head_created_at_ms = f->created_at_ms;
    floors.scores = list;
    for (uint32_t i = 0; i < FIS_MAX_CRITERIA; i++) {
        if (f->scores[i] == -INFINITY)
            continue;
        if (!isfinite(f->scores[i]))
            return fis_fail(e, FIS_INPUT, "floor %u is neither finite nor -inf", i);
        fis__v1__score__init(&scores[i]);
        scores[i].criterion = i;
        scores[i].value = f->scores[i];
        list[floors.n_scores++] = &scores[i];
    }
    return wire_protobuf_pack(&chunk, out, e);
}

static int key_of(const char *owner, const char *tail, size_t n, struct byte_buffer *out,
                  struct fis_error *e)
{
    size_t length = strlen(owner);
    int rc = byte_buffer_reserve(out, length + n, e);
    if (!rc)
        rc = byte_buffer_append(out, owner, length, e);
    return rc ? rc : byte_buffer_append(out, tail, n, e);
}

int wire_floors_key(const char *pipeline, struct byte_buffer *out, struct fis_error *e)
{
    static const char tail[] = "/floors";
    return key_of(pipeline, tail, sizeof tail - 1, out, e);
}

int wire_chunk_key_head(const char *pipeline, uint32_t index, struct byte_buffer *out,
                        struct fis_error *e)
{
    char tail[16];
    size_t n = (size_t)snprintf(tail, sizeof tail, "/%" PRIu32, index);
    return key_of(pipeline, tail, n, out, e);
}

int wire_chunk_key_model(uint64_t version, uint32_t index, struct byte_buffer *out,
                         struct fis_error *e)
{
    char text[40];
    int n = snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu32, version, index);
    return byte_buffer_append(out, text, (size_t)n, e);
}
