/*
 * fisd around a pool in memory: the daemon's scorer and trainer roles, with the pool as the records
 * topic (one partition), the messages of the trainer handed on at once, and the withheld labels as
 * answers. What is decided is decided by the roles; this only carries.
 *
 * Time is virtual, so a run is a function of its options. Thread: one owner.
 */
#ifndef LAB_ENGINE_H
#define LAB_ENGINE_H

#include "lab/run.h"
#include "role/trainer.h"

struct lab_engine;
/* Both roles, the initial and the validation rows; fills r->role's objects. */
struct lab_engine *lab_engine_new(struct lab_run *r, const struct trainer_role_options *o,
                                  struct fis_error *e);
void lab_engine_free(struct lab_engine *g);
/* To the end of the last round, or until nothing is left that could be asked for; without rounds:
 * to the end of the warm-up. */
int lab_engine_run(struct lab_engine *g, bool rounds, struct fis_error *e) FIS_MUST_CHECK;

#endif
