/*
 * The files of initial and validation examples, as --check-config looks at them: whether they are
 * there and may be read by who asks. What is in them is read by the start alone (trainer_rows,
 * trainer_files): it takes long, and needs an encoder.
 */
#ifndef DAEMON_EXAMPLE_FILES_H
#define DAEMON_EXAMPLE_FILES_H

#include "config/config.h"

/* A config_look_fn. Nothing is refused where no trainer would read a file. */
void example_files_look(const struct config *cfg, config_refuse_fn *refuse, void *ctx);

#endif
