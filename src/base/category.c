#include "base/category.h"

#include <string.h>

/* Whole, as digits alone say it: an optional minus, no leading zero, and behind the point nothing
 * but zeros. Cuts that off. */
static bool cut_whole(const char **text, size_t *length)
{
    const char *p = *text, *end = p + *length;
    bool minus = p < end && *p == '-';
    const char *first = p + minus, *at = first;
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    const char *point = at;
    if (point == first || (*first == '0' && point - first > 1))
        return false;
    if (at < end && *at == '.')
        for (at++; at < end && *at == '0';)
            at++;
    if (at < end)
        return false;
    *text = *first == '0' ? first : p;
    *length = (size_t)(point - *text);
    return true;
}

static bool is_white(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool category_trim(const char **text, size_t *length)
{
    while (*length && is_white(**text)) {
        ++*text;
        --*length;
    }
    while (*length && is_white((*text)[*length - 1]))
        --*length;
    return cut_whole(text, length);
}

bool category_same(const char *a, size_t a_length, const char *b, size_t b_length)
{
    category_trim(&a, &a_length);
    category_trim(&b, &b_length);
    return a_length == b_length && memcmp(a, b, a_length) == 0;
}
