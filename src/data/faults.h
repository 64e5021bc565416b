/*
 * What is noticed while a file is read, gathered by kind, so that one reading names all of it: the
 * first row of a kind in full, the lines of some more, and how many there are.
 * Thread: one owner. Owns: its list.
 */
#ifndef DATA_FAULTS_H
#define DATA_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "fis/error.h"

#define DATA_KINDS 40 /* more kinds are counted as one */

/* Called for each kind; a fault makes the file useless, anything else is a warning. */
typedef void data_note_fn(void *ctx, bool fault, const char *text);

struct data_fault {
    uint32_t kind;
    uint64_t count, lines[4];
    char text[FIS_ERROR_TEXT]; /* of the first */
};

struct data_faults {
    struct data_fault *items; /* [n] in the order in which their first rows stand */
    uint32_t n;
};

/* line 0: not of one line. */
int data_faults_add(struct data_faults *f, uint32_t kind, uint64_t line, const char *text,
                    struct fis_error *e) FIS_MUST_CHECK;
uint64_t data_faults_count(const struct data_faults *f, uint32_t kind);
/* Calls `note` (may be NULL) for all. */
void data_faults_tell(const struct data_faults *f, const char *path, bool fault, data_note_fn *note,
                      void *ctx);
/* -FIS_INPUT with the first; 0: there is none. */
int data_faults_error(const struct data_faults *f, const char *path,
                      struct fis_error *e) FIS_MUST_CHECK;
void data_faults_done(struct data_faults *f);

#endif
