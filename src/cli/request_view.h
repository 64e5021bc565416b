/*
 * A label request for the terminal.
 * Thread: no state.
 */
#ifndef CLI_REQUEST_VIEW_H
#define CLI_REQUEST_VIEW_H

#include "cli/cli.h"
#include "wire/request_shown.h"

/* As wire_request_show, with words that are harmless for a terminal. */
int request_read(const struct cli *c, const struct wire_message *m, int with_record,
                 struct wire_request_shown *out, struct fis_error *e) FIS_MUST_CHECK;

/* The record as lines "  name   value", made harmless for a terminal; cut at `columns`. */
void request_print(const struct wire_request_shown *r, int columns, FILE *out);

#endif
