#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/* Length of the character at p (n > 0 bytes are there), or 0. The bounds on the second byte keep
 * out overlong forms, surrogates and what lies above U+10FFFF (RFC 3629, section 4). */
static size_t character(const unsigned char *p, size_t n)
{
    unsigned low = 0x80, high = 0xbf;
    size_t length;
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        length = 2;
    else if (p[0] >= 0xe0 && p[0] <= 0xef)
        length = 3;
    else if (p[0] >= 0xf0 && p[0] <= 0xf4)
        length = 4;
    else
        return 0;
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    if (length > n || p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    return length;
}

size_t utf8_prefix(const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    size_t at = 0;
    while (at < length) {
        uint64_t eight;
        if (length - at >= sizeof eight) {
            memcpy(&eight, p + at, sizeof eight);
            if (!(eight & UINT64_C(0x8080808080808080))) {
                at += sizeof eight;
                continue;
            }
        }
        size_t n = character(p + at, length - at);
        if (!n)
            break;
        at += n;
    }
    return at;
}
