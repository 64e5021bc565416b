#include "fis/error.h"

#include <stdio.h>
#include <string.h>

static void make_printable(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || (unsigned char)*s == 0x7f)
            *s = '?';
}

int fis_fail(struct fis_error *e, enum fis_error_class class, const char *format, ...)
{
    if (e) {
        va_list ap;
        e->class = class;
        va_start(ap, format);
        vsnprintf(e->text, sizeof e->text, format, ap);
        va_end(ap);
        make_printable(e->text);
    }
    return -(int)class;
}

int fis_error_prefix(struct fis_error *e, const char *format, ...)
{
    if (!e)
        return -(int)FIS_FATAL;
    char where[FIS_ERROR_TEXT], text[FIS_ERROR_TEXT];
    va_list ap;
    va_start(ap, format);
    vsnprintf(where, sizeof where, format, ap);
    va_end(ap);
    memcpy(text, e->text, sizeof text);
    /* Truncation keeps the front: where it happened matters more than the tail of the text. */
    size_t n = strlen(where), room = sizeof e->text - 1;
    n = n < room - 2 ? n : room - 2;
    memcpy(e->text, where, n);
    memcpy(e->text + n, ": ", 2);
    snprintf(e->text + n + 2, room - n - 1, "%.*s", (int)(room - n - 2), text);
    make_printable(e->text);
    return -(int)e->class;
}
