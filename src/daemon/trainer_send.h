/*
 * What the trainer role wants said, encoded and put into the outbox: label requests, ledger, state,
 * heads and versions in chunks; notes go to the log.
 *
 * The role's functions return nothing, so a failure is kept until the host asks.
 * Thread: the loop. Owns: buffers; borrows outbox, intake and arena.
 */
#ifndef DAEMON_TRAINER_SEND_H
#define DAEMON_TRAINER_SEND_H

#include "daemon/intake.h"
#include "daemon/outbox.h"
#include "daemon/runtime.h"

struct trainer_send {
    struct runtime *rt;
    struct outbox *outbox;
    struct fis_arena *arena;
    struct wire_buffer payload, chunk, key;
    struct intake *intake;
    void (*submit_job)(void *arg);
    void *submit_arg;
    struct fis_error failed; /* class FIS_OK: no */
};

void trainer_send_init(struct trainer_send *s, struct runtime *rt, struct outbox *outbox,
                       struct intake *intake, struct fis_arena *arena);
/* `s` must stay where it is. */
void trainer_send_out(struct trainer_send *s, void (*submit_job)(void *arg), void *submit_arg,
                      struct trainer_out *out);
bool trainer_send_failed(const struct trainer_send *s, struct fis_error *e);
void trainer_send_done(struct trainer_send *s);

#endif
