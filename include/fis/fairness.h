/*
 * Fairness of a classifier over labelled rows with groups: a smooth surrogate phi with its
 * gradient (what influence is measured against), and the metrics that are reported (from hard
 * predictions, with intervals).
 *
 * M groups (2 .. FIS_MAX_GROUPS), K classes. A "cell" is the rows of one group, or of one group
 * and one label, that a metric averages over.
 */
#ifndef FIS_FAIRNESS_H
#define FIS_FAIRNESS_H

#include <stddef.h>
#include <stdint.h>

#include "fis/error.h"
#include "fis/network.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FIS_MAX_GROUPS 64

enum fis_metric {
    FIS_DEMOGRAPHIC_PARITY = 1,
    FIS_EQUAL_OPPORTUNITY,
    FIS_EQUALIZED_ODDS,
    FIS_RISK_DISPARITY
};
const char *fis_metric_name(enum fis_metric m); /* "demographic_parity", … */

/* How groups are compared in phi. */
enum fis_gap_form {
    FIS_GAP_PAIRS,  /* every pair of groups, as the paper's program */
    FIS_GAP_OVERALL /* each group against all rows; for two groups the same as the pair: see .c */
};

struct fis_surrogate {
    enum fis_metric metric;
    enum fis_gap_form form;
    uint32_t positive; /* the class that EOp and EOd look at when K = 2; for K > 2 all do */
    uint32_t min_cell; /* a needed cell with fewer rows is an INPUT error; 0: an empty cell counts
                          as mean 0 and every mean divides by count + n 1e-8 (the paper's
                          program; golden values) */
};

/*
 * phi = 1/2 sum of squared constraint values c over softmax probabilities p [n][K]:
 *   DP    pairs: H[g,k] = mean of p_k over group g, clipped to [1e-3, 1] and renormalised;
 *         c = (H[i,k] - H[j,k]) / (M (M-1) K) for i < j and every k (the paper's program; 1/4 for
 *         M = K = 2). Overall: c = mean p_k of a group less mean p_k of all rows, unscaled
 *   EOp   c = difference of mean p_k over rows with y = k;  K = 2: k = positive only
 *   EOd   the same over y = k and over y != k, as two constraints
 *   risk  c = mean CE of a group less the mean CE of all rows, in both forms (paper, Def. 3.1)
 * Overall means are over the rows of the same labels. Two groups are always compared as a pair.
 * logits [n][K], labels [n], groups [n] in 0..M-1. dlogits [n][K] or NULL receives
 * d phi / d logits. *phi is written on success only; NaN logits give a NaN phi. INPUT: no rows, an
 * index out of range, a cell under min_cell. No allocation; O(nK).
 */
int fis_surrogate_eval(const struct fis_surrogate *s, const float *logits, const uint32_t *labels,
                       const uint32_t *groups, uint32_t n, uint32_t classes, uint32_t n_groups,
                       double *phi, float *dlogits, struct fis_error *e) FIS_MUST_CHECK;

/* Whether every cell that `metric` needs has min_cell rows; names the first that has not
 * ("group 1, class 0: 12 rows, 30 expected"; never a group's value, which is sensitive). */
int fis_cells_check(enum fis_metric metric, const uint32_t *labels, const uint32_t *groups,
                    uint32_t n, uint32_t classes, uint32_t n_groups, uint32_t positive,
                    uint32_t min_cell, struct fis_error *e) FIS_MUST_CHECK;

/* Reported metrics: from hard predictions; names and values as Fairlearn's where it has them.
 * A rate over an empty cell is NaN ("not estimable"), never 0, and so is what needs it. */
struct fis_metrics {
    double accuracy;
    double balanced_accuracy;  /* mean recall over the classes that occur */
    double demographic_parity; /* largest gap between groups of P(yhat = k); K = 2: of positive */
    double equal_opportunity;  /* largest gap of true positive rates */
    double equalized_odds;     /* mean of the largest TPR gap and the largest FPR gap */
    double equalized_odds_max; /* the larger of the two: Fairlearn's equalized_odds_difference */
    double risk_disparity;     /* largest |mean CE of a group - mean CE|; NaN without logits */
    uint32_t n, n_groups, classes;
    uint32_t predicted_classes;     /* how many classes occur among the predictions; 1: constant */
    double recall[FIS_MAX_CLASSES]; /* NaN for a class without rows */
    struct fis_group_metrics {
        uint32_t n;
        double accuracy;
        double positive_rate; /* P(yhat = positive) */
        double tpr, fpr;      /* of `positive` */
    } group[FIS_MAX_GROUPS];
};
double fis_metrics_of(const struct fis_metrics *m, enum fis_metric metric); /* the one asked for */
void fis_metrics_none(struct fis_metrics *out); /* nothing was measured: no rows, all NaN */

