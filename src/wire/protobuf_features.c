#include "wire/protobuf_features.h"

#include <endian.h>
#include <string.h>

#include "wire/raw.h"

static void *take(struct wire_features *f, size_t bytes, struct fis_error *e)
{
    void *p = fis_arena_alloc(f->arena, bytes);
    if (!p)
        fis_refuse(e, FIS_CODE_TOO_LONG, "decoding %u columns takes more than %zu bytes", f->wanted,
                   f->arena->size);
    return p;
}

int wire_features_start(struct wire_features *f, uint32_t wanted, struct fis_arena *arena,
                        struct fis_error *e)
{
    *f = (struct wire_features){.arena = arena, .wanted = wanted};
    f->values = take(f, (size_t)wanted * sizeof *f->values, e);
    return f->values ? 0 : -FIS_INPUT;
}

/* Adds floats to out [wanted], of which *n are there; counts on when it is full. */
static void add_floats(float *out, uint32_t wanted, size_t *n, const struct wire_field *field)
{
    size_t more = field->length / 4, room = *n < wanted ? wanted - *n : 0;
    wire_floats_from_le(out + (room ? *n : 0), field->data, more < room ? more : room);
    *n += more;
}

void wire_features_dense(struct wire_features *f, const struct wire_field *field)
{
    add_floats(f->values, f->wanted, &f->n_dense, field);
}

static void add_index(struct wire_features *f, uint64_t index)
{
    if (f->n_index < f->wanted)
        f->index[f->n_index] = (uint32_t)index;
    f->n_index++;
}

static int add_indexes(struct wire_features *f, const struct wire_reader *r,
                       const struct wire_field *field, struct fis_error *e)
{
    if (field->type == WIRE_VARINT) {
        add_index(f, field->value);
        return 0;
    }
    struct wire_reader packed = wire_reader_inside(r, field);
    while (packed.at < packed.end) {
        uint64_t index = 0;
        int rc = wire_reader_varint(&packed, &index, e);
        if (rc)
            return rc;
        add_index(f, index);
    }
    return 0;
}

int wire_features_sparse(struct wire_features *f, const struct wire_reader *r,
                         const struct wire_field *field, struct fis_error *e)
{
    if (f->simple) {
        struct wire_field first = f->first;
        f->simple = 0;
        int rc = wire_features_sparse(f, r, &first, e);
        if (rc)
            return rc;
    }
    if (!f->has_sparse) {
        f->index = take(f, (size_t)f->wanted * sizeof *f->index, e);
        f->value = take(f, (size_t)f->wanted * sizeof *f->value, e);
        if (!f->index || !f->value)
            return -FIS_INPUT;
        f->has_sparse = 1;
    }
    struct wire_reader inside = wire_reader_inside(r, field);
    struct wire_field entry;
    int rc;
    while ((rc = wire_reader_next(&inside, &entry, e)) > 0) {
        if (entry.number == 2)
            add_floats(f->value, f->wanted, &f->n_value, &entry);
        else if (entry.number == 1 && (rc = add_indexes(f, &inside, &entry, e)))
            return rc;
    }
    return rc;
}

/* A number below 2^14. */
static int small(const unsigned char **at, const unsigned char *end, uint32_t *number)
{
    const unsigned char *p = *at;
    if (p == end || (*p > 127 && (end - p < 2 || p[1] > 127)))
        return 0;
    *number = *p > 127 ? (*p & 127u) | (uint32_t)p[1] << 7 : *p;
    *at = p + (*p > 127 ? 2 : 1);
    return 1;
}

/* A field with this tag, and bytes. */
static int piece(const unsigned char **at, const unsigned char *end, unsigned char tag,
                 struct wire_bytes *out)
{
    const unsigned char *p = *at;
    uint32_t length;
    if (p == end || *p++ != tag || !small(&p, end, &length) || length > (size_t)(end - p))
        return 0;
    *out = (struct wire_bytes){p, length};
    *at = p + length;
    return 1;
}

/* Each index above the one before. */
static int spread_rising(const struct wire_features *f, struct wire_bytes index,
                         struct wire_bytes value)
{
    const unsigned char *p = index.data, *end = p + index.length, *v = value.data,
                        *v_end = v + value.length;
    uint32_t next = 0, at;
    while (p < end && v < v_end) {
        if (!small(&p, end, &at) || at < next || at >= f->wanted)
            return 0;
        uint32_t bits;
        memcpy(&bits, v, sizeof bits);
        bits = le32toh(bits);
        memcpy(&f->values[at], &bits, sizeof bits);
        v += 4;
        next = at + 1;
    }
    return p == end && v == v_end;
}

int wire_features_simple(struct wire_features *f, const struct wire_field *field)
{
    const unsigned char *at = field->data, *end = at + field->length;
    struct wire_bytes index, value;
    if (f->has_sparse || f->simple || f->n_dense || !piece(&at, end, 0x0a, &index) ||
        !piece(&at, end, 0x12, &value) || at != end || value.length % 4)
        return 0;
    memset(f->values, 0, f->wanted * sizeof *f->values);
    f->simple = spread_rising(f, index, value);
    if (f->simple)
        f->first = *field;
    return f->simple;
}

static int spread(struct wire_features *f, struct fis_error *e)
{
    if (f->n_index != f->n_value)
        return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "sparse: %zu indexes for %zu values", f->n_index,
                          f->n_value);
    if (f->n_index > f->wanted)
        return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "sparse: %zu entries, at most %u wanted",
                          f->n_index, f->wanted);
    unsigned char *seen = take(f, f->wanted, e);
    if (!seen)
        return -FIS_INPUT;
    memset(seen, 0, f->wanted);
    memset(f->values, 0, f->wanted * sizeof *f->values);
    for (size_t i = 0; i < f->n_index; i++) {
        uint32_t at = f->index[i];
        if (at >= f->wanted)
            return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "sparse: index %u, 0..%u allowed", at,
                              f->wanted - 1);
        if (seen[at])
            return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "sparse: index %u twice", at);
        seen[at] = 1;
        f->values[at] = f->value[i];
    }
    return 0;
}

int wire_features_finish(struct wire_features *f, struct fis_error *e)
{
    if ((f->has_sparse || f->simple) && f->n_dense)
        return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "features and sparse: one of them wanted");
    if (f->simple)
        return 0;
    if (f->has_sparse)
        return spread(f, e);
    if (f->n_dense != f->wanted)
        return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "%zu features, %u wanted", f->n_dense,
                          f->wanted);
    return 0;
}
