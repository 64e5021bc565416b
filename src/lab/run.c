#include "lab/run.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "data/boost.h"
#include "fis/defaults.h"
#include "fis/mem.h"
#include "lab/engine.h"

#define METHOD_STREAM 102u
/* The trees of a user who takes numbers. */
#define RIVAL_TREES 120u
#define RIVAL_RATE .08
#define RIVAL_SAMPLE .8

void lab_options_default(const struct lab_task_spec *spec, enum lab_regime regime,
                         struct lab_options *o)
{
    *o = (struct lab_options){.metric = FIS_EQUALIZED_ODDS,
                              .seed = 1,
                              .protocol = spec->protocol[regime],
                              .publish = LAB_PUBLISH_ONCE,
                              .epsilon = FIS_DEFAULT_EPSILON,
                              .standard_errors = FIS_DEFAULT_STANDARD_ERRORS,
                              .mix = (float)FIS_DEFAULT_MIX,
                              .fresh_steps = FIS_DEFAULT_FRESH_STEPS,
                              .learn_validation = -1,
                              .strategy = FIS_DEFAULT_STRATEGY,
                              .refreshes = FIS_DEFAULT_REFRESHES,
                              .precondition = -1,
                              .damping = FIS_DEFAULT_DAMPING,
                              .clip = FIS_DEFAULT_CLIP,
                              .trees = {.n = FIS_DEFAULT_TREES,
                                        .depth = FIS_DEFAULT_TREE_DEPTH,
                                        .patience = FIS_DEFAULT_TREE_PATIENCE,
                                        .rate = FIS_DEFAULT_TREE_RATE,
                                        .rows = FIS_DEFAULT_TREE_SAMPLE,
                                        .columns = FIS_DEFAULT_TREE_COLUMNS,
                                        .folds = FIS_DEFAULT_TREE_FOLDS,
                                        .growth = FIS_DEFAULT_TREE_GROWTH}};
}

/* ---- plug-ins ------------------------------------------------------------------------------- */

static struct lab_run *run_of(struct publication_call *c)
{
    struct lab_run *r = c->state;
    r->round = c->round ? c->round - 1 : 0;
    return r;
}

static bool last_round(const struct lab_run *r)
{
    return r->round + 1 == r->o->protocol.rounds;
}

/* What is published predicts with the trees that it was published over. */
static void keep_trees(struct lab_run *r, struct fis_trees *trees)
{
    fis_trees_unref(r->published_trees);
    r->published_trees = fis_trees_ref(trees);
}

static int begin(struct publication_call *c, struct fis_error *e)
{
    struct lab_run *r = run_of(c);
    const struct lab_publication *p = r->method->publication;
    const float *end = fis_learner_end(r->learner);
    lab_evaluate(r, end, &r->result->warm_up);
    memcpy(r->published, end, r->n_params * sizeof *end);
    memcpy(r->end_anchor, end, r->n_params * sizeof *end);
    keep_trees(r, c->trees);
    return p->begin ? p->begin(r, e) : 0;
}

static int train(struct publication_call *c, uint32_t steps, struct fis_error *e)
{
    struct lab_run *r = run_of(c);
    return r->method->publication->train(r, steps, e);
}

static int refreshed(struct publication_call *c, struct fis_error *e)
{
    struct lab_run *r = run_of(c);
    r->panel = fis_learner_panel(r->learner);
    return r->hooks && r->hooks->refreshed ? r->hooks->refreshed(r->hooks->arg, r, e) : 0;
}

static int predicted_right(struct lab_run *r)
{
    uint32_t predicted;
    fis_network_forward(&r->shape, fis_learner_anchor(r->learner),
                        lab_split_see(r->split, r->answering, r->room), 1, r->scratch, r->p);
    fis_predict(r->p, 1, r->classes, &predicted);
    return predicted == r->split->task->y[r->answering];
}

/* Room for as many labels as there are rows was made at the beginning. */
static bool check(struct publication_call *c, uint32_t index)
{
    struct lab_run *r = run_of(c);
    const bool kept = fis_learner_check(r->learner, index, NULL, NULL);
    r->result->kept_at_once += kept;
    if (r->method->publication->mixed)
        r->result->kept_right += kept == predicted_right(r);
    r->bought[r->n_bought++] = (struct lab_bought){r->answering, r->round};
    r->labelled[r->n_labelled++] = r->answering;
    return kept;
}

