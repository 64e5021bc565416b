/*
 * What the trainer reads, decoded and handed to its role; what cannot be read, or is not wanted,
 * goes to dead-letter with the reason. Thread: the loop. Owns: nothing; all is borrowed.
 */
#ifndef DAEMON_TRAINER_INPUT_H
#define DAEMON_TRAINER_INPUT_H

#include "daemon/context/dead_letter.h"
#include "daemon/trainer/outbox.h"
#include "daemon/context/context.h"

struct trainer_input {
    struct context *ctx;
    struct outbox *outbox;
    struct fis_arena *arena;
    uint64_t read; /* messages of all three topics, whatever became of them */
    struct dead_counts dead_labels, dead_offers, dead_commands; /* what was refused */
};

/* A message of `candidates`: a candidate, or progress. */
int trainer_input_offer(struct trainer_input *in, struct trainer_role *role,
                        const struct wire_message *m, struct fis_error *e) FIS_MUST_CHECK;
/* A message of `labels`. */
int trainer_input_label(struct trainer_input *in, struct trainer_role *role,
                        const struct wire_message *m, struct trainer_time now,
                        struct fis_error *e) FIS_MUST_CHECK;
/* A message of `control`. The version that the role needs to see for it, 0: none; and the command
 * itself, with that version (NULL: there is none such). */
uint64_t trainer_input_wanted(struct trainer_input *in, const struct trainer_role *role,
                              const struct wire_message *m);
int trainer_input_control(struct trainer_input *in, struct trainer_role *role,
                          const struct wire_message *m, const struct wire_model *version,
                          struct trainer_time now, struct fis_error *e) FIS_MUST_CHECK;

#endif
