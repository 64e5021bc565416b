/*
 * Labelled examples from a file: the initial set, which the encoder is fitted on, and the
 * validation set, the only one whose sensitive columns are read.
 *
 * The label must be the name of a class (fis_value_category). Ids are those of the id column; a row
 * that has none gets "file:line" with the file's name without its folder. An id that occurs twice
 * is an error which names both lines. A validation row whose sensitive value is missing is left
 * out, and counted. Errors carry file:line and never a sensitive value.
 *
 * One reading names all that is wrong with the rows, by column (data/faults.h); only what breaks
 * the form of the file ends it.
 */
#ifndef DATA_EXAMPLES_H
#define DATA_EXAMPLES_H

#include "data/faults.h"
#include "data/groups.h"
#include "data/rows.h"

struct data_source {
    const char *path;
    struct data_reading how;
    const struct wire_schema *schema;
    const struct fis_column *columns;
    uint32_t n_columns;
    uint32_t tree_margins; /* that the encoder expects (fis/encoder.h) */
    bool with_sensitive; /* validation */
    data_note_fn *note;  /* of data_examples_load: all faults, and what a person should know; NULL */
    void *note_ctx;
};

struct data_examples {
    uint32_t n, d;
    float *x;           /* [n][d] */
    uint32_t *labels;   /* [n] */
    uint32_t *groups;   /* [n]; NULL without sensitive columns */
    struct fis_id *ids; /* [n] */
    uint64_t *unseen;   /* [columns] cells with a category that the encoder has not seen */
    uint64_t left_out;  /* rows without a group */
    struct data_groups names;
};

/* Fits an encoder on the rows of the file; those whose features data_examples_load refuses are
 * passed over. Owned by the caller. */
struct fis_encoder *data_fit_encoder(const struct data_source *s, uint32_t max_categories,
                                     struct fis_error *e) FIS_MUST_CHECK;
/* Reads and encodes all rows. INPUT also for a file with a header and no row. */
int data_examples_load(const struct data_source *s, const struct fis_encoder *encoder,
                       struct data_examples *out, struct fis_error *e) FIS_MUST_CHECK;
void data_examples_done(struct data_examples *x); /* fine when zeroed */

#endif
