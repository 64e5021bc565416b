/*
 * The gate: which point of the line may be published, and whether it replaces what is served.
 *
 * The line (core/line.h) begins at the anchor and closes the gaps between groups to first order at
 * a = 1; candidates are its points anchor + a step, a = 0, .025, … 1.5. It is cross-fitted: rows of
 * a fold are judged on the line that the rows of the other folds guide, a is chosen on all rows,
 * and the point of the line of all rows is published. With noise on directions (fis/privacy.h) the
 * line leads against the newest direction of unfairness instead, which all folds share. Admissible:
 * a = 0, and points whose accuracy is below the anchor's by epsilon at most, or by half of it while
 * no gap is detectable (`undetectable`). That difference is estimated from calibrated probabilities
 * of the anchor in place of the labels, which have a multiple of their noise (core/line.h). The
 * pick is the admissible point with the least violation. It replaces what is served when
 *   - its violation is smaller by more than `standard_errors` bootstrap standard errors of the
 *     (paired) difference, or
 *   - what is served has fallen below the newest anchor's accuracy - epsilon, or
 *   - its accuracy is greater by more than `standard_errors` standard errors of the difference, and
 *     its violation not greater by so many (not `strict`);
 * but never when its accuracy is below that of what is served by more than epsilon and two standard
 * errors of the difference: an anchor that has gone bad is no reason to follow it.
 * Without `line` the anchor is judged as it is: admissible when its accuracy is at least VAL_0 -
 * epsilon.
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
    FIS_GATE_FIRST = 1,     /* publish: the warm-up model, nothing is served yet */
    FIS_GATE_FAIRER,        /* publish: by more than the standard error */
    FIS_GATE_SERVED_AGED,   /* publish: what is served has fallen behind the anchor */
    FIS_GATE_MORE_ACCURATE, /* publish: by more than the standard error, and not less fair by one */
    FIS_GATE_ALWAYS,        /* publish: rule `always`, admissible */
    FIS_GATE_NOT_FAIRER,    /* reject */
    FIS_GATE_BELOW_FLOOR,   /* reject: no point keeps the accuracy */
    FIS_GATE_NOT_FINITE,    /* reject: loss, weights or a metric not finite */
    FIS_GATE_FEW_ROWS,      /* reject: fewer validation rows than min_rows */
    FIS_GATE_SMALL_CELL,    /* reject: a cell the metric needs is too small */
    FIS_GATE_CONSTANT,      /* reject: a constant predictor is no improvement */
    FIS_GATE_PINNED         /* reject: it would be published, but what is served is held */
};
const char *fis_gate_reason_name(enum fis_gate_reason r); /* "fairer", "cell_too_small", … */

enum fis_gate_rule { FIS_GATE_RULE_FAIRER = 1, FIS_GATE_RULE_ALWAYS };

struct fis_gate_options {
    enum fis_metric metric;
    uint32_t positive;
    double epsilon;     /* .0025 */
    bool line;          /* points of the line, against the anchor; not VAL_0 */
    uint32_t min_rows;  /* 500 */
    uint32_t min_cell;  /* 30 */
    uint32_t warn_cell; /* 100 */
    enum fis_gate_rule rule;
    double standard_errors; /* 1 */
    uint32_t resamples;     /* 200 */
    bool strict;            /* accuracy above the floor, not on it, as Algorithm 1 has it */
    uint64_t seed;
};

