/* One seed from beginning to end. */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "sim_faults.h"

struct sim_totals {
    uint64_t seeds, steps, faults[SIM_FAULT_KINDS];
    uint64_t units, requests, answers, versions, leaders, scans, halts, forgotten;
    int64_t virtual_ms;
};

/* False: something was violated; it was printed, with the way to see it again. *hash: of the trace;
 * the same seed has the same one. */
bool sim_run(uint64_t seed, bool trace, const char *planted, struct sim_totals *totals,
             uint64_t *hash);

#endif
