/*
 * The files of a trainer: the initial and the validation set, where they are files; and a look at
 * them when it is about to stand by. Nothing of that look is kept, for they may be others when it
 * leads; but who says that it can lead has been able to read them once.
 *
 * Thread: the loop, which it holds up for as long as reading takes.
 */
#ifndef DAEMON_TRAINER_FILES_H
#define DAEMON_TRAINER_FILES_H

#include "daemon/context/pipeline.h"
#include "data/examples.h"

/* *encoder: NULL is made one that is fitted on the file. Both are the caller's. */
int trainer_files_initial(const struct pipeline *p, struct fis_encoder **encoder,
                          struct data_examples *rows, struct fis_error *e) FIS_MUST_CHECK;
int trainer_files_validation(const struct pipeline *p, struct fis_encoder **encoder,
                             struct data_examples *rows, struct fis_error *e) FIS_MUST_CHECK;

int trainer_files_check(const struct pipeline *p, struct fis_error *e) FIS_MUST_CHECK;

#endif
