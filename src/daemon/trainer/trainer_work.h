/*
 * The trainer at work, from the moment it leads and has caught up: loads what the role needs, makes
 * and restores it, opens its input (candidates, labels, control, where the group has committed),
 * and hands over what comes. While a job runs or a commit is under way nothing is handed over.
 *
 * A unit of commit is what the role said and how far the input was taken, flushed together. Where
 * the role is, the validation topic is followed, versions are fetched for the operator and the ends
 * of a scan are asked for.
 *
 * Thread: the loop. Owns: the role and all that it reads; borrows outbox and memory.
 */
#ifndef DAEMON_TRAINER_WORK_H
#define DAEMON_TRAINER_WORK_H

#include "daemon/trainer/outbox.h"
#include "daemon/context/context.h"
#include "session/memory.h"

struct trainer_work;
/* `memory` is concluded, and needed until trainer_work_running. */
int trainer_work_open(struct trainer_work **out, struct context *ctx, struct outbox *outbox,
                      struct memory *memory, const char *group, struct fis_error *e) FIS_MUST_CHECK;
/* Something of it is on a worker: it must not be closed yet. */
bool trainer_work_on_worker(const struct trainer_work *w);
void trainer_work_close(struct trainer_work *w); /* commits nothing; NULL is fine */

/* `member`: the group's member, for commits in at_least_once. *more: there is more to do at once.
 * ABORT_TXN: the unit is lost, go on from the ledger; else it is the end. */
int trainer_work_turn(struct trainer_work *w, struct stream_consumer *member, bool *more,
                      struct fis_error *e) FIS_MUST_CHECK;
bool trainer_work_running(const struct trainer_work *w); /* the role was made and started */
/* The configuration has changed: the role gets its limits as soon as no job runs. */
void trainer_work_adjust(struct trainer_work *w);
/* Nothing more is taken; what was is committed. */
void trainer_work_drain(struct trainer_work *w);
bool trainer_work_drained(const struct trainer_work *w);

/* As trainer_host_status, for what is known here. */
struct trainer_status;
struct lag;
uint32_t trainer_work_status(struct trainer_work *w, struct trainer_status *out, struct lag *lags,
                             uint32_t n);

void trainer_work_tick(struct trainer_work *w);           /* a line on labels, when there is news */
void trainer_work_say_left(const struct trainer_work *w); /* what is not done or committed */

#endif
