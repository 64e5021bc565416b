/*
 * Keeping up with ledger, heads and models: what a standby does all the time, and a new leader once
 * more to the ends. Thread: the loop. Owns: a consumer, and the memory (session/memory.h) of what
 * it read.
 */
#ifndef DAEMON_FOLLOWER_H
#define DAEMON_FOLLOWER_H

#include "daemon/context/context.h"
#include "session/memory.h"

struct follower;
int follower_open(struct follower **out, struct context *ctx, struct fis_error *e) FIS_MUST_CHECK;
void follower_close(struct follower *f); /* blocks; NULL is fine */
void follower_end(struct follower *f);   /* the same beside the loop */

/* Takes some of what is there; *more: to be called again at once. */
int follower_turn(struct follower *f, bool *more, struct fis_error *e) FIS_MUST_CHECK;
/* Everything that was there at the start, or at the last follower_to_end, has been taken. */
bool follower_at_end(const struct follower *f);
void follower_to_end(struct follower *f);
struct memory *follower_memory(struct follower *f);

#endif
