/*
 * A version on the rows of a file, one by one: class and probabilities, by the version's own
 * encoder. Columns that it does not know are passed over.
 * Thread: one owner. Owns: the open file.
 */
#ifndef CLI_PREDICTOR_H
#define CLI_PREDICTOR_H

#include "cli/options.h"
#include "data/rows.h"

struct predictor {
    const struct wire_model *model;
    const char *path;
    struct data_rows *rows;
    struct data_options data;
    struct data_column *columns; /* the encoder's, then the id */
    struct fis_value *values;
    float *x, *probability; /* [dimension], [n_classes] */
    struct fis_scratch *scratch;
    uint64_t unseen; /* cells with a category that the version does not know */

    /* Of the row read last. */
    const struct fis_value *id; /* TEXT, where the file has the column records.id */
    uint32_t best;              /* the class with the highest probability */
};

/* INPUT: the version has no weights, or the file cannot be read. In any case close it. */
int predictor_open(struct predictor *p, const struct cli *c, const struct wire_model *m,
                   const char *path, const struct data_reading *how,
                   struct fis_error *e) FIS_MUST_CHECK;
/* 1: a row, 0: the end, negative: an error. */
int predictor_next(struct predictor *p, struct fis_error *e) FIS_MUST_CHECK;
void predictor_close(struct predictor *p);

#endif
