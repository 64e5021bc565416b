/* The answers of a file: record id -> class. */
#ifndef CLI_ANSWERS_H
#define CLI_ANSWERS_H

#include "cli/cli.h"
#include "data/rows.h"
#include "cli/id_map.h"

/* Reads all rows of a CSV or JSON lines file with the id column of the configuration and a label
 * column: `label`, or when NULL initial.label, or else "label". INPUT with file:line: no id, no
 * label, a label that is no class, an id with two different labels. */
int answers_load(const struct cli *c, const char *path, const struct data_reading *read,
                 const char *label, struct id_map *out, struct fis_error *e) FIS_MUST_CHECK;

#endif
