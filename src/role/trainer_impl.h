/* The inside of the trainer role, shared by its files: trainer_parts.c (what it is made of),
 * trainer.c (phases and rounds), pipeline_clock.c (time, and what is sent before a commit),
 * record_window.c (offers, progress, scans), label_requests.c (requests and answers),
 * operator_commands.c (the operator), ledger_restore.c (going on from a ledger), round_training.c
 * (work), version_publish.c (heads, versions, checkpoints), privacy_spent.c (the account of noise
 * on directions), base_trees.c (trees below the network). */
#ifndef ROLE_TRAINER_ROLE_H
#define ROLE_TRAINER_ROLE_H

#include "role/agreement.h"
#include "role/forgotten.h"
#include "role/trainer.h"
#include "role/votes.h"

enum trainer_phase { PHASE_NEW, PHASE_WARM_UP, PHASE_COLLECT, PHASE_LABEL, PHASE_DONE };

/* Between two looks at a pool that had nothing new. */
#define TRAINER_IDLE_SCAN_MS 10000
/* A scan without progress for this long is restarted: its progress may be lost. */
#define TRAINER_SILENT_SCAN_MS 300000
/* A scan of the pool: to be asked for, asked for, under way. */
enum trainer_scan { SCAN_NONE, SCAN_LATER, SCAN_WANTED, SCAN_ON };

struct trainer_role {
    struct trainer_role_options o;
    struct trainer_out out;
    const struct fis_encoder *encoder;
    struct fis_shape shape;
    uint32_t n_groups;

    struct fis_selector *selector;
    struct agreement agreement; /* of the votes of all requests */
    struct fis_learner *learner;
    struct fis_gate *gate;
    struct publication_call call; /* what the publication works on */
    struct fis_scratch *scratch;  /* for scoring what is held */
    float *p;

    enum trainer_phase phase;
    enum trainer_job job; /* 0: none */
    bool restored, restored_anchor;
    struct wire_trainer_state state; /* what flush writes; some of it is filled in there */
    bool dirty;                      /* something has changed since the state was written */
    struct forgotten forgotten;
    bool stale;              /* one of them had a place in what is derived from the ledger */
    struct fis_error failed; /* of a function that returns nothing; flush reports it */
    struct wire_counted *counted;
    char control_id[FIS_ID_MAX + 1], control_text[FIS_ERROR_TEXT];
    uint64_t mono_ms;      /* up to which the clock was taken forward */
    int64_t wall_ahead;    /* wall - mono, at last look */
    int64_t written_ahead; /* the same, when the state was written */
    bool clock_on;

    uint32_t steps_done; /* of this round */
    uint32_t untrained;  /* labels since the last training */

    /* Results of a job, for job_done. */
    struct fis_error job_error;
    int job_result;
    struct fis_gate_judgement judgement;
    double judged_val0; /* VAL_0 then: new validation rows may have come in since */
    float *published;   /* slab: what the gate gave out */
    bool rebased;       /* other validation rows are in force, and VAL_0 with them */
    bool went_back;     /* patience ended: the anchor is what is served */
    double cosine;
    struct {
        unsigned char *bytes; /* the learner, then the gate; NULL: not made */
        size_t learner, gate;
    } saved;

    struct {
        uint32_t bought, kept;
        uint32_t by_class[FIS_MAX_CLASSES];
    } this_round;
    struct {
        uint64_t scored, offered;
        bool asked; /* for something, since the last window was closed */
    } window;
    struct {
        enum trainer_scan step;
        uint64_t
            at_ms; /* LATER: when it begins, ON: when it begins again, on the pipeline's clock */
        bool if_grown; /* else there is nothing in it to ask for */
        uint64_t version;
        struct wire_pool_end *ends;
        unsigned char *done;
        uint32_t n, left;
    } scan;
    struct trainer_role_counts counts;
    struct wire_floors floors; /* sent last; head_version 0: no head was sent */

    /* Validation rows that wait for the next round. */
    struct fis_rows next_validation;
    float *next_x;
    uint32_t *next_y, *next_group;
    uint32_t next_groups;
    uint64_t validation_sets; /* that were put in force */

    /* A base of trees: the newest, and those of what is served with the validation rows as it sees
     * them (NULL: as the learner has them). */
    struct fis_trees *trees, *served_trees;
    float *based;  /* [ROLE_BLOCK][d]: rows whose margins are renewed */
    bool refitted; /* by the last job */

    struct fis_profile *initial; /* how the initial rows are distributed */
};

#define ROLE_BLOCK 256 /* held candidates scored at a time */

/* trainer.c */
void trainer_begin_phase(struct trainer_role *m, enum trainer_phase phase);
/* A trainer that is done, and has more to do by now: false if not. */
bool trainer_go_on(struct trainer_role *m, const char *why);
static inline bool trainer_out_of_patience(const struct trainer_role *m)
{
    return m->o.idle_rounds && m->state.idle_rounds >= m->o.idle_rounds;
}

/* pipeline_clock.c */
void trainer_tick(struct trainer_role *m, struct trainer_time now);
void trainer_say_all(struct trainer_role *m, struct trainer_time now);

