/* What the gate has picked, for every method that has a choice of points to publish. */
#ifndef LAB_POINTS_H
#define LAB_POINTS_H

#include "lab/run.h"

/* After a judgement in *r->judgement, which wrote params on FIS_PUBLISH. Where it refused: once at
 * the end, the anchor stands; with the rule of replacement, params keeps what is served. */
int lab_points_take(struct lab_run *r, int last, float *params);

#endif
