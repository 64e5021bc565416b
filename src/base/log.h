/*
 * The log: one line an event on standard error, key=value, with the time in UTC.
 *
 *   2026-01-31T12:00:00.123Z info version version=3 verdict=publish …
 *
 * Only the daemon and the command line tool log; the layers below return errors. A secret or a
 * sensitive attribute is never an argument. A line is one write, so lines of threads do not mix.
 * Thread: safe; the level is set once at the start.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdarg.h>

#include "fis/error.h"

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };

void log_set_level(enum log_level level);
int log_enabled(enum log_level level);
/* event: a word; format: key=value pairs, texts as key=\"%s\". What an argument brings cannot break
 * the line: line breaks and control characters become '?', and between the format's own quotes a
 * quote or a backslash gets a backslash before it. */
void log_line(enum log_level level, const char *event, const char *format, ...) FIS_PRINTF(3, 4);
void log_line_v(enum log_level level, const char *event, const char *format, va_list ap);

#endif
