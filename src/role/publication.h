/*
 * Publications: how the network is trained and judged, and so how a version comes about. Each is an
 * entry; the daemon's are those of training.publication.
 *
 * line     fis+: a fresh network on all labels; the gate picks among the points of the Newton line
 * mixed    fis as published: one model, judged as it is; a round that is rejected is rolled back
 * plain    a fresh network on all labels, judged as it is
 *
 * To add one: a file with a const struct, for the maker of the role (daemon/context/pipeline.c;
 * the lab has further ones).
 */
#ifndef ROLE_PUBLICATION_H
#define ROLE_PUBLICATION_H

#include <stdbool.h>

#include "fis/gate.h"

/* What an entry works on: the role's own objects. Calls come from a job. */
struct publication_call {
    void *state; /* of the maker of the role */
    struct fis_learner *learner;
    struct fis_trees *trees; /* of the base; NULL: none */
    struct fis_gate *gate;
    struct fis_direction_options *directions; /* may be changed before the start */
    uint32_t round;                           /* 1, 2, … */
};

struct publication {
    const char *name;
    bool mixed;  /* trained on the kept set and the initial rows, as Algorithm 1 has it */
    bool strict; /* accuracy must lie above the floor, not on it, likewise */
    bool halves; /* half of the validation rows guide, the others judge; else all do both */
    bool line;   /* judged by points of a line, cross-fitted (fis/gate.h) */
    /* The warm-up model is the first version. NULL: nothing. */
    int (*begin)(struct publication_call *c, struct fis_error *e);
    /* Training steps; NULL: fis_learner_train. INPUT: a loss that is not finite. */
    int (*train)(struct publication_call *c, uint32_t steps, struct fis_error *e);
    /* A label has come: the kept set. NULL: fis_learner_check. */
    bool (*check)(struct publication_call *c, uint32_t index);
    /* Directions are new, and set-aside labels were looked at again. NULL: nothing. */
    int (*refreshed)(struct publication_call *c, struct fis_error *e);
    /* The round is over: a verdict; on FIS_PUBLISH params (slab) is the version's. */
    int (*judge)(struct publication_call *c, struct fis_gate_judgement *j, float *params,
                 struct fis_error *e);
};

/* The networks that are published (fis_learner_retrain). One that diverges is left out: the anchor
 * stands for it. */
int publication_retrain(struct publication_call *c, struct fis_error *e) FIS_MUST_CHECK;

extern const struct publication publication_line, publication_mixed, publication_plain;

#endif
