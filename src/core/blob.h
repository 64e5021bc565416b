/*
 * Blobs that a later process reads: numbers one behind the other, little-endian, floats as they
 * are. A writer without a buffer counts, so that one function is both the size and the writing. A
 * reader that ran short says so at the end, and gives zeros.
 */
#ifndef CORE_BLOB_H
#define CORE_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "blobs are written as memory has them");

struct blob_writer {
    unsigned char *to; /* NULL: count only */
    size_t size;
};

static inline void blob_put(struct blob_writer *w, const void *bytes, size_t n)
{
    if (w->to && n)
        memcpy(w->to + w->size, bytes, n);
    w->size += n;
}

static inline void blob_put_u32(struct blob_writer *w, uint32_t v)
{
    blob_put(w, &v, sizeof v);
}

static inline void blob_put_u64(struct blob_writer *w, uint64_t v)
{
    blob_put(w, &v, sizeof v);
}

static inline void blob_put_double(struct blob_writer *w, double v)
{
    blob_put(w, &v, sizeof v);
}

struct blob_reader {
    const unsigned char *from;
    size_t left;
    bool short_of; /* more was asked for than there is */
};

/* Where the next n bytes are, which may be unaligned; NULL when there are fewer. */
static inline const unsigned char *blob_skip(struct blob_reader *r, size_t n)
{
    const unsigned char *at = r->from;
    if (n > r->left) {
        r->short_of = true;
        r->left = 0;
        return NULL;
    }
    r->from += n;
    r->left -= n;
    return at;
}

static inline void blob_get(struct blob_reader *r, void *to, size_t n)
{
    const unsigned char *at = blob_skip(r, n);
    if (at && n)
        memcpy(to, at, n);
    else
        memset(to, 0, n);
}

static inline uint32_t blob_get_u32(struct blob_reader *r)
{
    uint32_t v;
    blob_get(r, &v, sizeof v);
    return v;
}

static inline uint64_t blob_get_u64(struct blob_reader *r)
{
    uint64_t v;
    blob_get(r, &v, sizeof v);
    return v;
}

static inline double blob_get_double(struct blob_reader *r)
{
    double v;
    blob_get(r, &v, sizeof v);
    return v;
}

/* Whether n floats at `bytes`, which may be unaligned, are all finite. */
bool blob_floats_finite(const unsigned char *bytes, size_t n);

#endif
