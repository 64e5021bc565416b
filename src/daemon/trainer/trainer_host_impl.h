/* Inside a trainer's host: trainer_host.c (life and turns), trainer_ports.c (binds
 * the session's ports to Kafka), trainer_status.c (shows it). */
#ifndef DAEMON_TRAINER_HOST_IMPL_H
#define DAEMON_TRAINER_HOST_IMPL_H

#include "config/topic_list.h"
#include "daemon/trainer/kafka_reader.h"
#include "daemon/trainer/outbox.h"
#include "daemon/trainer/pool_ends.h"
#include "daemon/trainer/trainer_host.h"
#include "daemon/trainer/trainer_rows.h"
#include "daemon/trainer/trainer_status.h"

/* What a role shows, copied at a moment when it may be looked at: a job that runs owns the role,
 * and what is shown meanwhile is what was there when it began. Strings of the role are copied too.
 */
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

/* Numbers of versions, which are shown once they are committed. */
struct trainer_versions {
    uint64_t newest, served, published, rejected;
};

/* What was opened for one time of following and leading. */
struct kafka_side {
    struct stream_consumer *member; /* of the trainers' group */
    struct outbox *outbox;          /* from the election on */
    struct kafka_reader *readers[SESSION_READERS];
    struct trainer_rows rows;
};

/* The number that the group keeps for the ledger, asked for on a worker. */
struct state_mark {
    struct job job;
    bool running, answered;
    int rc;
    uint64_t number;
    struct fis_error error;
};

struct trainer_host {
    struct context *ctx;
    struct session_options options;
    struct session *session;
    const char *written[2];      /* topics that are written and not read */
    struct kafka_side side, old; /* old: is being closed, to begin again */
    int patience_ms;             /* of the old one */
    struct pool_ends ends;
    struct state_mark mark;
    struct job job;
    bool leaving, letting_go, stopped, committing, sweeping;
    char halted[200];     /* why nothing is done any more; "": it works */
    const char *swept[5]; /* topics, of the sweep that runs */
    struct trainer_snapshot shown;
    struct trainer_versions versions, sent_versions; /* committed; and what was sent besides */
    struct dead_counts dead[SESSION_BAD];
    char group[CONFIG_GROUP_MAX]; /* and transactional id */
};

struct session_ports trainer_host_ports(struct trainer_host *h);
/* Takes the snapshot: no job runs. best: the heaps' best too, which costs as much as there is in
 * them; else those of the last time stay. */
void trainer_host_look(struct trainer_host *h, bool best);

#endif