/* predictions [n]; logits [n][K] for the risk, or NULL. `rows`: n indices into the arrays, or
 * NULL for 0..n-1 (resamples, folds). */
void fis_metrics_eval(const uint32_t *predictions, const float *logits, const uint32_t *labels,
                      const uint32_t *groups, const uint32_t *rows, uint32_t n, uint32_t classes,
                      uint32_t n_groups, uint32_t positive, struct fis_metrics *out);
/* In its place, for rows that are not to be taken as they are (noisy labels). By position i: the
 * arrays, and source: the index of the learner's validation row. */
typedef void fis_metrics_fn(void *arg, const uint32_t *predictions, const float *logits,
                            const uint32_t *labels, const uint32_t *groups, const uint32_t *source,
                            const uint32_t *rows, uint32_t n, uint32_t classes, uint32_t n_groups,
                            uint32_t positive, struct fis_metrics *out);

#define FIS_INTERVAL_LEVEL .95
#define FIS_INTERVAL_Z 1.959963984540054
struct fis_half_width { /* in standard errors: FIS_INTERVAL_Z, or more: see fis_metrics_enclose */
    double accuracy, gap;
};
#define FIS_HALF_WIDTH ((struct fis_half_width){FIS_INTERVAL_Z, FIS_INTERVAL_Z})

struct fis_interval {
    double low, high, se; /* holds the value; se: the upper half over z */
};
struct fis_metrics_intervals {
    double level; /* FIS_INTERVAL_LEVEL */
    struct fis_interval accuracy, demographic_parity, equal_opportunity, equalized_odds,
        equalized_odds_max, risk_disparity;
};
/* Of the gap that is asked for. */
const struct fis_interval *fis_interval_of(const struct fis_metrics_intervals *in,
                                           enum fis_metric metric);
/* Intervals from counts: no resampling, which is certain of a rate of 0 or 1 and of a cell of one
 * row, and takes the bias of a maximum for its value.
 *   a rate    Wilson's score interval (1927)
 *   a - b     Newcombe's hybrid of two (1998, method 10): d - hypot(a - low_a, high_b - b) to
 *             d + hypot(high_a - a, b - low_b); the mean of two gaps likewise (MOVER: Zou and
 *             Donner, 2008)
 *   a gap     the largest of all differences, each with both signs. Up to the largest upper limit:
 *             that of the true maximum is among them. From the largest lower limit, or 0; lower
 *             limits hold together (Bonferroni) for those whose upper limit reaches it
 *   a risk    a group's mean less that of the others, by Student's t; a group under 30 rows has at
 *             least the spread of all
 * z: FIS_HALF_WIDTH, or more where what is measured was chosen on the same rows (fis/gate.h).
 * Metrics that are not estimable have no interval: NaN. */
void fis_metrics_enclose(const uint32_t *predictions, const float *logits, const uint32_t *labels,
                         const uint32_t *groups, uint32_t n, uint32_t classes, uint32_t n_groups,
                         uint32_t positive, struct fis_half_width z,
                         struct fis_metrics_intervals *out);

/* The smallest gap that rows like these can tell from none, at the 5 % level with a power of 80 %:
 * (1.96 + .84) sqrt(p (1 - p) (1/n1 + 1/n2)) for the two groups with the fewest rows of the cell,
 * p the rate there. Of the mean of two gaps: half of the root of their sum of squares.
 * cells [n_groups][classes]: rows. m: what a model does there, or NULL: the labels' own rate of the
 * positive class, and one half within a class. NaN: more than 1, or unknown (the risk). */
double fis_detectable_gap(enum fis_metric metric, const double *cells, uint32_t classes,
                          uint32_t n_groups, uint32_t positive, const struct fis_metrics *m);

void fis_predict(const float *logits, uint32_t n, uint32_t classes, uint32_t *predictions);

#ifdef __cplusplus
}
#endif

#endif