static void add_point(struct lab_run *r)
{
    struct lab_result *out = r->result;
    struct fis_metrics anchor, now;
    const enum fis_metric metric = r->o->metric;
    if (out->n_path >= LAB_ROUNDS_MAX)
        return;
    lab_evaluate(r, r->end_anchor, &anchor);
    lab_evaluate_over(r, r->published, r->published_trees, &now);
    out->path[out->n_path++] =
        (struct lab_point){.labels = r->n_bought,
                           .accuracy = now.accuracy,
                           .violation = fis_metrics_of(&now, metric),
                           .anchor_accuracy = anchor.accuracy,
                           .anchor_violation = fis_metrics_of(&anchor, metric)};
}

/* A verdict of methods that do not ask the gate: what they give is published. */
static void give_out(struct fis_gate_judgement *j, int publish)
{
    *j = (struct fis_gate_judgement){
        .verdict = publish ? FIS_PUBLISH : FIS_REJECT,
        .reason = publish ? FIS_GATE_ALWAYS : FIS_GATE_NOT_FAIRER,
        .floor = NAN,
        .difference = NAN,
        .difference_se = NAN,
        .detectable = NAN,
    };
    fis_metrics_none(&j->pick);
    fis_metrics_none(&j->anchor);
    fis_metrics_none(&j->served);
}

static int judge(struct publication_call *c, struct fis_gate_judgement *j, float *params,
                 struct fis_error *e)
{
    struct lab_run *r = run_of(c);
    const struct lab_publication *p = r->method->publication;
    const int last = last_round(r);
    const int due = last || r->o->path || p->every_round || r->o->publish == LAB_PUBLISH_EVERY;
    int rc = due ? publication_retrain(c, e) : 0;
    if (rc < 0)
        return rc;
    memcpy(r->end_anchor, fis_learner_end(r->learner), r->n_params * sizeof *r->end_anchor);
    give_out(j, due);
    r->judgement = j;
    rc = due ? p->publish(r, last, r->published, e) : 0;
    if (rc < 0)
        return rc;
    if (due)
        keep_trees(r, c->trees);
    if (j->verdict == FIS_PUBLISH)
        memcpy(params, r->published, r->n_params * sizeof *params);
    if (r->o->path)
        add_point(r);
    return r->hooks && r->hooks->round_end ? r->hooks->round_end(r->hooks->arg, r, e) : 0;
}

/* With a panel that a hook has set. */
static void by_panel(const struct fis_criteria *c, const struct fis_id *const *ids, const float *x,
                     uint32_t n, float *scores)
{
    struct lab_run *r = c->state;
    struct fis_criteria own = *c;
    own.acquisition = r->method->acquisition;
    for (uint32_t i = 0; i < n; i += LAB_SCORE_ROWS) {
        const uint32_t m = n - i < LAB_SCORE_ROWS ? n - i : LAB_SCORE_ROWS;
        fis_criteria_batch(&own, r->panel, ids + i, x + (size_t)i * r->split->d, NULL, m,
                           r->scratch, NULL, scores + (size_t)i * FIS_MAX_CRITERIA);
    }
}

static void plug_in(struct lab_run *r)
{
    const struct lab_publication *p = r->method->publication;
    r->acquisition = *r->method->acquisition;
    if (!r->acquisition.batch && r->hooks && r->hooks->refreshed)
        r->acquisition.batch = by_panel;
    r->publication = (struct publication){
        .name = p->name,
        .mixed = p->mixed,
        .strict = p->mixed,
        .halves = p->mixed && !r->o->whole,
        .line = p->line,
        .begin = begin,
        .train = p->train ? train : NULL,
        .check = check,
        .refreshed = refreshed,
        .judge = judge,
    };
}

/* ---- beginning ------------------------------------------------------------------------------ */

static int make_work(struct lab_run *r, struct fis_error *e)
{
    const struct lab_split *s = r->split;
    size_t k = r->classes, scores = LAB_SCORE_ROWS * k, rows = (size_t)s->n_initial + s->n_pool;
    size_t n = s->n_validation > s->n_test ? s->n_validation : s->n_test;
    r->scratch = fis_scratch_new(&r->shape, LAB_SCORE_ROWS, FIS_DIRECTIONS);
    r->p = fis_alloc(scores, sizeof *r->p);
    r->infl_acc = fis_calloc(scores, sizeof *r->infl_acc);
    r->infl_fair = fis_calloc(scores, sizeof *r->infl_fair);
    r->logits = fis_alloc(n * k, sizeof *r->logits);
    r->predictions = fis_alloc(n, sizeof *r->predictions);
    r->published = fis_calloc(r->n_params, sizeof *r->published);
    r->end_anchor = fis_calloc(r->n_params, sizeof *r->end_anchor);
    r->labelled = fis_alloc(rows, sizeof *r->labelled);
    r->bought = fis_alloc(s->n_pool, sizeof *r->bought);
    if (!r->scratch || !r->p || !r->infl_acc || !r->infl_fair || !r->logits || !r->predictions ||
        !r->published || !r->end_anchor || !r->labelled || !r->bought)
        return fis_fail(e, FIS_NOMEM, "run: no memory");
    if (!s->x && !(r->room = fis_alloc(LAB_SCORE_ROWS * (size_t)s->d, sizeof *r->room)))
        return fis_fail(e, FIS_NOMEM, "run: no memory for %u images", LAB_SCORE_ROWS);
    r->test_x = s->test_x;
    if (s->margins) {
        size_t cells = (size_t)s->n_test * s->d;
        if (!(r->test_x = fis_alloc(cells, sizeof *r->test_x)))
            return fis_fail(e, FIS_NOMEM, "run: no memory for %u test rows", s->n_test);
        memcpy(r->test_x, s->test_x, cells * sizeof *r->test_x);
    }
    memcpy(r->labelled, s->initial, s->n_initial * sizeof *r->labelled);
    r->n_labelled = s->n_initial;
    return 0;
}

