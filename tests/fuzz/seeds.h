/* The seeds of the corpus, which `make fuzz-seeds` writes to tests/fuzz/corpus. */
#ifndef FUZZ_SEEDS_H
#define FUZZ_SEEDS_H

#include "wire/types.h"

/* To corpus/<target>/seed-<name>; ends the process when that fails. */
void seed_write(const char *target, const char *name, const void *bytes, size_t length);

void seeds_text(void); /* json, csv */
void seeds_config(void);
void seeds_protobuf(void); /* protobuf, frame, raw */
void seeds_stored(void);   /* ledger, model */
void seeds_http(void);
void seeds_format(void);

#endif
