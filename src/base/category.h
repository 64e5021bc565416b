/*
 * One category, however its text is written: white space around it is no part of it, and a whole
 * number has neither zeros behind a point nor a sign of zero. "1", "1.0" and " 1." are one, as are
 * "0" and "-0.0". A text with leading zeros, a plus or an exponent is no number: "007" is not "7".
 * Thread: safe.
 */
#ifndef BASE_CATEGORY_H
#define BASE_CATEGORY_H

#include <stdbool.h>
#include <stddef.h>

/* Cuts a text down to the part that names its category. True: it is a whole number. */
bool category_trim(const char **text, size_t *length);
bool category_same(const char *a, size_t a_length, const char *b, size_t b_length);

#endif
