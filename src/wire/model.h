/*
 * A model version, to bytes and back, and to JSON for people. Numbers that are NaN ("not
 * estimable") are left out and come back as NaN. A served version must have parameters and an
 * encoder; a rejected one may lack either.
 */
#ifndef WIRE_MODEL_H
#define WIRE_MODEL_H

#include "wire/types.h"

int wire_model_encode(const struct wire_model *model, struct byte_buffer *out,
                      struct fis_error *e) FIS_MUST_CHECK;

/* INPUT with the reason, or NOMEM; *out is written on success only, and then ended with
 * wire_model_done. Owns: everything, by copy. */
int wire_model_decode(struct wire_bytes bytes, struct wire_model_owned *out,
                      struct fis_error *e) FIS_MUST_CHECK;
void wire_model_done(struct wire_model_owned *model); /* NULL and all-zero are fine; twice too */

/* One JSON object, no line break at its end; NaN is null. with_weights adds "parameters". */
int wire_model_json(const struct wire_model *model, struct byte_buffer *out, int with_weights,
                    struct fis_error *e) FIS_MUST_CHECK;

#endif
