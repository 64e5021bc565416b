/* See base/utf8.h. */
#ifndef WIRE_UTF8_H
#define WIRE_UTF8_H

#include "base/utf8.h"

static inline size_t wire_utf8_prefix(const void *bytes, size_t length)
{
    return utf8_prefix(bytes, length);
}

/* Whether each byte is ASCII and none is NUL. */
static inline int wire_plain_text(const void *bytes, size_t length)
{
    const signed char *p = bytes;
    int plain = 1;
    for (size_t i = 0; i < length; i++)
        plain &= p[i] > 0;
    return plain;
}

#endif
