/*
 * The trainer role, as a pure machine: windows, rounds, requests, labels, training, gate,
 * publication. No clock, no I/O: time comes in with the call, and what it needs done goes out
 * through struct trainer_out, at once and in order. The host makes what went out between
 * two commits, and the input offsets, one transaction, and calls trainer_role_flush before each.
 *
 * Work that takes long is a job: out->job(kind) asks for trainer_role_job(m) to be run once, on
 * any thread, and then trainer_role_job_done(m, now). Until then nothing else may be called but
 * trainer_role_flush, which has nothing to do then: all is sent before a job begins. The job owns
 * the machine, so nothing in here needs a lock.
 *
 *   WARM_UP --job--> COLLECT --window full--> LABEL --round over--> (gate) --> COLLECT …
 *                                                                         \--> DONE (rounds,
 * budget)
 *
 * A round: `labels_per_round` labels are asked for, best first, as the in-flight limit allows;
 * after each quarter of them the anchor is trained on, the directions refreshed, the heap
 * rescored, and a new head goes out. When the round's labels are bought (or nothing is left to ask
 * and to wait for, or the round's deadline passes with at least one label) the gate decides. For
 * `fis` labels count when they are kept, as Algorithm 1 has it (while fewer than r are kept); for
 * all others when they are bought. A label that comes late counts in the round in which it comes.
 * With the budget spent, the labels that are still out are waited for before the last verdict.
 * Without a label there is no verdict and no other round: it looks for candidates again, in a new
 * window or, where there was nothing to ask for, in a pool that has grown.
 *
 * The window. Stream mode: `window_records` records were scored since the last window was full. A
 * partition of the records is counted by offset, so that progress that comes twice closes no
 * window early. Its time (window_ms) begins with its first candidate. Pool mode: a scan of the
 * whole topic. When a round begins out->pool asks for the ends of the records; trainer_role_pool
 * brings them, and a head with the scan goes out; the window is full when every partition was
 * scored up to its end.
 *
 * A request's life. OPEN until it is decided: ACCEPTED or SET_ASIDE; or EXPIRED (label_deadline_ms
 * on the pipeline's clock), SKIPPED (nobody who looked could say), CANCELLED (by the operator) or
 * TIED (votes). That frees its slot and its place in the round, so another record is asked for;
 * SKIPPED and CANCELLED, and EXPIRED when `replace`, also give the budget back. An answer that
 * comes after that was paid for and is used: it is trained on, and charged if it was not (in DONE
 * it is kept for the case that there are more rounds or more budget one day). With `votes` above 1
 * that many people are asked; the first class that can no longer be caught up with is the label,
 * and who has not answered gets a notice that it is decided. A request that is open keeps its
 * number.
 *
 * Going on after a stop needs the ledger, the newest head and what is served, and nothing else. On
 * the ledger: the state; an entry for each record that is held, asked for or answered; and after
 * every job a checkpoint of the anchor in training. A machine that was restored from them and is
 * given the same input sends what the stopped one would have sent, and its models are the same to
 * the bit; only the head is sent once more, under a new version. Without a checkpoint that fits
 * (another shape, other initial rows) training starts from the head's anchor, with a note.
 *
 * The pipeline's clock goes with the monotonic one while a machine runs, and from one machine to
 * the next by the wall clock, never back. Deadlines and windows are on it, so a wall clock that
 * jumps changes nothing. The day's budget is renewed when the UTC date is a later one, or 24 hours
 * have passed; each date once.
 *
 * The validation set may change while it runs: the new rows are in force from the next round on,
 * divided into halves again. VAL_0 moves by as much as the accuracy of what is served differs
 * between the old rows and the new (on a restart too), since it was a promise about models, not
 * rows.
 *
 * Thread: one owner at a time. Owns: selector, learner (struct fis_learner), gate; borrows the
 * encoder.
 */
#ifndef ROLE_TRAINER_H
#define ROLE_TRAINER_H

#include "fis/gate.h"
#include "fis/selector.h"
#include "role/publication.h"
#include "wire/types.h"

