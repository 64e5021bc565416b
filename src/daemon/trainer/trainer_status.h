/*
 * What a trainer shows of itself: figures for the monitor, filled in on demand.
 * Thread: the loop's. Owns: nothing; pointers are valid until the loop goes on.
 */
#ifndef DAEMON_TRAINER_STATUS_H
#define DAEMON_TRAINER_STATUS_H

#include "daemon/context/dead_letter.h"
#include "daemon/context/lags.h"
#include "session/election.h"
#include "role/trainer_view.h"

#define STATUS_BEST 50      /* of each heap */
#define STATUS_REQUESTS 200 /* open ones, oldest first */

/* A column of labelled rows with categories that the encoder was not fitted on. */
#define TRAINER_UNSEEN 8 /* shown, largest share first */
struct trainer_unseen {
    const char *set; /* "initial", "validation" */
    char column[256];
    double share; /* of the set's rows */
};

struct trainer_validation_status {
    uint32_t rows, groups;
    uint32_t smallest_cell; /* rows that judge, in the smallest cell that the metric needs */
    double detectable;      /* the smallest gap that they can tell from none; NaN: not known */
    double majority;        /* share of the most frequent class; 0: not known */
    uint64_t left_out;      /* rows in which a sensitive value is missing */
    uint64_t changed_ms;    /* runtime clock, when it was read; 0: not yet */
    int64_t newest_ms; /* wall clock: the newest example's timestamp, or the file's; 0: not known */
};

struct trainer_status {
    bool on;        /* the process has the role */
    bool want_best; /* `best` is to be new; else it may be older than the rest */
    bool running;   /* it leads, and has gone on from the ledger or begun */
    bool busy;      /* a job trains; figures are those of its begin */
    enum trainer_job job;
    enum election_state state;
    const char *halted; /* why nothing is done any more; NULL: it works */
    uint64_t left_out;  /* messages of ledger, heads and models that no trainer wrote */
    const char *waits;  /* what holds its reading back; NULL: nothing does */
    bool warm;          /* of a standby: it has read all there was, and can take over at once */
    uint64_t state_ms;  /* for so long */
    uint64_t takeovers; /* how often it began to lead, in this process */
    struct trainer_role_counts counts;
    uint64_t restore_ms;                   /* what going on from the ledger took; 0: it did not */
    uint64_t ledger_entries, ledger_bytes; /* as restored, or followed by a standby */
    struct trainer_validation_status validation;
    const struct trainer_unseen *unseen;
    uint32_t n_unseen;
    double val0;
    struct asking asking;
    const struct agreement_view *agreement; /* NULL: it does not lead */
    int64_t label_age_ms; /* since the last answer in this process; -1: none came */
    uint64_t read;        /* messages of candidates, labels and control, whatever became of them */
    uint64_t dead_labels, dead_offers, dead_commands; /* those of them that were refused */
    const struct dead_counts *dead[3];                /* of these three; NULL: it does not lead */
    uint64_t outstanding;
    const char *control_id, *control_text; /* the last command and what became of it; "" */
    bool control_ok;
    const char *const *criteria; /* [n_criteria] their names */
    uint32_t n_criteria;
    const struct trainer_best *best; /* by criterion and rank */
    uint32_t n_best;
    const struct trainer_open *requests; /* oldest first */
    uint32_t n_requests;                 /* shown; counts.selector.open has their number */
};

struct trainer_host;
/* Fills *out in, and at most n of the partitions that it reads; returns how many. */
uint32_t trainer_host_status(struct trainer_host *h, struct trainer_status *out, struct lag *lags,
                             uint32_t n);

#endif
