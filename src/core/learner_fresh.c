/* The networks that are published: trained from the start on all labels, with dropout, a learning
 * rate that falls to 0, and an average over the last quarter. */
#include <math.h>
#include <string.h>

#include "core/learner_impl.h"
#include "core/network_scratch.h"
#include "core/slab.h"
#include "fis/loss.h"
#include "fis/mem.h"

#define RATE .03f
#define MOMENTUM .9f
#define WEIGHT_DECAY 5e-4f
#define BATCH 128u
#define EPOCHS 50u
#define EPOCHS_OVER_BASE 15u
#define DROP .5f /* of hidden units, with fewer labels than: */
#define MANY 8000u
#define DROP_OF_MANY .2f
#define AVERAGE_EVERY 4u
#define STREAM (UINT64_C(1) << 32)

/* One network's training. */
struct fresh {
    const struct fis_learner *t;
    float *params, *average; /* slabs; average: where it ends */
    float *momentum, *gradient, *x, *logits, *dlogits;
    uint32_t *y, *order, n, at;
    struct fis_scratch *scratch;
    struct fis_rng rng;
    uint32_t averaged;
};

static void fresh_done(struct fresh *f)
{
    void *const all[] = {f->params, f->momentum, f->gradient, f->x,
                         f->logits, f->dlogits,  f->y,        f->order};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fis_free(all[i]);
    fis_scratch_free(f->scratch);
}

static int fresh_init(struct fresh *f, const struct fis_learner *t, struct fis_error *e)
{
    const uint32_t d = fis_shape_inputs(&t->o.shape), k = fis_shape_classes(&t->o.shape);
    const uint32_t rows = t->initial.n + t->bought.n + t->rows.n;
    *f = (struct fresh){.t = t};
    f->params = fis_alloc(t->n_params, sizeof *f->params);
    f->momentum = fis_alloc(t->n_params, sizeof *f->momentum);
    f->gradient = fis_alloc(t->n_params, sizeof *f->gradient);
    f->x = fis_alloc((size_t)BATCH * d, sizeof *f->x);
    f->logits = fis_alloc((size_t)BATCH * k, sizeof *f->logits);
    f->dlogits = fis_alloc((size_t)BATCH * k, sizeof *f->dlogits);
    f->y = fis_alloc(BATCH, sizeof *f->y);
    f->order = fis_alloc(rows ? rows : 1, sizeof *f->order);
    f->scratch = fis_scratch_new_training(&t->o.shape, BATCH);
    if (!f->params || !f->momentum || !f->gradient || !f->x || !f->logits || !f->dlogits || !f->y ||
        !f->order || !f->scratch)
        return fis_fail(e, FIS_NOMEM, "learner: no memory for another network");
    return 0;
}

/* Numbers of rows: initial ones, then bought ones, then validation rows. fold: of which no
 * validation row is learnt from; NO_VALIDATION: none at all. */
#define NO_VALIDATION UINT32_MAX

static void choose_rows(struct fresh *f, uint32_t fold)
{
    const struct fis_learner *t = f->t;
    const uint32_t labels = t->initial.n + t->bought.n;
    f->n = 0;
    for (uint32_t i = 0; i < t->initial.n; i++)
        f->order[f->n++] = i;
    for (uint32_t i = 0; i < t->bought.n; i++)
        if (!(t->mark[i] & MARK_EXCLUDED))
            f->order[f->n++] = t->initial.n + i;
    for (uint32_t i = 0; fold != NO_VALIDATION && i < t->rows.n; i++)
        if (t->fold_of[i] != fold)
            f->order[f->n++] = labels + i;
}

static void put_row(struct fresh *f, uint32_t at, uint32_t row)
{
    const struct fis_learner *t = f->t;
    const uint32_t d = fis_shape_inputs(&t->o.shape), labels = t->initial.n + t->bought.n;
    const float *x = row < t->initial.n ? row_x(&t->initial, d, row)
                     : row < labels     ? row_x(&t->bought, d, row - t->initial.n)
                                        : t->rows.x + (size_t)(row - labels) * d;
    f->y[at] = row < t->initial.n ? t->initial.y[row]
               : row < labels     ? t->bought.y[row - t->initial.n]
                                  : t->rows.y[row - labels];
    memcpy(f->x + (size_t)at * d, x, d * sizeof *x);
}

/* The next rows of an epoch; the last batch is what is left of it. */
static uint32_t fill(struct fresh *f)
{
    if (f->at >= f->n) {
        fis_rng_shuffle(&f->rng, f->order, f->n);
        f->at = 0;
    }
    const uint32_t left = f->n - f->at, n = left < BATCH ? left : BATCH;
    for (uint32_t i = 0; i < n; i++)
        put_row(f, i, f->order[f->at++]);
    return n;
}

