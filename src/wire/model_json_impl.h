/* Shared by the writers of a version's JSON. */
#ifndef WIRE_MODEL_JSON_IMPL_H
#define WIRE_MODEL_JSON_IMPL_H

#include <jansson.h>

#include "wire/types.h"

/* What wire_model_json writes, with `add` (NULL: nothing) as a member of this name; taken in any
 * case. */
int wire_model_json_with(const struct wire_model *model, const char *name, json_t *add,
                         bool with_weights, struct byte_buffer *out,
                         struct fis_error *e) FIS_MUST_CHECK;

#endif
