/*
 * Rows of a file of records: CSV with a header, or JSON lines (an object a line).
 *
 * Read in pieces of 64 KiB, from gzip too (data/file.h); memory is bounded by the longest row (CSV:
 * see wire/csv.h; JSON lines: DATA_LINE_MAX), whatever the size of the file. Every error says
 * "FILE: line N: …". Columns that nobody
 * asked for are passed over. A CSV cell with nothing but white space is a missing value. The name
 * of a column is the key of a JSON member or its path: "address.city" (wire_json_member).
 *
 * An image (data_options.images) is the cell of the column "image": a file's name, from the folder
 * of the rows' file, or base64 (wire/record_image.h).
 *
 * Thread: one owner. Owns: its buffers. Values and texts live until the next call.
 */
#ifndef DATA_ROWS_H
#define DATA_ROWS_H

#include "wire/types.h"

#define DATA_LINE_MAX ((size_t)16 << 20)

enum data_format {
    DATA_BY_NAME = 0, /* .csv, .tsv; .jsonl, .ndjson, .json; anything else is refused */
    DATA_CSV,
    DATA_TSV,
    DATA_JSON_LINES
};

/* By its name: csv, tsv, jsonl; NULL: DATA_BY_NAME. */
int data_format_of(const char *name, enum data_format *out, struct fis_error *e) FIS_MUST_CHECK;

/* What a column's cells must be. */
enum data_cell {
    DATA_NUMBER = 1, /* CSV: a decimal number by decimal_read; JSON: a number */
    DATA_TEXT,       /* an id. CSV: the cell; JSON: a string, or a number as it is written */
    DATA_STRING      /* a category. CSV: the cell; JSON: a string, or a number with its digits */
};
struct data_column {
    const char *name;
    enum data_cell cell;
    bool optional; /* need not be in the file: then MISSING in every row */
    bool secret;   /* its values are never shown in an error */
    bool any;      /* DATA_NUMBER: what is no number is a text, for the caller to judge */
};

/* How a file is written, whatever is read of it. */
struct data_reading {
    enum data_format format;
    char delimiter; /* of the file, if it is CSV; 0: a tab in .tsv, else standard_delimiter */
    char standard_delimiter; /* 0: comma */
    const char *unnamed;     /* name of a first CSV column without one; NULL: DATA_UNNAMED */
    bool numeric_text; /* JSON: a text that is a number is one where DATA_NUMBER is asked for */
};
struct data_options {
    struct data_reading how;
    bool regular; /* a pipe or a device is refused: the caller reads the file twice */
    const struct data_column *columns;
    uint32_t n_columns;
    const char *leave_out; /* CSV: columns that are no part of an object, separated by commas */
    /* Features may be an image: where a row has one, its numbers are the values of the first
     * columns, as many as `image` has, and they need not be in the file. NULL, or image.height 0:
     * they may not. */
    const struct wire_schema *images;
};

/* What pandas calls the index that it, and R, write without a name. Nobody is given that column
 * unless it is asked for by this name. */
#define DATA_UNNAMED "Unnamed: 0"
bool data_listed(const char *list, const char *name); /* in a list with commas; NULL: in none */

struct data_rows;

/* Opens and reads the header. INPUT: no such file, no header, a requested column that is not there
 * (the error lists those that are). `options` and its columns are borrowed until the close. */
struct data_rows *data_rows_open(const char *path, const struct data_options *options,
                                 struct fis_error *e) FIS_MUST_CHECK;
void data_rows_close(struct data_rows *r);

/* values [n_columns], in the order asked. 1: a row, 0: the end, negative: an error. In JSON lines a
 * column that was in no row at all is an error at the end: it is misspelt. */
int data_rows_next(struct data_rows *r, struct fis_value *values,
                   struct fis_error *e) FIS_MUST_CHECK;

/* The next row as one JSON object, all columns of the file, appended to `out`: for sending to a
 * topic. CSV: cells of the columns asked for as DATA_NUMBER become numbers when they are numbers
 * (a number's own digits are kept), all others strings; empty cells are left out. JSON lines: the
 * object as it is, checked. Nothing is judged here but the form: what reads the topic does that. */
int data_rows_next_json(struct data_rows *r, struct byte_buffer *out,
                        struct fis_error *e) FIS_MUST_CHECK;

/* The next row, all its cells in the order of the file: calls `cell` for each that is not empty, by
 * the name of its column; nested members of JSON by "address.city". Numbers of JSON have kind
 * NUMBER, and members that are neither a number nor a text kind 0. Left out is what
 * data_rows_next_json leaves out. */
typedef int data_cell_fn(void *ctx, const char *name, const struct fis_value *value,
                         struct fis_error *e);
int data_rows_next_cells(struct data_rows *r, data_cell_fn *cell, void *ctx,
                         struct fis_error *e) FIS_MUST_CHECK;
/* The same of one JSON object. */
int data_object_cells(struct wire_bytes object, data_cell_fn *cell, void *ctx,
                      struct fis_error *e) FIS_MUST_CHECK;

/* "no column 'x' (found: a, b, …)", with what else may separate the names of a CSV header. */
int data_no_column(const char *name, const char *const *names, uint32_t n, struct fis_error *e);

/* The image of the row that data_rows_next gave, as it is in the file; data NULL: it has none. */
struct wire_bytes data_rows_image(const struct data_rows *r);

/* The columns of a CSV file [n], in its order; of JSON lines none. */
const char *const *data_rows_names(const struct data_rows *r, uint32_t *n);
/* Whether it is left out of objects and cells. */
bool data_rows_dropped(const struct data_rows *r, uint32_t column);
uint64_t data_rows_line(const struct data_rows *r);  /* where the row last read began */
uint64_t data_rows_count(const struct data_rows *r); /* rows given so far */
/* After an error: lines from where the bad row began (for a quote, where it opened) to the end of
 * the file, which were not given. Reads the rest of the file. */
uint64_t data_rows_unread(struct data_rows *r);

#endif
