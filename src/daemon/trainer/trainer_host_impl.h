/* Inside a trainer's host: trainer_host.c binds the session's ports, trainer_status.c shows it. */
#ifndef DAEMON_TRAINER_HOST_IMPL_H
#define DAEMON_TRAINER_HOST_IMPL_H

#include "daemon/trainer/kafka_reader.h"
#include "daemon/trainer/outbox.h"
#include "daemon/trainer/pool_ends.h"
#include "daemon/trainer/trainer_host.h"
#include "daemon/trainer/trainer_rows.h"
#include "daemon/trainer/trainer_snapshot.h"

struct trainer_host {
    struct context *ctx;
    struct session_options options;
    struct session *session;
    struct stream_consumer *member; /* of the trainers' group */
    struct outbox *outbox;          /* from the election on */
    struct kafka_reader *readers[SESSION_READERS];
    struct trainer_rows rows;
    struct pool_ends ends;
    struct job job;
    struct leftover {
        struct stream_consumer *member;
        struct outbox *outbox;
        struct kafka_reader *readers[SESSION_READERS];
        struct trainer_rows rows;
        int patience_ms;
    } old; /* what it lets go of, to begin again */
    bool leaving, letting_go, stopped, committing;
    bool looked; /* its files were read once: it could lead */
    struct trainer_snapshot shown;
    struct dead_counts dead[SESSION_BAD];
    char group[128]; /* and transactional id */
};

#endif
