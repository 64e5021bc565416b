/*
 * CSV (RFC 4180) in pieces: feed bytes, take rows. The first row is the header.
 *
 * What is read: quoted fields with doubled quotes and line breaks inside; lines that end in LF,
 * CRLF or CR; a last line without an end; a UTF-8 byte order mark at the very start (skipped).
 * Blank lines are skipped. Spaces and tabs around an unquoted field, and outside the quotes of a
 * quoted one, are dropped; inside quotes they are kept.
 *
 * What is refused (INPUT, with the line and the column's number): a quote that is never closed (the
 * line where it opened), text after a closing quote, a quote inside an unquoted field, a field over
 * WIRE_CSV_FIELD_MAX bytes, a row whose number of fields is not the header's, an empty or repeated
 * name in the header (the first of several may be empty: an index, as pandas and R write it), no header at all, and a header of one column that another delimiter makes
 * several of (the error names that delimiter). An error is final: each further call returns it.
 *
 * Memory: one row. A field may not pass WIRE_CSV_FIELD_MAX nor a row WIRE_CSV_ROW_MAX, so a quote
 * left open in a file of any size costs no more than that.
 *
 * Thread: one owner. Owns: its buffers; a row lives until the next call.
 */
#ifndef WIRE_CSV_H
#define WIRE_CSV_H

#include <stdio.h>

#include "wire/types.h"

#define WIRE_CSV_FIELD_MAX ((size_t)1 << 20)
#define WIRE_CSV_ROW_MAX ((size_t)4 << 20)
#define WIRE_CSV_FIELDS_MAX 65536u

struct wire_csv_row {
    const struct wire_bytes *fields; /* [n]; an empty field has length 0, data never NULL */
    uint32_t n;
    uint64_t line; /* where the row begins; the first line of a file is 1 */
};

struct wire_csv;

/* The delimiter of a name (comma, semicolon, tab, pipe) or of the character itself; 0: of neither.
 */
char wire_csv_delimiter(const char *text);

/* NULL with NOMEM, or INPUT for a delimiter that wire_csv_delimiter never returns. */
struct wire_csv *wire_csv_new(char delimiter, struct fis_error *e) FIS_MUST_CHECK;
void wire_csv_free(struct wire_csv *csv);

/* Gives the next piece, which is borrowed until wire_csv_next has returned 0. */
void wire_csv_feed(struct wire_csv *csv, const void *data, size_t length);
/* There is no more to feed. */
void wire_csv_end(struct wire_csv *csv);
/* 1: a row. 0: feed more, or, after wire_csv_end, all rows were given. Negative: an error. */
int wire_csv_next(struct wire_csv *csv, struct wire_csv_row *row,
                  struct fis_error *e) FIS_MUST_CHECK;

/* After an error: the line it is about; for a quote that never closes, where it opened. */
uint64_t wire_csv_error_line(const struct wire_csv *csv);

/* Writes one field, in quotes where it needs them. */
void wire_csv_put(FILE *f, const char *text, size_t length);

#endif
