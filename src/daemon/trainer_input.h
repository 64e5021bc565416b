/*
 * What the trainer reads, decoded and handed to its role; what cannot be read, or is not wanted,
 * goes to dead-letter with the reason. Thread: the loop. Owns: nothing; all is borrowed.
 */
#ifndef DAEMON_TRAINER_INPUT_H
#define DAEMON_TRAINER_INPUT_H

#include "daemon/outbox.h"
#include "daemon/runtime.h"

struct trainer_input {
    struct runtime *rt;
    struct outbox *outbox;
    struct fis_arena *arena;
    uint64_t refused_labels, refused_offers;
};

/* A message of `candidates`: a candidate, or progress. */
int trainer_input_offer(struct trainer_input *in, struct trainer_role *role,
                        const struct wire_message *m, struct fis_error *e) FIS_MUST_CHECK;
/* A message of `labels`. */
int trainer_input_label(struct trainer_input *in, struct trainer_role *role,
                        const struct wire_message *m, struct fis_error *e) FIS_MUST_CHECK;

#endif
