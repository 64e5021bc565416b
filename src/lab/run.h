/*
 * One run: a task's split, a method, a metric, a seed; ten rounds of scoring, buying, training;
 * and what came of it on the test rows. The objects are the daemon's own (selector, influence,
 * trainer, gate, encoder); the stream is the pool, the people are its withheld labels.
 *
 * Everything is a function of the options and the split. Thread: a run is one thread's; runs share
 * splits and tasks.
 */
#ifndef LAB_RUN_H
#define LAB_RUN_H

#include "fis/gate.h"
#include "lab/method.h"
#include "lab/split.h"

enum lab_publish {
    LAB_PUBLISH_ONCE = 1, /* after the last round, as in the main tables */
    LAB_PUBLISH_EVERY     /* every round, by the daemon's rule of replacement (`pub`, `ft` only) */
};

struct lab_options {
    enum fis_metric metric;
    uint64_t seed;
    struct lab_protocol protocol;
    enum lab_publish publish;
    double epsilon;
    double floor_errors;    /* of the gate; 0: the bare floor */
    double standard_errors; /* of the rule of replacement, with LAB_PUBLISH_EVERY */
    float boost, mix;
    int strategy;       /* proxy labels of `fis` */
    uint32_t refreshes; /* a round: labels and steps in so many parts */
    uint32_t folds;     /* 0: cross-fit from 1,000 validation rows on, else halves */
    int precondition;   /* -1: from 1,000 validation rows on */
    double damping;
    double privacy, clip; /* noise on directions (fis/privacy.h); privacy 0: off, as by default */
    uint32_t delay; /* rounds that labels are late */
    int whole;      /* `fis` as published: all validation rows guide and judge, however few */
    int one_pass;   /* the pool once, in as many windows as there are rounds */
    int path;       /* test metrics after every round too */
};
void lab_options_default(const struct lab_task_spec *spec, enum lab_regime regime,
                         struct lab_options *o);

/* Optional calls of an experiment into a run; each may be NULL. */
struct lab_hooks {
    void *arg;
    /* The trainer has its validation rows; nothing is trained yet. */
    int (*begun)(void *arg, struct lab_run *r, struct fis_error *e);
    /* Directions are new. It may set r->panel to one of its own (see run.c). */
    int (*refreshed)(void *arg, struct lab_run *r, struct fis_error *e);
    int (*round_end)(void *arg, struct lab_run *r, struct fis_error *e);
    /* The run is over, well or not; what hangs on hook_state can go. */
    void (*ended)(void *arg, struct lab_run *r);
};

/* A point of the path. */
struct lab_point {
    uint32_t labels;
    double accuracy, violation;               /* of what would be published, on test */
    double anchor_accuracy, anchor_violation; /* of the anchor */
};
#define LAB_ROUNDS_MAX 64

/* On the test rows, of what is published. */
struct lab_figures {
    double accuracy, balanced_accuracy, demographic_parity, equal_opportunity, equalized_odds,
        equalized_odds_max, risk_disparity;
    uint32_t predicted_classes;
};
double lab_figures_of(const struct lab_figures *f, enum fis_metric metric); /* the violation */

struct lab_result {
    struct lab_figures test, anchor, warm_up;
    uint32_t n_validation, n_test, bought;
    uint32_t kept;         /* at the end */
    uint32_t kept_at_once; /* by the check when the label came */
    uint32_t kept_right;   /* `fis`: labels for which kept and "was predicted right" are the same */
    uint32_t rounds_rejected; /* by the method's own rule or the gate */
    double interpolation;     /* a of what is published; NaN where there is none */
    double seconds;           /* of processor time; not a function of the options */
    uint32_t n_path;
    struct lab_point path[LAB_ROUNDS_MAX];
};

int lab_run(const struct lab_split *split, const struct lab_method *method,
            const struct lab_options *options, const struct lab_hooks *hooks,
            struct lab_result *out, struct fis_error *e) FIS_MUST_CHECK;

/* ---- for methods ---------------------------------------------------------------------------- */

#define LAB_SCORE_ROWS 256u

struct lab_bought {
    uint32_t row;   /* of the task */
    uint32_t index; /* in the trainer */
    uint32_t round, criterion;
};

struct lab_waiting {
    uint32_t place, round; /* in the pool; when it was asked for */
};

struct lab_run {
    const struct lab_options *o;
    const struct lab_split *split;
    const struct lab_method *method;
    const struct lab_hooks *hooks;
    struct fis_shape shape;
    size_t n_params;
    uint32_t classes, folds; /* folds: of the trainer */
    struct fis_learner *learner;
    struct fis_selector *selector;
    struct fis_gate *gate; /* NULL unless the publication makes one */
    struct fis_direction_options directions;
    struct fis_privacy privacy;
    struct fis_criteria criteria;
    struct fis_panel *panel; /* what scores; borrowed, the trainer's own unless a hook set it */
    const uint32_t *training_group; /* [task->n], only for sees_groups; else NULL */
    uint32_t round;                 /* from 0 */
    float *published;               /* slab: what publish gave last */
    /* Labelled rows in order: the initial ones are split->initial, these were bought. */
    struct lab_bought *bought;
    uint32_t n_bought, bought_capacity;
    struct lab_waiting *waiting; /* asked for, in order; from waiting_at on not yet there */
    uint32_t n_waiting, waiting_capacity, waiting_at;
    struct fis_rng rng; /* for methods; seeded by the run's seed */
    void *acquisition_state, *publication_state, *hook_state;
    struct lab_result *result; /* publications fill interpolation, rounds_rejected */
    /* Work for LAB_SCORE_ROWS rows. */
    struct fis_scratch *scratch;
    float *p, *infl_acc, *infl_fair; /* [LAB_SCORE_ROWS][K] */
    float *logits;                   /* [max(n_validation, n_test)][K] */
    uint32_t *predictions;           /* the same */
    uint8_t *seen;                   /* [n_pool] bought already */
    uint32_t *order;                 /* [n_pool] places in the pool, those to be looked at first */
    struct fis_error *score_error;   /* first error of a rescore */
    int score_result;
};

/* Metrics of params on the test rows. */
void lab_evaluate(struct lab_run *r, const float *params, struct lab_figures *out);
/* logits [n][K] of any rows, in pieces. */
void lab_forward(struct lab_run *r, const float *params, const float *x, uint32_t n, float *logits);
/* A gate on this run's options with fisd's thresholds (rows 500, cells 30), the warm-up model as
 * its first; or with none when `judge_all` (the published algorithm). Sets r->gate. */
int lab_gate_make(struct lab_run *r, enum fis_gate_rule rule, int judge_all,
                  struct fis_error *e) FIS_MUST_CHECK;

#endif
