/*
 * The initial and the validation set together, each of which is right by itself: what a person
 * should know before a pipeline is started on them. Says nothing of a single row, and no value of a
 * sensitive column.
 * Thread: no state.
 */
#ifndef DATA_SETS_H
#define DATA_SETS_H

#include "data/examples.h"

struct data_sets {
    const struct data_examples *initial, *validation; /* NULL: not at hand */
    const char *initial_name, *validation_name;
    const struct wire_schema *schema;
    enum fis_metric metric;
    uint32_t positive;
    uint32_t min_rows, min_cell; /* of the gate */
};

/* Warnings: a class without a row; validation rows or a cell of the metric too few for the gate;
 * ids that both sets have; validation rows that repeat features and label of initial ones, more
 * than rows of one set repeat each other. NOMEM. */
int data_sets_look(const struct data_sets *s, data_note_fn *note, void *ctx,
                   struct fis_error *e) FIS_MUST_CHECK;

#endif