static double step(struct fresh *f, float rate)
{
    const struct fis_shape *shape = &f->t->o.shape;
    const uint32_t n = fill(f);
    fis_network_forward(shape, f->params, f->x, n, f->scratch, f->logits);
    const double loss =
        fis_cross_entropy(f->logits, f->y, NULL, n, fis_shape_classes(shape), f->dlogits);
    memset(f->gradient, 0, f->t->n_params * sizeof *f->gradient);
    fis_network_backward(shape, f->params, f->x, n, f->scratch, f->dlogits, f->gradient);
    const struct fis_sgd sgd = {rate, MOMENTUM, WEIGHT_DECAY};
    fis_sgd_step(&sgd, f->gradient, f->t->n_params, f->momentum, f->params);
    return loss;
}

static uint32_t steps_of(const struct fresh *f)
{
    const uint64_t epoch = f->n / BATCH + (f->n % BATCH != 0), most = f->t->o.fresh_steps;
    const uint64_t steps = (f->t->o.shape.margins ? EPOCHS_OVER_BASE : EPOCHS) * epoch;
    return (uint32_t)(steps < most ? steps : most);
}

/* Into f->average. */
static int train(struct fresh *f, uint32_t fold, uint64_t stream, struct fis_error *e)
{
    const struct fis_learner *t = f->t;
    double loss = 0;
    choose_rows(f, fold);
    const uint32_t steps = steps_of(f), labels = t->initial.n + t->bought.n - t->n_excluded;
    fis_rng_seed(&f->rng, t->o.seed, STREAM + stream);
    fis_network_init(&t->o.shape, f->params, &f->rng);
    memset(f->momentum, 0, t->n_params * sizeof *f->momentum);
    f->scratch->drop = labels < MANY ? DROP : DROP_OF_MANY;
    f->scratch->drop_rng = &f->rng;
    f->at = f->n;
    f->averaged = 0;
    for (uint32_t i = 0; i < steps; i++) {
        loss += step(f, RATE * .5f * (1 + cosf((float)M_PI * (float)i / (float)steps)));
        if (steps - i <= steps / 4 && (steps - i - 1) % AVERAGE_EVERY == 0)
            fis_running_average(f->params, t->n_params, ++f->averaged, f->average);
    }
    if (!f->averaged)
        memcpy(f->average, f->params, t->n_params * sizeof *f->average);
    if (!isfinite(loss) || !slab_finite(f->average, t->n_params))
        return fis_fail(e, FIS_INPUT, "training: the loss is not finite");
    return 0;
}

bool fis_learner_learns_validation(const struct fis_learner *t)
{
    const uint32_t labels = t->initial.n + t->bought.n - t->n_excluded;
    return t->o.fresh_steps && t->o.folds > 2 &&
           (t->o.learn_validation < 0 ? labels < t->rows.n : t->o.learn_validation);
}

static float *slab_of(struct fis_learner *t, uint32_t i)
{
    return t->fresh + (size_t)i * t->n_params;
}

/* Slab 0 is the one of all rows, 1 + h that of fold h. */
int fis_learner_retrain(struct fis_learner *t, uint32_t round, struct fis_error *e)
{
    const bool validation = fis_learner_learns_validation(t);
    struct fresh f;
    t->n_fresh = 0;
    if (!t->o.fresh_steps)
        return 0;
    int rc = fresh_init(&f, t, e);
    for (uint32_t i = 0; rc == 0 && i < (validation ? 1 + t->o.folds : 1); i++) {
        f.average = slab_of(t, i);
        rc = train(&f,
                   !validation ? NO_VALIDATION
                   : i         ? i - 1
                               : t->o.folds,
                   (uint64_t)round * (1 + FIS_MAX_FOLDS) + i, e);
    }
    fresh_done(&f);
    if (rc == 0)
        t->n_fresh = validation ? 1 + t->o.folds : 1;
    if (rc == -FIS_INPUT)
        learner_exclude_absurd(t);
    return rc;
}

const float *fis_learner_end(const struct fis_learner *t)
{
    return t->n_fresh ? t->fresh : fis_learner_end_anchor(t);
}

const float *fis_learner_end_of(const struct fis_learner *t, uint32_t fold)
{
    return t->n_fresh > 1 ? t->fresh + (size_t)(1 + fold) * t->n_params : fis_learner_end(t);
}
