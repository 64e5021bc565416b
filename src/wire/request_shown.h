/*
 * A label request as people are shown it, whatever the encodings of request and record.
 * Thread: no state. Owns: the record, until wire_request_shown_done.
 */
#ifndef WIRE_REQUEST_SHOWN_H
#define WIRE_REQUEST_SHOWN_H

#include <jansson.h>

#include "wire/types.h"

#define WIRE_WORD 32
struct wire_request_shown {
    struct fis_id id;
    uint32_t round;
    uint32_t votes; /* answers that are needed, 1 or more */
    bool cancelled; /* it is withdrawn */
    uint64_t head;
    int64_t requested_at_ms, deadline_ms; /* 0: none */
    char criterion[WIRE_WORD], reason[WIRE_WORD];
    json_t
        *record; /* an object, with the attributes of a protobuf record; NULL: it cannot be shown */
};

struct wire_request_reader {
    enum wire_encoding encoding; /* of requests */
    /* The name of a column, for records that have none; NULL: there is no such column. */
    const char *(*column)(const void *arg, uint32_t i);
    const void *arg;
    const struct wire_schema *schema;
};

/* 1: a request. 0: none (a null value). INPUT: not to be understood. with_record false leaves the
 * record out. */
int wire_request_show(const struct wire_request_reader *r, const struct wire_message *m,
                      bool with_record, struct wire_request_shown *out,
                      struct fis_error *e) FIS_MUST_CHECK;
void wire_request_shown_done(struct wire_request_shown *r);

#endif
