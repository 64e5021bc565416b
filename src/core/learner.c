#include "core/learner_impl.h"

#include <math.h>
#include <string.h>

#include "fis/mem.h"

static int check_options(const struct fis_learner_options *o, struct fis_error *e)
{
    if (o->folds < 1 || o->folds > FIS_MAX_FOLDS || (o->guided && o->folds != 2))
        return fis_fail(e, FIS_INPUT, "learner: %u folds; 1 to %d are possible, 2 when guided",
                        o->folds, FIS_MAX_FOLDS);
    if (o->batch == 0)
        return fis_fail(e, FIS_INPUT, "learner: a batch of 0 rows; at least 1 is needed");
    if (!(o->learning_rate > 0 && o->learning_rate < INFINITY))
        return fis_fail(e, FIS_INPUT, "learner: learning rate %g; a number above 0 is needed",
                        (double)o->learning_rate);
    if (!(o->momentum >= 0 && o->momentum < 1))
        return fis_fail(e, FIS_INPUT, "learner: momentum %g; 0 to below 1 is allowed",
                        (double)o->momentum);
    if (!(o->weight_decay >= 0 && o->weight_decay < 1))
        return fis_fail(e, FIS_INPUT, "learner: weight decay %g; 0 to below 1 is allowed",
                        (double)o->weight_decay);
    if ((o->flip || o->shift) &&
        (!o->shape.vit.height || o->shift >= o->shape.vit.height || o->shift >= o->shape.vit.width))
        return fis_fail(e, FIS_INPUT, "learner: images that move by %u pixels in %u x %u", o->shift,
                        o->shape.vit.height, o->shape.vit.width);
    if (!(o->mix >= 0 && o->mix <= 1))
        return fis_fail(e, FIS_INPUT, "learner: mix %g; 0 to 1 are allowed", (double)o->mix);
    return 0;
}

static int make_state(struct fis_learner *t)
{
    const size_t n = t->n_params;
    t->state_size = FIS_LEARNER_SAVED_SLABS(t->o.adamw) / 2 * n;
    t->state = fis_calloc(t->state_size, sizeof(float));
    t->at_round = fis_alloc(t->state_size, sizeof(float));
    t->at_call = fis_alloc(t->state_size, sizeof(float));
    if (!t->state || !t->at_round || !t->at_call)
        return -1;
    if (t->o.fresh_steps &&
        !(t->fresh = fis_alloc((1 + FIS_MAX_FOLDS) * t->n_params, sizeof *t->fresh)))
        return -1;
    t->anchor = (struct vectors){t->state, t->state + n, t->state + 2 * n,
                                 t->o.adamw ? t->state + 3 * n : NULL};
    return 0;
}

static int make_work(struct fis_learner *t)
{
    uint32_t k = fis_shape_classes(&t->o.shape), b = t->o.batch;
    uint32_t d = fis_shape_inputs(&t->o.shape);
    t->x = fis_alloc((size_t)b * d, sizeof(float));
    if ((t->o.flip || t->o.shift) && !(t->image = fis_alloc(d, sizeof *t->image)))
        return -1;
    t->y = fis_alloc(b, sizeof(uint32_t));
    t->logits = fis_alloc((size_t)b * k, sizeof(float));
    t->dlogits = fis_alloc((size_t)b * k, sizeof(float));
    t->gradient = fis_alloc(t->n_params, sizeof(float));
    t->scratch = fis_scratch_new_training(&t->o.shape, b);
    t->score_scratch = fis_scratch_new(&t->o.shape, LEARNER_SCORE_ROWS, FIS_DIRECTIONS);
    t->score_p = fis_alloc((size_t)LEARNER_SCORE_ROWS * k, sizeof(float));
    t->score_acc = fis_alloc((size_t)LEARNER_SCORE_ROWS * k, sizeof(float));
    t->score_fair = fis_alloc((size_t)LEARNER_SCORE_ROWS * k, sizeof(float));
    return t->x && t->y && t->logits && t->dlogits && t->gradient && t->scratch &&
                   t->score_scratch && t->score_p && t->score_acc && t->score_fair
               ? 0
               : -1;
}

struct fis_learner *fis_learner_new(const struct fis_learner_options *o, struct fis_error *e)
{
    if (check_options(o, e) < 0)
        return NULL;
    struct fis_learner *t = fis_calloc(1, sizeof *t);
    if (!t)
        goto nomem;
    t->o = *o;
    t->n_params = fis_shape_params(&o->shape);
    if (make_state(t) < 0 || make_work(t) < 0)
        goto nomem;
    struct fis_rng init;
    fis_rng_seed(&init, o->seed, 0);
    fis_network_init(&o->shape, t->anchor.params, &init);
    fis_rng_seed(&t->shuffle, o->seed, 1);
    fis_rng_seed(&t->draw, o->seed, 2);
    fis_learner_round_begin(t);
    return t;
nomem:
    fis_fail(e, FIS_NOMEM, "learner: no memory");
    fis_learner_free(t);
    return NULL;
}

void fis_learner_free(struct fis_learner *t)
{
    if (!t)
        return;
    float *const floats[] = {t->state,    t->at_round, t->at_call,   t->initial.x,
                             t->bought.x, t->x,        t->logits,    t->dlogits,
                             t->gradient, t->score_p,  t->score_acc, t->score_fair};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        fis_free(floats[i]);
    fis_free(t->fresh);
    fis_free(t->image);
    fis_free(t->initial.y);
    fis_free(t->bought.y);
    fis_free(t->mark);
    fis_free(t->kept);
    fis_free(t->order);
    fis_free(t->y);
    fis_scratch_free(t->scratch);
    fis_scratch_free(t->score_scratch);
    learner_done_validation(t);
    fis_free(t);
}

/* ---- the anchor ------------------------------------------------------------------------------ */

void fis_learner_set_anchor(struct fis_learner *t, const float *params)
{
    memcpy(t->anchor.params, params, t->n_params * sizeof(float));
    t->n_fresh = 0;
    memset(t->anchor.momentum, 0, t->n_params * sizeof(float));
    if (t->o.adamw)
        memset(t->anchor.square, 0, t->n_params * sizeof(float));
    fis_learner_round_begin(t);
}

void fis_learner_round_begin(struct fis_learner *t)
{
    t->now.round_steps = 0;
    t->now.averaged = 0;
    t->round = t->now;
    memcpy(t->at_round, t->state, t->state_size * sizeof(float));
}

/* The generators go on, so that a round that is tried again draws other batches. */
void fis_learner_roll_back(struct fis_learner *t)
{
    t->now = t->round;
    t->n_fresh = 0;
    memcpy(t->state, t->at_round, t->state_size * sizeof(float));
}

const float *fis_learner_anchor(const struct fis_learner *t)
{
    return t->anchor.params;
}

const float *fis_learner_end_anchor(const struct fis_learner *t)
{
    return t->now.averaged ? t->anchor.average : t->anchor.params;
}

struct fis_learner_counts fis_learner_counts(const struct fis_learner *t)
{
    return (struct fis_learner_counts){
        .initial = t->initial.n,
        .bought = t->bought.n,
        .kept = t->n_kept,
        .excluded = t->n_excluded,
        .steps = t->now.steps,
        .last_loss = t->last_loss,
    };
}

const struct fis_shape *fis_learner_shape(const struct fis_learner *t)
{
    return &t->o.shape;
}

const struct fis_learner_options *fis_learner_options(const struct fis_learner *t)
{
    return &t->o;
}
