/*
 * Facts and changes of a pipeline's identity, in a trainer state and in the lineage of a version.
 * Thread: no state. Owns: nothing; what is made lies in the arena, texts are borrowed.
 */
#ifndef WIRE_PROTOBUF_IDENTITY_H
#define WIRE_PROTOBUF_IDENTITY_H

#include "wire/protobuf_parts.h"

/* Bytes of the arena that the fill functions need. */
size_t wire_identity_scratch(const struct wire_identity *from);
int wire_facts_fill(const struct wire_identity *from, struct fis_arena *a, Fis__V1__Fact ***list,
                    size_t *n, struct fis_error *e) FIS_MUST_CHECK;
int wire_changes_fill(const struct wire_change *from, uint32_t n_from, struct fis_arena *a,
                      Fis__V1__Change ***list, size_t *n, struct fis_error *e) FIS_MUST_CHECK;

/* Back, into [n]. */
void wire_facts_read(Fis__V1__Fact *const *list, size_t n, struct wire_fact *out);
void wire_changes_read(Fis__V1__Change *const *list, size_t n, struct wire_change *out);

#endif
