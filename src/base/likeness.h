/*
 * How far a misspelt name is from one that exists: for "did you mean". Thread: safe.
 */
#ifndef BASE_LIKENESS_H
#define BASE_LIKENESS_H

#include <stddef.h>

#define LIKENESS_MAX 63 /* bytes of a name; longer ones are like nothing */

/* Edits (insert, delete, replace, swap of neighbours) from a to b; SIZE_MAX when one is too long.
 */
size_t likeness_edits(const char *a, const char *b);
/* From so many edits on, a name is not like `name`. */
size_t likeness_limit(const char *name);

#endif
