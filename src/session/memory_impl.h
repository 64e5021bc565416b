/* Inside the memory: memory.c keeps what is read, memory_check.c finds out whether it is this
 * pipeline's and whole, memory_apply.c restores a role from it. */
#ifndef SESSION_MEMORY_IMPL_H
#define SESSION_MEMORY_IMPL_H

#include "session/memory.h"

#include "fis/mem.h"
#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) fis_alloc(1, size)
#define uthash_free(p, size) fis_free(p)
#include <uthash.h>

#include "wire/chunk.h"
#include "wire/head.h"
#include "wire/ledger.h"
#include "wire/model.h"

struct kept { /* the newest value of a ledger key, as it came */
    UT_hash_handle hh;
    char *value;
    size_t length;
    size_t key_length;
    char key[];
};

struct memory {
    const char *topics[MEMORY_TOPICS];
    struct fis_arena arena;       /* of the entry or chunk at hand */
    struct fis_arena state_arena; /* of `state` */
    struct wire_assembler *heads, *models, *checkpoints;
    struct wire_head_owned head;
    struct wire_model_owned served;
    uint64_t newest_version; /* served or not */
    char *checkpoint;        /* the newest that is whole, as it came */
    size_t checkpoint_length;
    uint64_t checkpoint_version;
    struct kept *ledger;
    uint64_t bytes; /* of the ledger */
    struct wire_trainer_state state;
    bool have_state, not_atomic;
    bool changed;                 /* a state, head or version came since it was compared */
    bool written;                 /* an entry or a state was taken, with or without a value */
    int64_t begin;                /* of the ledger; above 0: messages were deleted from it */
    char trouble[FIS_ERROR_TEXT]; /* of the checkpoint; "": none */
    void (*seen)(void *arg, const struct wire_model *v);
    void (*seen_state)(void *arg, const struct wire_trainer_state *s);
    void *seen_arg;
};

/* The entry in `k`, in `arena`. FATAL: it cannot be read. */
int memory_decode(const struct memory *m, const struct kept *k, struct fis_arena *arena,
                  struct wire_ledger_item *item, struct fis_error *e) FIS_MUST_CHECK;
struct kept *memory_kept_state(const struct memory *m); /* NULL: none */

#endif
