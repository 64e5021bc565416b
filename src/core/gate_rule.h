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
    double gain, gain_se;             /* of accuracy, pick - served */
    bool undetectable;                /* of the anchor: the rows show no gap */
    bool strict;                      /* > and not >= at the floor, as Algorithm 1 has it */
    bool odds_estimable[2];           /* whether the rows let EOp and EOd be estimated at all */
};

/* Whether a metric that the rows let be estimated is missing: accuracy, balanced accuracy, the
 * metric asked for, and each of the others. */
bool gate_metrics_finite(const struct fis_gate_options *o, const struct gate_figures *f,
                         const struct fis_metrics *m);
/* The accuracy that a pick must have: on a line, that of what is served less epsilon and two
 * standard errors of the difference (-INFINITY when nothing is served); else VAL_0 less epsilon. */
double gate_floor(const struct fis_gate_options *o, const struct gate_figures *f);
/* A point of a line: change: its accuracy less the anchor's, as estimated; -epsilon or more, and
 * half of that while no gap is detectable. The anchor (is_anchor) of a line is admissible;
 * without a line it is measured against VAL_0. */
bool gate_admissible(const struct fis_gate_options *o, const struct gate_figures *f,
                     const struct fis_metrics *m, bool is_anchor, double change);
/* Verdict and reason for an admissible pick that is not constant. */
enum fis_verdict gate_decide(const struct fis_gate_options *o, const struct gate_figures *f,
                             const struct fis_metrics *pick, enum fis_gate_reason *reason);

#endif
