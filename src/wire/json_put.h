/*
 * JSON written member by member into a buffer; commas are set where they are due. The first failure
 * is kept and the rest left out, so only wire_put_done is to be checked. `name` is that of a
 * member, NULL in a list and for the outermost value.
 */
#ifndef WIRE_JSON_PUT_H
#define WIRE_JSON_PUT_H

#include "wire/model_parts.h"

struct wire_json_put {
    struct byte_buffer *out;
    struct fis_error *e;
    size_t start; /* length of `out` before */
    int rc;
};
struct wire_json_put wire_put(struct byte_buffer *out, struct fis_error *e); /* appends to `out` */

void wire_put_open(struct wire_json_put *p, const char *name, char bracket); /* '{' or '[' */
void wire_put_close(struct wire_json_put *p, char bracket);
void wire_put_text(struct wire_json_put *p, const char *name, const char *text); /* NULL: null */
void wire_put_bytes(struct wire_json_put *p, const char *name, const char *text, size_t length);
void wire_put_whole(struct wire_json_put *p, const char *name, int64_t n);
void wire_put_count(struct wire_json_put *p, const char *name, uint64_t n);
void wire_put_bool(struct wire_json_put *p, const char *name, bool yes);
/* With this number of digits, 0: as many as it takes to read the same double. null when not finite.
 */
void wire_put_number(struct wire_json_put *p, const char *name, double x, int digits);
/* All of a table, from the struct that it is about. */
void wire_put_numbers(struct wire_json_put *p, const struct wire_number *table, const void *from,
                      int digits);
/* What is JSON already. */
void wire_put_json(struct wire_json_put *p, const char *name, const void *json, size_t length);

/* 0, or the failure, with nothing appended. INPUT: a text is not UTF-8; NOMEM. */
int wire_put_done(const struct wire_json_put *p) FIS_MUST_CHECK;

#endif
