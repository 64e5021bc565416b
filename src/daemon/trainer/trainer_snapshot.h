/*
 * What a trainer role shows, copied at a moment when it may be looked at: a job that runs owns the
 * role, and what is shown meanwhile is what was there when it began.
 *
 * Thread: the loop. Owns: copies; strings of the role are copied too.
 */
#ifndef DAEMON_TRAINER_SNAPSHOT_H
#define DAEMON_TRAINER_SNAPSHOT_H

#include "daemon/trainer/trainer_status.h"

struct trainer_snapshot {
    struct trainer_role_counts counts;
    struct trainer_view view;
    char control_id[FIS_ID_MAX + 1], control_text[FIS_ERROR_TEXT];
    const char *criteria[FIS_MAX_CRITERIA];
    uint32_t n_criteria, n_best, n_open;
    struct trainer_best best[FIS_MAX_CRITERIA * STATUS_BEST];
    struct trainer_open open[STATUS_REQUESTS];
    uint64_t answers, answered_ms;        /* answers so far; when the last came, 0: none did */
    uint64_t validation_sets, changed_ms; /* of the validation rows */
};

/* No job runs. now_ms: runtime clock. best: the heaps' best too, which costs as much as there is in
 * them; else those of the last time stay. */
void trainer_snapshot_take(struct trainer_snapshot *s, const struct trainer_role *role,
                           uint64_t now_ms, bool best);
/* The trainer's part of the status, but for what the hosts know. */
void trainer_snapshot_show(const struct trainer_snapshot *s, uint64_t now_ms,
                           struct trainer_status *out);

#endif
