#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "image/image.h"
#include "wire/format_impl.h"

void format_put(struct format_text *t, const void *bytes, size_t n)
{
    if (t->full || n > (size_t)(t->end - t->at)) {
        t->full = true;
        return;
    }
    if (n)
        memcpy(t->at, bytes, n);
    t->at += n;
}

void format_put_char(struct format_text *t, char c)
{
    format_put(t, &c, 1);
}

void format_put_string(struct format_text *t, const char *text, size_t n)
{
    size_t from = 0;
    format_put_char(t, '"');
    for (size_t i = 0; i < n && !t->full; i++) {
        unsigned char c = (unsigned char)text[i];
        char escape[8];
        if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
            continue;
        format_put(t, text + from, i - from);
        format_put(t, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", c));
        from = i + 1;
    }
    format_put(t, text + from, n - from);
    format_put_char(t, '"');
}

void format_put_base64(struct format_text *t, const void *bytes, size_t n)
{
    const size_t length = image_base64_length(n);
    format_put_char(t, '"');
    if (t->full || length > (size_t)(t->end - t->at)) {
        t->full = true;
        return;
    }
    image_base64_encode(bytes, n, t->at);
    t->at += length;
    format_put_char(t, '"');
}

void format_put_unsigned(struct format_text *t, uint64_t n)
{
    char text[24], *p = text + sizeof text;
    bool large = n > INT64_MAX;
    if (large)
        format_put_char(t, '"');
    do
        *--p = (char)('0' + n % 10);
    while (n /= 10);
    format_put(t, p, (size_t)(text + sizeof text - p));
    if (large)
        format_put_char(t, '"');
}

void format_put_int(struct format_text *t, int64_t n)
{
    static const char least[] = "-9223372036854775808";
    if (n == INT64_MIN) {
        format_put(t, least, sizeof least - 1);
        return;
    }
    if (n < 0)
        format_put_char(t, '-');
    format_put_unsigned(t, (uint64_t)(n < 0 ? -n : n));
}

/* JSON has no number that is none: a text, which a numeric column refuses. */
static bool put_special(struct format_text *t, double x)
{
    if (isfinite(x))
        return false;
    const char *name = isnan(x) ? "\"NaN\"" : x > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    format_put(t, name, strlen(name));
    return true;
}

void format_put_double(struct format_text *t, double x)
{
    char text[DECIMAL_TEXT];
    if (!put_special(t, x))
        format_put(t, text, decimal_shortest(x, text));
}

void format_put_float(struct format_text *t, float x)
{
    char text[32];
    int n = 0;
    if (put_special(t, (double)x))
        return;
    for (int digits = 6; digits <= 9; digits++) {
        n = snprintf(text, sizeof text, "%.*g", digits, (double)x);
        if (strtof(text, NULL) == x)
            break;
    }
    format_put(t, text, (size_t)n);
}

/* digits [*used], the least first, times 256 plus a byte. */
static void push_byte(unsigned char *digits, size_t *used, unsigned carry)
{
    for (size_t i = 0; i < *used; i++) {
        unsigned v = digits[i] * 256u + carry;
        digits[i] = (unsigned char)(v % 10);
        carry = v / 10;
    }
    for (; carry; carry /= 10)
        digits[(*used)++] = (unsigned char)(carry % 10);
}

bool format_put_decimal(struct format_text *t, const unsigned char *bytes, size_t n, uint32_t scale)
{
    unsigned char digits[FORMAT_SCALE_MAX + 8] = {0}, magnitude[FORMAT_DECIMAL_BYTES];
    size_t used = 0;
    bool negative = n && bytes[0] & 0x80;
    unsigned carry = 1;
    if (n > FORMAT_DECIMAL_BYTES || scale > FORMAT_SCALE_MAX)
        return false;
    for (size_t i = n; i-- > 0;) { /* -x is ~x + 1 */
        unsigned v = negative ? (~bytes[i] & 0xffu) + carry : bytes[i];
        magnitude[i] = (unsigned char)v;
        carry = v >> 8;
    }
    for (size_t i = 0; i < n; i++)
        push_byte(digits, &used, magnitude[i]);
    if (used <= scale) /* the digits behind `used` are 0 */
        used = scale + 1;
    if (negative)
        format_put_char(t, '-');
    while (used-- > 0) {
        format_put_char(t, (char)('0' + digits[used]));
        if (used == scale && scale > 0)
            format_put_char(t, '.');
    }
    return true;
}
