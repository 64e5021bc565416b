/*
 * The trainer before it can start, once it leads and has caught up: read the initial set, fit (or
 * take over) the encoder, read the validation set, make the role, and tell it what the memory has.
 *
 *   ENCODER -> INITIAL -> VALIDATION -> done
 *
 * Files are read in one go; topics turn by turn. Thread: the loop. Owns: what it reads; the role,
 * encoder and validation topic are taken over by the host at the end.
 */
#ifndef DAEMON_TRAINER_LOAD_H
#define DAEMON_TRAINER_LOAD_H

#include "daemon/trainer/example_topic.h"
#include "session/memory.h"

struct trainer_load {
    struct context *ctx;
    struct trainer_out out;
    struct memory *memory; /* borrowed; concluded */
    enum { LOAD_ENCODER, LOAD_INITIAL, LOAD_VALIDATION, LOAD_DONE } step;
    uint64_t began_ms;
    struct example_topic *initial, *validation; /* when they come from topics */
    struct data_examples initial_rows, validation_rows;
    struct fis_encoder *encoder;
    struct trainer_role *role;
    uint64_t restore_ms, entries, bytes; /* what going on from the ledger took */
};

void trainer_load_init(struct trainer_load *l, struct context *ctx, const struct trainer_out *out,
                       struct memory *memory);
/* Goes as far as it can; step is LOAD_DONE at the end. Errors end the daemon. */
int trainer_load_turn(struct trainer_load *l, struct fis_error *e) FIS_MUST_CHECK;
void trainer_load_done(struct trainer_load *l);

/* Examples to rows for the role (a view). */
struct fis_rows trainer_rows(const struct data_examples *x);

#endif
