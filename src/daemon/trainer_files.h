/*
 * A look at the files of a trainer that is about to stand by: the initial and the validation set,
 * where they are files. Nothing of them is kept, for they may be others when it leads; but who says
 * that it can lead has been able to read them once.
 *
 * Thread: the loop, which it holds up for as long as reading takes.
 */
#ifndef DAEMON_TRAINER_FILES_H
#define DAEMON_TRAINER_FILES_H

#include "daemon/pipeline.h"

/* The errors of trainer_load, in its words. */
int trainer_files_check(const struct pipeline *p, struct fis_error *e) FIS_MUST_CHECK;

#endif
