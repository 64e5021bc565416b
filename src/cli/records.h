/*
 * Rows of a file as messages for the records topic.
 * Thread: one owner. Owns: the open file and its buffers.
 */
#ifndef CLI_RECORDS_H
#define CLI_RECORDS_H

#include "cli/cli.h"
#include "data/rows.h"

struct records_options {
    const char *path;
    const struct data_reading *read; /* NULL: by its name */
    enum wire_encoding encoding;
    const char *id_column;
    const char *leave_out; /* CSV: columns that are not sent; NULL */
    bool to_records;       /* for the records topic: what fisd would refuse is refused */
};

struct records {
    const struct cli *cli;
    struct records_options o;
    struct data_options data;
    struct data_column *columns;
    struct fis_column *features; /* their names */
    struct fis_value *values;    /* protobuf, raw */
    float *floats;
    struct data_rows *rows;
    struct byte_buffer value;
    struct fis_id id;
    bool has_id, pictured;  /* pictured: the last object has an image in place of its numbers */
    uint32_t rejected;      /* 1: the last row was read and must not be sent */
    bool *seen;             /* [columns] was in some JSON row */
    uint64_t odd, odd_line; /* rows with a text in a numeric column, and the first of them */
    const char *odd_column;
};

int records_open(struct records *r, const struct cli *c, const struct records_options *o,
                 struct fis_error *e) FIS_MUST_CHECK;
/* 1: r->value, r->id (when r->has_id) are the next message. 0: the end. Negative: an error, which
 * says file:line; at the end of JSON lines also that a column was in no row. Of a sensitive column
 * only the name is ever in it. */
int records_next(struct records *r, struct fis_error *e) FIS_MUST_CHECK;
/* How many rows were not given, or given and refused; reads the rest of the file. */
uint64_t records_left(struct records *r);
void records_close(struct records *r);

#endif
