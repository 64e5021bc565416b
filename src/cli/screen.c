#include "cli/screen.h"

#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"

enum { LIVE_MS = 100, PLAIN_MS = 5000 };

int screen_columns(FILE *out)
{
    struct winsize size;
    int fd = fileno(out);
    if (fd < 0 || !isatty(fd))
        return 0;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static bool begins(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

size_t screen_width(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += begins(*text);
    return n;
}

size_t screen_cut(const char *text, size_t columns)
{
    size_t i = 0;
    for (; text[i]; i++)
        if (begins(text[i]) && columns-- == 0)
            break;
    return i;
}

void screen_clean(char *text)
{
    unsigned char *p = (unsigned char *)text;
    size_t left = strlen(text);
    while (left > 0) {
        size_t good = utf8_prefix(p, left);
        for (size_t i = 0; i < good; i++) {
            /* U+0080 to U+009F are control characters too. */
            bool wide = p[i] == 0xc2 && p[i + 1] < 0xa0;
            if (p[i] < 0x20 || p[i] == 0x7f || wide)
                p[i] = '?';
            if (wide)
                p[++i] = '?';
        }
        p += good;
        left -= good;
        if (left > 0) {
            *p++ = '?';
            left--;
        }
    }
}

void screen_progress_init(struct screen_progress *p, FILE *out, int64_t now_ms)
{
    *p = (struct screen_progress){.out = out, .columns = screen_columns(out)};
    p->live = p->columns > 0;
    p->every_ms = p->live ? LIVE_MS : PLAIN_MS;
    p->next_ms = now_ms + p->every_ms;
}

bool screen_progress_due(const struct screen_progress *p, int64_t now_ms)
{
    return now_ms >= p->next_ms;
}

void screen_progress_show(struct screen_progress *p, int64_t now_ms, const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    p->next_ms = now_ms + p->every_ms;
    if (!p->live) {
        fprintf(p->out, "%s\n", text);
        return;
    }
    text[screen_cut(text, (size_t)p->columns - 1)] = 0;
    fprintf(p->out, "\r%s\033[K", text);
    fflush(p->out);
    p->open = true;
}

void screen_progress_end(struct screen_progress *p, bool keep)
{
    if (p->open)
        fputs(keep ? "\n" : "\r\033[K", p->out);
    fflush(p->out);
    p->open = false;
}

const char *screen_rate(double rate, char out[16])
{
    if (!isfinite(rate))
        return strcpy(out, "n/e");
    snprintf(out, 16, "%.3f", rate);
    if (out[0] == '0')
        memmove(out, out + 1, strlen(out));
    return out;
}

const char *screen_time(int64_t wall_ms, char out[32])
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t n = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out + n, 32 - n, ".%03dZ", (int)(wall_ms % 1000));
    return out;
}

int screen_json(const struct wire_json_put *p)
{
    int rc = wire_put_done(p);
    if (!rc)
        printf("%.*s\n", (int)(p->out->length - p->start), (const char *)p->out->data + p->start);
    p->out->length = p->start;
    return rc;
}
