#include "wire/protobuf_features.h"

#include <endian.h>
#include <string.h>

#include "base/decimal.h"
#include "wire/raw.h"

static void *take(struct wire_features *f, size_t bytes, struct fis_error *e)
{
    void *p = fis_arena_alloc(f->arena, bytes);
    if (!p)
        fis_refuse(e, FIS_CODE_TOO_LONG, "decoding %u columns takes more than %zu bytes",
                   f->expected, f->arena->size);
    return p;
}

static int open_values(struct wire_features *f, struct fis_error *e)
{
    if (!f->values)
        f->values = take(f, (size_t)f->expected * sizeof *f->values, e);
    return f->values ? 0 : -FIS_INPUT;
}

/* Adds floats to out [expected], of which *n are there; counts on when it is full. */
static void add_floats(float *out, uint32_t expected, size_t *n, struct wire_bytes bytes)
{
    size_t more = bytes.length / 4, room = *n < expected ? expected - *n : 0;
    wire_floats_from_le(out + (room ? *n : 0), bytes.data, more < room ? more : room);
    *n += more;
}

int wire_features_dense(struct wire_features *f, struct wire_bytes bytes, struct fis_error *e)
{
    if (wire_features_whole(f, bytes))
        return 0;
    if (f->whole) { /* whatever comes after it is too much */
        f->n_dense += bytes.length / 4;
        return 0;
    }
    int rc = open_values(f, e);
    if (!rc)
        add_floats(f->values, f->expected, &f->n_dense, bytes);
    return rc;
}

/* Room for entries, where there is none. */
static inline int open_sparse(struct wire_features *f, struct fis_error *e)
{
    if (!f->index) {
        f->index = take(f, (size_t)f->expected * sizeof *f->index, e);
        f->value = take(f, (size_t)f->expected * sizeof *f->value, e);
    }
    f->has_sparse = 1;
    f->rising = 0;
    return f->index && f->value ? 0 : -FIS_INPUT;
}

static void add_index(struct wire_features *f, uint64_t index)
{
    if (f->n_index < f->expected)
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
    int rc = open_sparse(f, e);
    if (rc)
        return rc;
    struct wire_reader inside = wire_reader_inside(r, field);
    struct wire_field entry;
    while ((rc = wire_reader_next(&inside, &entry, e)) > 0)
        if (entry.number == 2)
            add_floats(f->value, f->expected, &f->n_value,
                       (struct wire_bytes){entry.data, entry.length});
        else if (entry.number == 1 && (rc = add_indexes(f, &inside, &entry, e)))
            return rc;
    return rc;
}

#define EXPONENT 0x7f800000
typedef int32_t four __attribute__((vector_size(16)));
typedef unsigned char sixteen __attribute__((vector_size(16)));
typedef uint16_t eight __attribute__((vector_size(16)));
typedef uint64_t two __attribute__((vector_size(16)));

/* One entry after `before`; whether it is as it should be. */
static inline bool one(int64_t before, uint32_t at, const unsigned char *value, uint32_t *index,
                       float *out)
{
    uint32_t bits;
    wire_floats_from_le(out, value, 1);
    memcpy(&bits, out, sizeof bits);
    *index = at;
    return (at > before) & ((bits & EXPONENT) != EXPONENT);
}

/* Eight bytes, of which the first lies lowest, to eight numbers. */
static inline void widen(uint64_t bytes, uint32_t *to)
{
    sixteen none = {0}, b = (sixteen)(two){bytes};
    eight pairs = (eight)__builtin_shufflevector(b, none, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21,
                                                 6, 22, 7, 23);
    eight low = __builtin_shufflevector(pairs, (eight)none, 0, 8, 1, 9, 2, 10, 3, 11);
    eight high = __builtin_shufflevector(pairs, (eight)none, 4, 12, 5, 13, 6, 14, 7, 15);
    memcpy(to, &low, sizeof low);
    memcpy(to + 4, &high, sizeof high);
}

/* Four values; where they are not finite, -1. */
static inline four take_four(const unsigned char *v, float *out)
{
    four bits;
    memcpy(&bits, v, sizeof bits);
    memcpy(out, &bits, sizeof bits);
    return (bits & EXPONENT) == EXPONENT;
}

/* n >= 8 entries with indexes of a byte, by eights; the last eight may begin among those before
 * them. Each byte with its highest bit set, less one more than the byte before, has it still when
 * it is above that byte, and borrows from no other. */
