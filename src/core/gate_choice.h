/*
 * What is reported of the pick was measured on the rows that chose it. Limits that hold for all
 * points of the line together hold for the one that was chosen, whatever chose it (Berk, Brown,
 * Buja, Zhang and Zhao, "Valid post-selection inference", 2013): instead of the normal quantile,
 * the quantile of the largest of the points' standardised errors, by their covariance on the rows.
 * Points of a line are nearly alike, so it is little above it (2.0 to 2.3 for 16 points).
 */
#ifndef CORE_GATE_CHOICE_H
#define CORE_GATE_CHOICE_H

#include "core/interpolate.h"

struct gate_choice {
    const struct gate_rows *rows;
    uint32_t points;     /* taken so far */
    uint32_t *predicted; /* [points][n] predictions */
    float *loss;         /* [points][n] cross-entropies; NULL: the metric does not need them */
    double *value;       /* [points][n] work */
    uint32_t *cell;      /* [n] likewise */
};

int gate_choice_init(struct gate_choice *c, const struct gate_rows *rows, uint32_t points,
                     enum fis_metric metric, struct fis_error *e);
void gate_choice_done(struct gate_choice *c); /* fine when zeroed */
/* A point that may be chosen. */
void gate_choice_take(struct gate_choice *c, const struct judged *j);
/* The half widths, in standard errors, of intervals at FIS_INTERVAL_LEVEL for accuracy and for gaps
 * as the metric has them: FIS_INTERVAL_Z or more. */
struct fis_half_width gate_choice_width(struct gate_choice *c, enum fis_metric metric,
                                        uint64_t seed);

#endif
