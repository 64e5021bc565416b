/*
 * The rows of the gate, and points of weight space judged on them. A point has a slab for each fold
 * of the learner's rows: what judges the fold's rows.
 */
#ifndef CORE_INTERPOLATE_H
#define CORE_INTERPOLATE_H

#include "fis/learner.h"

struct judged {
    uint32_t *predictions; /* [n] */
    float *logits;         /* [n][K] */
    double loss;           /* mean cross-entropy */
    struct fis_metrics metrics;
};

struct gate_rows {
    const struct fis_shape *shape;
    uint32_t n, d, n_groups, positive;
    uint32_t folds, begin[1 + FIS_MAX_FOLDS]; /* rows begin[h] to begin[h + 1] - 1 are fold h's */
    float *x;
    uint32_t *y, *group, *source; /* source: the learner's validation row */
    struct fis_scratch *scratch;
    fis_metrics_fn *measure; /* or NULL */
    void *measure_arg;
};

int gate_rows_init(struct gate_rows *g, const struct fis_learner *t, uint32_t positive,
                   struct fis_error *e);
/* Other features of the same rows: x as the learner's validation rows lie. */
void gate_rows_take(struct gate_rows *g, const float *x);
void gate_rows_done(struct gate_rows *g);

int judged_init(struct judged *j, const struct gate_rows *g, struct fis_error *e);
void judged_done(struct judged *j);
/* point: a slab for each fold. */
void judge_point(const struct gate_rows *g, float *const *point, struct judged *j);

/* to = a + share (b - a), [n]. share = 0 and 1 give a and b to the bit. */
void interpolate(const float *a, const float *b, float share, size_t n, float *to);
/* Of the accuracy's difference between the two, on the same rows. */
double accuracy_se(const struct gate_rows *g, const struct judged *a, const struct judged *b);
/* a's accuracy less b's, when the labels are as likely as pi [n][K] says. */
double likely_difference(const struct gate_rows *g, const struct judged *a, const struct judged *b,
                         const float *pi);

/* The violation's difference a - b and its bootstrap standard error over the same resamples; NaN
 * when fewer than half of these can be estimated. */
int paired_difference(const struct gate_rows *g, const struct judged *a, const struct judged *b,
                      enum fis_metric metric, uint32_t resamples, struct fis_rng *rng,
                      double *difference, double *se, struct fis_error *e);
/* The smallest cell that the metric needs, in rows. */
uint32_t smallest_cell(const struct gate_rows *g, enum fis_metric metric);
/* The same of the rows that a gate would have of this learner; no allocation. */
uint32_t gate_smallest_cell(const struct fis_learner *t, enum fis_metric metric, uint32_t positive);
/* And the smallest gap that they can tell from none; m: as in fis_detectable_gap. */
double gate_detectable(const struct fis_learner *t, enum fis_metric metric, uint32_t positive,
                       const struct fis_metrics *m);

#endif
