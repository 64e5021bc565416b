/* The parts of the ledger's codec. */
#ifndef WIRE_LEDGER_IMPL_H
#define WIRE_LEDGER_IMPL_H

#include "wire/ledger.h"

int wire_ledger_state_read(struct wire_bytes value, struct fis_arena *arena,
                           struct wire_trainer_state *state, struct fis_error *e) FIS_MUST_CHECK;

/* ledger_forgotten.c; a null value leaves all but the mark 0. */
bool wire_is_forgotten_key(struct wire_bytes key);
int wire_forgotten_read(const struct wire_message *m, struct fis_arena *arena,
                        struct wire_forgotten *out, struct fis_error *e) FIS_MUST_CHECK;

#endif
