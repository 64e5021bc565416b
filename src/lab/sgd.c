#include "lab/sgd.h"

#include <math.h>
#include <string.h>

#include "fis/learner.h"
#include "fis/loss.h"
#include "fis/mem.h"

struct lab_sgd {
    struct lab_sgd_options o;
    size_t n_params;
    float *momentum, *gradient, *x, *w, *logits, *dlogits;
    uint32_t *y, *order;
    uint32_t order_n, order_at, capacity;
    const uint32_t *order_of; /* the rows that the order is of */
    struct fis_scratch *scratch;
    struct fis_rng rng;
};

struct lab_sgd *lab_sgd_new(const struct lab_sgd_options *o, struct fis_error *e)
{
    struct lab_sgd *s = fis_calloc(1, sizeof *s);
    const size_t d = fis_shape_inputs(&o->shape), k = fis_shape_classes(&o->shape);
    if (!s)
        goto nomem;
    s->o = *o;
    s->n_params = fis_shape_params(&o->shape);
    s->momentum = fis_calloc(s->n_params, sizeof(float));
    s->gradient = fis_alloc(s->n_params, sizeof(float));
    s->x = fis_alloc(o->batch * d, sizeof(float));
    s->w = fis_alloc(o->batch, sizeof(float));
    s->y = fis_alloc(o->batch, sizeof(uint32_t));
    s->logits = fis_alloc(o->batch * k, sizeof(float));
    s->dlogits = fis_alloc(o->batch * k, sizeof(float));
    s->scratch = fis_scratch_new(&o->shape, o->batch, 0);
    if (!s->momentum || !s->gradient || !s->x || !s->w || !s->y || !s->logits || !s->dlogits ||
        !s->scratch)
        goto nomem;
    fis_rng_seed(&s->rng, o->seed, o->stream);
    return s;
nomem:
    fis_fail(e, FIS_NOMEM, "training: no memory");
    lab_sgd_free(s);
    return NULL;
}

void lab_sgd_free(struct lab_sgd *s)
{
    if (!s)
        return;
    void *const all[] = {s->momentum, s->gradient, s->x,     s->w,
                         s->y,        s->logits,   s->order, s->dlogits};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fis_free(all[i]);
    fis_scratch_free(s->scratch);
    fis_free(s);
}

uint32_t lab_sgd_epoch_steps(const struct lab_sgd *s, uint32_t rows)
{
    return rows / s->o.batch + (rows % s->o.batch != 0);
}

static int new_epoch(struct lab_sgd *s, const struct lab_sgd_rows *rows, struct fis_error *e)
{
    if (rows->n > s->capacity) {
        uint32_t *order = fis_alloc(rows->n, sizeof *order);
        if (!order)
            return fis_fail(e, FIS_NOMEM, "training: no memory for %u rows", rows->n);
        fis_free(s->order);
        s->order = order;
        s->capacity = rows->n;
    }
    for (uint32_t i = 0; i < rows->n; i++)
        s->order[i] = i;
    fis_rng_shuffle(&s->rng, s->order, rows->n);
    s->order_n = rows->n;
    s->order_of = rows->rows;
    s->order_at = 0;
    return 0;
}

static int fill(struct lab_sgd *s, const struct lab_sgd_rows *rows, uint32_t *n,
                struct fis_error *e)
{
    if (s->order_at >= s->order_n || s->order_n != rows->n || s->order_of != rows->rows) {
        int rc = new_epoch(s, rows, e);
        if (rc < 0)
            return rc;
    }
    uint32_t left = s->order_n - s->order_at;
    *n = s->o.batch < left ? s->o.batch : left;
    for (uint32_t i = 0; i < *n; i++) {
        uint32_t at = s->order[s->order_at++], row = rows->rows[at];
        memcpy(s->x + (size_t)i * rows->d, rows->x + (size_t)row * rows->d, rows->d * sizeof *s->x);
        s->y[i] = rows->y[row];
        s->w[i] = rows->weights ? rows->weights[at] : 1.0f;
    }
    return 0;
}

static int step(struct lab_sgd *s, const struct lab_sgd_rows *rows, float *params,
                struct fis_error *e)
{
    uint32_t n;
    int rc = fill(s, rows, &n, e);
    if (rc < 0)
        return rc;
    fis_network_forward(&s->o.shape, params, s->x, n, s->scratch, s->logits);
    double loss = fis_cross_entropy(s->logits, s->y, rows->weights ? s->w : NULL, n,
                                    fis_shape_classes(&s->o.shape), s->dlogits);
    if (!isfinite(loss))
        return fis_fail(e, FIS_INPUT, "training: the loss is not finite");
    memset(s->gradient, 0, s->n_params * sizeof(float));
    fis_network_backward(&s->o.shape, params, s->x, n, s->scratch, s->dlogits, s->gradient);
    if (s->o.extra && (rc = s->o.extra(s->o.arg, params, s->gradient, e)) < 0)
        return rc;
    const struct fis_sgd sgd = {s->o.learning_rate, s->o.momentum, s->o.weight_decay};
    fis_sgd_step(&sgd, s->gradient, s->n_params, s->momentum, params);
    return 0;
}

int lab_sgd_steps(struct lab_sgd *s, const struct lab_sgd_rows *rows, uint32_t steps, float *params,
                  uint32_t average_every, float *average, struct fis_error *e)
{
    uint32_t averaged = 0;
    if (rows->n == 0)
        return fis_fail(e, FIS_INPUT, "training: there are no rows");
    for (uint32_t i = 0; i < steps; i++) {
        int rc = step(s, rows, params, e);
        if (rc < 0)
            return rc;
        if (!average || average_every == 0 || (i + 1) % average_every)
            continue;
        fis_running_average(params, s->n_params, ++averaged, average);
    }
    if (average && averaged == 0)
        memcpy(average, params, s->n_params * sizeof *average);
    return 0;
}
