/*
 * One version of the models topic, on demand: the operator wants to go back to it, or to have it
 * served. The topic is read from its beginning to its end, since a version may be anywhere in it;
 * this is rare, and nothing is kept for it in the meantime.
 * Thread: the loop. Owns: a consumer; the version it found.
 */
#ifndef DAEMON_VERSION_FETCH_H
#define DAEMON_VERSION_FETCH_H

#include "daemon/context/context.h"

struct version_fetch;
int version_fetch_open(struct version_fetch **out, struct context *ctx, uint64_t version,
                       struct fis_error *e) FIS_MUST_CHECK;
void version_fetch_close(struct version_fetch *f); /* blocks; NULL is fine */
void version_fetch_end(struct version_fetch *f);   /* the same beside the loop */

/* 1: it was read to the end; 0: not yet. */
int version_fetch_turn(struct version_fetch *f, struct fis_error *e) FIS_MUST_CHECK;
uint64_t version_fetch_wanted(const struct version_fetch *f);
/* NULL: there is no such version. */
const struct wire_model *version_fetch_model(const struct version_fetch *f);

#endif
