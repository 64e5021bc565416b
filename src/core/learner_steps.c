/* Batches and optimizer steps. */
#include "core/learner_impl.h"
#include "core/slab.h"

#include <math.h>
#include <string.h>

#include "fis/loss.h"
#include "fis/mem.h"

uint32_t fis_learner_epoch_steps(const struct fis_learner *t)
{
    return t->initial.n / t->o.batch + (t->initial.n % t->o.batch != 0);
}

/* ---- batches -------------------------------------------------------------------------------- */

int learner_order_room(struct fis_learner *t, struct fis_error *e)
{
    uint32_t capacity = t->initial.n + t->bought.capacity;
    if (t->initial.n + t->bought.n <= t->order_capacity)
        return 0;
    if (!fis_grow(&t->order, t->order_n, capacity, sizeof *t->order))
        return fis_fail(e, FIS_NOMEM, "learner: no memory for %u rows", capacity);
    t->order_capacity = capacity;
    return 0;
}

void learner_draw_order(struct fis_learner *t, uint32_t bought)
{
    uint32_t n = t->initial.n;
    for (uint32_t i = 0; i < n; i++)
        t->order[i] = i;
    for (uint32_t i = 0; i < bought; i++)
        if (!(t->mark[i] & MARK_LEFT_OUT))
            t->order[n++] = t->initial.n + i;
    t->order_bought = bought;
    t->order_rng = t->shuffle;
    fis_rng_shuffle(&t->shuffle, t->order, n);
    t->order_n = n;
    t->order_at = 0;
}

/* A fresh shuffle of the initial rows and, when `all`, the bought ones that are not excluded. */
static int new_epoch(struct fis_learner *t, bool all, struct fis_error *e)
{
    int rc = learner_order_room(t, e);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < t->bought.n; i++) {
        uint32_t excluded = t->mark[i] & MARK_EXCLUDED ? MARK_LEFT_OUT : 0;
        t->mark[i] = (uint8_t)((t->mark[i] & ~MARK_LEFT_OUT) | excluded);
    }
    learner_draw_order(t, all ? t->bought.n : 0);
    return 0;
}

static void put_row(const struct fis_learner *t, const struct row_store *s, uint32_t row, float *x,
                    uint32_t *y, uint32_t at)
{
    uint32_t d = fis_shape_inputs(&t->o.shape);
    memcpy(x + (size_t)at * d, row_x(s, d, row), d * sizeof *x);
    y[at] = s->y[row];
}

/* Up to `want` rows of the epoch into the batch from row `from` on; returns the batch's new size.
 * The last batch of an epoch is what is left of it. */
static int take_epoch_rows(struct fis_learner *t, bool all, uint32_t from, uint32_t want,
                           struct fis_error *e)
{
    uint32_t rows = t->initial.n + (all ? t->bought.n - t->n_excluded : 0);
    if (t->order_at >= t->order_n || t->order_n != rows) {
        int rc = new_epoch(t, all, e);
        if (rc < 0)
            return rc;
    }
    uint32_t left = t->order_n - t->order_at, n = want < left ? want : left;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = t->order[t->order_at++];
        if (row < t->initial.n)
            put_row(t, &t->initial, row, t->x, t->y, from + i);
        else
            put_row(t, &t->bought, row - t->initial.n, t->x, t->y, from + i);
    }
    return (int)(from + n);
}

/* The first n rows of the batch. */
static void draw_kept(struct fis_learner *t, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        put_row(t, &t->bought, t->kept[fis_rng_below(&t->draw, t->n_kept)], t->x, t->y, i);
}

/* ---- steps ---------------------------------------------------------------------------------- */

static void descend(struct fis_learner *t)
{
    struct vectors *v = &t->anchor;
    const struct fis_learner_options *o = &t->o;
    if (!o->adamw) {
        const struct fis_sgd sgd = {o->learning_rate, o->momentum, o->weight_decay};
        fis_sgd_step(&sgd, t->gradient, t->n_params, v->momentum, v->params);
        return;
    }
    const float rise = fis_rate_at(t->now.steps, o->rise, 0);
    const float fall = o->fall ? fis_rate_at(t->now.round_steps, 0, o->fall) : 1;
    const struct fis_adamw adamw = {o->learning_rate * rise * (.1f + .9f * fall), o->weight_decay};
    fis_adamw_step(&adamw, t->now.steps + 1, t->gradient, t->n_params, v->momentum, v->square,
                   v->params);
}

