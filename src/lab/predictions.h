/*
 * What published models say of the test rows, as CSV, for other programs to judge.
 *
 * DIR/TASK.METRIC.METHOD.SEED.csv: a first line "# {JSON}" with the run's key and figures,
 * then label,group,prediction (indices). It holds sensitive attributes of public data sets.
 */
#ifndef LAB_PREDICTIONS_H
#define LAB_PREDICTIONS_H

#include "lab/run.h"

/* Hooks of runs, on any number of threads; `folder` is borrowed and must exist. */
struct lab_hooks lab_predictions_hooks(const char *folder);

#endif
