/*
 * Who has paused the asking: the last such command on the topic `control`.
 * Thread: one owner. Owns: nothing.
 */
#ifndef CLI_LAST_PAUSE_H
#define CLI_LAST_PAUSE_H

#include "cli/ledger_view.h"
#include "cli/cli.h"

/* *out has no name when the topic cannot be read, or has lost the command: then it is not known,
 * and that it is paused is known all the same. */
void last_pause_read(struct cli *c, struct asking_pause *out);

#endif