static void learner_options(const struct lab_run *r, struct fis_learner_options *o)
{
    const struct lab_protocol *p = &r->o->protocol;
    o->learning_rate = p->learning_rate;
    o->momentum = p->momentum;
    o->weight_decay = p->weight_decay;
    o->adamw = p->adamw;
    o->rise = p->rise;
    o->fall = p->adamw ? p->steps_per_round : 0;
    o->flip = p->flip;
    o->shift = p->shift;
    o->batch = p->batch;
    o->mix = r->o->mix;
    o->kept_min = FIS_DEFAULT_KEPT_MIN;
    o->average_every = FIS_DEFAULT_AVERAGE_EVERY;
    /* Methods that train a model of their own begin at the anchor. */
    o->fresh_steps = r->method->publication->train ? 0 : r->o->fresh_steps;
    o->learn_validation = r->o->learn_validation;
    o->seed = r->o->seed;
}

static void gate_options(const struct lab_run *r, struct fis_gate_options *o)
{
    const bool all = r->publication.mixed && !r->publication.halves;
    *o = (struct fis_gate_options){
        .metric = r->o->metric,
        .positive = r->split->task->positive,
        .epsilon = r->o->epsilon,
        .min_rows = all ? 0 : FIS_DEFAULT_MIN_ROWS,
        .min_cell = all ? 1 : FIS_DEFAULT_MIN_CELL,
        .warn_cell = FIS_DEFAULT_WARN_CELL,
        .rule = r->o->publish == LAB_PUBLISH_EVERY ? FIS_GATE_RULE_FAIRER : FIS_GATE_RULE_ALWAYS,
        .standard_errors = r->o->standard_errors,
        /* `always` does not look at standard errors. */
        .resamples = r->o->publish == LAB_PUBLISH_EVERY ? FIS_DEFAULT_RESAMPLES : 2,
        .seed = r->o->seed,
    };
}

static uint32_t validation_rows(const struct lab_split *s, const struct lab_options *o)
{
    return o->validation_rows ? o->validation_rows : s->n_validation;
}

static struct fis_trees_options trees(const struct lab_run *r)
{
    struct fis_trees_options o = r->o->trees;
    o.seed = r->o->seed;
    if (r->method->publication->trees_alone) {
        o.growth = 0;
        o.folds = 0;
        o.n = RIVAL_TREES;
        o.rate = RIVAL_RATE;
        o.rows = o.columns = RIVAL_SAMPLE;
    }
    return o;
}

/* As the daemon's pipeline has them. */
static void role_options(struct lab_run *r, struct trainer_role_options *o)
{
    const struct lab_protocol *p = &r->o->protocol;
    const bool published = r->method->acquisition->as_published;
    const uint32_t positive = r->split->task->positive;
    *o = (struct trainer_role_options){
        .pipeline = "lab",
        .positive = positive,
        .selector = {.criteria = {&r->acquisition, r->o->strategy, r->o->seed, r},
                     .labels_per_round = p->labels_per_round,
                     .distinct = FIS_DEFAULT_DISTINCT,
                     .in_flight = p->labels_per_round * (2 * r->o->delay + 1)},
        .publication = &r->publication,
        .publication_state = r,
        .refreshes = r->o->refreshes,
        .hidden = {p->hidden},
        .n_hidden = 1,
        .vit = p->vit,
        .directions = {.surrogate = {.metric = r->o->metric,
                                     .form = published ? FIS_GAP_PAIRS : FIS_GAP_OVERALL,
                                     .positive = positive},
                       .damping = r->o->damping},
        .precondition = published && r->o->precondition < 0 ? 0 : r->o->precondition,
        .privacy_delta = FIS_DEFAULT_DELTA,
        .warm_up_epochs = r->method->publication->trees_alone ? 0 : p->warm_up_epochs,
        .steps_per_round = p->steps_per_round,
        .rounds = p->rounds,
        .patience = FIS_DEFAULT_PATIENCE,
        .validation_rows = validation_rows(r->split, r->o),
        .n_groups = r->split->task->n_groups,
        .trees = trees(r),
        .fit_trees = data_boost,
    };
    learner_options(r, &o->learner);
    gate_options(r, &o->gate);
    if (r->o->privacy > 0) {
        o->privacy = (struct fis_privacy){.noise = r->o->privacy, .clip = r->o->clip};
        memcpy(o->privacy.key, &r->o->seed, sizeof r->o->seed);
    }
}

