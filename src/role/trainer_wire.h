/*
 * What the trainer role sends, as messages: requests, ledger (entries, their tombstones, the
 * state, checkpoints in chunks), heads and versions in chunks. Each goes to one function as topic,
 * key and value; what else the role needs done (jobs, notes) is handed on. Pure: the daemon puts
 * the messages into a transaction, the simulator into its broker.
 *
 * The role's functions return nothing, so the first failure is kept until the owner asks, and
 * nothing is put after it: half of what the role sent must not be committed as if it were all.
 *
 * Thread: one owner at a time. Owns: buffers and an arena; borrows all of its options.
 */
#ifndef ROLE_TRAINER_WIRE_H
#define ROLE_TRAINER_WIRE_H

#include <stdbool.h>

#include "role/trainer.h"
#include "wire/types.h"

enum trainer_topic {
    TRAINER_REQUESTS,
    TRAINER_LEDGER,
    TRAINER_HEADS,
    TRAINER_MODELS,
    TRAINER_TOPICS
};

/* Key and value are views for the call. value.data NULL: a tombstone. */
typedef int trainer_put_fn(void *arg, enum trainer_topic t, struct wire_bytes key,
                           struct wire_bytes value, struct fis_error *e);

struct trainer_wire_options {
    const struct wire_schema *schema; /* max_bytes bounds what a request may take */
    const struct fis_column *columns; /* names for requests that are not JSON already */
    uint32_t n_columns;
    enum wire_encoding labels; /* WIRE_JSON: requests are JSON; else protobuf */
    size_t max_chunk;          /* bytes of payload; 0: WIRE_CHUNK_BYTES */
    trainer_put_fn *put;
    void (*job)(void *arg, enum trainer_job kind);
    void (*note)(void *arg, const char *event, const char *text); /* may be NULL */
    void (*pool)(void *arg);                                      /* may be NULL */
    const struct wire_identity *identity;      /* of states and lineages; NULL: none */
    const struct wire_control_place *control; /* of states; NULL: none */
    const uint64_t *state_number;             /* likewise */
    /* Called as well, for what was put; may be NULL. */
    void (*model)(void *arg, const struct wire_model *v);
    void (*state)(void *arg, const struct wire_trainer_state *s);
    void *arg;
};

struct trainer_wire {
    struct trainer_wire_options o;
    struct fis_arena arena;
    struct byte_buffer payload, chunk, key;
    struct fis_error failed; /* class FIS_OK: no */
};

int trainer_wire_init(struct trainer_wire *w, const struct trainer_wire_options *o,
                      struct fis_error *e) FIS_MUST_CHECK;
void trainer_wire_done(struct trainer_wire *w); /* all-zero is fine */
/* What a role is made with. `w` must stay where it is. */
void trainer_wire_out(struct trainer_wire *w, struct trainer_out *out);
/* True when something could not be sent; then *e is the reason. */
bool trainer_wire_failed(const struct trainer_wire *w, struct fis_error *e);

#endif
