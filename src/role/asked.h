/*
 * Which records were asked for, or forgotten, as the ledger has it: what a scan of the pool leaves
 * out. Pure; the ledger's messages come in in their order. It grows with the labels that are
 * bought.
 *
 * Thread: one owner. Owns: copies of the ids.
 */
#ifndef ROLE_ASKED_H
#define ROLE_ASKED_H

#include "wire/types.h"

struct asked;
/* message_bytes: the longest message of the ledger that will be understood. NULL: no memory. */
struct asked *asked_new(size_t message_bytes, struct fis_error *e);
void asked_free(struct asked *a);
/* INPUT: not understood, and passed over. NOMEM: nothing was changed. */
int asked_take(struct asked *a, const struct wire_message *m, struct fis_error *e) FIS_MUST_CHECK;
bool asked_has(const struct asked *a, const struct fis_id *id);
/* The newest head in the trainer's state; 0: no state yet. Every request that was made
 * before this head is known then. */
uint64_t asked_head_version(const struct asked *a);

#endif
