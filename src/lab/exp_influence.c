#include "lab/exp_influence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fis/loss.h"
#include "fis/mem.h"
#include "lab/sgd.h"

#define SAMPLE_STREAM 131u
#define EPOCH_STREAM 132u
#define DAMPING .01

void lab_influence_default(const struct lab_task_spec *spec, enum lab_regime regime,
                           struct lab_influence_options *o)
{
    lab_options_default(spec, regime, &o->run);
    o->run.protocol.trees = false; /* one network alone is retrained */
    o->steps = o->run.protocol.steps_per_round;
    o->examples = 400;
    o->retrained = 200;
}

void lab_influence_done(struct lab_influence *i)
{
    fis_free(i->points);
    *i = (struct lab_influence){0};
}

/* ---- rank correlation ----------------------------------------------------------------------- */

struct ranked {
    double value, rank;
    uint32_t at;
};

static int by_value(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

static int by_place(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static void rank(struct ranked *r, const double *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        r[i] = (struct ranked){.value = values[i], .at = i};
    qsort(r, n, sizeof *r, by_value);
    for (uint32_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && r[j].value <= r[i].value; j++)
            ;
        for (uint32_t k = i; k < j; k++)
            r[k].rank = (i + j - 1) / 2.0;
    }
    qsort(r, n, sizeof *r, by_place);
}

double lab_spearman(const double *a, const double *b, uint32_t n)
{
    double aa = 0, bb = 0, ab = 0, mean = (n - 1.0) / 2;
    struct ranked *r = n < 2 ? NULL : fis_alloc(2 * (size_t)n, sizeof *r);
    if (!r)
        return NAN;
    rank(r, a, n);
    rank(r + n, b, n);
    for (uint32_t i = 0; i < n; i++) {
        double x = r[i].rank - mean, y = r[n + i].rank - mean;
        aa += x * x;
        bb += y * y;
        ab += x * y;
    }
    fis_free(r);
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : NAN;
}

/* ---- one model ------------------------------------------------------------------------------ */

struct check {
    const struct lab_influence_options *o;
    struct lab_influence *out;
    struct lab_run *r;
    const float *anchor;
    float *params, *gradient, *g_acc, *g_fair; /* slabs */
    struct lab_effect base;                    /* mean CE and phi of the anchor */
    const float *x;                            /* the example that `extra` adds */
    uint32_t y;
    float share;
    struct fis_surrogate surrogate;
};

static int measure(struct check *c, const float *params, struct lab_effect *out,
                   struct fis_error *e)
{
    const struct lab_split *s = c->r->split;
    lab_forward(c->r, params, s->validation_x, s->n_validation, c->r->logits);
    out->accuracy = fis_cross_entropy(c->r->logits, s->validation_y, NULL, s->n_validation,
                                      c->r->classes, NULL);
    return fis_surrogate_eval(&c->surrogate, c->r->logits, s->validation_y, s->validation_group,
                              s->n_validation, c->r->classes, s->task->n_groups, &out->fairness,
                              NULL, e);
}

/* The example's gradient, `share` times, added to a step. */
static int add_example(void *arg, const float *params, float *gradient, struct fis_error *e)
{
    struct check *c = arg;
    struct lab_run *r = c->r;
    float logits[FIS_MAX_CLASSES], dlogits[FIS_MAX_CLASSES];
    (void)e;
    fis_network_forward(&r->shape, params, c->x, 1, r->scratch, logits);
    fis_cross_entropy(logits, &c->y, NULL, 1, r->classes, dlogits);
    for (uint32_t k = 0; k < r->classes; k++)
        dlogits[k] *= c->share;
    fis_network_backward(&r->shape, params, c->x, 1, r->scratch, dlogits, gradient);
    return 0;
}

static int take_step(struct check *c, struct lab_influence_point *p, struct fis_error *e)
{
    const float rate = c->o->run.protocol.learning_rate;
    struct lab_effect after;
    memset(c->gradient, 0, c->r->n_params * sizeof *c->gradient);
    c->share = 1;
    int rc = add_example(c, c->anchor, c->gradient, e);
    for (size_t i = 0; i < c->r->n_params; i++)
        c->params[i] = c->anchor[i] - rate * c->gradient[i];
    if (rc == 0)
        rc = measure(c, c->params, &after, e);
    if (rc == 0)
        p->step = (struct lab_effect){after.accuracy - c->base.accuracy,
                                      after.fairness - c->base.fairness};
    return rc;
}

/* On from the anchor; with x, or without (NULL). */
static int go_on(struct check *c, const float *x, struct lab_effect *out, struct fis_error *e)
{
    const struct lab_protocol *p = &c->o->run.protocol;
    const struct lab_split *s = c->r->split;
    const struct lab_sgd_rows rows = {
        .x = s->x, .y = s->task->y, .rows = s->initial, .n = s->n_initial, .d = s->d};
    const struct lab_sgd_options o = {.shape = c->r->shape,
                                      .batch = p->batch,
                                      .learning_rate = p->learning_rate,
                                      .momentum = p->momentum,
                                      .weight_decay = p->weight_decay,
                                      .seed = c->o->run.seed,
                                      .stream = EPOCH_STREAM,
                                      .extra = x ? add_example : NULL,
                                      .arg = c};
    struct lab_sgd *sgd = lab_sgd_new(&o, e);
    if (!sgd)
        return -FIS_NOMEM;
    c->share = 1.0f / (float)p->batch;
    memcpy(c->params, c->anchor, c->r->n_params * sizeof *c->params);
    int rc = lab_sgd_steps(sgd, &rows, c->o->steps, c->params, 0, NULL, e);
    lab_sgd_free(sgd);
    return rc < 0 ? rc : measure(c, c->params, out, e);
}

/* Estimates for all points along one kind of direction. */
static int estimate(struct check *c, bool precondition, struct fis_error *e)
{
    struct lab_run *r = c->r;
    const struct lab_split *s = r->split;
    const struct fis_rows rows = {s->n_validation, s->d, s->validation_x, s->validation_y,
                                  s->validation_group};
    const struct fis_direction_options o = {.surrogate = c->surrogate,
                                            .n_groups = s->task->n_groups,
                                            .precondition = precondition,
                                            .damping = DAMPING};
    const float *const directions[] = {c->g_acc, c->g_fair};
    const double rate = (double)c->o->run.protocol.learning_rate;
    double phi;
    int rc = fis_directions(&r->shape, c->anchor, &rows, NULL, 0, &o, c->g_acc, c->g_fair, &phi, e);
    if (rc < 0)
        return rc;
    struct fis_panel *panel = fis_panel_new(&r->shape, c->anchor, directions, FIS_DIRECTIONS);
    if (!panel)
        return fis_fail(e, FIS_NOMEM, "influence: no memory");
    for (uint32_t i = 0; i < c->out->n; i++) {
        struct lab_influence_point *p = &c->out->points[i];
        const uint32_t y = s->task->y[p->row];
        fis_influence_batch(panel, lab_split_row(s, p->row), 1, r->scratch, r->p, r->infl_acc,
                            r->infl_fair);
        const struct lab_effect effect = {rate * (double)r->infl_acc[y],
                                          rate * (double)r->infl_fair[y]};
        *(precondition ? &p->curvature : &p->estimate) = effect;
    }
    fis_panel_unref(panel);
    return 0;
}

static int real_effects(struct check *c, struct fis_error *e)
{
    const struct lab_split *s = c->r->split;
    struct lab_effect without = {0, 0}, with;
    int rc = measure(c, c->anchor, &c->base, e);
    if (rc == 0 && c->out->n_retrained)
        rc = go_on(c, NULL, &without, e);
    for (uint32_t i = 0; rc == 0 && i < c->out->n; i++) {
        struct lab_influence_point *p = &c->out->points[i];
        p->retrain = (struct lab_effect){NAN, NAN};
        c->x = lab_split_row(s, p->row);
        c->y = s->task->y[p->row];
        rc = take_step(c, p, e);
        if (rc == 0 && i < c->out->n_retrained && (rc = go_on(c, c->x, &with, e)) == 0)
            p->retrain = (struct lab_effect){with.accuracy - without.accuracy,
                                             with.fairness - without.fairness};
    }
    return rc;
}

/* ---- what the points say together ----------------------------------------------------------- */

static double correlate(const struct lab_influence *in, uint32_t n, size_t of, size_t with)
{
    double *v = fis_alloc(2 * (size_t)(n ? n : 1), sizeof *v), rho = NAN;
    for (uint32_t i = 0; v && i < n; i++) {
        const char *at = (const char *)&in->points[i];
        memcpy(&v[i], at + of, sizeof *v);
        memcpy(&v[n + i], at + with, sizeof *v);
    }
    if (v)
        rho = lab_spearman(v, v + n, n);
    fis_free(v);
    return rho;
}

static void summarise(struct lab_influence *in)
{
#define AT(what, part) offsetof(struct lab_influence_point, what.part)
#define BOTH(n, a, b)                                                                              \
    (struct lab_effect){correlate(in, n, AT(a, accuracy), AT(b, accuracy)),                        \
                        correlate(in, n, AT(a, fairness), AT(b, fairness))}
    in->step = BOTH(in->n, estimate, step);
    in->retrain = BOTH(in->n_retrained, estimate, retrain);
    in->curvature = BOTH(in->n_retrained, curvature, retrain);
#undef BOTH
#undef AT
}

/* Random rows of the pool. */
static int sample(struct check *c, struct fis_error *e)
{
    const struct lab_split *s = c->r->split;
    uint32_t n = c->o->examples < s->n_pool ? c->o->examples : s->n_pool;
    uint32_t *order = fis_alloc(s->n_pool, sizeof *order);
    struct fis_rng rng;
    c->out->points = fis_calloc(n, sizeof *c->out->points);
    if (!order || !c->out->points) {
        fis_free(order);
        return fis_fail(e, FIS_NOMEM, "influence: no memory for %u examples", n);
    }
    memcpy(order, s->pool, s->n_pool * sizeof *order);
    fis_rng_seed(&rng, c->o->run.seed, SAMPLE_STREAM);
    fis_rng_shuffle(&rng, order, s->n_pool);
    c->out->n = n;
    c->out->n_retrained = c->o->retrained < n ? c->o->retrained : n;
    for (uint32_t i = 0; i < n; i++)
        c->out->points[i].row = order[i];
    fis_free(order);
    return 0;
}

/* The run's hook: its warm-up is done, and nothing comes after. */
static int at_anchor(void *arg, struct lab_run *r, struct fis_error *e)
{
    struct check *c = arg;
    c->r = r;
    c->anchor = fis_learner_anchor(r->learner);
    c->surrogate = (struct fis_surrogate){
        .metric = c->o->run.metric, .form = FIS_GAP_OVERALL, .positive = r->split->task->positive};
    float *slabs = fis_alloc(4 * r->n_params, sizeof *slabs);
    if (!slabs)
        return fis_fail(e, FIS_NOMEM, "influence: no memory");
    c->params = slabs;
    c->gradient = slabs + r->n_params;
    c->g_acc = slabs + 2 * r->n_params;
    c->g_fair = slabs + 3 * r->n_params;
    int rc = sample(c, e);
    if (rc == 0)
        rc = estimate(c, false, e);
    if (rc == 0)
        rc = estimate(c, true, e);
    if (rc == 0)
        rc = real_effects(c, e);
    if (rc == 0)
        summarise(c->out);
    fis_free(slabs);
    return rc;
}

int lab_influence_check(const struct lab_split *split, const struct lab_influence_options *o,
                        struct lab_influence *out, struct fis_error *e)
{
    struct lab_method method;
    struct lab_result result;
    struct lab_options run = o->run;
    struct lab_influence in = {0};
    struct check c = {.o = o, .out = &in};
    const struct lab_hooks hooks = {.arg = &c, .refreshed = at_anchor};
    int rc = split->x ? lab_method_find("random", &method, e)
                      : fis_fail(e, FIS_INPUT, "%s: of images influences are not retrained",
                                 split->task->spec->name);
    run.protocol.rounds = 0;
    if (rc == 0)
        rc = lab_run(split, &method, &run, &hooks, &result, e);
    if (rc < 0) {
        lab_influence_done(&in);
        return rc;
    }
    *out = in;
    return 0;
}