static int set_up(struct lab_run *r, struct lab_engine **engine, struct fis_error *e)
{
    const struct lab_task *t = r->split->task;
    struct trainer_role_options o;
    if (t->images && (r->method->publication->split_rows || r->split->margins))
        return fis_fail(e, FIS_INPUT,
                        "the method trains dense networks or trees; of images any but jtt, "
                        "random+val, group-aware and xgb+… is allowed");
    r->classes = t->n_classes;
    r->training_group = r->method->publication->sees_groups ? t->group : NULL;
    fis_rng_seed(&r->rng, r->o->seed, METHOD_STREAM);
    plug_in(r);
    role_options(r, &o);
    int rc =
        trainer_role_make_shape(&o, r->split->d, r->split->margins, t->n_classes, &r->shape, e);
    r->n_params = rc == 0 ? fis_shape_params(&r->shape) : 0;
    if (rc < 0 || (rc = make_work(r, e)) < 0)
        return rc;
    if (!(*engine = lab_engine_new(r, &o, e)))
        return -(int)e->kind;
    r->learner = r->parts->learner;
    r->gate = r->parts->gate;
    r->directions = r->parts->directions;
    return r->hooks && r->hooks->begun ? r->hooks->begun(r->hooks->arg, r, e) : 0;
}

static void tear_down(struct lab_run *r, struct lab_engine *engine)
{
    if (r->hooks && r->hooks->ended)
        r->hooks->ended(r->hooks->arg, r);
    if (r->method->publication->end)
        r->method->publication->end(r);
    lab_engine_free(engine); /* and with it the acquisition's state */
    fis_scratch_free(r->scratch);
    fis_trees_unref(r->published_trees);
    fis_trees_unref(r->test_trees);
    if (r->test_x != r->split->test_x)
        fis_free(r->test_x);
    void *const all[] = {r->p,         r->infl_acc,   r->infl_fair, r->logits, r->predictions,
                         r->published, r->end_anchor, r->labelled,  r->bought, r->room};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fis_free(all[i]);
}

/* ---- the course ----------------------------------------------------------------------------- */

/* `base` buys nothing, and so has no rounds of the role's. */
static int train_without_labels(struct lab_run *r, struct fis_error *e)
{
    struct fis_gate_judgement j;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < r->o->protocol.rounds; i++) {
        r->parts->round = i + 1;
        fis_learner_round_begin(r->learner);
        rc = fis_learner_train(r->learner, r->o->protocol.steps_per_round, e);
        if (rc == 0)
            rc = judge(r->parts, &j, r->published, e);
    }
    return rc;
}

static int course(struct lab_run *r, struct fis_error *e)
{
    struct lab_engine *engine = NULL;
    int rc = set_up(r, &engine, e);
    if (rc == 0)
        rc = lab_engine_run(engine, !lab_method_buys_nothing(r->method), e);
    if (rc == 0 && lab_method_buys_nothing(r->method))
        rc = train_without_labels(r, e);
    if (rc == 0) {
        lab_evaluate(r, r->end_anchor, &r->result->anchor);
        lab_evaluate_over(r, r->published, r->published_trees, &r->result->test);
        r->result->kept = fis_learner_counts(r->learner).kept;
        r->result->bought = r->n_bought;
    }
    tear_down(r, engine);
    return rc;
}

static double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int lab_run(const struct lab_split *split, const struct lab_method *method,
            const struct lab_options *options, const struct lab_hooks *hooks,
            struct lab_result *out, struct fis_error *e)
{
    struct lab_result result = {.n_validation = validation_rows(split, options),
                                .n_test = split->n_test,
                                .interpolation = NAN};
    struct lab_run r = {
        .o = options, .split = split, .method = method, .hooks = hooks, .result = &result};
    const double before = thread_seconds();
    int rc = course(&r, e);
    if (rc < 0) {
        fis_error_prefix(e, "%s, %s, seed %llu", split->task->spec->name, method->name,
                         (unsigned long long)options->seed);
        return rc;
    }
    result.seconds = thread_seconds() - before;
    *out = result;
    return 0;
}
