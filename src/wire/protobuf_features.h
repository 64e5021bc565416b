/*
 * The values of a record's columns, gathered from the fields `features` and `sparse` as they come:
 * packed, one by one, or in several pieces.
 */
#ifndef WIRE_PROTOBUF_FEATURES_H
#define WIRE_PROTOBUF_FEATURES_H

#include "wire/protobuf_reader.h"
#include "wire/raw.h"

struct wire_features {
    struct fis_arena *arena;
    uint32_t expected; /* columns */
    bool has_sparse;
    float *values;     /* [expected], the result; NULL as long as there is none */
    const void *whole; /* or it, as it lies in the message: `features` in one piece; else NULL */
    size_t n_dense;    /* as many as came, also beyond `expected` */
    /* The entries of `sparse`, [expected]: the caller's, or of the arena. */
    uint32_t *index;
    float *value;
    size_t n_index, n_value;
    bool rising; /* each index is above the one before and below `expected`, values are finite */
};

static inline void wire_features_start(struct wire_features *f, uint32_t expected,
                                       struct fis_arena *arena)
{
    f->arena = arena;
    f->expected = expected;
    f->has_sparse = f->rising = 0;
    f->values = f->value = NULL;
    f->whole = NULL;
    f->index = NULL;
    f->n_dense = f->n_index = f->n_value = 0;
}

/* 1: the occurrence of `features` was the first, and is all of them. 0: nothing was done. */
static inline bool wire_features_whole(struct wire_features *f, struct wire_bytes bytes)
{
    if (f->n_dense || bytes.length != (size_t)f->expected * 4)
        return false;
    f->whole = wire_floats(bytes.data, f->expected, f->arena);
    f->n_dense = f->whole ? f->expected : 0;
    return f->whole != NULL;
}

/* One occurrence of either field; checked against the descriptor before. */
int wire_features_dense(struct wire_features *f, struct wire_bytes bytes,
                        struct fis_error *e) FIS_MUST_CHECK;
int wire_features_sparse(struct wire_features *f, const struct wire_reader *r,
                         const struct wire_field *field, struct fis_error *e) FIS_MUST_CHECK;
/* 1: the occurrence of `sparse` was the first and of the common form, packed indexes that rise and
 * as many packed values, all finite, and was taken; the descriptor need not be asked. 0: nothing
 * was done. */
bool wire_features_simple(struct wire_features *f, struct wire_bytes bytes);
/* Whether index and value [n_index] are all that came, of the common form. */
static inline bool wire_features_listed(const struct wire_features *f)
{
    return f->rising && !f->n_dense;
}
/* INPUT: there are some, beside an image. */
int wire_features_none(const struct wire_features *f, struct fis_error *e) FIS_MUST_CHECK;
/* Counts and indexes checked; the result is at `whole`, at any address, or is `values`. Whether
 * they are finite is not looked at. */
int wire_features_finish(struct wire_features *f, struct fis_error *e) FIS_MUST_CHECK;
/* The result, as `values`; NULL and *e when the arena is full. */
const float *wire_features_values(struct wire_features *f, struct fis_error *e);

#endif
