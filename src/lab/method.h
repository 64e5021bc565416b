/*
 * Methods: a way to choose labels (acquisition) and a way to come to a model that is published
 * (publication), which combine freely. Acquisitions are the daemon's (fis/acquisition.h) and the
 * lab's further ones, of the same kind; their state is the run. Publications become an entry of the
 * trainer role's table (role/publication.h) in lab/run.c.
 *
 * Both are written against struct lab_run (lab/run.h), which holds the role's own objects. The
 * sensitive attribute: validation rows have it; training rows have it in lab_run.training_group
 * only when the publication says `sees_groups`, else that is NULL.
 *
 * To add one: write acquisition_NAME.c or publication_NAME.c, and name its struct in method.c.
 */
#ifndef LAB_METHOD_H
#define LAB_METHOD_H

#include <stdbool.h>

#include "fis/acquisition.h"
#include "fis/learner.h"

struct lab_run;

struct lab_publication {
    const char *name;
    bool mixed;       /* trained as Algorithm 1 has it, and judged so (role/publication.h) */
    bool line;        /* points of a line are judged */
    bool by_metric;   /* depends on the fairness metric */
    bool sees_groups; /* privileged: of the training rows too */
    bool split_rows;  /* trains on the split's rows */
    bool trees_alone; /* a base of trees, fitted in every round, and no warm-up above it */
    bool every_round; /* publish is called after every round, whatever lab_options.publish says */
    /* State of its own, in lab_run.publication_state; begin, train, end may be NULL. */
    int (*begin)(struct lab_run *r, struct fis_error *e);
    /* `steps` training steps; NULL: fis_learner_train. */
    int (*train)(struct lab_run *r, uint32_t steps, struct fis_error *e);
    /* What would be published if the run ended with this round: slab out, and *r->judgement, which
     * says "published". `last`: it does end. May be called after every round, or after the last one
     * alone (lab_options.publish). */
    int (*publish)(struct lab_run *r, int last, float *params, struct fis_error *e);
    void (*end)(struct lab_run *r);
};

struct lab_method {
    char name[48];
    const struct fis_acquisition *acquisition;
    const struct lab_publication *publication;
    int trees; /* over a base of boosted trees: 1 always, 0 never, -1 as the protocol has it */
};

/* base, random, entropy, bald, isal, jtt, fis, fis+, ekg, product, random+val, random+pub,
 * entropy+pub, group-aware, xgb+random, xgb+entropy, xgb+entropy+pub; or ACQUISITION/PUBLICATION
 * for any two ("bald/pub"). INPUT: no such; says what there is. */
int lab_method_find(const char *name, struct lab_method *out, struct fis_error *e) FIS_MUST_CHECK;
/* The named ones; one line on each, for help. NULL ends. */
const char *lab_method_named(uint32_t i, const char **summary);
/* Whether results for one metric hold for all. */
static inline bool lab_method_metric_free(const struct lab_method *m)
{
    return !m->acquisition->by_influence && !m->publication->by_metric;
}

extern const struct fis_acquisition lab_acquisition_none, lab_acquisition_bald,
    lab_acquisition_isal, lab_acquisition_power, lab_acquisition_half_random;
static inline bool lab_method_buys_nothing(const struct lab_method *m)
{
    return m->acquisition == &lab_acquisition_none;
}
extern const struct lab_publication lab_publication_plain, lab_publication_pub, lab_publication_fis,
    lab_publication_jtt, lab_publication_random_val, lab_publication_group_aware,
    lab_publication_trees;

#endif
