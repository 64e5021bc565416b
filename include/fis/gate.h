/*
 * The gate: which point between the anchor and the boosted copies may be published, and whether
 * it replaces what is served.
 *
 * Candidates are the 11 points anchor + a (boosted - anchor), a = 0, .1, … 1 (weights are
 * interpolated as in WiSE-FT and model soups). folds = 1: judged on the gate half. folds = 2
 * (cross-fit): every validation row is judged by the point of the copy that did not see it, a is
 * chosen on all rows, and the mean of the two points is published.
 * Admissible: accuracy >= max(anchor's, VAL_0) - epsilon, with floor_errors standard errors to
 * spare; a = 0 is so whenever it meets VAL_0 - epsilon. The pick is the admissible point with the
 * least violation. It replaces what is served when
 *   - its violation is smaller by more than `standard_errors` bootstrap standard errors of the
 * (paired) difference, or
 *   - what is served has fallen below the newest anchor's accuracy - epsilon.
 * Every comparison is written so that NaN means reject.
 */
#ifndef FIS_GATE_H
#define FIS_GATE_H

#include <stdbool.h>

#include "fis/learner.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fis_verdict { FIS_PUBLISH = 1, FIS_REJECT };

enum fis_gate_reason {
    FIS_GATE_FIRST = 1,   /* publish: the warm-up model, nothing is served yet */
    FIS_GATE_FAIRER,      /* publish: by more than the standard error */
    FIS_GATE_SERVED_AGED, /* publish: what is served has fallen below the floor */
    FIS_GATE_ALWAYS,      /* publish: rule `always`, admissible */
    FIS_GATE_NOT_FAIRER,  /* reject */
    FIS_GATE_BELOW_FLOOR, /* reject: no point keeps the accuracy */
    FIS_GATE_NOT_FINITE,  /* reject: loss, weights or a metric not finite */
    FIS_GATE_FEW_ROWS,    /* reject: fewer validation rows than min_rows */
    FIS_GATE_SMALL_CELL,  /* reject: a cell the metric needs is too small */
    FIS_GATE_CONSTANT,    /* reject: a constant predictor is no improvement */
    FIS_GATE_PINNED       /* reject: it would be published, but what is served is held */
};
const char *fis_gate_reason_name(enum fis_gate_reason r); /* "fairer", "cell_too_small", … */

enum fis_gate_rule { FIS_GATE_RULE_FAIRER = 1, FIS_GATE_RULE_ALWAYS };

struct fis_gate_options {
    enum fis_metric metric;
    uint32_t positive;
    double epsilon;      /* .005 */
    double floor_errors; /* standard errors of its accuracy's (paired) difference from the
                            anchor that a point must have to spare above the floor: 1 makes up
                            for the optimism of picking one of eleven; 0: the bare floor */
    uint32_t min_rows;   /* 500 */
    uint32_t min_cell;   /* 30 */
    uint32_t warn_cell;  /* 100 */
    enum fis_gate_rule rule;
    double standard_errors; /* 1 */
    uint32_t resamples;     /* 200 */
    bool strict;            /* accuracy above the floor, not on it, as Algorithm 1 has it */
    uint64_t seed;
};

/* The accuracy that a model must have: the greater one of VAL_0 and the anchor's accuracy, less
 * epsilon, and floor_errors standard errors `se` of its difference from the anchor to spare.
 * -INFINITY: that one does not count. NaN of any is NaN, which nothing reaches. */
double fis_gate_floor(const struct fis_gate_options *o, double val0, double anchor, double se);

struct fis_gate_judgement {
    enum fis_verdict verdict;
    enum fis_gate_reason reason;
    char text[FIS_ERROR_TEXT]; /* the reason with its numbers, for people */
    double interpolation;      /* a of the pick: its share of the first end point */
    double second;             /* of the second one, where there are two */
    /* On the rows of the gate; n = 0 and NaN where nothing was measured (served at first). pick: of
     * a rejection that found no admissible point, the anchor's. */
    struct fis_metrics pick, anchor, served;
    struct fis_metrics_intervals intervals; /* of the pick */
    double floor;                           /* the accuracy that was asked for */
    double difference, difference_se;       /* violation served - pick, paired */
    uint32_t looks; /* how often this gate set has been looked at, this one included */
    uint32_t smallest_cell;
    int warn_cell; /* smallest cell under warn_cell */
};

