/*
 * The model card of a version: for those who use it, audit it or answer for it. What is known of
 * the version, what its figures cannot say, and what it must not be used for; made of the version
 * alone.
 *
 * Groups are numbers, unless names are given: they are sensitive, and for those alone who may see
 * them (http.group_names). Texts of the version are untrusted: in Markdown they are escaped.
 */
#ifndef WIRE_MODEL_CARD_H
#define WIRE_MODEL_CARD_H

#include "wire/types.h"

struct wire_group_names { /* values of several columns are joined by U+001F */
    const char *const *names;
    uint32_t n; /* 0: none */
};

/* Appends the card as Markdown. NOMEM; *out is as it was then. */
int wire_model_card_text(const struct wire_model *m, struct wire_group_names groups,
                         struct byte_buffer *out, struct fis_error *e) FIS_MUST_CHECK;
/* Appends it as one JSON object, no line break at its end: all members of wire_model_json, and
 * "card" {"base", "data", "groups", "group_intervals", "limits", "not_for"}. */
int wire_model_card_json(const struct wire_model *m, struct wire_group_names groups,
                         struct byte_buffer *out, struct fis_error *e) FIS_MUST_CHECK;

#endif
