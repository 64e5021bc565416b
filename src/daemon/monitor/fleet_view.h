/*
 * All processes of the pipeline together. Thread: the loop. Owns: nothing.
 */
#ifndef DAEMON_FLEET_VIEW_H
#define DAEMON_FLEET_VIEW_H

#include "daemon/monitor/status.h"

/* Over this process and those of the others that are not silent. */
struct fleet_sums {
    uint32_t processes, silent; /* silent: others, besides */
    uint32_t scorers, scorers_ready;
    uint32_t trainers, trainers_ready; /* the leader, and standbys that can take over */
    double per_second;                 /* records scored by all scorers */
    uint64_t records;                  /* since each began */
    int64_t lag;                       /* of all; -1: one does not know it yet, or there is none */
    const struct wire_process *leader; /* NULL: none leads */
};
struct fleet_sums fleet_view_sums(const struct status *s);

#endif
