/*
 * fisd around a pool in memory: the daemon's scorer role, with the pool as the records topic (one
 * partition), and the daemon's session around its trainer role, whose ports are bound to queues in
 * memory: offers go to it as messages, and so do the withheld labels, as answers to its requests.
 * What is decided is decided by the roles and the session; this only carries.
 *
 * Time is virtual, so a run is a function of its options. Thread: one owner.
 */
#ifndef LAB_ENGINE_H
#define LAB_ENGINE_H

#include "lab/run.h"
#include "role/trainer.h"

struct lab_engine;
/* The scorer, and a session that leads and has its rows; its role waits for the job of the warm-up.
 * Fills r->parts. */
struct lab_engine *lab_engine_new(struct lab_run *r, const struct trainer_role_options *o,
                                  struct fis_error *e);
void lab_engine_free(struct lab_engine *g);
/* To the end of the last round, or until nothing is left that could be asked for; without rounds:
 * to the end of the warm-up. */
int lab_engine_run(struct lab_engine *g, bool rounds, struct fis_error *e) FIS_MUST_CHECK;

#endif
