#include "base/decimal.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fis/mem.h"

/* strtod alone would also take inf, nan, hexadecimal and white space. */
static size_t digits(const char *text, size_t length, size_t *at)
{
    size_t begin = *at;
    while (*at < length && text[*at] >= '0' && text[*at] <= '9')
        ++*at;
    return *at - begin;
}

static size_t sign(const char *text, size_t length, size_t at)
{
    return at < length && (text[at] == '-' || text[at] == '+');
}

static bool is_decimal(const char *text, size_t length)
{
    size_t at = sign(text, length, 0), n = digits(text, length, &at);
    if (at < length && text[at] == '.') {
        at++;
        n += digits(text, length, &at);
    }
    if (n && at < length && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        at += sign(text, length, at);
        n = digits(text, length, &at);
    }
    return n && at == length;
}

int decimal_read(const char *text, size_t length, double *number)
{
    char room[512];
    if (!is_decimal(text, length))
        return -1;
    char *copy = length < sizeof room ? memcpy(room, text, length) : fis_memdup(text, length);
    if (!copy)
        return -1;
    copy[length] = 0;
    double v = strtod(copy, NULL);
    if (copy != room)
        fis_free(copy);
    /* Beyond a double strtod gives infinity. */
    if (!(v - v == 0.0))
        return -1;
    *number = v;
    return 0;
}

size_t decimal_shortest(double number, char text[DECIMAL_TEXT])
{
    int length = 0;
    for (int digits = 15; digits <= 17; digits++) {
        length = snprintf(text, DECIMAL_TEXT, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    return (size_t)length;
}

int decimal_whole(const char *text, size_t length, uint64_t most, uint64_t *number)
{
    uint64_t v = 0;
    if (!length)
        return -1;
    for (size_t i = 0; i < length; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (text[i] < '0' || text[i] > '9' || digit > most || v > (most - digit) / 10)
            return -1;
        v = v * 10 + digit;
    }
    *number = v;
    return 0;
}

const char *decimal_grouped(uint64_t n, char out[DECIMAL_GROUPED])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), at = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = 0;
    return out;
}

const char *decimal_counted(uint64_t n, const char *noun, char out[64])
{
    char number[DECIMAL_GROUPED];
    snprintf(out, 64, "%s %s%s", decimal_grouped(n, number), noun, n == 1 ? "" : "s");
    return out;
}