struct fis_gate; /* remembers VAL_0, the served pair of points and the looks */
struct fis_gate *fis_gate_new(const struct fis_gate_options *o, const struct fis_shape *shape,
                              struct fis_error *e);
void fis_gate_free(struct fis_gate *g);

/* The warm-up model: sets VAL_0 and what is served. INPUT: validation accuracy or loss is not
 * finite (start refused), or the metric could never be estimated from such rows (no row of the
 * positive class, or none of another). A cell that is empty in one group only is reported in the
 * judgement's text, and its metric is NaN. */
int fis_gate_first(struct fis_gate *g, const struct fis_learner *t, struct fis_gate_judgement *j,
                   float *params /* slab out */, struct fis_error *e) FIS_MUST_CHECK;

/* Judges the learner's end points. On FIS_PUBLISH params (slab) is what to publish, and it becomes
 * what is served. Negative only for NOMEM. Pure: the same inputs give the same judgement. */
int fis_gate_judge(struct fis_gate *g, const struct fis_learner *t, struct fis_gate_judgement *j,
                   float *params, struct fis_error *e) FIS_MUST_CHECK;

/* Other points than those: anchor + sum_i share[i] (end[i] - anchor). */
#define FIS_GATE_MAX_ENDS 2
#define FIS_GATE_MAX_POINTS 32
struct fis_gate_points {
    const float *anchor; /* slab */
    uint32_t n_ends;
    /* Slabs. [h]: the one that judges the rows which fold h's copy did not see. The same one twice
     * when it saw none of the rows that judge. */
    const float *end[FIS_GATE_MAX_ENDS][2];
    uint32_t n;                                          /* 1 or more */
    float share[FIS_GATE_MAX_POINTS][FIS_GATE_MAX_ENDS]; /* [0]: all 0. Near the anchor first */
};
void fis_gate_points_of(const struct fis_learner *t, struct fis_gate_points *p); /* the 11 */
int fis_gate_judge_points(struct fis_gate *g, const struct fis_learner *t,
                          const struct fis_gate_points *p, struct fis_gate_judgement *j,
                          float *params, struct fis_error *e) FIS_MUST_CHECK;

/* Measures predictions in place of fis_metrics_eval, on rows that are not to be taken as they are
 * (noisy labels). By position i: predictions, logits, labels, groups, and source: the index of the
 * learner's validation row. rows: n positions, or NULL for 0..n-1. Intervals stay those of the
 * rows as they are. */
typedef void fis_gate_measure_fn(void *arg, const uint32_t *predictions, const float *logits,
                                 const uint32_t *labels, const uint32_t *groups,
                                 const uint32_t *source, const uint32_t *rows, uint32_t n,
                                 uint32_t classes, uint32_t n_groups, uint32_t positive,
                                 struct fis_metrics *out);
void fis_gate_measure_with(struct fis_gate *g, fis_gate_measure_fn *fn, void *arg); /* NULL: none */
double fis_gate_val0(const struct fis_gate *g);
/* Rows that judge, in the smallest cell that the metric needs: what min_cell and warn_cell bound.
 */
uint32_t fis_gate_smallest_cell(const struct fis_gate *g, const struct fis_learner *t);
/* The validation rows have changed: VAL_0 as it would be on them. */
void fis_gate_rebase(struct fis_gate *g, double val0);
/* Resuming: VAL_0 and the served version's slab as stored (both folds' points become it). */
void fis_gate_restore(struct fis_gate *g, double val0, const float *served, uint32_t looks);

/* Held (on != 0): what is served stays. A judgement that would be PUBLISH is REJECT with PINNED,
 * its figures unchanged. Not for fis_gate_first. */
void fis_gate_hold(struct fis_gate *g, int on);
/* The point whose figures the last judgement gave as `pick`, as it would be published (slab; valid
 * until the next judgement): of a rejection without an admissible point, the anchor. NULL: nothing
 * was measured, or the weights are not finite. */
const float *fis_gate_picked(const struct fis_gate *g);

/* VAL_0, the looks and the served pair of points; not whether it is held. `out` has save_size
 * bytes; little-endian. After load, judgements are those of the saved one to the bit. */
size_t fis_gate_save_size(const struct fis_gate *g);
void fis_gate_save(const struct fis_gate *g, void *out);
/* INPUT: not what save wrote, or of another format or shape; nothing is changed then. */
int fis_gate_load(struct fis_gate *g, const void *in, size_t size,
                  struct fis_error *e) FIS_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
