/*
 * The ledger: what is known of each record, the trainer's own state and its checkpoint, on one
 * compacted topic.
 *
 * Thread: no state. Owns: nothing; what is decoded lives in the arena and in the message.
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

/* Key of the checkpoint's chunk `index`, appended: NUL "checkpoint/<index>". */
int wire_checkpoint_key(uint32_t index, struct byte_buffer *out,
                        struct fis_error *e) FIS_MUST_CHECK;

/* INPUT, and nothing appended: what wire_ledger_decode would refuse. */
int wire_ledger_entry_encode(const struct wire_ledger_entry *entry, struct byte_buffer *out,
                             struct fis_error *e) FIS_MUST_CHECK;
/* control_text is cut where it is not UTF-8 any more, and after 500 bytes. */
int wire_ledger_state_encode(const struct wire_trainer_state *state, struct byte_buffer *out,
                             struct fis_error *e) FIS_MUST_CHECK;

/* In place of the entry of a record that was forgotten. Key: NUL "forgotten/" and the mark in
 * hexadecimal digits. */
#define WIRE_MARK 16
struct wire_forgotten {
    unsigned char mark[WIRE_MARK];
    struct wire_bytes salt;
    bool charged; /* the budget has paid for it */
    int64_t at_ms;
};
/* The mark of an id. */
void wire_forgotten_mark(struct wire_bytes salt, const struct fis_id *id,
                         unsigned char mark[WIRE_MARK]);
int wire_forgotten_key(const struct wire_forgotten *f, struct byte_buffer *out,
                       struct fis_error *e) FIS_MUST_CHECK;
int wire_forgotten_encode(const struct wire_forgotten *f, struct byte_buffer *out,
                          struct fis_error *e) FIS_MUST_CHECK;

struct wire_ledger_item {
    enum {
        WIRE_LEDGER_ENTRY = 1,
        WIRE_LEDGER_STATE,
        WIRE_LEDGER_CHECKPOINT,
        WIRE_LEDGER_FORGOTTEN
    } kind;
    union {
        struct wire_ledger_entry entry;
        struct wire_trainer_state state;
        struct wire_bytes chunk; /* for a wire_assembler (NEWEST) */
        struct wire_forgotten forgotten;
    };
};
/* By the message's key. WIRE_TOMBSTONE: kind, and for an entry the id (for a forgotten one the
 * mark), are written. */
enum wire_decoded wire_ledger_decode(const struct wire_message *m, struct fis_arena *arena,
                                     struct wire_ledger_item *item,
                                     struct fis_error *e) FIS_MUST_CHECK;

/* A checkpoint, whole: its chunks (wire/chunk.h) go on the ledger. Its parts are opaque here. */
struct wire_checkpoint {
    uint32_t format;  /* not 0 */
    uint64_t version; /* as trainer_state.checkpoint */
    struct wire_bytes learner, gate;
};
int wire_checkpoint_encode(const struct wire_checkpoint *c, struct byte_buffer *out,
                           struct fis_error *e) FIS_MUST_CHECK;
/* learner and gate point into `bytes`. */
int wire_checkpoint_decode(struct wire_bytes bytes, struct wire_checkpoint *c,
                           struct fis_error *e) FIS_MUST_CHECK;

#endif
