/*
 * A label request as a person is shown it, whatever the encodings of request and record.
 * Thread: no state. Owns: the record, until request_done.
 */
#ifndef CLI_REQUEST_VIEW_H
#define CLI_REQUEST_VIEW_H

#include <jansson.h>

#include "cli/cli.h"

struct request {
    struct fis_id id;
    uint32_t round;
    uint32_t votes; /* answers that are needed, 1 or more */
    bool cancelled; /* it is withdrawn */
    uint64_t head;
    char criterion[32], reason[32];
    json_t *record; /* an object; NULL when it cannot be shown */
};

/* 1: a request. 0: none (a null value). INPUT: not to be understood. with_record 0 leaves the
 * record out. */
int request_read(const struct cli *c, const struct wire_message *m, int with_record,
                 struct request *out, struct fis_error *e) FIS_MUST_CHECK;
void request_done(struct request *r);

/* The record as lines "  name   value", made harmless for a terminal; cut at `columns`. */
void request_print(const struct request *r, int columns, FILE *out);

#endif
