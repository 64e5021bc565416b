/* See base/utf8.h. */
#ifndef WIRE_UTF8_H
#define WIRE_UTF8_H

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

static inline size_t wire_utf8_prefix(const void *bytes, size_t length)
{
    return utf8_prefix(bytes, length);
}

/* Whether each byte is ASCII and none is NUL. */
static inline int wire_plain_text(const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    uint64_t bad = 0, eight;
    size_t at = 0;
    for (; length - at >= 8; at += 8) {
        memcpy(&eight, p + at, 8);
        bad |= (eight | (eight - ones)) & high; /* 0 - 1 has its high bit set */
    }
    for (; at < length; at++)
        bad |= (p[at] | (p[at] - 1u)) & 0x80;
    return !bad;
}

#endif
