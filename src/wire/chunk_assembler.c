#include <math.h>
#include <string.h>

#include "wire/chunk.h"
#include "base/decimal.h"
#include "wire/chunk_checksum.h"
#include "wire/protobuf_parts.h"

struct open_version {
    uint64_t version, total;
    struct wire_checksum checksum;
    uint32_t count, have;
    size_t held;
    struct wire_bytes *pieces; /* [count]; data NULL: not there yet */
};

struct wire_assembler {
    enum wire_assembly mode;
    uint32_t capacity, n;
    struct open_version *open; /* [capacity], n of them in use */
    size_t max_total, held;
    void *payload; /* of the version completed last, until the next feed */
    bool any_done; /* NEWEST: the newest complete version is known */
    uint64_t done;
    struct wire_checksum done_checksum;
    struct wire_floors floors;
    bool is_floors; /* what was fed last was */
};

static bool same(struct wire_checksum a, struct wire_checksum b)
{
    return a.low == b.low && a.high == b.high;
}

static void drop(struct wire_assembler *a, struct open_version *v)
{
    for (uint32_t i = 0; i < v->count; i++)
        fis_free((void *)(uintptr_t)v->pieces[i].data);
    fis_free(v->pieces);
    a->held -= v->held;
    *v = a->open[--a->n];
}

static struct open_version *find(struct wire_assembler *a, uint64_t version)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (a->open[i].version == version)
            return &a->open[i];
    return NULL;
}

/* Drops the lowest version but `keep` (NULL: any). */
static void drop_lowest(struct wire_assembler *a, const uint64_t *keep)
{
    struct open_version *lowest = NULL;
    for (uint32_t i = 0; i < a->n; i++) {
        struct open_version *v = &a->open[i];
        if ((!keep || v->version != *keep) && (!lowest || v->version < lowest->version))
            lowest = v;
    }
    if (lowest)
        drop(a, lowest);
}

struct wire_assembler *wire_assembler_new(enum wire_assembly mode, uint32_t versions,
                                          size_t max_total)
{
    struct wire_assembler *a = fis_calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->mode = mode;
    a->capacity = mode == WIRE_ASSEMBLE_NEWEST || !versions ? 1 : versions;
    a->max_total = max_total ? max_total : WIRE_CHUNK_TOTAL;
    a->open = fis_calloc(a->capacity, sizeof *a->open);
    if (!a->open) {
        fis_free(a);
        return NULL;
    }
    return a;
}

void wire_assembler_free(struct wire_assembler *a)
{
    if (!a)
        return;
    while (a->n)
        drop(a, a->open);
    fis_free(a->open);
    fis_free(a->payload);
    fis_free(a);
}

size_t wire_assembler_held(const struct wire_assembler *a)
{
    return a->held;
}

static int check_chunk(const struct wire_assembler *a, const Fis__V1__Chunk *c, struct fis_error *e)
{
    if (!c->count || c->count > WIRE_CHUNK_COUNT || c->index >= c->count)
        return fis_fail(e, FIS_INPUT, "chunk %u of %u, at most %u chunks", c->index, c->count,
                        WIRE_CHUNK_COUNT);
    if (c->total_bytes > a->max_total)
        return fis_fail(e, FIS_INPUT, "%llu bytes in all, at most %zu allowed",
                        (unsigned long long)c->total_bytes, a->max_total);
    if (c->count > 1 && !c->data.len)
        return fis_fail(e, FIS_INPUT, "chunk %u of %u is empty", c->index, c->count);
    return 0;
}

/* NEWEST: whether the chunk is of a version that is over, or complete. */
static bool is_stale(const struct wire_assembler *a, uint64_t version, struct wire_checksum sum)
{
    if (a->mode != WIRE_ASSEMBLE_NEWEST)
        return 0;
    if (a->n && version < a->open[0].version)
        return 1;
    if (!a->any_done || version > a->done)
        return 0;
    return version < a->done || same(sum, a->done_checksum);
}

static int begin(struct wire_assembler *a, const Fis__V1__Chunk *c, struct wire_checksum sum,
                 struct open_version **out, struct fis_error *e)
{
    struct wire_bytes *pieces = fis_calloc(c->count, sizeof *pieces);
    if (!pieces)
        return fis_fail(e, FIS_NOMEM, "no memory for %u chunks", c->count);
    if (a->n == a->capacity)
        drop_lowest(a, NULL);
    struct open_version *v = &a->open[a->n++];
    *v = (struct open_version){.version = c->version,
                               .total = c->total_bytes,
                               .checksum = sum,
                               .count = c->count,
                               .pieces = pieces};
    *out = v;
    return 0;
}

/* The open version that the chunk belongs to, begun when it is the first of it. */
static int version_of(struct wire_assembler *a, const Fis__V1__Chunk *c, struct open_version **out,
                      struct fis_error *e)
{
    struct wire_checksum sum = {c->checksum_low, c->checksum_high};
    struct open_version *v = find(a, c->version);
    if (v && !same(v->checksum, sum)) {
        drop(a, v);
        v = NULL;
    }
    if (!v)
        return begin(a, c, sum, out, e);
    if (v->count != c->count || v->total != c->total_bytes)
        return fis_fail(e, FIS_INPUT, "%u chunks and %llu bytes, the ones before state %u and %llu",
                        c->count, (unsigned long long)c->total_bytes, v->count,
                        (unsigned long long)v->total);
    *out = v;
    return 0;
}