/* Returns the loss of the batch's n rows. */
static double step(struct fis_learner *t, uint32_t n)
{
    const struct fis_shape *shape = &t->o.shape;
    const struct vectors *v = &t->anchor;
    learner_augment(t, n);
    fis_network_forward(shape, v->params, t->x, n, t->scratch, t->logits);
    double loss = fis_cross_entropy(t->logits, t->y, NULL, n, fis_shape_classes(shape), t->dlogits);
    memset(t->gradient, 0, t->n_params * sizeof(float));
    fis_network_backward(shape, v->params, t->x, n, t->scratch, t->dlogits, t->gradient);
    descend(t);
    return loss;
}

/* With `mixed`, its first rows are the kept set's. */
static int fill_batch(struct fis_learner *t, int warm_up, struct fis_error *e)
{
    uint32_t kept = 0, enough = t->o.kept_min ? t->o.kept_min : 1;
    if (!warm_up && t->o.mixed && t->n_kept >= enough) {
        kept = (uint32_t)lroundf(t->o.mix * (float)t->o.batch);
        draw_kept(t, kept);
    }
    if (kept == t->o.batch)
        return (int)kept;
    return take_epoch_rows(t, !warm_up && !t->o.mixed, kept, t->o.batch - kept, e);
}

/* Where the rate falls, earlier iterates know fewer of the round's labels, at a large rate. */
static void average(struct fis_learner *t)
{
    const uint32_t last_quarter = t->o.fall - t->o.fall / 4;
    if (t->o.average_every == 0 || t->now.round_steps % t->o.average_every ||
        t->now.round_steps <= last_quarter)
        return;
    t->now.averaged++;
    fis_running_average(t->anchor.params, t->n_params, t->now.averaged, t->anchor.average);
}

static int one_step(struct fis_learner *t, int warm_up, double *loss, struct fis_error *e)
{
    int n = fill_batch(t, warm_up, e);
    if (n < 0)
        return n;
    *loss = step(t, (uint32_t)n);
    t->now.steps++;
    if (!isfinite(*loss))
        return fis_fail(e, FIS_INPUT,
                        "training step %llu: the loss is not finite; weights are kept as they were",
                        (unsigned long long)t->now.steps);
    return 0;
}

/* All of a call's steps, or none of them. */
static int run_steps(struct fis_learner *t, uint32_t steps, int warm_up, struct fis_error *e)
{
    const struct progress before = t->now;
    double sum = 0;
    int rc = 0;
    if (t->initial.n == 0)
        return fis_fail(e, FIS_INPUT, "training: there are no initial labelled rows");
    memcpy(t->at_call, t->state, t->state_size * sizeof(float));
    t->n_fresh = 0;
    for (uint32_t i = 0; i < steps && rc == 0; i++) {
        double loss = 0;
        rc = one_step(t, warm_up, &loss, e);
        sum += loss;
        if (rc == 0 && !warm_up) {
            t->now.round_steps++;
            average(t);
        }
    }
    if (rc == 0 && !slab_finite(t->state, t->state_size))
        rc = fis_fail(e, FIS_INPUT,
                      "training step %llu: weights are not finite; they are kept as they were",
                      (unsigned long long)t->now.steps);
    if (rc < 0) {
        memcpy(t->state, t->at_call, t->state_size * sizeof(float));
        t->now = before;
        return rc;
    }
    t->last_loss = steps ? sum / steps : t->last_loss;
    return 0;
}

int fis_learner_warm_up(struct fis_learner *t, uint32_t steps, struct fis_error *e)
{
    return run_steps(t, steps, 1, e);
}

int fis_learner_train(struct fis_learner *t, uint32_t steps, struct fis_error *e)
{
    int rc = run_steps(t, steps, 0, e);
    if (rc == -FIS_INPUT)
        learner_exclude_absurd(t);
    return rc;
}
