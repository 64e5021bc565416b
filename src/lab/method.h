/*
 * Methods: a way to choose labels (acquisition) and a way to come to a model that is published
 * (publication), which combine freely. Each is one file with one const struct.
 *
 * A method is written against struct lab_run (lab/run.h), which holds the daemon's own objects.
 * The sensitive attribute: validation rows have it; training rows have it in
 * lab_run.training_group only when the publication says `sees_groups`, else that is NULL.
 *
 * To add one: write acquisition_NAME.c or publication_NAME.c, declare its struct below, and name
 * it in method.c.
 */
#ifndef LAB_METHOD_H
#define LAB_METHOD_H

#include "fis/selector.h"
#include "fis/learner.h"

struct lab_run;

struct lab_acquisition {
    const char *name;
    /* The selector's criteria (and so the number of heaps): what fis_criteria_score computes from
     * influences, unless `score` is there; that one gives scores for a single heap (algorithm
     * &fis_acquisition_entropy then). */
    const struct fis_acquisition *algorithm;
    int buys_nothing;
    int by_influence; /* depends on the fairness metric */
    /* State of its own, in lab_run.acquisition_state; all three may be NULL. begin: after the
     * warm-up. refreshed: the anchor and the directions are new. */
    int (*begin)(struct lab_run *r, struct fis_error *e);
    int (*refreshed)(struct lab_run *r, struct fis_error *e);
    void (*end)(struct lab_run *r);
    /* Higher is better, finite, or FIS_NOT_A_CANDIDATE. x [n][d], scores [n]; rows are rows of the
     * task. Must not look at their labels. */
    int (*score)(struct lab_run *r, const float *x, const uint32_t *rows, uint32_t n, float *scores,
                 struct fis_error *e);
};

struct lab_publication {
    const char *name;
    enum fis_copies copies;
    int by_metric;   /* depends on the fairness metric */
    int sees_groups; /* privileged: of the training rows too */
    /* State of its own, in lab_run.publication_state; begin, train, end may be NULL. */
    int (*begin)(struct lab_run *r, struct fis_error *e);
    /* `steps` training steps; NULL: fis_learner_train. */
    int (*train)(struct lab_run *r, uint32_t steps, struct fis_error *e);
    /* What would be published if the run ended with this round: slab out. `last`: it does end. May
     * be called after every round, or after the last one alone (lab_options.publish). */
    int (*publish)(struct lab_run *r, int last, float *params, struct fis_error *e);
    /* Every round's end, before publish; NULL: nothing (roll-back of `fis`). */
    int (*round_end)(struct lab_run *r, struct fis_error *e);
    void (*end)(struct lab_run *r);
};

struct lab_method {
    char name[48];
    const struct lab_acquisition *acquisition;
    const struct lab_publication *publication;
};

/* base, random, entropy, bald, isal, jtt, fis, fis+, ekg, product, random+val, random+pub,
 * entropy+pub, fis+ft, random+pub+ft, group-aware; or ACQUISITION/PUBLICATION for any two
 * ("ekg/ft"). INPUT: no such; says what there is. */
int lab_method_find(const char *name, struct lab_method *out, struct fis_error *e) FIS_MUST_CHECK;
/* The named ones; one line on each, for help. NULL ends. */
const char *lab_method_named(uint32_t i, const char **summary);
/* Whether results for one metric hold for all. */
static inline int lab_method_metric_free(const struct lab_method *m)
{
    return !m->acquisition->by_influence && !m->publication->by_metric;
}

extern const struct lab_acquisition lab_acquisition_none, lab_acquisition_random,
    lab_acquisition_entropy, lab_acquisition_mix, lab_acquisition_ekg, lab_acquisition_product,
    lab_acquisition_fis, lab_acquisition_bald, lab_acquisition_isal;
extern const struct lab_publication lab_publication_plain, lab_publication_pub, lab_publication_fis,
    lab_publication_jtt, lab_publication_random_val, lab_publication_ft,
    lab_publication_group_aware;

#endif
