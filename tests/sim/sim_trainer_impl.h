/* Inside a simulated trainer: sim_trainer.c (election, jobs, life), sim_trainer_reading.c
 * (partitions and their ends), sim_trainer_sending.c (rows, messages, units). */
#ifndef SIM_SIM_TRAINER_IMPL_H
#define SIM_SIM_TRAINER_IMPL_H

#include "base/planted.h"
#include "sim_check.h"
#include "sim_client.h"
#include "sim_faults.h"
#include "sim_process.h"
#include "session/session.h"

#define TOPIC(t) ((enum session_topic)(t))

static const enum sim_topic sim_topics[SESSION_TOPICS] = {
    [SESSION_LEDGER] = SIM_LEDGER,         [SESSION_HEADS] = SIM_HEADS,
    [SESSION_MODELS] = SIM_MODELS,         [SESSION_CANDIDATES] = SIM_CANDIDATES,
    [SESSION_LABELS] = SIM_LABELS,         [SESSION_CONTROL] = SIM_CONTROL,
    [SESSION_VALIDATION] = SIM_CANDIDATES, /* the rows come from memory */
    [SESSION_REQUESTS] = SIM_REQUESTS,
};

static const struct {
    enum session_topic first;
    uint32_t n;
    bool stored; /* from what the group has committed */
    uint32_t most;
} readers[SESSION_READERS] = {
    [SESSION_READ_MEMORY] = {SESSION_LEDGER, 3, false, 200},
    [SESSION_READ_COMMANDS] = {SESSION_CONTROL, 1, true, 40},
    [SESSION_READ_INPUT] = {SESSION_CANDIDATES, 2, true, 40},
    [SESSION_READ_VERSIONS] = {SESSION_MODELS, 1, false, 200},
};

struct partition {
    bool there, fresh; /* fresh: nothing was committed for the group */
    int64_t seen_at;   /* one that was added is seen then; 0: it has not been */
    int64_t at, end;
    bool blocked;  /* it was reported that an open transaction holds it back */
    uint32_t made; /* which log of its name `at` is of */
    uint32_t left; /* messages that sim_trainer_arrive in this turn */
};

struct reader {
    bool open, ends_known, ended;
    uint32_t most;                          /* messages of a partition in a turn */
    struct partition p[3 * SIM_PARTITIONS]; /* of its topics, one after the other */
};

struct sim_trainer {
    struct sim_world *w;
    int process;
    char name[16];
    uint32_t term; /* rises whenever everything is dropped */
    struct session *session;
    struct sim_seat seat;
    bool in_group;
    struct reader readers[SESSION_READERS];
    struct sim_txn txn;
    bool committing, fenced, unit_open, ends_due;
    int64_t from[SIM_TOPICS][SIM_PARTITIONS]; /* of the unit that is open; -1: nothing yet */
    /* [gone, first) was deleted before it was read. */
    int64_t gone[SIM_TOPICS][SIM_PARTITIONS], first[SIM_TOPICS][SIM_PARTITIONS];
    bool cut[SIM_TOPICS]
            [SIM_PARTITIONS]; /* … or was lost with the log's tail, since the last unit */
    struct sim_label *labels; /* as they were read, of this unit and the next */
    uint32_t n_labels, label_room;
    bool label_waits;    /* the last one was read last: the session may not have taken it yet */
    int64_t began;       /* of the unit that is open: virtual time */
    int64_t commands;    /* where control ended when it was opened */
    int64_t start_at;    /* when its initial rows have been read; 0: not due */
    uint32_t validation; /* which rows the role has; UINT32_MAX: none */
};

/* What happens later, unless everything was dropped meanwhile. */
struct later {
    struct sim_trainer *t;
    uint32_t term;
};

enum sim_topic sim_trainer_topic_of(enum session_reader r, uint32_t i);
bool sim_trainer_exists(const struct sim_trainer *t, enum session_reader r, uint32_t i);
int sim_trainer_open(void *ctx, enum session_reader r, struct fis_error *e);
void sim_trainer_close(void *ctx, enum session_reader r);
void sim_trainer_to_end(void *ctx, enum session_reader r);
void sim_trainer_arrive(struct sim_trainer *t);
bool sim_trainer_is_cut(const struct sim_trainer *t, enum sim_topic topic, int32_t n,
                        const struct partition *p);
int sim_trainer_read(void *ctx, enum session_reader r, struct session_input *in,
                     struct fis_error *e);
int sim_trainer_initial(void *ctx, struct fis_encoder **encoder, struct session_rows *out,
                        struct fis_error *e);
int sim_trainer_validation(void *ctx, const struct fis_encoder *encoder, struct session_rows *out,
                           struct fis_error *e);
void sim_trainer_ready(void *ctx, struct trainer_role *role);
int sim_trainer_send(void *ctx, enum session_topic topic, struct wire_bytes key,
                     struct wire_bytes value, struct fis_error *e);
int sim_trainer_dead_letter(void *ctx, const struct wire_message *m, const struct fis_error *why,
                            struct fis_error *e);
int sim_trainer_commit(void *ctx, const struct session_place *places, uint32_t n,
                       struct fis_error *e);
int sim_trainer_committed_state(void *ctx, uint64_t *number, struct fis_error *e);
bool sim_trainer_leads(const struct sim_trainer *t);

#endif
