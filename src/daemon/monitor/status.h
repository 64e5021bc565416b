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

#include "base/log.h"
#include "config/config.h"
#include "daemon/monitor/fleet.h"
#include "daemon/monitor/kafka_stats.h"
#include "daemon/monitor/version_log.h"
#include "daemon/monitor/webhook.h"
#include "daemon/scorer/scorer_status.h"
#include "daemon/trainer/trainer_status.h"
#include "http/http.h"

#define STATUS_PARTITIONS 1024 /* shown one by one; sums are over all */
#define STATUS_REASON 256

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
    int64_t wall_ms;                    /* now */
    uint64_t mono_ms, uptime_ms;        /* runtime clock */
    int64_t started_at_ms;              /* wall clock */
    bool broker_seen;                   /* a broker has answered, and none is known to be away */
    char broker_trouble[STATUS_REASON]; /* the last, when it is not over; "" */
    struct log_counts log;
    const struct histogram *loop_seconds, *loop_cpu_seconds; /* what one turn of the loop took */
    struct scorer_status scorer;
    struct trainer_status trainer;
    const struct version_log *versions;
    /* Names of the groups, where they may be shown (http.group_names); else n_groups is 0. */
    const char *const *groups;
    uint32_t n_groups;
    const struct status_second *seconds; /* [n_seconds] */
    uint32_t n_seconds;
    struct http_counts http;
    struct webhook_status webhook;
    const struct alarms *alarms;
    struct status_dead dead[STATUS_DEAD];
    uint32_t n_dead;
    const struct lag *lags;
    uint32_t n_lags;
    const struct kafka_slot *kafka; /* [n_kafka] by client: .stats */
    uint32_t n_kafka;
    const char *name, *host, *address; /* of this process; address: "": its page is not served */
    bool local;                        /* the address is reached from this machine alone */
    struct wire_process self;          /* as the others see it */
    const struct fleet_process *fleet; /* [n_fleet] the others */
    uint32_t n_fleet;
    const char *fleet_trouble; /* why they may not be seen; "": they are */
};

/* Of each second of the last ten minutes, oldest first. */
#define STATUS_SECONDS 600
struct status_second {
    int64_t wall_ms;
    uint64_t records, offered, labels; /* of that second */
    int64_t lag;                       /* of the records, at its end; -1: not known */
};

struct monitor;
/* Valid until the loop goes on. The second one brings what the heaps hold best up to date, too. */
const struct status *status_now(struct monitor *m);
const struct status *status_with_best(struct monitor *m);

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
