/*
 * The trainer role, as a pure machine: windows, rounds, requests, labels, training, gate,
 * publication. No clock, no I/O: time comes in with the call, and what it wants done goes out
 * through struct trainer_out, at once and in order. Whoever runs it makes what went out between
 * two commits, and the input offsets, one transaction.
 *
 * Work that takes long is a job: out->job(kind) asks for trainer_role_job(m) to be run once, on
 * any thread, and then trainer_role_job_done(m, now). Until then nothing else may be called; the
 * job owns the machine. So nothing in here needs a lock.
 *
 *   WARM_UP --job--> COLLECT --window full--> LABEL --round over--> (gate) --> COLLECT …
 *                                                                         \--> DONE (rounds,
 * budget)
 *
 * A round: `labels_per_round` labels are asked for, best first, as the in-flight limit allows;
 * after each quarter of them the copies are trained on, the directions refreshed, the heap
 * rescored, and a new head goes out. When the round's labels are bought (or nothing is left to ask
 * and to wait for, or the round's deadline passes with at least one label) the gate decides. For
 * `fis` labels count when they are kept, as Algorithm 1 has it (while fewer than r are kept); for
 * all others when they are bought. A label that comes late counts in the round in which it comes.
 * With the budget spent, the labels that are still out are waited for before the last verdict.
 *
 * Going on after a stop. In the ledger: every request and answer, and the state as of the last job
 * (round, versions, VAL_0, how far the round was trained). In the newest head: the anchor. Not kept
 * anywhere: what the heap holds, the window's count, and the boosted copies. So
 *   - candidates are read again from the beginning of the window whose round is not over
 *     (out->window says when that moves; the host commits no candidate's offset beyond it): heap
 *     and count become what they were; what is known already is not asked again. Leftovers of
 *     earlier windows are let go;
 *   - boosted copies start anew from the anchor, so for a round or two they have less to offer;
 *   - labels of the round that the head was trained on are not trained on twice.
 *
 * The validation set may change while it runs: the new rows are in force from the next round on,
 * dealt anew into halves. VAL_0 moves by as much as the accuracy of what is served differs between
 * the old rows and the new (on a restart too), since it was a promise about models, not rows.
 *
 * Thread: one owner at a time. Owns: selector, learner (struct fis_trainer), gate; borrows the
 * encoder.
 */
#ifndef ROLE_TRAINER_H
#define ROLE_TRAINER_H

#include "fis/gate.h"
#include "fis/selector.h"
#include "wire/types.h"

struct trainer_role_options {
    const char *pipeline;
    const struct wire_schema *schema;
    uint32_t positive;
    struct fis_selector_options selector; /* d is filled in from the encoder */
    struct fis_trainer_options learner;   /* shape and folds are filled in */
    uint32_t hidden[FIS_MAX_LAYERS], n_hidden;
    struct fis_gate_options gate;
    struct fis_direction_options directions;          /* n_groups and precondition are filled in */
    int cross_fit, precondition;                      /* 1 on, 0 off, -1 by the number of rows */
    uint32_t warm_up_epochs, steps_per_round, rounds; /* rounds: 0 is unlimited */
    uint64_t window_records, window_ms, round_deadline_ms; /* ms: 0 is off */
    uint32_t validation_rows, n_groups; /* what trainer_role_validation will bring at first */
};

struct trainer_time {
    uint64_t mono_ms; /* paces; never goes back */
    int64_t wall_ms;  /* stamps what is sent */
};

/* What becomes of candidates that were offered: of what a restart needs again. */
enum trainer_window {
    TRAINER_WINDOW_CLOSED = 1, /* what is offered from now on belongs to the next window */
    TRAINER_WINDOW_DONE,       /* the closed window's round is over: it is not needed again */
    TRAINER_WINDOW_NONE        /* nothing will be asked any more: none is needed */
};

enum trainer_job { TRAINER_JOB_WARM_UP = 1, TRAINER_JOB_TRAIN, TRAINER_JOB_FINISH };