struct trainer_role_options {
    const char *pipeline;
    const struct wire_schema *schema;
    uint32_t positive;
    struct fis_selector_options selector;  /* d is filled in from the encoder */
    struct fis_learner_options learner;    /* shape, mixed and folds are filled in */
    const struct publication *publication; /* never NULL */
    void *publication_state;
    uint32_t refreshes; /* a round's labels and steps come in so many parts; 0: the default */
    uint32_t hidden[FIS_MAX_LAYERS], n_hidden;
    struct fis_vit vit; /* below them; height 0: none */
    struct fis_gate_options gate;
    struct fis_direction_options directions; /* n_groups and precondition are filled in */
    int precondition;                        /* 1 on, 0 off, -1 by the number of rows */
    struct fis_privacy privacy;              /* noise 0: off */
    struct fis_trees_options trees;          /* with an encoder that expects them */
    fis_trees_fit_fn *fit_trees;
    double privacy_delta;                                  /* of the epsilon that is reported */
    uint32_t warm_up_epochs, steps_per_round, rounds;      /* rounds: 0 is unlimited */
    uint64_t window_records, window_ms, round_deadline_ms; /* ms: 0 is off */
    bool pool;                  /* a round scores the whole topic, in place of a window */
    uint64_t label_deadline_ms; /* of a request; 0: none */
    bool replace;               /* what expires goes back to the budget */
    uint32_t votes;             /* people to ask for each label; 0 is 1 */
    uint64_t daily_budget;      /* requests in a day; 0: no such limit */
    uint32_t patience;          /* bad verdicts in a row until the anchor goes back to what is
                                   served; 0: never */
    uint32_t idle_rounds;       /* in a row that published nothing, after which no label is
                                   requested; 0: no limit */
    uint32_t validation_rows, n_groups; /* what trainer_role_validation will bring at first */
};

struct trainer_time {
    uint64_t mono_ms; /* paces; never goes back */
    int64_t wall_ms;  /* stamps what is sent */
};

enum trainer_job { TRAINER_JOB_WARM_UP = 1, TRAINER_JOB_TRAIN, TRAINER_JOB_FINISH };

struct wire_checkpoint;
struct wire_forgotten;

struct trainer_out {
    void *ctx;
    void (*request)(void *ctx, const struct wire_label_request *r); /* cancelled ones too */
    void (*ledger)(void *ctx, const struct wire_ledger_entry *e);
    /* The ledger's entry of this record is removed: it is no longer held, and was not asked for. */
    void (*unheld)(void *ctx, const struct fis_id *id);
    /* The ledger's mark of a record that is forgotten; its entry went by `unheld`. */
    void (*forgotten)(void *ctx, const struct wire_forgotten *f);
    void (*state)(void *ctx, const struct wire_trainer_state *s);
    void (*checkpoint)(void *ctx, const struct wire_checkpoint *c);
    void (*head)(void *ctx, const struct wire_head *h);
    /* Behind the head that they are of, whenever one has risen. NULL: they are not sent. */
    void (*floors)(void *ctx, const char *pipeline, const struct wire_floors *f);
    void (*model)(void *ctx, const struct wire_model *m);
    void (*job)(void *ctx, enum trainer_job kind);
    /* What happened, for people: key=value text, no ids of persons, no sensitive values. */
    void (*note)(void *ctx, const char *event, const char *text);
    /* Pool mode: asks for a call of trainer_role_pool, with the ends of the records as they are
     * now; stands until it is called. NULL in stream mode. */
    void (*pool)(void *ctx);
    /* Whether people can be asked about a record: 0; INPUT, and why not; NOMEM. NULL: about any. */
    int (*askable)(void *ctx, enum wire_encoding encoding, struct wire_bytes record,
                   struct fis_error *e);
};

/* Whether a network of this many features can be kept: its checkpoint, the largest message of all,
 * has to be within WIRE_CHUNK_TOTAL. INPUT: it is not, or there can be no such network. */
int trainer_role_fits(const struct trainer_role_options *o, uint32_t features,
                      struct fis_error *e) FIS_MUST_CHECK;

struct trainer_role;

/* `encoder` is finished and outlives the role. Data is handed over before the start: initial
 * rows one by one, validation rows at once (groups: 0 .. n_groups-1). */
/* The network of records with d features, of which the last are margins. INPUT: a bad size, or
 * images that are not d numbers. */
int trainer_role_make_shape(const struct trainer_role_options *o, uint32_t d, uint32_t margins,
                            uint32_t classes, struct fis_shape *shape,
                            struct fis_error *e) FIS_MUST_CHECK;

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
 * the ledger in the order in which they were last written; then the checkpoint that belongs to the
 * state (state->checkpoint), if there is one. The warm-up is then left out. restore_checkpoint,
 * INPUT: it does not fit, nothing was changed: say so and go on. */
int trainer_role_restore_state(struct trainer_role *m, const struct wire_trainer_state *s,
                               const float *anchor, const float *served, struct trainer_time now,
                               struct fis_error *e) FIS_MUST_CHECK;
/* Next, where the base is trees: those of what is served. */
int trainer_role_restore_base(struct trainer_role *m, struct fis_trees *served,
                              struct fis_error *e) FIS_MUST_CHECK;
int trainer_role_restore_entry(struct trainer_role *m, const struct wire_ledger_entry *entry,
                               struct fis_error *e) FIS_MUST_CHECK;