/* Takes the chunk's data; 1 when it was the last one missing. */
static int add(struct wire_assembler *a, uint64_t version, Fis__V1__Chunk *c, struct fis_error *e)
{
    struct open_version *v = find(a, version);
    if (c->data.len > v->total - v->held)
        return fis_fail(e, FIS_INPUT, "more bytes than the %llu that were announced",
                        (unsigned long long)v->total);
    /* No version is larger than max_total, so there is room when the others are gone. */
    while (c->data.len > a->max_total - a->held)
        drop_lowest(a, &version);
    v = find(a, version);
    struct wire_bytes *piece = &v->pieces[c->index];
    *piece = (struct wire_bytes){c->data.data, c->data.len};
    v->held += c->data.len;
    a->held += c->data.len;
    c->data = (ProtobufCBinaryData){0};
    return ++v->have == v->count;
}

static int join(struct wire_assembler *a, struct open_version *v, struct wire_bytes *payload,
                struct fis_error *e)
{
    if (v->held != v->total)
        return fis_fail(e, FIS_INPUT, "%zu bytes in %s, %llu announced", v->held,
                        DECIMAL_COUNT(v->count, "chunk"), (unsigned long long)v->total);
    unsigned char *all = a->payload;
    size_t at = 0;
    for (uint32_t i = 0; i < v->count; i++) {
        if (v->pieces[i].length)
            memcpy(all + at, v->pieces[i].data, v->pieces[i].length);
        at += v->pieces[i].length;
    }
    if (!same(wire_checksum_of(all, at), v->checksum))
        return fis_fail(e, FIS_INPUT, "the checksum of %s is wrong",
                        DECIMAL_COUNT(v->count, "chunk"));
    if (a->mode == WIRE_ASSEMBLE_NEWEST) {
        a->any_done = 1;
        a->done = v->version;
        a->done_checksum = v->checksum;
    }
    *payload = (struct wire_bytes){all, at};
    return 1;
}

static int take_floors(struct wire_assembler *a, const Fis__V1__Floors *f, struct fis_error *e)
{
    struct wire_floors floors = {f->head_version, f->head_created_at_ms, {0}};
    for (uint32_t i = 0; i < FIS_MAX_CRITERIA; i++)
        floors.scores[i] = -INFINITY;
    for (size_t i = 0; i < f->n_scores; i++) {
        uint32_t k = f->scores[i]->criterion;
        if (k >= FIS_MAX_CRITERIA || !isfinite(f->scores[i]->value))
            return fis_fail(e, FIS_INPUT,
                            "floor of criterion %u: 0..%d and a finite number allowed", k,
                            FIS_MAX_CRITERIA - 1);
        floors.scores[k] = f->scores[i]->value;
    }
    a->floors = floors;
    a->is_floors = true;
    return 0;
}

const struct wire_floors *wire_assembler_floors(const struct wire_assembler *a)
{
    return a->is_floors ? &a->floors : NULL;
}

static int feed(struct wire_assembler *a, Fis__V1__Chunk *c, struct wire_bytes *payload,
                struct fis_error *e)
{
    struct open_version *v = NULL;
    if (c->floors)
        return take_floors(a, c->floors, e);
    int rc = check_chunk(a, c, e);
    if (rc)
        return rc;
    if (is_stale(a, c->version, (struct wire_checksum){c->checksum_low, c->checksum_high}))
        return 0;
    rc = version_of(a, c, &v, e);
    if (rc || v->pieces[c->index].data)
        return rc;
    if (v->have + 1 == v->count) { /* memory first: without it nothing has changed */
        a->payload = fis_alloc(v->total ? (size_t)v->total : 1, 1);
        if (!a->payload)
            return fis_fail(e, FIS_NOMEM, "no memory for %llu bytes", (unsigned long long)v->total);
    }
    rc = add(a, c->version, c, e);
    v = find(a, c->version);
    if (rc == 1)
        rc = join(a, v, payload, e);
    if (rc)
        drop(a, v);
    return rc;
}

int wire_assembler_feed(struct wire_assembler *a, struct wire_bytes chunk,
                        struct wire_bytes *payload, uint64_t *version, struct fis_error *e)
{
    fis_free(a->payload);
    a->payload = NULL;
    a->is_floors = false;
    if (!chunk.data)
        return 0;
    struct fis_error own;
    e = e ? e : &own;
    Fis__V1__Chunk *c = wire_protobuf_unpack(&fis__v1__chunk__descriptor, chunk, NULL, e);
    if (!c)
        return -(int)e->kind;
    int rc = feed(a, c, payload, e);
    if (rc < 0)
        fis_error_prefix(e, "version %llu", (unsigned long long)c->version);
    else if (rc > 0)
        *version = c->version;
    wire_protobuf_free(c);
    return rc;
}
