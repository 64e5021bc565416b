/*
 * What a trainer needs to go on where another stopped: the ledger, the newest head (the anchor
 * and the encoder) and the served version, read from their topics to the end.
 * Thread: the loop. Owns: what it read.
 */
#ifndef DAEMON_RESTORE_H
#define DAEMON_RESTORE_H

#include "daemon/runtime.h"

struct restore;
int restore_open(struct restore **out, struct runtime *rt, struct fis_error *e) FIS_MUST_CHECK;
void restore_close(struct restore *r); /* NULL is fine */

int restore_turn(struct restore *r, struct fis_error *e) FIS_MUST_CHECK;
bool restore_complete(const struct restore *r);
bool restore_found(const struct restore *r); /* there is a state to go on from */
/* The encoder of the newest head; FATAL when the columns or classes are others now. Taken by the
 * caller. Only when restore_found. */
struct fis_encoder *restore_take_encoder(struct restore *r, struct fis_error *e) FIS_MUST_CHECK;
int restore_apply(struct restore *r, struct trainer_role *role, struct fis_error *e) FIS_MUST_CHECK;

#endif
