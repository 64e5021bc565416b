/* Shared by the JSON codecs. */
#ifndef WIRE_JSON_IMPL_H
#define WIRE_JSON_IMPL_H

#include <jansson.h>

#include "wire/types.h"

/* The message's value as an object, within schema->max_bytes. */
json_t *wire_json_open(const struct wire_schema *schema, const struct wire_message *m,
                       struct fis_error *e) FIS_MUST_CHECK;

/* The id by the member `own` (NULL, null, a string, an integer), else as wire_message_id. */
int wire_json_id(const struct wire_message *m, const json_t *own, const char *name, int by_place,
                 struct fis_id *id, struct fis_error *e) FIS_MUST_CHECK;

/* 1: the text is a flat object of columns, id and passthrough, each at most once, without escapes;
 * values [columns] (texts lie in `bytes`) and id (no bytes: it has none) are written. 0: it may be
 * anything, and what the arena gave is to be forgotten. */
bool wire_json_flat(const struct wire_schema *schema, const struct fis_encoder *encoder,
                    struct wire_bytes bytes, struct fis_arena *arena, struct fis_value **values,
                    struct wire_bytes *id);
/* wire_json_record without it: what it is held to. */
enum wire_decoded wire_json_record_by_tree(const struct wire_schema *schema,
                                           const struct fis_encoder *encoder,
                                           const struct wire_message *m, struct fis_arena *arena,
                                           float *x, struct wire_record *record,
                                           struct fis_error *e) FIS_MUST_CHECK;

/* `"no", "yes"`, cut with "…" when there are many. */
#define WIRE_JSON_CLASSES 160

#endif
