/*
 * Messages in JSON: one object with named columns.
 *
 * Columns: a number or a string each; null and an absent key are the missing value. A column is a
 * key or a path: "address.city" (wire_json_member). A key that is no column, nor the id, is treated
 * as schema->members has it; refused ("unknown column"), so that a misspelt column is not silently
 * missing, unless that is configured otherwise. See wire/json_text.h for what is not JSON.
 *
 * Decoding takes memory from the arena only (after wire_json_init; about ten times the text: 3 KB
 * for a record of 15 columns and 313 bytes); what is decoded points into the arena. An arena that
 * is too small is an INPUT error which says its size. Out parameters are written on WIRE_OK only,
 * but where it says otherwise. Errors of class INPUT go with WIRE_BAD.
 * Thread: any, each with its own arena.
 */
#ifndef WIRE_JSON_CODEC_H
#define WIRE_JSON_CODEC_H

#include <jansson.h>

#include "wire/json_arena.h"
#include "wire/types.h"

/*
 * A record: encoder columns, the id column, passthrough. x [d]. The id is the id column (a string,
 * or an integer as decimal text), else the message's key, else "topic/partition/offset"; UTF-8, at
 * most 255 bytes.
 */
enum wire_decoded wire_json_record(const struct wire_schema *schema,
                                   const struct fis_encoder *encoder, const struct wire_message *m,
                                   struct fis_arena *arena, float *x, struct wire_record *record,
                                   struct fis_error *e) FIS_MUST_CHECK;

/* Whether an object has a member with which a record is refused: its path. */
#define WIRE_JSON_PATH 256
bool wire_json_unknown(const struct wire_schema *schema, const struct fis_column *columns,
                       uint32_t n_columns, json_t *object, char path[WIRE_JSON_PATH]);

/* The record, decoded before, without the members that are ignored: the same bytes where none can
 * be, else those of `out`, which is emptied. */
int wire_json_keep(const struct wire_schema *schema, const struct fis_column *columns,
                   uint32_t n_columns, struct wire_bytes *record, struct byte_buffer *out,
                   struct fis_error *e) FIS_MUST_CHECK;

/*
 * A label: {"id": …, "label": …, "class_index": …, "status": "labelled" | "skipped" | "unsure",
 * "annotator": a text (or an integer, as its decimal text) of 1 to 255 bytes, "labelled_at_ms": an
 * integer from 0}. Other keys are the labelling tool's own and are not looked at.
 * The id is the key "id" (always so, whatever the records' id column), else the message's key.
 *
 * Which class a label is:
 *   "label": a string   the class with exactly these bytes
 *   "label": an integer the class whose name is its decimal text
 *   "class_index": i    the i-th class, 0 .. K-1
 * Both given must agree; null counts as not given. Anything else (other case, true, 1.0, "", an
 * array, a number that is no class's name, neither key) is refused with what was found and what is
 * allowed. With "skipped" or "unsure" there must be no label: both keys absent or null.
 */
enum wire_decoded wire_json_label(const struct wire_schema *schema, const struct wire_message *m,
                                  struct fis_arena *arena, struct wire_label *label,
                                  struct fis_error *e) FIS_MUST_CHECK;
/* {"id":…,"status":"labelled","label":"CLASS"}, and annotator and labelled_at_ms when the label has
 * them; what fisctl sends. */
int wire_json_label_encode(const struct wire_schema *schema, const struct wire_label *label,
                           struct byte_buffer *out, struct fis_error *e) FIS_MUST_CHECK;

/*
 * A labelled example of the initial set (with_sensitive 0) or the validation set (1): the columns
 * named, each of its type, the label column (as in a label: exact), the id, and for validation
 * every sensitive column (numbers become their decimal text; a missing one is refused). In an
 * initial example a sensitive column is an unknown column. WIRE_TOMBSTONE: example->id is the key
 * (without one: BAD).
 */
enum wire_decoded wire_json_example(const struct wire_schema *schema,
                                    const struct fis_column *columns, uint32_t n_columns,
                                    int with_sensitive, const struct wire_message *m,
                                    struct fis_arena *arena, struct wire_example *example,
                                    struct fis_error *e) FIS_MUST_CHECK;

/* INPUT: the text is not one object, or takes more than the arena has. */
int wire_json_check(struct wire_bytes text, struct fis_arena *arena,
                    struct fis_error *e) FIS_MUST_CHECK;

/*
 * {"id","round","criterion","head","classes":[…],"requested_at","deadline","votes","record":{…},
 * "attributes":{…}}: times in milliseconds since 1970, deadline only when there is one, votes only
 * when there are several, attributes when `named` has some. One that is withdrawn:
 * {"id","round","head","requested_at","cancelled":true,"reason"}. The record is the original JSON
 * object byte for byte (checked to be one, in the arena), or `named` when the record is not JSON
 * (missing values left out).
 */
int wire_json_label_request(const struct wire_schema *schema, const struct wire_label_request *r,
                            const struct wire_named_values *named, struct fis_arena *arena,
                            struct byte_buffer *out, struct fis_error *e) FIS_MUST_CHECK;

/* The index of the class that a value names (fis_value_category). INPUT: `label "YES": not a class
 * (allowed: "no", "yes")`; missing: "no label (allowed: …)". secret: what was found is not shown.
 */
int wire_class_of_value(const struct wire_schema *schema, const struct fis_value *label, int secret,
                        uint32_t *class_index, struct fis_error *e) FIS_MUST_CHECK;
/* The same of the member `column` of the message's object. */
int wire_json_class(const struct wire_schema *schema, const struct wire_message *m,
                    const json_t *object, const char *column, int secret, uint32_t *class_index,
                    struct fis_error *e) FIS_MUST_CHECK;

#endif
