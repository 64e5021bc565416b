/*
 * SIGHUP: the configuration is read again. What may change while fisd runs is in force from then
 * on; what differs and may not is named in the log and waits for a restart. A file with a mistake
 * changes nothing.
 *
 * Thread: the loop. Nothing that runs on a worker reads those options.
 */
#ifndef DAEMON_RELOAD_H
#define DAEMON_RELOAD_H

#include "daemon/runtime/runtime.h"

void reload(struct runtime *rt);

#endif