struct trainer_out {
    void *ctx;
    void (*request)(void *ctx, const struct wire_label_request *r);
    void (*ledger)(void *ctx, const struct wire_ledger_entry *e);
    void (*state)(void *ctx, const struct wire_trainer_state *s);
    void (*head)(void *ctx, const struct wire_head *h);
    void (*model)(void *ctx, const struct wire_model *m);
    void (*job)(void *ctx, enum trainer_job kind);
    /* What happened, for people: key=value text, no ids of persons, no sensitive values. */
    void (*note)(void *ctx, const char *event, const char *text);
    void (*window)(void *ctx, enum trainer_window what);
};

struct trainer_role;

/* `encoder` is finished and outlives the role. Data is handed over before the start: initial
 * rows one by one, validation rows at once (groups: 0 .. n_groups-1). */
struct trainer_role *trainer_role_new(const struct trainer_role_options *o,
                                      const struct fis_encoder *encoder,
                                      const struct trainer_out *out, struct fis_error *e);
void trainer_role_free(struct trainer_role *m);
int trainer_role_initial(struct trainer_role *m, const float *x, uint32_t y,
                         struct fis_error *e) FIS_MUST_CHECK;
/* Also later, between jobs: the new rows are used from the next round on. INPUT (later): fewer than
 * two rows or groups; what was there stays in force. */
int trainer_role_validation(struct trainer_role *m, const struct fis_rows *rows, uint32_t n_groups,
                            struct fis_error *e) FIS_MUST_CHECK;

/* Resuming, after initial and validation rows: the state with the newest head's anchor and the
 * served version's weights (slabs of this role's shape; borrowed for the call); then every entry of
 * the ledger in its order, but those of state->round after all others. The warm-up is then left
 * out. */
int trainer_role_restore_state(struct trainer_role *m, const struct wire_trainer_state *s,
                               const float *anchor, const float *served,
                               struct fis_error *e) FIS_MUST_CHECK;
int trainer_role_restore_entry(struct trainer_role *m, const struct wire_ledger_entry *entry,
                               struct fis_error *e) FIS_MUST_CHECK;
const struct fis_shape *trainer_role_shape(const struct trainer_role *m);

/* FATAL when there is nothing to train or to judge on. Asks for the first job. */
int trainer_role_start(struct trainer_role *m, struct trainer_time now,
                       struct fis_error *e) FIS_MUST_CHECK;

int trainer_role_offer(struct trainer_role *m, const struct wire_candidate *c,
                       struct fis_error *e) FIS_MUST_CHECK; /* INPUT: to dead-letter */
void trainer_role_progress(struct trainer_role *m, const struct wire_progress *p);
/* INPUT: nobody asked for it, or it contradicts an earlier answer: to dead-letter. */
int trainer_role_label(struct trainer_role *m, const struct wire_label *l,
                       struct fis_error *e) FIS_MUST_CHECK;
/* The window is full, or a quarter of the round's labels is in: hand over no more, call
 * trainer_role_idle. So windows end where they are full however much has piled up, and a burst of
 * labels is trained on in the same steps as a trickle. */
int trainer_role_due(const struct trainer_role *m);
/* Everything that has arrived is handed over (the queue ran empty, or time passed): acts. */
void trainer_role_idle(struct trainer_role *m, struct trainer_time now);

int trainer_role_busy(const struct trainer_role *m); /* a job was asked for and is not done */
void trainer_role_job(struct trainer_role *m);
/* FATAL: warm-up diverged, or the validation set cannot be judged: the reason to stop with. */
int trainer_role_job_done(struct trainer_role *m, struct trainer_time now,
                          struct fis_error *e) FIS_MUST_CHECK;

struct trainer_role_counts {
    const char *phase; /* "warm-up", "collect", "label", "done" */
    uint32_t round;
    uint64_t window; /* records of the window so far */
    uint64_t records, refused, tombstones;
    uint64_t candidates, labels, skipped, duplicates;
    uint64_t head_version, model_version, served_version, published, rejected;
    struct fis_selector_counts selector;
    struct fis_trainer_counts learner;
};
struct trainer_role_counts trainer_role_counts(const struct trainer_role *m);

#endif
