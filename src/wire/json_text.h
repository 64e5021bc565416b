/*
 * JSON texts: parsing with errors that say where, and appending to a buffer.
 *
 * An error never repeats the text that it is about, which may hold sensitive values; it gives
 * line, column and byte. Refused are: anything that is not one object, repeated keys, NaN and
 * Infinity, numbers beyond a double (1e400), text after the object, bad UTF-8, NUL. An integer of
 * any length is a number. A UTF-8 byte order mark at the start is skipped.
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

/* A member as a value of a column: null and NULL give MISSING, numbers NUMBER, strings TEXT
 * (borrowed from `v`); true and false 1 and 0 in a numeric column, else the texts. INPUT: "column
 * NAME: number or text expected, an array found". */
int wire_json_value(const json_t *v, const char *column, bool numeric, struct fis_value *out,
                    struct fis_error *e) FIS_MUST_CHECK;

/* A number of an object parsed from `text`, member `key`, with its digits. */
struct fis_value wire_json_number_value(const json_t *number, struct wire_bytes text,
                                        const char *key);

/* In place of a text that is a decimal number, or nothing but white space: the number, or MISSING.
 */
void wire_number_of_text(struct fis_value *v);

/* What a member is, for an error: "\"YES\"", "1.0", "null", "an array"; long ones are cut. */
#define WIRE_JSON_SHOWN 64
void wire_json_show(const json_t *v, char shown[WIRE_JSON_SHOWN]);

/* The members of an object's text, one after another; *at is 0 first. False: there are no more. The
 * key is in its quotes, and both are as they stand. */
struct wire_json_part {
    struct wire_bytes key, value;
};
bool wire_json_each(struct wire_bytes text, size_t *at, struct wire_json_part *part);

/* A member by its key or, where there is none, by the path that the key's dots make: "address.city"
 * is member city of the object address. NULL: none. */
json_t *wire_json_member(const json_t *object, const char *key);

/* How the member `key` of an object (wire_json_member), a number, is written in the text that the
 * object was parsed from: ids keep their digits, whatever a double or 64 bits hold. */
struct wire_bytes wire_json_digits(struct wire_bytes text, const char *key);
/* Whether it is a number without a fraction that an int64_t holds: 5, or 5.0. */
bool wire_json_whole(const json_t *v, int64_t *number) FIS_MUST_CHECK;

/* `text` as a JSON string with its quotes. INPUT when it is not UTF-8; NOMEM. */
int wire_json_escape(struct byte_buffer *out, const char *text, size_t length,
                     struct fis_error *e) FIS_MUST_CHECK;
/* The shortest decimal that reads back as the same double. INPUT when it is not finite. */
int wire_json_number(struct byte_buffer *out, double number, struct fis_error *e) FIS_MUST_CHECK;
/* null where it is not finite, as JSON has no NaN. */
json_t *wire_json_real(double x);
/* The largest integer that jansson has, where `n` is larger. */
json_t *wire_json_count(uint64_t n);
/* What noise has spent. */
json_t *wire_json_privacy(const struct wire_privacy *p);
/* The text of `take`, which is released; flags: of json_dumps. NOMEM, also when it is NULL; nothing
 * is appended then. */
int wire_json_dump(json_t *take, size_t flags, struct byte_buffer *out,
                   struct fis_error *e) FIS_MUST_CHECK;
int wire_json_append(struct byte_buffer *out, const char *text, struct fis_error *e) FIS_MUST_CHECK;

#endif
