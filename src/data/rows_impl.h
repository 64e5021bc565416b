/* Inside data/rows: what the two formats share. */
#ifndef DATA_ROWS_IMPL_H
#define DATA_ROWS_IMPL_H

#include <jansson.h>

#include "data/file.h"
#include "data/rows.h"
#include "wire/csv.h"
#include "wire/json_text.h"
#include "wire/record_image.h"

#define ROWS_CHUNK 65536
#define ROWS_NO_COLUMN UINT32_MAX

struct data_rows {
    char *path;
    const struct data_options *options;
    struct data_file *file;
    bool is_json, at_end;
    uint64_t line, count;
    uint64_t lines_read;     /* line ends in all that was read from the file */
    unsigned char last_byte; /* of it; 0 before the first */
    struct fis_error error;  /* final */
    uint64_t error_line;
    unsigned char *chunk;       /* [ROWS_CHUNK] */
    size_t chunk_at, chunk_end; /* JSON lines: what is not yet taken of it */
    /* CSV */
    struct wire_csv *csv;
    char **names; /* [n_names] the header */
    int *numeric; /* [n_names] asked for as DATA_NUMBER */
    int *dropped; /* [n_names] no part of an object: left out by name, or without a name */
    uint32_t n_names;
    uint32_t *place;           /* [options->n_columns] in the header, or ROWS_NO_COLUMN */
    uint32_t image_column;     /* in the header; ROWS_NO_COLUMN: none */
    struct byte_buffer image;  /* the one at hand */
    struct byte_buffer base64; /* it as text */
    bool pictured;             /* the row has one */
    /* JSON lines */
    struct byte_buffer text; /* the line at hand */
    json_t *object;          /* it, decoded; the values point into it */
    int *seen;               /* [options->n_columns] */
};

/* The next piece of the file, into chunk: its length, 0 at the end, or an error. */
int data_rows_fill(struct data_rows *r, size_t *length, struct fis_error *e) FIS_MUST_CHECK;
/* Makes an error final, with file and line in front. */
int data_rows_refuse(struct data_rows *r, uint64_t line, struct fis_error *e);

int data_csv_open(struct data_rows *r, struct fis_error *e) FIS_MUST_CHECK;
int data_csv_next(struct data_rows *r, struct wire_csv_row *row,
                  struct fis_error *e) FIS_MUST_CHECK;
int data_csv_values(struct data_rows *r, const struct wire_csv_row *row, struct fis_value *values,
                    struct fis_error *e) FIS_MUST_CHECK;
int data_csv_cells(struct data_rows *r, const struct wire_csv_row *row, data_cell_fn *cell,
                   void *ctx, struct fis_error *e) FIS_MUST_CHECK;
int data_csv_object(struct data_rows *r, const struct wire_csv_row *row, struct byte_buffer *out,
                    struct fis_error *e) FIS_MUST_CHECK;

/* The next line that is not blank, decoded into r->object. */
int data_json_next(struct data_rows *r, struct fis_error *e) FIS_MUST_CHECK;
int data_json_values(struct data_rows *r, struct fis_value *values,
                     struct fis_error *e) FIS_MUST_CHECK;
int data_json_cells(json_t *object, struct wire_bytes text, data_cell_fn *cell, void *ctx,
                    struct fis_error *e) FIS_MUST_CHECK;
/* rows_image.c, with options->images: the bytes of the image that a cell names or has, into
 * r->image; its numbers, from there; and a cell or an object with the image itself, in JSON. */
int data_image_read(struct data_rows *r, const char *text, size_t length,
                    struct fis_error *e) FIS_MUST_CHECK;
int data_image_values(struct data_rows *r, struct fis_value *values,
                      struct fis_error *e) FIS_MUST_CHECK;
int data_image_text(struct data_rows *r, struct wire_bytes *text,
                    struct fis_error *e) FIS_MUST_CHECK;
int data_image_object(struct data_rows *r, struct wire_bytes text, const json_t *image,
                      struct byte_buffer *out, struct fis_error *e) FIS_MUST_CHECK;
const json_t *data_image_member(const struct data_rows *r); /* a text; NULL: none */
/* How many of the first columns an image may stand for, and how many this row's does. */
static inline uint32_t data_image_numbers(const struct data_rows *r)
{
    return r->options->images ? (uint32_t)image_numbers(&r->options->images->image) : 0;
}
static inline uint32_t data_image_columns(const struct data_rows *r)
{
    return r->pictured ? data_image_numbers(r) : 0;
}

/* At the end: whether every requested column was in some row. */
int data_json_check_seen(struct data_rows *r, struct fis_error *e) FIS_MUST_CHECK;

#endif
