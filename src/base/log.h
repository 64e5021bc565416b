/*
 * The log: one line an event on standard error, key=value, with the time in UTC.
 *
 *   2026-01-31T12:00:00.123Z info version version=3 verdict=publish …
 *
 * Only the daemon and the command line tool log; the layers below return errors. A secret or a
 * sensitive attribute is never an argument. A line is one write, so lines of threads do not mix.
 *
 * Between log_start and log_stop a thread writes the lines, from a buffer of 512 KiB: a thread that
 * logs never waits for a reader. What the buffer has no room for is lost, counted, and reported by
 * a line `log` when lines flow again. Of one kind (level and event; not debug) LOG_FIRST lines are
 * written within LOG_WINDOW_SECONDS, and LOG_FURTHER in the windows that follow at once; a line
 * `repeated=` reports how many more there were. Otherwise a line is written by who logs it.
 * Thread: safe, but for log_start.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fis/error.h"

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };

#define LOG_WINDOW_SECONDS 10
#define LOG_FIRST 100
#define LOG_FURTHER 5
#define LOG_PATIENCE_MS 1000

/* Since the process began: written; summed up as repeated; lost. */
struct log_counts {
    uint64_t written, summed, lost;
};

/* The first thing in a process: descriptors 0 to 2 that are closed become /dev/null, opened so that
 * writing fails. Else a connection would get the number, and the lines of the log with it. */
void log_reserve_descriptors(void);
int log_start(struct fis_error *e) FIS_MUST_CHECK;
/* Before the process ends, however it does: waits for the buffer to empty, LOG_PATIENCE_MS at most.
 */
void log_stop(void);
struct log_counts log_counts(void);

void log_set_level(enum log_level level);
/* event: a word; format: key=value pairs, texts as key=\"%s\". What an argument brings cannot break
 * the line: line breaks and control characters become '?', and between the format's own quotes a
 * quote or a backslash gets a backslash before it. */
void log_line(enum log_level level, const char *event, const char *format, ...) FIS_PRINTF(3, 4);
/* The same fields as a text, for a line that says no more than "%s": what the arguments bring is
 * escaped once. */
void log_fields_v(char *out, size_t size, const char *format, va_list ap);
void log_line_v(enum log_level level, const char *event, const char *format, va_list ap);

#endif