struct fis_gate_judgement {
    enum fis_verdict verdict;
    enum fis_gate_reason reason;
    char text[FIS_ERROR_TEXT]; /* the reason with its numbers, for people */
    double interpolation;      /* a of the pick */
    double change; /* the pick's accuracy less the anchor's, as estimated; NaN without `line` */
    /* On the rows of the gate; n = 0 and NaN where nothing was measured (served at first). pick: of
     * a rejection that found no admissible point, the anchor's. */
    struct fis_metrics pick, anchor, served;
    /* Of the pick; wider for having been chosen among the points: see core/gate_choice.h. */
    struct fis_metrics_intervals intervals;
    double detectable; /* the smallest gap of this metric that the rows can tell from none */
    bool undetectable; /* the anchor's gap is below it and its interval reaches 0: there is nothing
                          to close that the rows show */
    double floor;      /* the accuracy that was required */
    double difference, difference_se; /* violation served - pick, paired */
    uint32_t looks; /* how often this gate set has been looked at, this one included */
    uint32_t smallest_cell;
    bool warn_cell; /* smallest cell under warn_cell */
};

struct fis_gate; /* remembers VAL_0, what is served (a point a fold) and the looks */
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

/* Other points than those: from + share (to - from). */
#define FIS_GATE_MAX_POINTS 32
struct fis_gate_points {
    /* Slabs. [h]: of the line that judges the rows of fold h of the learner, one for each of its
     * folds; and what is published. to: NULL where n is 1. */
    const float *from[FIS_MAX_FOLDS], *to[FIS_MAX_FOLDS], *publish_from, *publish_to;
    uint32_t n;                       /* 1 or more */
    float share[FIS_GATE_MAX_POINTS]; /* [0]: 0. Near the anchor first */
};
int fis_gate_judge_points(struct fis_gate *g, const struct fis_learner *t,
                          const struct fis_gate_points *p, struct fis_gate_judgement *j,
                          float *params, struct fis_error *e) FIS_MUST_CHECK;

/* Intervals stay those of the rows as they are. fn NULL: fis_metrics_eval. */
void fis_gate_measure_with(struct fis_gate *g, fis_metrics_fn *fn, void *arg);
/* The floor of accuracy: reference - epsilon and, with `line`, two standard errors less. */
double fis_gate_floor(const struct fis_gate_options *o, double reference, double se);
double fis_gate_val0(const struct fis_gate *g);
/* Rows that judge, in the smallest cell that the metric needs: what min_cell and warn_cell bound.
 */
uint32_t fis_gate_smallest_cell(const struct fis_gate *g, const struct fis_learner *t);
/* The smallest gap that these rows can tell from none, before there is a model
 * (fis_detectable_gap). No allocation. */
double fis_gate_detectable(const struct fis_gate *g, const struct fis_learner *t);
/* The validation rows have changed: VAL_0 as it would be on them. */
void fis_gate_rebase(struct fis_gate *g, double val0);
/* Resuming: VAL_0 and the served version's slab as stored (every fold's point becomes it). */
void fis_gate_restore(struct fis_gate *g, double val0, const float *served, uint32_t looks);

/* The validation rows as what is served sees them, where its base has other margins; NULL: as the
 * learner has them. Borrowed: until another call, or other validation rows. */
void fis_gate_served_rows(struct fis_gate *g, const float *x);

/* Held (on): what is served stays. A judgement that would be PUBLISH is REJECT with PINNED,
 * its figures unchanged. Not for fis_gate_first. */
void fis_gate_hold(struct fis_gate *g, bool on);
/* The point whose figures the last judgement gave as `pick`, as it would be published (slab; valid
 * until the next judgement): of a rejection without an admissible point, the anchor. NULL: nothing
 * was measured, or the weights are not finite. */
const float *fis_gate_picked(const struct fis_gate *g);

/* VAL_0, the looks and what is served; not whether it is held. `out` has save_size
 * bytes; little-endian. After load, judgements are those of the saved one to the bit. */
#define FIS_GATE_SAVED_SLABS FIS_MAX_FOLDS /* and some numbers */
size_t fis_gate_save_size(const struct fis_gate *g);
void fis_gate_save(const struct fis_gate *g, void *out);
/* INPUT: not what save wrote, or of another format or shape; nothing is changed then. */
int fis_gate_load(struct fis_gate *g, const void *in, size_t size,
                  struct fis_error *e) FIS_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
