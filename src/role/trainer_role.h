/* The inside of the trainer role, shared by its files: trainer.c (events), trainer_restore.c (going
 * on from a ledger), trainer_job.c (work), trainer_publish.c (heads, versions, state). */
#ifndef ROLE_TRAINER_ROLE_H
#define ROLE_TRAINER_ROLE_H

#include "role/trainer.h"

enum trainer_phase { PHASE_NEW, PHASE_WARM_UP, PHASE_COLLECT, PHASE_LABEL, PHASE_DONE };

struct trainer_role {
    struct trainer_role_options o;
    struct trainer_out out;
    const struct fis_encoder *encoder;
    struct fis_shape shape;
    uint32_t n_groups;

    struct fis_selector *selector;
    struct fis_trainer *learner;
    struct fis_gate *gate;
    struct fis_scratch *scratch; /* for scoring what is held */
    float *p, *infl_acc, *infl_fair;

    enum trainer_phase phase;
    enum trainer_job job; /* 0: none */
    int restored;
    struct wire_trainer_state state;     /* what is written to the ledger after each change */
    uint64_t round_started, asked_since; /* mono ms */
    uint32_t steps_done;                 /* of this round */
    uint32_t untrained;                  /* labels since the last training */
    int in_restored_round;               /* the ledger's entries of this round are being told */

    /* Results of a job, for job_done. */
    struct fis_error job_error;
    int job_result;
    struct fis_gate_judgement judgement;
    float *published; /* slab: what the gate gave out */
    int diverged;     /* training of this round met a loss that is not finite */
    int rebased;      /* other validation rows are in force, and VAL_0 with them */
    double cosine;

    struct {
        uint32_t bought, kept;
        uint32_t by_class[FIS_MAX_CLASSES];
    } this_round;
    struct {
        uint64_t scored, offered;
    } window;
    struct trainer_role_counts counts;

    /* Validation rows that wait for the next round. */
    struct fis_rows next_validation;
    float *next_x;
    uint32_t *next_y, *next_group;
    uint32_t next_groups;
};

#define ROLE_BLOCK 256 /* held candidates scored at a time */

/* trainer.c */
int trainer_counts_kept(const struct trainer_role *m); /* rounds of `fis` count kept labels */
void trainer_count_label(struct trainer_role *m, const struct fis_id *id, uint32_t y, int kept);

/* trainer_job.c */
uint32_t trainer_round_progress(const struct trainer_role *m); /* of labels_per_round */
/* The steps that this many of the round's labels stand for. */
uint32_t trainer_share_of_steps(const struct trainer_role *m, uint32_t labels);
void trainer_score_rows(struct trainer_role *m, const float *x, const struct fis_id *const *ids,
                        uint32_t n, float *scores);
int trainer_take_validation(struct trainer_role *m, struct fis_error *e) FIS_MUST_CHECK;

/* trainer_publish.c */
void trainer_send_head(struct trainer_role *m, struct trainer_time now);
void trainer_send_version(struct trainer_role *m, struct trainer_time now);
void trainer_send_state(struct trainer_role *m);
void trainer_note(struct trainer_role *m, const char *event, const char *format, ...)
    FIS_PRINTF(3, 4);

#endif
