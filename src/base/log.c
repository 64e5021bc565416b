#include "base/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static _Atomic int threshold = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
    threshold = (int)level;
}

int log_enabled(enum log_level level)
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

void log_line(enum log_level level, const char *event, const char *format, ...)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    char line[2048];
    if (!log_enabled(level))
        return;
    int n = stamp(line, sizeof line);
    n += snprintf(line + n, sizeof line - (size_t)n, " %s %s ", names[level], event);
    va_list ap;
    va_start(ap, format);
    int more = vsnprintf(line + n, sizeof line - (size_t)n - 1, format, ap);
    va_end(ap);
    size_t room = sizeof line - (size_t)n - 2;
    size_t length = (size_t)n + (more < 0 ? 0 : (size_t)more > room ? room : (size_t)more);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line[i] < 0x20 || (unsigned char)line[i] == 0x7f)
            line[i] = '?';
    line[length++] = '\n';
    /* A log that cannot be written is nothing to stop for. */
    ssize_t unused = write(STDERR_FILENO, line, length);
    (void)unused;
}
