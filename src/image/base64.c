#include <stdbool.h>

#include "image/image.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void image_base64_encode(const void *bytes, size_t length, char *out)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t v = (uint32_t)b[i] << 16 | (left > 1 ? (uint32_t)b[i + 1] << 8 : 0) |
                     (left > 2 ? b[i + 2] : 0u);
        *out++ = letters[v >> 18];
        *out++ = letters[v >> 12 & 63];
        *out++ = left > 1 ? letters[v >> 6 & 63] : '=';
        *out++ = left > 2 ? letters[v & 63] : '=';
    }
}

static int value_of(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

long image_base64_decode(const char *text, size_t length, unsigned char *out)
{
    unsigned char *to = out;
    const bool whole = length % 4 == 0;
    const size_t pad =
        whole && length && text[length - 1] == '=' ? text[length - 2] == '=' ? 2 : 1 : 0;
    for (size_t i = 0; i + 4 <= length; i += 4) {
        size_t left = i + 4 == length ? 4 - pad : 4;
        uint32_t v = 0;
        for (size_t k = 0; k < 4; k++) {
            int bits = k < left ? value_of(text[i + k]) : 0;
            if (bits < 0)
                return -1 - (long)(i + k);
            v = v << 6 | (uint32_t)bits;
        }
        *to++ = (unsigned char)(v >> 16);
        if (left > 2)
            *to++ = (unsigned char)(v >> 8);
        if (left > 3)
            *to++ = (unsigned char)v;
    }
    return whole ? (long)(to - out) : -1 - (long)length;
}
