/*
 * The values of a record's columns, gathered from the fields `features` and `sparse` as they come:
 * packed, one by one, or in several pieces.
 */
#ifndef WIRE_PROTOBUF_FEATURES_H
#define WIRE_PROTOBUF_FEATURES_H

#include "wire/protobuf_reader.h"

struct wire_features {
    struct fis_arena *arena;
    uint32_t wanted; /* columns */
    float *values;   /* [wanted], the result */
    size_t n_dense;  /* as many as came, also beyond `wanted` */
    int has_sparse;
    int simple; /* `first` was the one occurrence of `sparse` so far, and is in `values` */
    struct wire_field first;
    uint32_t *index;
    float *value;
    size_t n_index, n_value;
};

int wire_features_start(struct wire_features *f, uint32_t wanted, struct fis_arena *arena,
                        struct fis_error *e) FIS_MUST_CHECK;
/* One occurrence of either field; checked against the descriptor before. */
void wire_features_dense(struct wire_features *f, const struct wire_field *field);
int wire_features_sparse(struct wire_features *f, const struct wire_reader *r,
                         const struct wire_field *field, struct fis_error *e) FIS_MUST_CHECK;
/* 1: the occurrence of `sparse` was of the common form, and the values are complete unless more
 * comes: packed indexes that rise, as many packed values. 0: nothing was done. */
int wire_features_simple(struct wire_features *f, const struct wire_field *field);
/* Counts and indexes checked; f->values is complete. Whether they are finite is not looked at. */
int wire_features_finish(struct wire_features *f, struct fis_error *e) FIS_MUST_CHECK;

#endif
