/*
 * The model versions that this process has seen: those of the models topic, as a session reads
 * them, and those that its trainer publishes. The newest VERSION_LOG_MAX are kept, and counts of
 * all; the models themselves of the newest, VERSION_LOG_BYTES of them, and of what is served.
 *
 * Thread: the loop. Owns: what it keeps, allocated once.
 */
#ifndef DAEMON_VERSION_LOG_H
#define DAEMON_VERSION_LOG_H

#include <stdbool.h>

#include "wire/types.h"

#define VERSION_LOG_MAX 200
#define VERSION_LOG_REASONS 24
#define VERSION_LOG_BYTES ((size_t)64 << 20)

struct version_info {
    uint64_t version, parent; /* parent: what was served before; 0: nothing */
    int64_t created_at_ms;
    bool served;      /* it was published; 0: rejected */
    char verdict[16]; /* "publish", "reject" */
    char reason[32];  /* fis_gate_reason_name, WIRE_ROLLED_BACK, "promoted" */
    char text[FIS_ERROR_TEXT];
    char metric[32], algorithm[16];
    double epsilon, val0, floor, difference, difference_se, detectable,
        interpolation; /* NaN: not measured */
    uint32_t looks, smallest_cell, round;
    bool warn_cell, undetectable;
    uint64_t labels_bought, labels_kept, head_version;
    struct fis_metrics metrics, anchor; /* n 0: not measured */
    struct fis_metrics_intervals intervals;
    struct byte_buffer model; /* for wire_model_decode; empty: it is no longer kept */
};

struct version_reason {
    char verdict[16], reason[32];
    uint64_t count;
};

struct version_log;
struct version_log *version_log_new(struct fis_error *e);
void version_log_free(struct version_log *l);

/* A version that is there already (by its number) is passed over, so the topic may be read again.
 */
void version_log_add(struct version_log *l, const struct wire_model *m);

/* One that is sent: it is added when that is committed, and forgotten else. */
void version_log_hold(struct version_log *l, const struct wire_model *m);
void version_log_settle(struct version_log *l, bool committed);

uint32_t version_log_count(const struct version_log *l); /* kept */
/* By age: 0 is the newest. Valid until the next add. */
const struct version_info *version_log_at(const struct version_log *l, uint32_t i);
const struct version_info *version_log_find(const struct version_log *l, uint64_t version);
const struct version_info *version_log_served(const struct version_log *l); /* newest; or NULL */

/* Verdicts by reason, over all versions seen. */
const struct version_reason *version_log_reasons(const struct version_log *l, uint32_t *n);
/* How many in a row, up to now, were rejected, and why the newest of them; "" when there is none. A
 * version that is rejected because what is served is pinned does what the operator requested: it is
 * none of them, and ends no row. */
uint32_t version_log_rejected_in_row(const struct version_log *l);
const char *version_log_rejected_as(const struct version_log *l);

#endif
