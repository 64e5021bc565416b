/*
 * The answers of those who were asked for one label, and what they say together.
 *
 * Thread: the role's owner. Owns: nothing; votes belong to the request.
 */
#ifndef ROLE_VOTES_H
#define ROLE_VOTES_H

#include "fis/request.h"
#include "wire/types.h"

/* The vote of this annotator, or NULL. */
struct fis_vote *vote_of(const struct fis_request *r, const char *annotator);
/* Copies it; NOMEM. */
int vote_add(struct fis_request *r, const struct fis_vote *vote,
             struct fis_error *e) FIS_MUST_CHECK;
/* Whether the answer is a new vote: 1; 0: it repeats that of the same person; INPUT. */
int vote_check(const struct fis_request *r, const struct wire_label *l,
               struct fis_error *e) FIS_MUST_CHECK;
/* Adds the answer, or changes that of a person who could not say before. NOMEM. */
int vote_cast(struct fis_request *r, const struct wire_label *l, int64_t now_wall_ms,
              struct fis_error *e) FIS_MUST_CHECK;

/* What the votes say so far. */
enum votes_verdict {
    VOTES_UNDECIDED,
    VOTES_DECIDED, /* *class_index is the label */
    VOTES_TIED,    /* all are in, and no class has the most */
    VOTES_SKIPPED  /* all are in, and nobody could say */
};
enum votes_verdict votes_count(const struct fis_request *r, uint32_t *class_index);

#endif
