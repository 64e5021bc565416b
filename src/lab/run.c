#include "lab/run_impl.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "fis/defaults.h"
#include "fis/mem.h"

#define METHOD_STREAM 102u

void lab_options_default(const struct lab_task_spec *spec, enum lab_regime regime,
                         struct lab_options *o)
{
    *o = (struct lab_options){.metric = FIS_EQUALIZED_ODDS,
                              .seed = 1,
                              .protocol = spec->protocol[regime],
                              .publish = LAB_PUBLISH_ONCE,
                              .epsilon = FIS_DEFAULT_EPSILON,
                              .floor_errors = FIS_DEFAULT_FLOOR_ERRORS,
                              .standard_errors = FIS_DEFAULT_STANDARD_ERRORS,
                              .boost = (float)FIS_DEFAULT_BOOST,
                              .mix = (float)FIS_DEFAULT_MIX,
                              .strategy = FIS_DEFAULT_STRATEGY,
                              .refreshes = FIS_DEFAULT_REFRESHES,
                              .precondition = -1,
                              .damping = FIS_DEFAULT_DAMPING,
                              .clip = FIS_DEFAULT_CLIP};
}

/* ---- beginning ------------------------------------------------------------------------------ */

static int make_work(struct lab_run *r, struct fis_error *e)
{
    const struct lab_split *s = r->split;
    size_t k = r->classes, scores = LAB_SCORE_ROWS * k;
    size_t n = s->n_validation > s->n_test ? s->n_validation : s->n_test;
    r->scratch = fis_scratch_new(&r->shape, LAB_SCORE_ROWS, FIS_DIRECTIONS);
    r->p = fis_alloc(scores, sizeof *r->p);
    r->infl_acc = fis_calloc(scores, sizeof *r->infl_acc);
    r->infl_fair = fis_calloc(scores, sizeof *r->infl_fair);
    r->logits = fis_alloc(n * k, sizeof *r->logits);
    r->predictions = fis_alloc(n, sizeof *r->predictions);
    r->seen = fis_calloc(s->n_pool, 1);
    r->order = fis_alloc(s->n_pool, sizeof *r->order);
    if (!r->scratch || !r->p || !r->infl_acc || !r->infl_fair || !r->logits || !r->predictions ||
        !r->seen || !r->order)
        return fis_fail(e, FIS_NOMEM, "run: no memory");
    for (uint32_t i = 0; i < s->n_pool; i++)
        r->order[i] = i;
    return 0;
}

static int make_trainer(struct lab_run *r, struct fis_error *e)
{
    const struct lab_protocol *p = &r->o->protocol;
    const struct lab_split *s = r->split;
    const enum fis_copies copies = r->method->publication->copies;
    uint32_t folds = r->o->folds                                    ? r->o->folds
                     : s->n_validation >= FIS_DEFAULT_ROWS_FOR_AUTO ? 2
                                                                    : 1;
    const struct fis_learner_options options = {
        .shape = r->shape,
        .copies = copies,
        /* Where no gate judges, all rows guide. */
        .folds = copies == FIS_COPIES_BOOSTED ? folds : copies == FIS_COPIES_MIXED && !r->o->whole,
        .learning_rate = p->learning_rate,
        .momentum = p->momentum,
        .weight_decay = p->weight_decay,
        .batch = p->batch,
        .boost = r->o->boost,
        .mix = r->o->mix,
        .split_by_place = r->o->privacy > 0,
        .kept_min = FIS_DEFAULT_KEPT_MIN,
        .average_every = FIS_DEFAULT_AVERAGE_EVERY,
        .seed = r->o->seed,
    };
    const struct fis_rows validation = {.n = s->n_validation,
                                        .d = s->d,
                                        .x = s->validation_x,
                                        .y = s->validation_y,
                                        .group = s->validation_group};
    r->folds = options.folds;
    if (!(r->learner = fis_learner_new(&options, e)))
        return -(int)(e ? e->kind : FIS_NOMEM);
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < s->n_initial; i++)
        rc = fis_learner_add_initial(r->learner, lab_split_row(s, s->initial[i]),
                                     s->task->y[s->initial[i]], e);
    return rc < 0 ? rc : fis_learner_set_validation(r->learner, &validation, s->task->n_groups, e);
}

static int make_selector(struct lab_run *r, struct fis_error *e)
{
    const struct lab_protocol *p = &r->o->protocol;
    const struct lab_acquisition *a = r->method->acquisition;
    r->criteria = (struct fis_criteria){
        .acquisition = a->algorithm, .strategy = r->o->strategy, .seed = r->o->seed};
    const struct fis_selector_options options = {
        .criteria = r->criteria,
        .d = r->split->d,
        .labels_per_round = p->labels_per_round,
        .in_flight = p->labels_per_round * (r->o->delay + 1),
    };
    r->selector = fis_selector_new(&options, e);
    return r->selector ? 0 : -(int)(e ? e->kind : FIS_NOMEM);
}

static void set_directions(struct lab_run *r)
{
    int whole = r->method->publication->copies == FIS_COPIES_MIXED; /* as published */
    int precondition = r->o->precondition;
    if (precondition < 0)
        precondition =
            !whole && r->o->privacy <= 0 && r->split->n_validation >= FIS_DEFAULT_ROWS_FOR_AUTO;
    r->directions = (struct fis_direction_options){
        .surrogate = {.metric = r->o->metric,
                      .form = whole ? FIS_GAP_PAIRS : FIS_GAP_OVERALL,
                      .positive = r->split->task->positive},
        .n_groups = r->split->task->n_groups,
        .precondition = precondition,
        .damping = r->o->damping,
    };
    if (r->o->privacy > 0) {
        r->privacy = (struct fis_privacy){.noise = r->o->privacy, .clip = r->o->clip};
        memcpy(r->privacy.key, &r->o->seed, sizeof r->o->seed);
        r->directions.privacy = &r->privacy;
    }
}

