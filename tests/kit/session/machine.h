/* A trainer with the topics that it writes, in memory, and input that is a function of the step. */
#ifndef TEST_KIT_MACHINE_H
#define TEST_KIT_MACHINE_H

#include "fis/mem.h"
#include "fis/rng.h"
#include "kit/cmocka.h"
#include "kit/role/small_pipeline.h"
#include "role/trainer_wire.h"
#include "session/memory.h"
#include "wire/chunk.h"
#include "wire/json_arena.h"
#include "wire/ledger.h"
#include "wire/model.h"

struct machine_message {
    char *key, *value; /* value NULL: a tombstone */
    size_t key_length, value_length;
};

struct machine_topic {
    struct machine_message *m;
    uint32_t n, room;
};

struct machine {
    struct machine_topic topic[TRAINER_TOPICS];
    uint32_t committed[TRAINER_TOPICS];
    struct trainer_wire wire;
    struct trainer_role *role;
    struct fis_encoder *encoder;
    struct trainer_time now;
    int job;
};

int machine_put(void *arg, enum trainer_topic t, struct wire_bytes key, struct wire_bytes value,
                struct fis_error *e);

void machine_want_job(void *arg, enum trainer_job kind);

extern const char *const machine_topic_names[MEMORY_TOPICS];

extern const enum trainer_topic machine_topic_of[MEMORY_TOPICS];

int machine_feed(struct memory *memory, enum memory_topic t, const struct machine_topic *from,
                 uint32_t first, struct fis_error *e);

struct memory *machine_remember(const struct machine *m);

void machine_settle(struct machine *m);

/* A new process: from nothing but the topics, and what was not committed is gone. */
void machine_start(struct machine *m);

void machine_stop(struct machine *m);

void machine_close(struct machine *m);

/* Each step is one unit of commit. `restart` 0: never; else about one in so many steps ends with a
 * crash before its commit, and is done again. */
void machine_run(struct machine *m, uint32_t restart, bool compacting);

#endif
