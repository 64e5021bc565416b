/* Between the text of a line (log.c) and its way to standard error (log_writer.c). */
#ifndef BASE_LOG_IMPL_H
#define BASE_LOG_IMPL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

/* Below PIPE_BUF: a line reaches a pipe whole. */
#define LOG_LINE 2048

size_t log_format(char line[LOG_LINE], enum log_level level, const char *event, const char *format,
                  ...) FIS_PRINTF(4, 5);
/* Whether one more line of this kind is written, or counted for a summary. */
bool log_admit(enum log_level level, const char *event);
void log_put(const char *line, size_t length);

#endif