/* Anywhere among the entries. */
int trainer_role_restore_forgotten(struct trainer_role *m, const struct wire_forgotten *f,
                                   struct fis_error *e) FIS_MUST_CHECK;
int trainer_role_restore_checkpoint(struct trainer_role *m, struct wire_bytes learner,
                                    struct wire_bytes gate, struct fis_error *e) FIS_MUST_CHECK;
/* What plug-ins work on, the role's own objects. */
struct publication_call *trainer_role_parts(struct trainer_role *m);
const struct fis_shape *trainer_role_shape(const struct trainer_role *m);

/* FATAL when there is nothing to train or to judge on. Asks for the first job. */
int trainer_role_start(struct trainer_role *m, struct trainer_time now,
                       struct fis_error *e) FIS_MUST_CHECK;

int trainer_role_offer(struct trainer_role *m, const struct wire_candidate *c,
                       struct fis_error *e) FIS_MUST_CHECK; /* INPUT: to dead-letter */
/* A message's candidates and then its progress. INPUT: the first reason of those that were refused;
 * the others are taken. */
int trainer_role_offers(struct trainer_role *m, const struct wire_offer *offer,
                        struct fis_error *e) FIS_MUST_CHECK;
void trainer_role_progress(struct trainer_role *m, const struct wire_progress *p);
/* What out->pool asked for; at any other time it is passed over. A partition without records is
 * left out, or has end 0. */
int trainer_role_pool(struct trainer_role *m, const struct wire_pool_end *ends, uint32_t n,
                      struct trainer_time now, struct fis_error *e) FIS_MUST_CHECK;
/* INPUT: nobody asked for it, it contradicts an earlier answer, or it does not say whose it is
 * where several are required: to dead-letter. */
int trainer_role_label(struct trainer_role *m, const struct wire_label *l, struct trainer_time now,
                       struct fis_error *e) FIS_MUST_CHECK;
/* Answers fell off the labels topic before they were read: every open request becomes EXPIRED
 * (given back to the budget when `replace`). */
void trainer_role_labels_lost(struct trainer_role *m, uint64_t n, struct trainer_time now);
/* Candidates fell off their topic before they were read. In pool mode what ended the scan may be
 * among them: another one is begun. */
void trainer_role_candidates_lost(struct trainer_role *m);

/* Other limits while it runs, between jobs: rounds, windows, deadlines, replace, budgets, the
 * limit of open requests and patience of `o` are in force from now on, also for requests that are
 * open; the rest of `o` is not looked at. A trainer that is done goes on when there is more to do
 * now. */
void trainer_role_adjust(struct trainer_role *m, const struct trainer_role_options *o,
                         struct trainer_time now);

/* A command of the operator. What became of it goes into the state and a note; a refusal is an
 * outcome and no error. `version`: of ROLLBACK and PROMOTE, the version that
 * trainer_role_named_version named (0: none is needed), NULL when it is not on the models topic.
 */
uint64_t trainer_role_named_version(const struct trainer_role *m, const struct wire_control *c);
int trainer_role_control(struct trainer_role *m, const struct wire_control *c,
                         const struct wire_model *version, struct trainer_time now,
                         struct fis_error *e) FIS_MUST_CHECK;

/* A record that was requested is forgotten: rows, rounds and scores of this machine know it still.
 * Hand over nothing more, commit what was sent, and go on with a machine that is restored from the
 * ledger: what comes then is what a takeover would do. */
bool trainer_role_stale(const struct trainer_role *m);

/* The window is full, or a quarter of the round's labels is in: hand over no more, call
 * trainer_role_idle. So windows end where they are full however much has piled up, and a burst of
 * labels is trained on in the same steps as a trickle. */
bool trainer_role_due(const struct trainer_role *m);
/* Everything that has arrived is handed over (the queue ran empty, or time passed): acts. */
void trainer_role_idle(struct trainer_role *m, struct trainer_time now);
/* Before every commit: says what the heap holds now and did not before, and the state when anything
 * has changed. What follows from input that was handed over is then all on the topics. */
int trainer_role_flush(struct trainer_role *m, struct trainer_time now,
                       struct fis_error *e) FIS_MUST_CHECK;

bool trainer_role_busy(const struct trainer_role *m); /* a job was asked for and is not done */
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
    uint64_t expired, cancelled, tied, late; /* late: answers to what was given up */
    uint64_t head_version, model_version, served_version, published, rejected;
    bool paused, pinned;
    uint64_t forgotten; /* records, since the ledger began */
    uint64_t scan;      /* pool mode: of which the ends are waited for; 0: none */
    uint64_t day_asked;
    struct fis_selector_counts selector;
    struct fis_learner_counts learner;
    struct wire_privacy privacy; /* what noise on directions has spent; all 0: there is none */
};
struct trainer_role_counts trainer_role_counts(const struct trainer_role *m);

#endif