static bool take_bytes(const unsigned char *p, const unsigned char *v, size_t n, uint32_t *index,
                       float *out)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    uint64_t at, bad = 0, before = 0, first = 0x80;
    four infinite = {0};
    for (size_t i = 0;; first = 0) {
        memcpy(&at, p + i, sizeof at);
        bad |= at | ~(((at | high) - ones - (at << 8 | before)) | first);
        widen(at, index + i);
        infinite |= take_four(v + 4 * i, out + i) | take_four(v + 4 * i + 16, out + i + 4);
        if (i == n - 8)
            break;
        i = i + 8 < n - 8 ? i + 8 : n - 8;
        before = p[i - 1];
    }
    two any = (two)infinite;
    return !((bad & high) | any[0] | any[1]);
}

/* Any number of entries, with indexes of one byte or two. */
static bool take_varints(struct wire_bytes bytes, const unsigned char *v, size_t n, uint32_t *index,
                         float *out)
{
    const unsigned char *p = bytes.data, *end = p + bytes.length;
    int64_t last = -1;
    bool good = true;
    for (size_t i = 0; i < n && good; i++, last = index[i - 1]) {
        if (p == end || (*p > 127 && (end - p < 2 || p[1] > 127)))
            return 0;
        uint32_t at = *p > 127 ? (*p & 127u) | (uint32_t)p[1] << 7 : *p;
        p += *p > 127 ? 2 : 1;
        good = one(last, at, v + 4 * i, &index[i], &out[i]);
    }
    return good && p == end;
}

static inline bool tagged(struct wire_reader *r, unsigned char tag, struct wire_bytes *out)
{
    return r->at < r->end && *r->at++ == tag && wire_reader_piece(r, out);
}

bool wire_features_simple(struct wire_features *f, struct wire_bytes all)
{
    struct wire_reader r = wire_reader_of(all);
    struct wire_bytes index, value;
    if (f->has_sparse || !tagged(&r, 0x0a, &index) || !tagged(&r, 0x12, &value) || r.at != r.end)
        return false;
    size_t n = value.length / 4;
    if (value.length % 4 || !n || n > f->expected || open_sparse(f, NULL))
        return false;
    bool good = index.length == n && n >= 8 && BYTE_ORDER == LITTLE_ENDIAN
                    ? take_bytes(index.data, value.data, n, f->index, f->value)
                    : take_varints(index, value.data, n, f->index, f->value);
    f->has_sparse = f->rising = good && f->index[n - 1] < f->expected;
    f->n_index = f->n_value = f->rising ? n : 0;
    return f->rising;
}

static int check_entries(struct wire_features *f, struct fis_error *e)
{
    if (f->n_index != f->n_value)
        return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "sparse: %zu indexes for %s", f->n_index,
                          DECIMAL_COUNT(f->n_value, "value"));
    if (f->n_index > f->expected)
        return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "sparse: %zu entries, at most %u expected",
                          f->n_index, f->expected);
    unsigned char *seen = take(f, f->expected, e);
    if (!seen)
        return -FIS_INPUT;
    memset(seen, 0, f->expected);
    for (size_t i = 0; i < f->n_index; i++) {
        uint32_t at = f->index[i];
        if (at >= f->expected)
            return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "sparse: index %u, 0..%u allowed", at,
                              f->expected - 1);
        if (seen[at])
            return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "sparse: index %u twice", at);
        seen[at] = 1;
    }
    return 0;
}

int wire_features_none(const struct wire_features *f, struct fis_error *e)
{
    return f->has_sparse || f->n_dense
               ? fis_refuse(e, FIS_CODE_WRONG_WIDTH, "image and features: one of them expected")
               : 0;
}

int wire_features_finish(struct wire_features *f, struct fis_error *e)
{
    if (f->has_sparse && f->n_dense)
        return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "features and sparse: one of them expected");
    if (!f->has_sparse && f->n_dense != f->expected)
        return fis_refuse(e, FIS_CODE_WRONG_WIDTH, "%s, %u expected",
                          DECIMAL_COUNT(f->n_dense, "feature"), f->expected);
    if (!f->has_sparse)
        return 0;
    int rc = f->rising ? 0 : check_entries(f, e);
    if (!rc)
        rc = open_values(f, e);
    if (rc)
        return rc;
    memset(f->values, 0, f->expected * sizeof *f->values);
    for (size_t i = 0; i < f->n_index; i++)
        f->values[f->index[i]] = f->value[i];
    return 0;
}

const float *wire_features_values(struct wire_features *f, struct fis_error *e)
{
    if (open_values(f, e))
        return NULL;
    if (f->whole)
        memcpy(f->values, f->whole, f->expected * sizeof *f->values);
    return f->values;
}
