/*
 * What there is to see of a running fisd, as one plain struct, filled from the hosts on demand:
 * /metrics, /api/v1, the dashboard, alarms and the lines for systemd all show it, so they cannot
 * differ. No record, no feature, no sensitive value is in it; of what the heaps hold only ids,
 * scores and the criterion are shown.
 *
 * While a job trains, the trainer's part is what it was when the job began (`busy` says so).
 *
 * Thread: the loop. Owns: nothing; pointers are valid until the loop goes on. A NaN is a figure
 * that was not measured.
 */
#ifndef DAEMON_STATUS_H
#define DAEMON_STATUS_H

#include "config/config.h"
#include "daemon/context/dead_letter.h"
#include "daemon/context/histogram.h"
#include "daemon/monitor/kafka_stats.h"
#include "daemon/monitor/version_log.h"
#include "http/http.h"
#include "session/election.h"
#include "role/scorer.h"
#include "role/trainer_view.h"

#define STATUS_PARTITIONS 1024 /* shown one by one; sums are over all */
#define STATUS_BEST 50         /* of each heap */
#define STATUS_REQUESTS 200    /* open ones, oldest first */
#define STATUS_REASON 256

/* A topic that this process reads. */
struct status_lag {
    const char *role, *topic; /* "scorer", "trainer" */
    int32_t partition;
    int64_t next; /* offset that is read next; -1: nothing yet */
    int64_t lag;  /* messages up to the end; -1: not known yet */
};

/* Drift of the records: columns by their population stability index (fis/profile.h). */
struct drift_column {
    const char *name; /* valid as long as the head */
    double psi;
};
#define STATUS_DRIFT 128
struct status_drift {
    uint32_t rows, initial_rows; /* that were counted lately, and of the initial set; 0: not told */
    uint32_t all, above;         /* columns; those above alarms.drift */
    uint32_t n;                  /* shown, largest first; 0 before STATUS_DRIFT_ROWS rows */
    const struct drift_column *columns;
};
#define STATUS_DRIFT_ROWS 500u

struct status_scorer {
    bool on;   /* the process has the role */
    bool open; /* it has begun */
    bool pool;
    uint32_t owned; /* partitions */
    int64_t lag;    /* over them; -1: not known yet */
    struct scorer_counts counts;
    const struct dead_counts *dead; /* NULL: it has not begun */
    uint64_t head_version;          /* 0: none yet */
    uint64_t outstanding;           /* messages sent and not acknowledged */
    uint32_t batches, batches_in_flight;
    /* Records of a batch; seconds that its decoding and scoring took; seconds from a message's
     * timestamp to the acknowledgement of what was offered of its batch. */
    const struct histogram *batch_records, *batch_seconds, *latency_seconds;
    struct status_drift drift;
};

struct status_validation {
    uint32_t rows, groups;
    uint32_t smallest_cell; /* rows that judge, in the smallest cell that the metric needs */
    uint64_t changed_ms;    /* runtime clock, when it was read; 0: not yet */
    int64_t newest_ms; /* wall clock: the newest example's timestamp, or the file's; 0: not known */
};

struct status_trainer {
    bool on;        /* the process has the role */
    bool want_best; /* `best` is wanted; else it may be older than the rest */
    bool running;   /* it leads, and has gone on from the ledger or begun */
    bool busy;      /* a job trains; figures are those of its begin */
    enum trainer_job job;
    enum election_state state;
    bool warm;          /* of a standby: it has read all there was, and can take over at once */
    uint64_t state_ms;  /* for so long */
    uint64_t takeovers; /* how often it began to lead, in this process */
    struct trainer_role_counts counts;
    uint64_t restore_ms;                   /* what going on from the ledger took; 0: it did not */
    uint64_t ledger_entries, ledger_bytes; /* as restored, or followed by a standby */
    struct status_validation validation;
    double val0;
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

/* Dead letters that this process sent, of the messages of a topic. */
struct status_dead {
    const char *topic;
    enum dead_letter_from from;
    const struct dead_counts *counts;
};
#define STATUS_DEAD 4

struct status {
    const struct config *cfg;
    bool embedded, exactly_once;
    bool started; /* topics are there, the roles have begun */
    bool stopping;
    int64_t wall_ms;                      /* now */
    uint64_t mono_ms, uptime_ms;          /* runtime clock */
    int64_t started_at_ms;                /* wall clock */
    bool broker_seen;                     /* a broker has answered, and none is known to be away */
    char broker_trouble[STATUS_REASON];   /* the last, when it is not over; "" */
    const struct histogram *loop_seconds; /* what one turn of the loop took */
    struct status_scorer scorer;
    struct status_trainer trainer;
    const struct version_log *versions;
    /* Names of the groups, where they may be shown (http.group_names); else n_groups is 0. */
    const char *const *groups;
    uint32_t n_groups;
    const struct status_second *seconds; /* [n_seconds] */
    uint32_t n_seconds;
    const struct http_counts *http; /* NULL: it is off */
    const struct alarms *alarms;
    struct status_dead dead[STATUS_DEAD];
    uint32_t n_dead;
    const struct status_lag *lags;
    uint32_t n_lags;
    const struct kafka_slot *kafka; /* [n_kafka] by client: .stats */
    uint32_t n_kafka;
};

/* Of each second of the last ten minutes, oldest first. */
#define STATUS_SECONDS 600
struct status_second {
    int64_t wall_ms;
    uint64_t records, offered, labels; /* of that second */
    int64_t lag;                       /* of the records, at its end; -1: not known */
};

struct runtime;
/* Valid until the loop goes on. The second one brings what the heaps hold best up to date, too. */
const struct status *status_now(struct runtime *rt);
const struct status *status_with_best(struct runtime *rt);

/* Of a consumer (topics: its own names, by index): at most n of its partitions; how many. */
struct stream_consumer;
uint32_t status_lags(const struct stream_consumer *c, const char *role, const char *const *topics,
                     struct status_lag *out, uint32_t n);

/* Whether it can do its work now, and if not why, for people. What ready means:
 *   scorer: a head is there, and the group has given it partitions (or another scorer has them all:
 *     a spare one is not ready);
 *   trainer: it leads and runs, or it is a standby that has read all there was and can take over.
 * Both, with both roles. While it stops: not ready. */
bool status_ready(const struct status *s, char reason[STATUS_REASON]);

/* One line on what it does, for systemd and for people: "scoring, lag 12; leading, round 3,
 * waiting for 17 labels". */
void status_line(const struct status *s, char *out, size_t size);

#endif
