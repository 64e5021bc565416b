/*
 * Noise in what guides and judges: wrong labels and wrong group memberships among the validation
 * rows, noise on the directions that scorers get; and what can be done against it.
 *
 * Wrong labels are uniform: a row's label is another class with probability label_noise, its group
 * another group with probability group_noise. The test rows and the labels that are bought stay
 * true. Noise on directions goes on those that score alone, as it does in a daemon; the check of
 * true labels stays with the holder of the validation rows.
 *
 * Corrections:
 *   forward  loss: -log (p T)_y, T[k][j] the probability that class k is labelled j (Patrini and
 *            others, 2017). Its gradient is that of the cross-entropy at the posterior of the true
 *            class, p_k T[k][y] / (p T)_y; and a row belongs to the cells that fairness compares by
 *            that posterior, and by the one of its true group. So do rows in what the gate
 * measures. trim     validation rows whose label the model contradicts with confidence are left
 * out. both     the second, then the first on what is left. For the guide rows that changes both
 * directions (and so the check of labels); for the gate, what a point is measured by. The gate's
 * intervals are of the rows as they are. What is not noisy is not corrected.
 *
 * p is the anchor's (for the gate, at the last refresh); for groups, a linear model of the noisy
 * memberships, brought back by the matrix's inverse. The inverses alone would give means without
 * bias and without use: with 20 % of noise a cell of 60 rows is then known to +- .15.
 *
 * T is given (the true one) or estimated: classes by maximum likelihood under the anchor's
 * probabilities, groups by anchor points (Patrini) of the linear model.
 */
#ifndef LAB_NOISE_H
#define LAB_NOISE_H

#include "lab/run.h"

enum lab_correction {
    LAB_CORRECT_NONE,
    LAB_CORRECT_FORWARD,
    LAB_CORRECT_TRIM,
    LAB_CORRECT_BOTH,
    LAB_CORRECTIONS
};
enum lab_correct_where {
    LAB_CORRECT_GUIDE = 1,
    LAB_CORRECT_GATE = 2,
    LAB_CORRECT_GUIDE_AND_GATE = 3
};
/* "none", "forward", …; "guide", "gate", "both". */
int lab_correction_find(const char *name, enum lab_correction *out,
                        struct fis_error *e) FIS_MUST_CHECK;
int lab_correct_where_find(const char *name, enum lab_correct_where *out,
                           struct fis_error *e) FIS_MUST_CHECK;

struct lab_noise_options {
    double label_noise, group_noise; /* 0 .. < 1 - 1/classes (groups) where corrected */
    double direction_noise;          /* deviations of a direction's RMS per coordinate */
    enum lab_correction correction;
    enum lab_correct_where where;
    bool estimate;     /* the matrices; else they are known */
    double confidence; /* of a contradiction that is trimmed: .9 */
};
/* No noise, no correction. */
void lab_noise_default(struct lab_noise_options *o);

/* Hooks that make a run noisy. *o is borrowed, for the run, and may be shared by runs on several
 * threads; what a run needs of its own hangs on lab_run.hook_state. The seed is the run's. */
struct lab_hooks lab_noise_hooks(const struct lab_noise_options *o);

#endif
