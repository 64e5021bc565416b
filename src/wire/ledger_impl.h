/* The parts of the ledger's codec. */
#ifndef WIRE_LEDGER_IMPL_H
#define WIRE_LEDGER_IMPL_H

#include "wire/ledger.h"

int wire_ledger_state_read(struct wire_bytes value, struct fis_arena *arena,
                           struct wire_trainer_state *state, struct fis_error *e) FIS_MUST_CHECK;

#endif
