/* Texts as YAML takes them. Thread: no state. */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include <stdbool.h>
#include <stdio.h>

/* A scalar in double quotes. In a value, unlike a key, fisd takes ${NAME} for a variable of the
 * environment: none is meant here. */
void yaml_put(FILE *out, const char *text, bool is_key);

#endif
