/*
 * What a person sees: a progress line, tables of text, numbers in words.
 * Thread: one.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/decimal.h"
#include "fis/error.h"
#include "wire/json_put.h"

/* A line that is written over on a terminal, ten times a second at most; elsewhere a line every
 * `every_ms`. */
struct screen_progress {
    FILE *out;
    bool live, open; /* open: the cursor stands in the line */
    int64_t next_ms, every_ms;
    int columns;
};
void screen_progress_init(struct screen_progress *p, FILE *out, int64_t now_ms);
/* Whether it is time; so that the text need not be made when it is not. */
bool screen_progress_due(const struct screen_progress *p, int64_t now_ms);
void screen_progress_show(struct screen_progress *p, int64_t now_ms, const char *format, ...)
    FIS_PRINTF(3, 4);
/* Ends the line, before anything else is written. `keep`: it stays to be seen. */
void screen_progress_end(struct screen_progress *p, bool keep);

/* Width of the terminal behind `out`; 0 when it is none. */
int screen_columns(FILE *out);
/* Code points of a UTF-8 text: its width, for what fisctl prints. */
size_t screen_width(const char *text);
/* The length in bytes of the first `columns` code points of a text. */
size_t screen_cut(const char *text, size_t columns);

/* Text from a topic, made harmless: control characters, which could drive the terminal, become
 * '?', and so do bytes that are no UTF-8. */
void screen_clean(char *text);

/* A table: set the cells row by row, then print. Cells are cut at SCREEN_CELL bytes. */
#define SCREEN_CELL 96
#define SCREEN_COLUMNS 16
struct screen_table {
    uint32_t columns, rows;
    bool right[SCREEN_COLUMNS]; /* aligned to the right */
    char (*cells)[SCREEN_CELL]; /* [rows][columns] */
    bool no_memory;
};
/* headings: `columns` of them; one that begins with '>' is aligned to the right. */
void screen_table_init(struct screen_table *t, const char *const *headings, uint32_t columns);
void screen_table_row(struct screen_table *t);
void screen_table_cell(struct screen_table *t, uint32_t column, const char *format, ...)
    FIS_PRINTF(3, 4);
/* 0, or -1 when memory was refused on the way (nothing is printed). Frees. */
int screen_table_print(struct screen_table *t, FILE *out) FIS_MUST_CHECK;

/* Prints what was written as a line, and drops it from the buffer. As wire_put_done. */
int screen_json(const struct wire_json_put *p) FIS_MUST_CHECK;

/* .831, 1.000, n/e when it is not estimable (NaN). */
const char *screen_rate(double rate, char out[16]);
/* 2026-01-31T12:00:00.123Z */
const char *screen_time(int64_t wall_ms, char out[32]);

#endif