/* record_window.c */
bool trainer_window_full(const struct trainer_role *m); /* by what was handed over */
bool trainer_window_over(struct trainer_role *m);       /* that, or by time */
void trainer_close_window(struct trainer_role *m);
/* The next one; with a pause: only when the pool has grown by then. */
void trainer_scan_after(struct trainer_role *m, uint64_t ms);
void trainer_scan_turn(struct trainer_role *m);
void trainer_window_done(struct trainer_role *m); /* frees */

/* label_requests.c */
void trainer_ask(struct trainer_role *m, struct trainer_time now);
/* Nothing may be asked for just now, but later: paused, or the day's budget is spent. */
bool trainer_must_wait(const struct trainer_role *m);
void trainer_expire(struct trainer_role *m, struct trainer_time now);
/* An open request goes out once more. False: its record is not known, as an older ledger had none.
 */
bool trainer_resend(struct trainer_role *m, const struct fis_request *q, struct trainer_time now);
/* Withdraws the request from the labellers. */
void trainer_send_cancelled(struct trainer_role *m, const struct fis_request *q, const char *reason,
                            struct trainer_time now);
void trainer_give_up(struct trainer_role *m, struct fis_request *r, enum fis_request_state how,
                     bool refund, const char *reason, struct trainer_time now);
/* By what is known of the gap, and what the acquisition has for accuracy. */
void trainer_choose_criterion(struct trainer_role *m);
/* Labels that rounds and budget still allow: "340", or "no limit". */
const char *trainer_saved(const struct trainer_role *m, char out[32]);
bool trainer_counts_kept(const struct trainer_role *m); /* rounds of `fis` count kept labels */
void trainer_count_label(struct trainer_role *m, uint32_t y, bool kept);
/* A request's state on the ledger: OPEN and later ones have the same order there. */
_Static_assert((int)WIRE_TIED - (int)WIRE_REQUESTED == (int)FIS_TIED - (int)FIS_OPEN &&
                   (int)WIRE_EXPIRED - (int)WIRE_REQUESTED == (int)FIS_EXPIRED - (int)FIS_OPEN,
               "one order of states, here and on the wire");
static inline enum wire_ledger_state trainer_ledger_state(enum fis_request_state s)
{
    return (enum wire_ledger_state)((int)s - (int)FIS_OPEN + (int)WIRE_REQUESTED);
}
static inline enum fis_request_state trainer_request_state(enum wire_ledger_state s)
{
    return (enum fis_request_state)((int)s - (int)WIRE_REQUESTED + (int)FIS_OPEN);
}

/* round_training.c */
bool trainer_check(struct trainer_role *m, uint32_t index);    /* the check of a label */
uint32_t trainer_round_progress(const struct trainer_role *m); /* of labels_per_round */
/* The steps that this many of the round's labels stand for. */
uint32_t trainer_share_of_steps(const struct trainer_role *m, uint32_t labels);
void trainer_score_rows(struct trainer_role *m, const float *x, const struct fis_id *const *ids,
                        uint32_t n, float *scores);
/* On all validation rows; of a version over these trees. */
double trainer_accuracy(struct trainer_role *m, const float *params, const struct fis_trees *trees);
int trainer_take_validation(struct trainer_role *m, struct fis_error *e) FIS_MUST_CHECK;

/* base_trees.c */
int trainer_base_init(struct trainer_role *m, struct fis_error *e) FIS_MUST_CHECK;
void trainer_base_done(struct trainer_role *m);
/* Rows [n][d] with margins by these trees: x itself without trees, else valid until another call.
 */
const float *trainer_based(struct trainer_role *m, const struct fis_trees *trees, const float *x,
                           uint32_t n);
int trainer_fit_base(struct trainer_role *m, struct fis_error *e) FIS_MUST_CHECK;   /* when due */
int trainer_refit_base(struct trainer_role *m, struct fis_error *e) FIS_MUST_CHECK; /* now */
int trainer_serve_base(struct trainer_role *m, struct fis_trees *trees,
                       struct fis_error *e) FIS_MUST_CHECK;
void trainer_note_base(struct trainer_role *m);

/* privacy_spent.c */
struct wire_privacy trainer_privacy(const struct trainer_role *m); /* spent up to now */
void trainer_restore_privacy(struct trainer_role *m, const struct wire_trainer_state *s);
void trainer_note_privacy(struct trainer_role *m);

/* version_publish.c */
void trainer_send_head(struct trainer_role *m, struct trainer_time now);
void trainer_send_floors(struct trainer_role *m); /* when one has risen under the newest head */
void trainer_send_version(struct trainer_role *m, struct trainer_time now);
double trainer_floor(const struct trainer_role *m); /* of rollback and promote: by VAL_0 */
/* A version that was there before is served: sent under a new number. */
void trainer_send_again(struct trainer_role *m, const struct wire_model *version, bool back,
                        const char *text, struct trainer_time now);
/* A job makes the checkpoint on its worker and the loop sends it; what is sent without a job, after
 * a rollback, is made then. */
int trainer_make_checkpoint(struct trainer_role *m, struct fis_error *e) FIS_MUST_CHECK;
int trainer_send_checkpoint(struct trainer_role *m, struct fis_error *e) FIS_MUST_CHECK;
void trainer_note(struct trainer_role *m, const char *event, const char *format, ...)
    FIS_PRINTF(3, 4);

#endif
