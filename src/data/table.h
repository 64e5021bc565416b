/*
 * A file of rows, whole in memory: per column the code of each cell and the texts that the codes
 * stand for, compared as categories (fis_value_category). Columns are those of the CSV header, or
 * in JSON lines all members in the order in which they first come, nested ones as "address.city".
 * What has no text but white space is missing.
 *
 * The bulk of the cells decides the type (data_mostly_numbers); the others are then missing, and
 * named in `odd`. So are JSON members that are neither a number nor a text, which no column of a
 * record can be.
 *
 * Thread: immutable after reading; shared by runs. Owns: everything.
 */
#ifndef DATA_TABLE_H
#define DATA_TABLE_H

#include "data/rows.h"

#define DATA_MISSING UINT32_MAX /* code of an empty cell */

struct data_table_column {
    char *name;
    enum fis_column_type type;
    uint32_t *codes; /* [n rows] */
    char odd[256];   /* for people; "": nothing */
    uint32_t n_values, capacity;
    struct fis_value *values; /* [n_values] by code, in order of arrival; texts are owned */
    uint32_t quoted;          /* JSON: cells that are texts */
    uint32_t unfit;           /* JSON: cells that are neither a number nor a text */
};

struct data_table {
    bool json;
    uint32_t n, n_columns, capacity;
    struct data_table_column *columns;
};

/* Whether a column is numeric, of whose `n` cells that are not missing `odd` are no numbers: one in
 * ten at most. */
bool data_mostly_numbers(uint64_t odd, uint64_t n);

/* INPUT with file and line: what data/rows.h refuses, no rows. An index without a name is left out
 * unless options->columns, which must be optional, ask for it. NULL on error. */
struct data_table *data_table_read(const char *path, const struct data_options *options,
                                   struct fis_error *e) FIS_MUST_CHECK;
void data_table_free(struct data_table *t);
/* Index of a column, or -1 with INPUT (which lists those that are there, and the one most like it). */
int data_table_find(const struct data_table *t, const char *name,
                    struct fis_error *e) FIS_MUST_CHECK;

/* The same from rows that come one by one, as JSON objects. */
struct data_table_builder;
struct data_table_builder *data_table_begin(struct fis_error *e) FIS_MUST_CHECK;
int data_table_add(struct data_table_builder *b, struct wire_bytes object,
                   struct fis_error *e) FIS_MUST_CHECK;
/* Takes the builder. INPUT: there was no row. */
struct data_table *data_table_end(struct data_table_builder *b, struct fis_error *e) FIS_MUST_CHECK;
void data_table_discard(struct data_table_builder *b); /* after an error that is not INPUT */

#endif
