/* Between the files that make a run. */
#ifndef LAB_RUN_IMPL_H
#define LAB_RUN_IMPL_H

#include "lab/run.h"

/* New directions at the anchor, and what hangs on them: the panel, the kept sets, the method's own
 * state. Directions are left out for methods that do not use them. */
int lab_refresh(struct lab_run *r, struct fis_error *e) FIS_MUST_CHECK;
/* One round without its end: score, buy, train. */
int lab_round(struct lab_run *r, struct fis_error *e) FIS_MUST_CHECK;

#endif
