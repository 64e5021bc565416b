/*
 * UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* How many bytes at the start are whole, valid characters; `length` when all are. */
size_t utf8_prefix(const void *bytes, size_t length);

/* Up to seven bytes; those that are not there are 1. */
static inline uint64_t utf8_few(const unsigned char *p, size_t length)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint32_t front, back;
    if (length >= 4) {
        memcpy(&front, p, sizeof front);
        memcpy(&back, p + length - 4, sizeof back);
        return front | (uint64_t)back << 32;
    }
    return length ? (ones << 24) | (uint64_t)p[length - 1] << 16 | (uint64_t)p[length / 2] << 8 | *p
                  : ones;
}

/* Whether each byte is ASCII and none is NUL. The last eight may begin among those before them. */
static inline bool utf8_plain(const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    uint64_t bad = 0, eight;
    if (length < 8) {
        eight = utf8_few(p, length);
        return !((eight | (eight - ones)) & high); /* 0 - 1 has its high bit set */
    }
    for (size_t at = 0; at < length; at += 8) {
        memcpy(&eight, p + (at < length - 8 ? at : length - 8), 8);
        bad |= eight | (eight - ones);
    }
    return !(bad & high);
}

#endif
