/*
 * A run as files for fisd: the same split, and the versions that the run published, so that the
 * same pipeline can be run by a daemon and compared.
 *
 * DIR/TASK.METRIC.METHOD.SEED/: fisd.yaml (mode pool, one partition), initial.csv, validation.csv,
 * pool.csv (id and features), answers.csv (id and label), test.csv, versions.jsonl.
 */
#ifndef LAB_FILES_H
#define LAB_FILES_H

#include "lab/run.h"

/* Hooks of runs, on any number of threads; `folder` is borrowed and must exist. */
struct lab_hooks lab_files_hooks(const char *folder);

#endif
