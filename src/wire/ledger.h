/*
 * The ledger: what is known of each record, and the trainer's own state, on one compacted topic.
 */
#ifndef WIRE_LEDGER_H
#define WIRE_LEDGER_H

#include "wire/types.h"

/* Key of a trainer state: one NUL byte. Key of an entry: the id's bytes. */
extern const struct wire_bytes wire_ledger_state_key;
static inline struct wire_bytes wire_ledger_entry_key(const struct fis_id *id)
{
    return (struct wire_bytes){id->bytes, id->length};
}

int wire_ledger_entry_encode(const struct wire_ledger_entry *entry, struct wire_buffer *out,
                             struct fis_error *e) FIS_MUST_CHECK;
int wire_ledger_state_encode(const struct wire_trainer_state *state, struct wire_buffer *out,
                             struct fis_error *e) FIS_MUST_CHECK;

struct wire_ledger_item {
    enum { WIRE_LEDGER_ENTRY = 1, WIRE_LEDGER_STATE } kind;
    union {
        struct wire_ledger_entry entry;
        struct wire_trainer_state state;
    };
};
/* By the message's key. WIRE_TOMBSTONE: kind, and for an entry the id, are written. */
enum wire_decoded wire_ledger_decode(const struct wire_message *m, struct fis_arena *arena,
                                     struct wire_ledger_item *item,
                                     struct fis_error *e) FIS_MUST_CHECK;

#endif
