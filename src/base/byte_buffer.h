/*
 * Bytes that grow at their end.
 * Thread: no state. Owns: its memory, until byte_buffer_done; kept and reused with length 0.
 */
#ifndef BASE_BYTE_BUFFER_H
#define BASE_BYTE_BUFFER_H

#include <stdarg.h>
#include <stddef.h>

#include "fis/error.h"

struct byte_buffer {
    unsigned char *data;
    size_t length, capacity;
};
void byte_buffer_done(struct byte_buffer *b);
/* Room for `more` bytes at the end; -FIS_NOMEM. */
int byte_buffer_reserve(struct byte_buffer *b, size_t more, struct fis_error *e) FIS_MUST_CHECK;
int byte_buffer_append(struct byte_buffer *b, const void *data, size_t length,
                       struct fis_error *e) FIS_MUST_CHECK;
int byte_buffer_printf(struct byte_buffer *b, struct fis_error *e, const char *format, ...)
    FIS_PRINTF(3, 4) FIS_MUST_CHECK;
int byte_buffer_vprintf(struct byte_buffer *b, struct fis_error *e, const char *format,
                        va_list list) FIS_MUST_CHECK;

#endif
