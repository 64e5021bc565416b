/*
 * The files of initial and validation examples, as --check-config and a start look at them: read
 * whole, every fault of both reported at once, so that what the one refuses the other does too.
 */
#ifndef DAEMON_EXAMPLE_FILES_H
#define DAEMON_EXAMPLE_FILES_H

#include <stdbool.h>

#include "config/config.h"

/* Nothing is refused where no trainer would read a file. warn: what is no fault goes to standard
 * error; a start logs it when it leads. */
void example_files_look(const struct config *cfg, bool warn, config_refuse_fn *refuse, void *ctx);

#endif
