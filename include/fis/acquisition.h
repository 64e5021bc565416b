/*
 * Acquisitions: how records are chosen. Each is an entry: what its criteria are called (one heap is
 * kept of each), and how a record is scored from the model's probabilities and its influences.
 *
 * name        criteria (score: higher is better)                       candidate when
 * fis+        EKG = sum_k p_k min(0, infl_fair_k) over k with both      EKG < 0
 *             influences <= 0, score -EKG; and predictive entropy       always
 * ekg         -EKG                                                     EKG < 0
 * product     -EKG x entropy                                           EKG < 0
 * fis         -infl_fair at the proxy label (Algorithm 1)              both influences <= 0
 * random      a hash of the id and the seed                            always
 * entropy     predictive entropy (what the paper's program calls BALD) always
 *
 * To add one: a file with a const struct, and its line in the table of core/acquisition.c (or
 * in that of the role: the lab has further ones).
 */
#ifndef FIS_ACQUISITION_H
#define FIS_ACQUISITION_H

#include <stdbool.h>

#include "fis/id.h"
#include "fis/influence.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FIS_MAX_CRITERIA 2
#define FIS_NOT_A_CANDIDATE (-1.0f / 0.0f) /* score: the criterion does not take the record */

struct fis_learner;
struct fis_acquisition;

/* An acquisition with its options. */
struct fis_criteria {
    const struct fis_acquisition *acquisition;
    int strategy;  /* 1 or 2: proxy labels of `fis` */
    uint64_t seed; /* random */
    void *state;   /* of an acquisition that has one; borrowed */
};

struct fis_acquisition {
    const char *name;
    const char *criteria[FIS_MAX_CRITERIA]; /* names; one or two */
    uint32_t for_accuracy; /* number, from 1, of the criterion that looks for accuracy alone and
                              takes whole rounds while there is no gap to close; 0: none does */
    bool by_influence;     /* scores depend on the directions */
    bool as_published;     /* Algorithm 1: a round counts the labels that are kept, and fairness
                              compares all pairs of groups */
    /* scores [FIS_MAX_CRITERIA], which are FIS_NOT_A_CANDIDATE before, of one record from p,
     * infl_acc, infl_fair [K]. */
    void (*score)(const struct fis_criteria *c, const struct fis_id *id, const float *p,
                  const float *infl_acc, const float *infl_fair, uint32_t classes, float *scores);
    /* The same of n records from -EKG and entropy, where these are enough: scores
     * [n][FIS_MAX_CRITERIA]. It must not fall as -EKG grows. NULL: record by record. */
    void (*of_sums)(const float *gain, const float *entropy, uint32_t n, float *scores);

    /* What needs more than the head is scored here instead, x [n][d]; NULL: as above. Scores are
     * finite, or FIS_NOT_A_CANDIDATE. begin: the learner is warm; refreshed: the anchor and the
     * directions are new; end: the learner is freed, perhaps before begin. Each may be NULL. */
    void (*batch)(const struct fis_criteria *c, const struct fis_id *const *ids, const float *x,
                  uint32_t n, float *scores);
    int (*begin)(void *state, const struct fis_learner *t, struct fis_error *e);
    int (*refreshed)(void *state, const struct fis_learner *t, struct fis_error *e);
    void (*end)(void *state);
};

extern const struct fis_acquisition fis_acquisition_fis_plus, fis_acquisition_fis,
    fis_acquisition_ekg, fis_acquisition_product, fis_acquisition_random, fis_acquisition_entropy;
const struct fis_acquisition *fis_acquisition_at(uint32_t i);         /* NULL ends */
const struct fis_acquisition *fis_acquisition_find(const char *name); /* NULL: no such */

uint32_t fis_criteria_count(const struct fis_acquisition *a);                        /* 1 or 2 */
const char *fis_criterion_name(const struct fis_acquisition *a, uint32_t criterion); /* "ekg", … */
/* scores [FIS_MAX_CRITERIA] of one record from p, infl_acc, infl_fair [K]. */
void fis_criteria_score(const struct fis_criteria *c, const struct fis_id *id, const float *p,
                        const float *infl_acc, const float *infl_fair, uint32_t classes,
                        float *scores);

/* The same of n rows, x [n][d] or, when that is NULL, `sparse`: scores [n][FIS_MAX_CRITERIA]. Panel
 * with directions [accuracy, fairness]. Sums are in float: each within 1e-6 of the sum of its
 * terms' sizes of what fis_criteria_score makes of fis_influence_batch.
 * floors [FIS_MAX_CRITERIA], or NULL: what a record must reach in one of the criteria. Scores of a
 * record that reaches none may be anything below the floors, which takes less work. An acquisition
 * with a `batch` of its own needs x. */
void fis_criteria_batch(const struct fis_criteria *c, const struct fis_panel *panel,
                        const struct fis_id *const *ids, const float *x,
                        const struct fis_sparse *sparse, uint32_t n, struct fis_scratch *s,
                        const float *floors, float *scores);

#ifdef __cplusplus
}
#endif

#endif
