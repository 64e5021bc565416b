#include "base/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "base/log_impl.h"

static _Atomic int threshold = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
    threshold = (int)level;
}

static bool log_enabled(enum log_level level)
{
    return (int)level >= threshold;
}

static int stamp(char *out, size_t size)
{
    struct timespec ts;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &ts);
    gmtime_r(&ts.tv_sec, &tm);
    return snprintf(out, size, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", tm.tm_year + 1900,
                    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                    ts.tv_nsec / 1000000);
}

/* Quotes of the format are marked, to distinguish them from those that arguments bring. */
#define MARK '\x01'

static void mark_quotes(char *out, size_t size, const char *format)
{
    snprintf(out, size, "%s", format);
    for (; *out; out++)
        if (*out == '"')
            *out = MARK;
}

/* Copies one line of key=value, with its quotes; returns the length. */
static size_t copy_quoted(char *out, size_t room, const char *in)
{
    size_t n = 0;
    bool quoted = false;
    for (; *in && n + 3 < room; in++) {
        unsigned char c = (unsigned char)*in;
        if (c == MARK) {
            quoted = !quoted;
            c = '"';
        } else if (c < 0x20 || c == 0x7f) {
            c = '?';
        } else if (quoted && (c == '"' || c == '\\')) {
            out[n++] = '\\';
        }
        out[n++] = (char)c;
    }
    if (quoted)
        out[n++] = '"'; /* the line was cut */
    return n;
}

static const char *const names[] = {"debug", "info", "warn", "error"};

static size_t fields(char *out, size_t room, const char *format, va_list ap)
{
    char marked[512], text[1792];
    mark_quotes(marked, sizeof marked, format);
    vsnprintf(text, sizeof text, marked, ap);
    return copy_quoted(out, room, text);
}

void log_fields_v(char *out, size_t size, const char *format, va_list ap)
{
    out[fields(out, size - 1, format, ap)] = 0;
}

static size_t log_format_v(char line[LOG_LINE], enum log_level level, const char *event,
                           const char *format, va_list ap)
{
    int n = stamp(line, LOG_LINE);
    n += snprintf(line + n, LOG_LINE - (size_t)n, " %s %.200s ", names[level], event);
    size_t length = (size_t)n + fields(line + n, LOG_LINE - (size_t)n - 1, format, ap);
    line[length++] = '\n';
    return length;
}

size_t log_format(char line[LOG_LINE], enum log_level level, const char *event, const char *format,
                  ...)
{
    va_list ap;
    va_start(ap, format);
    size_t length = log_format_v(line, level, event, format, ap);
    va_end(ap);
    return length;
}

void log_line_v(enum log_level level, const char *event, const char *format, va_list ap)
{
    char line[LOG_LINE];
    if (!log_enabled(level) || !log_admit(level, event))
        return;
    log_put(line, log_format_v(line, level, event, format, ap));
}

void log_line(enum log_level level, const char *event, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    log_line_v(level, event, format, ap);
    va_end(ap);
}
