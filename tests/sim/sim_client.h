/*
 * Between a process and the broker: latencies, a seat in a group, a transactional producer. Each
 * sender's messages to one partition arrive in the order of sending (as with an idempotent
 * producer); those to different partitions need not.
 */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "broker.h"

/* ---- latency ------------------------------------------------------------------------------- */
int64_t sim_latency(struct sim_world *w); /* of one way, in ms: most are short, some are long */

/* ---- a plain producer ---------------------------------------------------------------------- */
typedef void sim_acked_fn(void *arg, uint32_t token);
struct sim_producer {
    struct sim_world *w;
    int process;
    int64_t last[SIM_TOPICS][SIM_PARTITIONS];
    sim_acked_fn *acked;
    void *arg;
};
void sim_producer_init(struct sim_producer *p, struct sim_world *w, int process,
                       sim_acked_fn *acked, void *arg);
void sim_producer_send(struct sim_producer *p, enum sim_topic t, int32_t partition,
                       struct wire_bytes key, struct wire_bytes value,
                       const struct sim_origin *origin, uint32_t token);

/* ---- a transactional producer -------------------------------------------------------------- */
struct sim_txn_events {
    void *arg;
    void (*initialised)(void *arg);
    void (*ended)(void *arg, enum sim_code code);
    void (*swept)(void *arg);
    void (*undelivered)(void *arg); /* a message: the unit cannot be committed */
};
struct sim_txn {
    struct sim_world *w;
    int process;
    uint32_t producer; /* which transactional id */
    int32_t epoch;
    struct sim_txn_events events;
    int64_t last[SIM_TOPICS][SIM_PARTITIONS], last_of_all;
    struct sim_txn_unit *unit; /* of what is being sent */
    uint32_t instance;         /* replies to earlier instances are dropped */
};
void sim_txn_open(struct sim_txn *t, struct sim_world *w, int process, uint32_t producer,
                  const struct sim_txn_events *events); /* and initialises */
void sim_txn_sweep_open(struct sim_txn *t);             /* what earlier instances left open */
void sim_txn_close(struct sim_txn *t);
void sim_txn_send(struct sim_txn *t, enum sim_topic topic, int32_t partition, struct wire_bytes key,
                  struct wire_bytes value, const struct sim_origin *origin);
void sim_txn_consumed(struct sim_txn *t, enum sim_group_id g, enum sim_topic topic,
                      int32_t partition, int64_t next, uint32_t made);
/* `about`: what the unit's owner knows of it, for the checker; borrowed for good. */
void sim_txn_commit(struct sim_txn *t, const void *about);

/* ---- a seat in a group --------------------------------------------------------------------- */
struct sim_seat {
    enum sim_group_id group;
    uint32_t key;
    int32_t generation;
    uint32_t owned;
    bool joined, waiting;
    int64_t next_beat, last_ok;
};
struct sim_seat_change {
    uint32_t gained, gone;
    bool lost;  /* what is gone was taken, not given */
    bool fresh; /* the group has spoken: a new generation, or the end of the membership */
};
void sim_seat_take(struct sim_seat *s, struct sim_world *w, enum sim_group_id g);
void sim_seat_turn(struct sim_seat *s, struct sim_world *w, struct sim_seat_change *change);
void sim_seat_leave(struct sim_seat *s, struct sim_world *w);

#endif
