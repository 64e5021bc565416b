/*
 * Publications: how the copies are trained and judged, and so how a version comes about. Each is an
 * entry; the daemon's are those of training.copies.
 *
 * boosted  fis+: the gate picks among the points between the anchor and the boosted copies
 * mixed    fis as published: one model, judged as it is; a round that is rejected is rolled back
 * plain    one model on all labels, judged as it is
 *
 * To add one: a file with a const struct, and its line in the table of role/publication.c (or in
 * that of whoever makes the role: the lab has further ones).
 */
#ifndef ROLE_PUBLICATION_H
#define ROLE_PUBLICATION_H

#include <stdbool.h>

#include "fis/gate.h"

/* What an entry works on: the role's own objects. Calls come from a job. */
struct publication_call {
    void *state; /* of whoever made the role */
    struct fis_learner *learner;
    struct fis_gate *gate;
    struct fis_direction_options *directions; /* may be changed before the start */
    uint32_t round;                           /* 1, 2, … */
};

struct publication {
    const char *name;
    enum fis_copies copies;
    bool strict; /* accuracy must lie above the floor, not on it, as Algorithm 1 has it */
    bool whole;  /* all validation rows guide and judge; not with boosted copies */
    /* The warm-up model is the first version, and the copies are forked. NULL: nothing. */
    int (*begin)(struct publication_call *c, struct fis_error *e);
    /* Training steps of the copies; NULL: fis_learner_train. INPUT: a loss that is not finite. */
    int (*train)(struct publication_call *c, uint32_t steps, struct fis_error *e);
    /* A label has come: the kept set. NULL: fis_learner_check. */
    uint32_t (*check)(struct publication_call *c, uint32_t index);
    /* Directions are new, and set-aside labels were looked at again. NULL: nothing. */
    int (*refreshed)(struct publication_call *c, struct fis_error *e);
    /* The round is over: a verdict; on FIS_PUBLISH params (slab) is the version's. */
    int (*judge)(struct publication_call *c, struct fis_gate_judgement *j, float *params,
                 struct fis_error *e);
};

extern const struct publication publication_boosted, publication_mixed, publication_plain;
const struct publication *publication_of(enum fis_copies copies); /* the daemon's */

#endif