static int set_up(struct lab_run *r, struct fis_error *e)
{
    const struct lab_task *t = r->split->task;
    int rc = fis_shape_init(&r->shape, r->split->d, &r->o->protocol.hidden, 1, t->n_classes, e);
    if (rc < 0)
        return rc;
    r->classes = t->n_classes;
    r->n_params = fis_shape_params(&r->shape);
    r->training_group = r->method->publication->sees_groups ? t->group : NULL;
    fis_rng_seed(&r->rng, r->o->seed, METHOD_STREAM);
    set_directions(r);
    rc = make_work(r, e);
    if (rc == 0)
        rc = make_trainer(r, e);
    if (rc == 0 && !r->method->acquisition->buys_nothing)
        rc = make_selector(r, e);
    if (rc == 0 && r->hooks && r->hooks->begun)
        rc = r->hooks->begun(r->hooks->arg, r, e);
    return rc;
}

static void tear_down(struct lab_run *r)
{
    if (r->hooks && r->hooks->ended)
        r->hooks->ended(r->hooks->arg, r);
    if (r->method->acquisition->end)
        r->method->acquisition->end(r);
    if (r->method->publication->end)
        r->method->publication->end(r);
    fis_learner_free(r->learner);
    fis_selector_free(r->selector);
    fis_gate_free(r->gate);
    fis_scratch_free(r->scratch);
    void *const all[] = {r->p,    r->infl_acc, r->infl_fair, r->logits,    r->predictions,
                         r->seen, r->order,    r->bought,    r->published, r->waiting};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fis_free(all[i]);
}

/* ---- the course ----------------------------------------------------------------------------- */

static int warm_up(struct lab_run *r, struct fis_error *e)
{
    const struct lab_method *m = r->method;
    uint32_t steps = r->o->protocol.warm_up_epochs * fis_learner_epoch_steps(r->learner);
    int rc = fis_learner_warm_up(r->learner, steps, e);
    if (rc < 0)
        return rc;
    lab_evaluate(r, fis_learner_anchor(r->learner), &r->result->warm_up);
    fis_learner_fork(r->learner);
    if (m->acquisition->begin && (rc = m->acquisition->begin(r, e)) < 0)
        return rc;
    if (m->publication->begin && (rc = m->publication->begin(r, e)) < 0)
        return rc;
    return lab_refresh(r, e);
}

static void add_point(struct lab_run *r, int published)
{
    struct lab_result *out = r->result;
    struct lab_figures anchor, now;
    const enum fis_metric metric = r->o->metric;
    if (out->n_path >= LAB_ROUNDS_MAX)
        return;
    lab_evaluate(r, fis_learner_end_anchor(r->learner), &anchor);
    now = anchor;
    if (published)
        lab_evaluate(r, r->published, &now);
    out->path[out->n_path++] =
        (struct lab_point){.labels = r->n_bought,
                           .accuracy = now.accuracy,
                           .violation = lab_figures_of(&now, metric),
                           .anchor_accuracy = anchor.accuracy,
                           .anchor_violation = lab_figures_of(&anchor, metric)};
}

static int end_round(struct lab_run *r, struct fis_error *e)
{
    const struct lab_publication *p = r->method->publication;
    int last = r->round + 1 == r->o->protocol.rounds, rc = 0;
    int publish = last || r->o->path || r->o->publish == LAB_PUBLISH_EVERY;
    if (p->round_end && (rc = p->round_end(r, e)) < 0)
        return rc;
    if (publish && (rc = p->publish(r, last, r->published, e)) < 0)
        return rc;
    if (r->o->path)
        add_point(r, publish);
    if (r->hooks && r->hooks->round_end)
        rc = r->hooks->round_end(r->hooks->arg, r, e);
    return rc;
}

static int course(struct lab_run *r, struct fis_error *e)
{
    int rc = set_up(r, e);
    if (rc == 0 && !(r->published = fis_calloc(r->n_params, sizeof(float))))
        rc = fis_fail(e, FIS_NOMEM, "run: no memory");
    if (rc == 0)
        rc = warm_up(r, e);
    for (r->round = 0; rc == 0 && r->round < r->o->protocol.rounds; r->round++) {
        rc = lab_round(r, e);
        if (rc == 0)
            rc = end_round(r, e);
    }
    if (rc < 0)
        return rc;
    lab_evaluate(r, fis_learner_end_anchor(r->learner), &r->result->anchor);
    lab_evaluate(r, r->published, &r->result->test);
    r->result->kept = fis_learner_counts(r->learner).kept;
    r->result->bought = r->n_bought;
    return 0;
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
    struct lab_result result = {
        .n_validation = split->n_validation, .n_test = split->n_test, .interpolation = NAN};
    struct lab_run r = {
        .o = options, .split = split, .method = method, .hooks = hooks, .result = &result};
    const double before = thread_seconds();
    int rc = course(&r, e);
    tear_down(&r);
    if (rc < 0) {
        fis_error_prefix(e, "%s, %s, seed %llu", split->task->spec->name, method->name,
                         (unsigned long long)options->seed);
        return rc;
    }
    result.seconds = thread_seconds() - before;
    *out = result;
    return 0;
}
