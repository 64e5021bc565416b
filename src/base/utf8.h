/*
 * UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

/* How many bytes at the start are whole, valid characters; `length` when all are. */
size_t utf8_prefix(const void *bytes, size_t length);

#endif
