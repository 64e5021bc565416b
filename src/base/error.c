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

static void fill(struct fis_error *e, enum fis_error_kind kind, enum fis_error_code code,
                 const char *format, va_list ap) FIS_PRINTF(4, 0);
static void fill(struct fis_error *e, enum fis_error_kind kind, enum fis_error_code code,
                 const char *format, va_list ap)
{
    e->kind = kind;
    e->code = code;
    vsnprintf(e->text, sizeof e->text, format, ap);
    make_printable(e->text);
}

int fis_fail(struct fis_error *e, enum fis_error_kind kind, const char *format, ...)
{
    if (e) {
        va_list ap;
        va_start(ap, format);
        fill(e, kind, FIS_CODE_OTHER, format, ap);
        va_end(ap);
    }
    return -(int)kind;
}

int fis_refuse(struct fis_error *e, enum fis_error_code code, const char *format, ...)
{
    if (e) {
        va_list ap;
        va_start(ap, format);
        fill(e, FIS_INPUT, code, format, ap);
        va_end(ap);
    }
    return -(int)FIS_INPUT;
}

const char *fis_error_code_name(enum fis_error_code code)
{
    static const char *const names[FIS_ERROR_CODES] = {
        [FIS_CODE_OTHER] = "other",
        [FIS_CODE_MALFORMED] = "malformed",
        [FIS_CODE_TOO_LONG] = "too_long",
        [FIS_CODE_NO_VALUE] = "no_value",
        [FIS_CODE_BAD_ID] = "bad_id",
        [FIS_CODE_UNKNOWN_COLUMN] = "unknown_column",
        [FIS_CODE_WRONG_TYPE] = "wrong_type",
        [FIS_CODE_WRONG_WIDTH] = "wrong_width",
        [FIS_CODE_NOT_FINITE] = "not_finite",
        [FIS_CODE_UNKNOWN_CLASS] = "unknown_class",
        [FIS_CODE_CONTRADICTION] = "contradiction",
        [FIS_CODE_NOT_ASKED] = "not_asked",
        [FIS_CODE_BAD_IMAGE] = "bad_image",
        [FIS_CODE_BAD_FIELD] = "bad_field",
        [FIS_CODE_UNKNOWN_SCHEMA] = "unknown_schema",
    };
    return (unsigned)code < FIS_ERROR_CODES ? names[code] : names[FIS_CODE_OTHER];
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
    return -(int)e->kind;
}
