/*
 * What a scorer shows of itself: figures for the monitor, filled in on demand.
 * Thread: the loop's. Owns: nothing; pointers are valid until the loop goes on.
 */
#ifndef DAEMON_SCORER_STATUS_H
#define DAEMON_SCORER_STATUS_H

#include "daemon/context/dead_letter.h"
#include "daemon/context/histogram.h"
#include "daemon/context/lags.h"
#include "role/scorer.h"

/* Drift of the records: columns by their population stability index (fis/profile.h). */
struct drift_column {
    const char *name; /* valid as long as the head */
    double psi;
};
#define STATUS_DRIFT 128
struct scorer_drift {
    /* that were counted recently, and of the initial set; 0: not reported */
    uint32_t rows, initial_rows;
    uint32_t all, above; /* columns; those above alarms.drift */
    uint32_t n;          /* shown, largest first; 0 before STATUS_DRIFT_ROWS rows */
    const struct drift_column *columns;
};
#define STATUS_DRIFT_ROWS 500u

/* The schema registry; records.encoding: registry. */
struct scorer_registry {
    bool on;
    bool down;                /* the last request failed; it is tried again */
    char why[FIS_ERROR_TEXT]; /* then */
    uint32_t known;           /* schemas */
    uint32_t waiting;         /* batches that wait for one */
    uint64_t fetched, failed; /* requests, by outcome */
};

struct scorer_status {
    bool on;   /* the process has the role */
    bool open; /* it has begun */
    bool pool;
    uint32_t owned; /* partitions */
    int64_t lag;    /* over them; -1: not known yet */
    struct scorer_counts counts;
    const struct dead_counts *dead; /* NULL: it has not begun */
    uint64_t left_out;              /* messages of heads and ledger that no trainer wrote */
    uint64_t head_version;          /* 0: none yet */
    uint64_t outstanding;           /* messages sent and not acknowledged */
    const char *waits_for;          /* a topic that is missing, for what it has to send; or NULL */
    uint32_t batches_in_flight;
    /* Records of a batch; seconds that its decoding and scoring took; seconds from a message's
     * timestamp to the acknowledgement of what was offered of its batch. */
    const struct histogram *batch_records, *batch_seconds, *latency_seconds;
    struct scorer_drift drift;
    struct scorer_registry registry;
};

struct scorer_host;
/* Fills *out in, and at most n of the partitions that it reads; returns how many. */
uint32_t scorer_host_status(struct scorer_host *h, struct scorer_status *out, struct lag *lags,
                            uint32_t n);

#endif
