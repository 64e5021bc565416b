/*
 * One run: a task's split, a method, a metric, a seed; and what came of it on the test rows. The
 * rounds are fisd's own: its scorer role and its session with the trainer role run around a pool in
 * memory (lab/engine.h), and its withheld labels are the answers. A method's parts are plug-ins of
 * the trainer role.
 *
 * Everything is a function of the options and the split. Thread: a run is one thread's; runs share
 * splits and tasks.
 */
#ifndef LAB_RUN_H
#define LAB_RUN_H

#include "fis/gate.h"
#include "lab/method.h"
#include "lab/split.h"
#include "role/publication.h"
#include "wire/types.h"

enum lab_publish {
    LAB_PUBLISH_ONCE = 1, /* after the last round, as in the main tables */
    LAB_PUBLISH_EVERY     /* every round, by the daemon's rule of replacement */
};

struct lab_options {
    enum fis_metric metric;
    uint64_t seed;
    struct lab_protocol protocol;
    enum lab_publish publish;
    double epsilon;
    double standard_errors; /* of the rule of replacement, with LAB_PUBLISH_EVERY */
    float mix;
    uint32_t fresh_steps;     /* of the network that is published; 0: the anchor is */
    int learn_validation;     /* -1: with fewer labels than validation rows */
    int strategy;             /* proxy labels of `fis` */
    uint32_t refreshes;       /* a round: labels and steps in so many parts */
    uint32_t validation_rows; /* the first so many, which are in random order; 0: all */
    int precondition;         /* -1: from 1,000 validation rows on */
    double damping;
    double privacy, clip; /* noise on directions (fis/privacy.h); privacy 0: off, as by default */
    uint32_t delay;       /* rounds that labels are late, in the mean */
    bool whole;           /* `fis` as published: all validation rows guide and judge, however few */
    bool one_pass;        /* the pool once, in as many windows as there are rounds */
    bool path;            /* test metrics after every round too */
    struct fis_trees_options trees; /* of a base (protocol.trees) */
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
    /* The trainer has published or rejected a version. */
    int (*version)(void *arg, struct lab_run *r, const struct wire_model *v, struct fis_error *e);
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

struct lab_result {
    struct fis_metrics test, anchor, warm_up; /* on the test rows; test: of what is published */
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
    uint32_t row; /* of the task */
    uint32_t round;
};

struct lab_engine;
struct lab_run {
    const struct lab_options *o;
    const struct lab_split *split;
    const struct lab_method *method;
    const struct lab_hooks *hooks;
    struct fis_shape shape;
    size_t n_params;
    uint32_t classes;
    /* The trainer role's own. */
    struct publication_call *parts;
    struct fis_learner *learner;
    struct fis_gate *gate;
    struct fis_direction_options *directions;
    struct fis_panel *panel; /* what scores; borrowed, the learner's own unless a hook set it */
    const uint32_t *training_group;                 /* [task->n], only for sees_groups; else NULL */
    uint32_t round;                                 /* from 0 */
    float *published;                               /* slab: what publish gave last */
    struct fis_trees *published_trees, *test_trees; /* over a base; of test_x's margins */
    float *test_x;     /* the split's own, or with margins [n_test][d] */
    float *end_anchor; /* slab: the anchor at the end of the last round */
    /* Labelled rows of the task, in order: the initial ones, then what was bought. */
    uint32_t *labelled, n_labelled;
    struct lab_bought *bought; /* [n_labelled - split->n_initial] */
    uint32_t n_bought;
    uint32_t answering; /* row of the label that the role has now */
    struct fis_rng rng; /* for methods and samples of the pool; seeded by the run's seed */
    void *acquisition_state, *publication_state, *hook_state;
    struct fis_gate_judgement *judgement; /* of the round, while publish is called */
    struct lab_result *result;            /* publications fill interpolation, rounds_rejected */
    /* Work for LAB_SCORE_ROWS rows. */
    float *room; /* [LAB_SCORE_ROWS][d], of images; else NULL */
    struct fis_scratch *scratch;
    float *p, *infl_acc, *infl_fair;    /* [LAB_SCORE_ROWS][K] */
    float *logits;                      /* [max(n_validation, n_test)][K] */
    uint32_t *predictions;              /* the same */
    struct fis_acquisition acquisition; /* the method's, as the roles have it */
    struct publication publication;     /* likewise */
};

/* An acquisition's batch in pieces of LAB_SCORE_ROWS: scores [n][FIS_MAX_CRITERIA] by `some`. */
void lab_score(struct lab_run *r, const float *x, uint32_t n, float *scores,
               void (*some)(struct lab_run *r, const float *x, uint32_t n, float *scores));
/* Metrics of params on the test rows, over the newest base; over another one. */
void lab_evaluate(struct lab_run *r, const float *params, struct fis_metrics *out);
void lab_evaluate_over(struct lab_run *r, const float *params, struct fis_trees *trees,
                       struct fis_metrics *out);
/* logits [n][K] of any rows, in pieces. */
void lab_forward(struct lab_run *r, const float *params, const float *x, uint32_t n, float *logits);
#endif
