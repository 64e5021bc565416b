/*
 * Errors. A fallible function returns 0 or a negative number and fills a caller-owned struct
 * fis_error (which may be NULL). The class, not the text, decides what the caller does.
 *
 * Thread: an error object belongs to one caller. Owns: nothing; no allocation.
 */
#ifndef FIS_ERROR_H
#define FIS_ERROR_H

#include <stdarg.h>

enum fis_error_class {
    FIS_OK = 0,
    FIS_INPUT,     /* this record (or file, or option) is bad: refuse it, count it, go on */
    FIS_RETRY,     /* not now: back off and try again */
    FIS_ABORT_TXN, /* the transaction must be aborted; what it held is sent again */
    FIS_FATAL,     /* this role cannot go on; stop it and exit with a non-zero status */
    FIS_NOMEM      /* memory refused; nothing was changed */
};

#define FIS_ERROR_TEXT 384

struct fis_error {
    enum fis_error_class class;
    char text[FIS_ERROR_TEXT]; /* where, what was found, what is allowed; one line, UTF-8 */
};

#define FIS_MUST_CHECK __attribute__((warn_unused_result))
#define FIS_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Fills `e` (when not NULL) and returns -class, so that a function can `return fis_fail(…)`.
 * Control characters and bytes that are no UTF-8 are replaced by '?', so that hostile input cannot
 * forge a log line. */
int fis_fail(struct fis_error *e, enum fis_error_class class, const char *format, ...)
    FIS_PRINTF(3, 4);

/* Puts "prefix: " before the text that `e` already holds; for saying where. Returns -class. */
int fis_error_prefix(struct fis_error *e, const char *format, ...) FIS_PRINTF(2, 3);

#endif
