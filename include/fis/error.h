/*
 * Errors. A fallible function returns 0 or a negative number and fills a caller-owned struct
 * fis_error (which may be NULL). The kind, not the text, decides what the caller does.
 *
 * Thread: an error object belongs to one caller. Owns: nothing; no allocation.
 */
#ifndef FIS_ERROR_H
#define FIS_ERROR_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

enum fis_error_kind {
    FIS_OK = 0,
    FIS_INPUT,     /* this record (or file, or option) is bad: refuse it, count it, go on */
    FIS_RETRY,     /* not now: back off and try again */
    FIS_ABORT_TXN, /* the transaction must be aborted; what it held is sent again */
    FIS_FATAL,     /* this role cannot go on; stop it and exit with a non-zero status */
    FIS_NOMEM      /* memory refused; nothing was changed */
};

/* Why an input was refused: few words for counters and filters, beside the text for people. */
enum fis_error_code {
    FIS_CODE_OTHER = 0,
    FIS_CODE_MALFORMED,      /* not JSON, not protobuf: its bytes mean nothing */
    FIS_CODE_TOO_LONG,       /* longer than allowed, or too large to decode */
    FIS_CODE_NO_VALUE,       /* null, where that means nothing */
    FIS_CODE_BAD_ID,         /* none, or one that cannot be */
    FIS_CODE_UNKNOWN_COLUMN, /* a column that is not configured */
    FIS_CODE_WRONG_TYPE,     /* a text where a number is expected, and the like */
    FIS_CODE_WRONG_WIDTH,    /* another number of features */
    FIS_CODE_NOT_FINITE,     /* NaN, infinite, or beyond float32 */
    FIS_CODE_UNKNOWN_CLASS,  /* a label that is no class, or none */
    FIS_CODE_CONTRADICTION,  /* two answers in one, or another than before */
    FIS_CODE_NOT_ASKED,      /* a label of a record that nobody asked for */
    FIS_CODE_BAD_IMAGE,      /* broken, or of a kind that is not read */
    FIS_CODE_BAD_FIELD,      /* any other field that is missing or out of its range */
    FIS_CODE_UNKNOWN_SCHEMA, /* its schema is not in the registry, or is not supported */
    FIS_ERROR_CODES
};

#define FIS_ERROR_TEXT 384

struct fis_error {
    enum fis_error_kind kind;
    enum fis_error_code code;  /* of an INPUT error */
    char text[FIS_ERROR_TEXT]; /* where, what was found, what is allowed; one line, UTF-8 */
};

#define FIS_MUST_CHECK __attribute__((warn_unused_result))
#define FIS_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Fills `e` (when not NULL) and returns -kind, so that a function can `return fis_fail(…)`.
 * Control characters and bytes that are no UTF-8 are replaced by '?', so that hostile input cannot
 * forge a log line. */
int fis_fail(struct fis_error *e, enum fis_error_kind kind, const char *format, ...)
    FIS_PRINTF(3, 4);

/* An INPUT error with a code; fis_fail's have FIS_CODE_OTHER. */
int fis_refuse(struct fis_error *e, enum fis_error_code code, const char *format, ...)
    FIS_PRINTF(3, 4);

const char *fis_error_code_name(enum fis_error_code code); /* "malformed", …; "other" */

/* Puts "prefix: " before the text that `e` already holds; for saying where. Returns -kind. */
int fis_error_prefix(struct fis_error *e, const char *format, ...) FIS_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif

#endif
