/*
 * What was asked for and is not answered: when, in which round, which votes there are, and what
 * became of it. The selector has the features and counts; this has the rest. The open ones are also
 * a list, oldest first.
 *
 * Thread: one owner at a time. Owns: the requests and their votes.
 */
#ifndef ROLE_TRAINER_REQUESTS_H
#define ROLE_TRAINER_REQUESTS_H

#define uthash_malloc(size) fis_alloc(1, size)
#define uthash_free(p, size) fis_free(p)
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(item) ((void)(item))
#include <uthash.h>

#include "fis/mem.h"
#include "wire/types.h"

struct trainer_request {
    UT_hash_handle hh;
    struct trainer_request *older, *newer; /* of the open ones */
    struct fis_id id;
    enum wire_ledger_state state; /* REQUESTED, or how it was given up */
    uint64_t asked_at_ms;
    uint32_t round; /* in which it was asked for */
    int refunded;
    struct wire_vote *votes; /* annotators are owned */
    uint32_t n_votes, wanted; /* so far; of so many people */
};

struct trainer_requests {
    struct trainer_request *table, *oldest, *newest;
};

void trainer_requests_done(struct trainer_requests *t);
struct trainer_request *trainer_request_find(const struct trainer_requests *t,
                                             const struct fis_id *id);
/* NULL: no memory, nothing is changed. One that is there already is returned as it is. */
struct trainer_request *trainer_request_add(struct trainer_requests *t, const struct fis_id *id,
                                            enum wire_ledger_state state, uint64_t asked_at_ms);
void trainer_request_close(struct trainer_requests *t, struct trainer_request *r); /* not open */
void trainer_request_remove(struct trainer_requests *t, struct trainer_request *r);

/* The vote of this annotator, or NULL. */
struct wire_vote *trainer_request_vote_of(const struct trainer_request *r, const char *annotator);
/* Copies it; NOMEM. */
int trainer_request_vote(struct trainer_request *r, const struct wire_vote *vote,
                         struct fis_error *e) FIS_MUST_CHECK;

/* What the votes say so far. */
enum trainer_decision {
    TRAINER_UNDECIDED,
    TRAINER_DECIDED, /* *class_index is the label */
    TRAINER_TIED,    /* all are in, and no class has the most */
    TRAINER_SKIPPED  /* all are in, and nobody could say */
};
enum trainer_decision trainer_request_decide(const struct trainer_request *r,
                                             uint32_t *class_index);

#endif
