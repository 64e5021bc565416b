/*
 * The gate's comparisons, apart from what computes the figures, so that a test can plant NaN in
 * each of them. Every one is written so that NaN means reject.
 */
#ifndef CORE_GATE_RULE_H
#define CORE_GATE_RULE_H

#include "fis/gate.h"

struct gate_figures {
    double val0;
    const struct fis_metrics *anchor;
    const struct fis_metrics *served; /* NULL: nothing is served */
    double difference, difference_se; /* of violation, served - pick */
    bool strict;                      /* > and not >= at the floor, as Algorithm 1 has it */
    bool odds_estimable[2];           /* whether the rows let EOp and EOd be estimated at all */
};

/* Whether a metric that the rows let be estimated is missing: accuracy, balanced accuracy, the
 * metric asked for, and each of the others. */
bool gate_metrics_finite(const struct fis_gate_options *o, const struct gate_figures *f,
                         const struct fis_metrics *m);
/* The accuracy that a point must reach: the anchor itself (a = 0) is measured against VAL_0;
 * another one must have floor_errors standard errors `se` of its difference from the anchor to
 * spare. */
double gate_floor(const struct fis_gate_options *o, const struct gate_figures *f, int is_anchor,
                  double se);
bool gate_admissible(const struct fis_gate_options *o, const struct gate_figures *f,
                     const struct fis_metrics *m, int is_anchor, double se);
/* Standard error of the difference of two accuracies on the same n rows, of which the one alone is
 * right on `one` and the other alone on `other`. */
double gate_accuracy_se(uint32_t one, uint32_t other, uint32_t n);
/* Verdict and reason for an admissible pick that is not constant. */
enum fis_verdict gate_decide(const struct fis_gate_options *o, const struct gate_figures *f,
                             const struct fis_metrics *pick, enum fis_gate_reason *reason);

#endif
