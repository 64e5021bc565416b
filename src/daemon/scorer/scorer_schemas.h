/*
 * Schemas of records, for a scorer: a batch whose schemas are all known is scored at once; else it
 * waits, in its slot, while they are fetched from the registry by a thread of their own, one after
 * the other. What fails is tried again after 1 s, 2 s, … a minute. The number of slots bounds what
 * waits: when all do, nothing more is read.
 * Thread: the loop. Owns: the thread, the registry's client, and all schemas.
 */
#ifndef DAEMON_SCORER_SCHEMAS_H
#define DAEMON_SCORER_SCHEMAS_H

#include "daemon/context/context.h"
#include "daemon/scorer/scorer_status.h"
#include "role/scoring.h"

struct scorer_schemas;
int scorer_schemas_open(struct scorer_schemas **out, struct context *ctx,
                        struct fis_error *e) FIS_MUST_CHECK;
/* Finds the formats of b's messages from *resolved on, in order, and counts it up. True: all are
 * known, or refused with a reason. */
bool scorer_schemas_ready(struct scorer_schemas *s, struct scoring_batch *b, uint32_t *resolved);
/* Takes what has come, and asks for what a batch waits for; FATAL when it cannot go on. */
int scorer_schemas_turn(struct scorer_schemas *s, struct fis_error *e) FIS_MUST_CHECK;
void scorer_schemas_status(const struct scorer_schemas *s, struct scorer_registry *out);
void scorer_schemas_close(struct scorer_schemas *s); /* NULL is fine */

#endif
