/*
 * The inbox: how far each partition of a session's input was taken, and what of that the next unit
 * commits. A message that comes again is known by its place and not handed over twice.
 *
 * Thread: one owner at a time. Owns: a place per partition.
 */
#ifndef SESSION_INBOX_H
#define SESSION_INBOX_H

#include "session/session.h"

struct inbox {
    struct inbox_place {
        struct session_place at; /* next: the offset to be taken next, and to be committed */
        int64_t given;           /* the last that inbox_changed gave out; -1: none */
    } * places;
    struct session_place *changed; /* room for [count] */
    uint32_t count, last;
};

void inbox_done(struct inbox *in); /* and all-zero again, which is an empty one */

/* 1: new, it is to be handed over; 0: it was taken before. */
int inbox_take(struct inbox *in, enum session_topic topic, int32_t partition, int64_t offset,
               struct fis_error *e) FIS_MUST_CHECK;
/* The partition goes on at `offset`, which may be before what was taken. */
int inbox_move(struct inbox *in, enum session_topic topic, int32_t partition, int64_t offset,
               struct fis_error *e) FIS_MUST_CHECK;
/* The same, and the place is committed again: the group's may have gone with the topic. */
int inbox_restart(struct inbox *in, enum session_topic topic, int32_t partition, int64_t offset,
                  struct fis_error *e) FIS_MUST_CHECK;
bool inbox_has_changed(const struct inbox *in);
/* The places that have moved since the last call: *n, a view until the next call. */
const struct session_place *inbox_changed(struct inbox *in, uint32_t *n);
/* All places count as moved: what is committed and never moves would expire. */
void inbox_again(struct inbox *in);

#endif
