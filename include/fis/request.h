/*
 * The life of one record's request: one struct, one state, one table of transitions.
 *
 *   NONE -> HELD_NEW -> HELD -> GONE -> NONE      a candidate, and the copy of it kept elsewhere
 *             any of these -> OPEN                asked for
 *   OPEN -> ACCEPTED or SET_ASIDE                 answered: the end
 *   OPEN -> EXPIRED, SKIPPED, CANCELLED or TIED   given up
 *   given up -> ACCEPTED or SET_ASIDE             a late answer
 *   any but NONE -> NONE                          forgotten
 *
 * Thread: the selector's owner. Owns: the selector owns requests and their votes.
 */
#ifndef FIS_REQUEST_H
#define FIS_REQUEST_H

#include <stdbool.h>

#include "fis/id.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fis_request_state {
    FIS_NONE,
    FIS_HELD_NEW,   /* a candidate that fis_selector_changes has not reported */
    FIS_HELD_AGAIN, /* likewise, under an id that it has reported as held before */
    FIS_HELD,       /* a candidate, as reported */
    FIS_GONE,       /* reported as held, and no longer: still to be reported */
    FIS_OPEN,       /* asked for, no answer yet */
    FIS_ACCEPTED,   /* answered: in a kept set */
    FIS_SET_ASIDE,  /* answered: among all labels only */
    FIS_EXPIRED,    /* given up: its deadline passed */
    FIS_SKIPPED,    /* given up: nobody who looked could say */
    FIS_CANCELLED,  /* given up: by the operator */
    FIS_TIED,       /* given up: all votes are in, and no class has the most */
    FIS_REQUEST_STATES
};
const char *fis_request_state_name(enum fis_request_state s); /* "open", "set aside", … */
static inline bool fis_is_held(enum fis_request_state s)
{
    return s >= FIS_HELD_NEW && s <= FIS_HELD;
}
static inline bool fis_is_answered(enum fis_request_state s)
{
    return s == FIS_ACCEPTED || s == FIS_SET_ASIDE;
}
static inline bool fis_is_given_up(enum fis_request_state s)
{
    return s >= FIS_EXPIRED && s <= FIS_TIED;
}

/* One person's answer. */
struct fis_vote {
    const char *annotator;
    uint32_t status; /* 0: labelled; else why not, by its owner's numbers */
    uint32_t class_index;
    int64_t at_ms;
};

struct fis_request {
    struct fis_request *older, *newer; /* of the open ones, by asked_at_ms and then id */
    uint64_t asked_at_ms;              /* on the clock of fis_selector_set_clock */
    struct fis_vote *votes;            /* array and annotators from fis_alloc; gone once answered */
    uint8_t state;                     /* enum fis_request_state */
    uint8_t criterion;                 /* by which it was asked for */
    uint8_t n_votes, required;         /* so far; of so many people */
    uint32_t class_index;              /* when answered */
    uint32_t round;                    /* in which it was answered, or else asked for */
    bool refunded;                     /* given up, and not charged */
    struct fis_id id;
};

#ifdef __cplusplus
}
#endif

#endif
