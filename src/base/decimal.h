/*
 * Decimal numbers in text, read strictly: every byte counts, and what does not fit is refused; and
 * counts written for people.
 * Thread: safe. The point is '.', so the program must leave LC_NUMERIC at "C".
 */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

#include "fis/error.h"

/* [-+]digits[.digits][e[-+]digits], where one side of the point may be missing; no hexadecimal, no
 * "nan", no "inf", no spaces. 0, or -1 (also beyond a double; nothing is written). */
int decimal_read(const char *text, size_t length, double *number) FIS_MUST_CHECK;

/* Digits alone. 0, or -1 (also over `most`; nothing is written). */
int decimal_whole(const char *text, size_t length, uint64_t most, uint64_t *number) FIS_MUST_CHECK;

/* 12,345,678 */
#define DECIMAL_GROUPED 32
const char *decimal_grouped(uint64_t n, char out[DECIMAL_GROUPED]);
/* Likewise; the text lives as long as the block that has it. */
#define DECIMAL_COMMAS(n) decimal_grouped(n, (char[DECIMAL_GROUPED]){0})
/* "1 record", "12 records": for a noun whose plural takes an s. */
const char *decimal_counted(uint64_t n, const char *noun, char out[64]);
/* Likewise; the text lives as long as the block that has it. */
#define DECIMAL_COUNT(n, noun) decimal_counted(n, noun, (char[64]){0})
/* The word of two that agrees with a count: "is" or "are", "" or "s". */
static inline const char *decimal_agree(uint64_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}
/* The shortest decimal that reads back as the same double (finite). Returns its length. */
#define DECIMAL_TEXT 40
size_t decimal_shortest(double number, char text[DECIMAL_TEXT]);

#endif
