/*
 * The trainer's memory: what stands on ledger, heads and models, as it was read in order. It is
 * what a trainer goes on from after a stop, and what a standby keeps up with, so that it can lead
 * at once. Pure: the caller reads and hands messages over; no Kafka in here.
 *
 * Kept: of the ledger the newest value of each key, in the order of its last writing (which for
 * labels is the order in which they came), the newest checkpoint that is whole, the newest head and
 * the newest served version. Room: the ledger's, and that is bounded by heap and labels bought.
 *
 * Thread: one owner at a time. Owns: copies of what it was handed.
 */
#ifndef SESSION_MEMORY_H
#define SESSION_MEMORY_H

#include <stdbool.h>

#include "role/trainer.h"
#include "session/identity.h"
#include "wire/types.h"

enum memory_topic { MEMORY_LEDGER, MEMORY_HEADS, MEMORY_MODELS, MEMORY_TOPICS };

struct memory;
/* `names`: the topics', for messages to people; borrowed. max_message_bytes: of one value of the
 * ledger, decoded (records.max_bytes times 4 and a MiB is plenty). */
struct memory *memory_new(const char *const names[MEMORY_TOPICS], size_t max_message_bytes,
                          struct fis_error *e); /* NULL: NOMEM */
void memory_free(struct memory *m);             /* NULL is fine */

/* Calls `model` for every version of the models topic from now on, served or not, and `state` for
 * every state of the ledger, as they are taken. */
void memory_watch(struct memory *m, void (*model)(void *arg, const struct wire_model *v),
                  void (*state)(void *arg, const struct wire_trainer_state *s), void *arg);

/* at_least_once: heads and versions may be ahead of the ledger, since one message may have come
 * through and the next one not. Versions then go on behind the newest. */
void memory_not_atomic(struct memory *m);

/* Where the ledger begins: above 0 when messages were deleted from it. */
void memory_begins(struct memory *m, int64_t offset);

/* One message, in the order of its topic; only what is committed. INPUT: it cannot be read, so no
 * trainer wrote it; it is left out, and what it was to replace stays. */
int memory_take(struct memory *m, enum memory_topic t, const struct wire_message *msg,
                struct fis_error *e) FIS_MUST_CHECK;

/* After everything that is there was taken: whether it is the memory of this pipeline, by the facts
 * of the newest state; where it has none (an earlier program), by those of the newest head and
 * version. FATAL: it is not (identity_compare). Costs nothing when nothing has come since. */
int memory_compare(struct memory *m, const struct identity *ours, const char *accept,
                   struct fis_error *e) FIS_MUST_CHECK;
/* The facts and changes that it has, after memory_compare and memory_conclude; views into `m` and
 * *own, which the caller is done with by identity_done. */
int memory_identity(const struct memory *m, struct identity *own, struct wire_identity *out,
                    struct fis_error *e) FIS_MUST_CHECK;

/* Everything that is there was taken: is there a state, and the head and version that it names?
 * May be called again after more was taken. FATAL: something that was written is not there (a
 * ledger that was written once and has no state now is not a new one), or
 * heads or models are newer than the ledger, which cannot be: they go out in one transaction. Such
 * topics are of different times, and numbers would be given a second time. */
int memory_conclude(struct memory *m, struct fis_error *e) FIS_MUST_CHECK;

/* After memory_conclude, until the next memory_take: */
bool memory_found(const struct memory *m); /* there is a state to go on from */
bool memory_cut(const struct memory *m);   /* messages were deleted from the ledger */
const struct wire_trainer_state *memory_state(const struct memory *m);
/* The newest head and served version; NULL before any was taken (also without a state). */
const struct wire_head *memory_head(const struct memory *m);
const struct wire_model *memory_served(const struct memory *m);
bool memory_has_checkpoint(const struct memory *m); /* of the state */
uint64_t memory_entries(const struct memory *m);    /* records that the ledger knows */
uint64_t memory_bytes(const struct memory *m);      /* all that is held */

/* The encoder of the newest head, taken over by the caller (after that memory_head has none). */
struct fis_encoder *memory_take_encoder(struct memory *m);

/* Tells a role that has its initial and validation rows: state, entries, checkpoint (one that
 * does not fit is left out). FATAL: the role is of another shape, or the ledger has lost entries.
 */
int memory_apply(struct memory *m, struct trainer_role *role, struct trainer_time now,
                 struct fis_error *e) FIS_MUST_CHECK;

/* After memory_apply: why the role has no checkpoint, its copies beginning at the anchor; "" when
 * it has one. */
const char *memory_checkpoint_trouble(const struct memory *m);

#endif
