#include "fis/error.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Control characters, those of Latin-1 too (a terminal may obey them), and what is no UTF-8, such
 * as the half of a character at the end of a text that was cut. */
static void make_printable(char *s)
{
    unsigned char *at = (unsigned char *)s;
    size_t left = strlen(s), valid = utf8_prefix(at, left);
    for (; left; at++, left--, valid -= valid > 0) {
        if (!valid) {
            *at = '?';
            valid = utf8_prefix(at, left);
        } else if (*at < 0x20 || *at == 0x7f) {
            *at = '?';
        } else if (*at == 0xc2 && at[1] < 0xa0) {
            at[0] = at[1] = '?';
        }
    }
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
