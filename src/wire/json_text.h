/*
 * JSON texts: parsing with errors that say where, and appending to a buffer.
 *
 * An error never repeats the text that it is about, which may hold sensitive values; it gives
 * line, column and byte. Refused are: anything that is not one object, repeated keys, NaN and
 * Infinity, numbers beyond a double (1e400) and integers beyond 64 bits, text after the object,
 * bad UTF-8, NUL. A UTF-8 byte order mark at the start is skipped.
 */
#ifndef WIRE_JSON_TEXT_H
#define WIRE_JSON_TEXT_H

#include <jansson.h>

#include "wire/types.h"

/* One JSON object, or NULL with INPUT. Inside an arena (wire/json_arena.h) a failed allocation is
 * an INPUT error too: the text needs more than the arena has. */
json_t *wire_json_parse(struct wire_bytes text, struct fis_error *e) FIS_MUST_CHECK;

/* Drops a byte order mark at the start. */
struct wire_bytes wire_json_skip_mark(struct wire_bytes text);

/* A member as a value: null and NULL give MISSING, numbers NUMBER, strings TEXT (borrowed from
 * `v`). INPUT: "column NAME: number or text expected, true found". */
int wire_json_value(const json_t *v, const char *column, struct fis_value *out,
                    struct fis_error *e) FIS_MUST_CHECK;

/* What a member is, for an error: "\"YES\"", "1.0", "null", "an array"; long ones are cut. */
#define WIRE_JSON_SHOWN 64
void wire_json_show(const json_t *v, char shown[WIRE_JSON_SHOWN]);

/* A number as text: an integer's digits; of a real the shortest that reads back the same, with a
 * point or an exponent, so that 1.0 does not become "1". Returns its length. */
#define WIRE_JSON_DIGITS 40
size_t wire_json_number_text(const json_t *number, char text[WIRE_JSON_DIGITS]);

/* `text` as a JSON string with its quotes. INPUT when it is not UTF-8; NOMEM. */
int wire_json_escape(struct wire_buffer *out, const char *text, size_t length,
                     struct fis_error *e) FIS_MUST_CHECK;
/* The shortest decimal that reads back as the same double. INPUT when it is not finite. */
int wire_json_number(struct wire_buffer *out, double number, struct fis_error *e) FIS_MUST_CHECK;
int wire_json_append(struct wire_buffer *out, const char *text, struct fis_error *e) FIS_MUST_CHECK;

#endif
