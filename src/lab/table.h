/*
 * A CSV file with a header, whole in memory: per column the code of each cell and the texts that
 * the codes stand for, compared as categories (base/category.h). The bulk of the cells decides the
 * type: a column is numeric when nine in ten of those that are not empty are numbers, or more. The
 * others are then missing, and named in `odd`.
 *
 * Thread: immutable after reading; shared by runs. Owns: everything.
 */
#ifndef LAB_TABLE_H
#define LAB_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "fis/encoder.h"

#define LAB_MISSING UINT32_MAX /* code of an empty cell */

struct lab_column {
    char *name;
    enum fis_column_type type;
    uint32_t *codes; /* [n rows] */
    char odd[256];   /* for people; "": nothing */
    uint32_t n_values, capacity;
    struct fis_value *values; /* [n_values] by code, in order of arrival; texts are owned */
};

struct lab_table {
    uint32_t n, n_columns, capacity;
    struct lab_column *columns;
};

/* INPUT with file and line: what wire/csv.h refuses, no rows, a text that is not UTF-8. NULL on
 * error. */
struct lab_table *lab_table_read(const char *path, char delimiter,
                                 struct fis_error *e) FIS_MUST_CHECK;
void lab_table_free(struct lab_table *t);
/* Index of a column, or -1 with INPUT (which lists those that are there). */
int lab_table_find(const struct lab_table *t, const char *name, struct fis_error *e) FIS_MUST_CHECK;

#endif
