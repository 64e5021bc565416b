/* See base/utf8.h. */
#ifndef WIRE_UTF8_H
#define WIRE_UTF8_H

#include "base/utf8.h"

static inline size_t wire_utf8_prefix(const void *bytes, size_t length)
{
    return utf8_prefix(bytes, length);
}

#endif
