/* Publication through the gate, for every method that has a choice of points to publish. */
#ifndef LAB_POINTS_H
#define LAB_POINTS_H

#include "lab/run.h"

/* The gate's pick among the points goes to params. Where it refuses: once at the end, the anchor
 * stands; with the rule of replacement, params keeps what is served. */
int lab_points_publish(struct lab_run *r, const struct fis_gate_points *p, int last, float *params,
                       struct fis_error *e) FIS_MUST_CHECK;

#endif
