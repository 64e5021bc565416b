/*
 * The gradients that influence is measured against. Rows go through in chunks, twice: forward for
 * the logits of all rows (phi needs every one of them before any gradient is known), then backward
 * for both gradients. What the hidden layers gave is kept from one to the other: it takes less
 * memory than the rows do when no layer is wider than they are, and a second time forward would be
 * a quarter of all the work.
 */
#include "fis/influence.h"

#include <math.h>
#include <string.h>

#include "core/direction_precondition.h"
#include "core/network_scratch.h"
#include "core/slab.h"
#include "fis/loss.h"
#include "fis/mem.h"

#define CHUNK 256u

struct pass {
    const struct fis_shape *shape;
    const float *params;
    const struct fis_rows *rows;
    const uint32_t *index;
    uint32_t n, d, classes, hidden; /* hidden: units of all hidden layers */
    uint32_t lowest;                /* the first dense layer whose inputs are computed */
    struct fis_scratch *scratch;
    float *kept;                    /* [n][hidden]: activations, chunk by chunk */
    float *x;                       /* [CHUNK][d]: gathered rows */
    float *logits, *d_acc, *d_fair; /* [n][K] */
    uint32_t *labels, *groups;      /* [n] */
};

static void pass_done(struct pass *p)
{
    fis_scratch_free(p->scratch);
    fis_free(p->kept);
    fis_free(p->x);
    fis_free(p->logits);
    fis_free(p->d_acc);
    fis_free(p->d_fair);
    fis_free(p->labels);
    fis_free(p->groups);
}

static int pass_init(struct pass *p, const struct fis_shape *shape, const float *params,
                     const struct fis_rows *rows, const uint32_t *index, uint32_t n_index)
{
    uint32_t n = index ? n_index : rows->n, k = fis_shape_classes(shape);
    uint32_t chunk = n < CHUNK ? n : CHUNK;
    *p = (struct pass){.shape = shape, .params = params, .rows = rows, .index = index};
    p->n = n;
    p->lowest = shape->vit.height ? 0 : 1;
    p->d = fis_shape_inputs(shape);
    p->classes = k;
    p->scratch = fis_scratch_new(shape, chunk, 0);
    for (uint32_t l = p->lowest; l < shape->n_layers; l++)
        p->hidden += shape->width[l];
    p->kept = fis_alloc((size_t)n * p->hidden, sizeof *p->kept);
    p->x = fis_alloc((size_t)chunk * p->d, sizeof *p->x);
    p->logits = fis_alloc((size_t)n * k, sizeof *p->logits);
    p->d_acc = fis_alloc((size_t)n * k, sizeof *p->d_acc);
    p->d_fair = fis_alloc((size_t)n * k, sizeof *p->d_fair);
    p->labels = fis_alloc(n, sizeof *p->labels);
    p->groups = fis_alloc(n, sizeof *p->groups);
    return p->scratch && p->kept && p->x && p->logits && p->d_acc && p->d_fair && p->labels &&
           p->groups;
}

static uint32_t row_of(const struct pass *p, uint32_t i)
{
    return p->index ? p->index[i] : i;
}

/* Where the activations of rows from, from + 1, … are kept becomes the scratch's place for them;
 * returns how many rows they are, at most CHUNK. */
static uint32_t chunk_at(struct pass *p, uint32_t from)
{
    uint32_t count = p->n - from < CHUNK ? p->n - from : CHUNK;
    float *at = p->kept + (size_t)from * p->hidden;
    for (uint32_t l = p->lowest; l < p->shape->n_layers;
         at += (size_t)count * p->shape->width[l], l++)
        p->scratch->act[l] = at;
    return count;
}

static const float *chunk_rows(const struct pass *p, uint32_t from, uint32_t count)
{
    if (!p->index)
        return p->rows->x + (size_t)from * p->d;
    for (uint32_t i = 0; i < count; i++)
        memcpy(p->x + (size_t)i * p->d, p->rows->x + (size_t)p->index[from + i] * p->d,
               p->d * sizeof *p->x);
    return p->x;
}

static void all_logits(struct pass *p)
{
    uint32_t count;
    for (uint32_t i = 0; i < p->n; i++) {
        p->labels[i] = p->rows->y[row_of(p, i)];
        p->groups[i] = p->rows->group[row_of(p, i)];
    }
    for (uint32_t from = 0; from < p->n; from += count) {
        count = chunk_at(p, from);
        fis_network_forward(p->shape, p->params, chunk_rows(p, from, count), count, p->scratch,
                            p->logits + (size_t)from * p->classes);
    }
}

/* Of the last score_layers dense layers. */
static void all_gradients(struct pass *p, uint32_t score_layers, float *g_acc, float *g_fair)
{
    uint32_t count, layers = p->shape->n_layers;
    size_t below = 0;
    if (score_layers && score_layers < layers)
        below = fis_shape_offset(p->shape, layers - score_layers);
    for (uint32_t from = 0; from < p->n; from += count) {
        size_t at = (size_t)from * p->classes;
        count = chunk_at(p, from);
        const float *x = chunk_rows(p, from, count);
        fis_network_backward(p->shape, p->params, x, count, p->scratch, p->d_acc + at, g_acc);
        fis_network_backward(p->shape, p->params, x, count, p->scratch, p->d_fair + at, g_fair);
    }
    memset(g_acc, 0, below * sizeof *g_acc);
    memset(g_fair, 0, below * sizeof *g_fair);
}

/* Of the last layer alone: nothing else is left of preconditioned directions. */
static int last_gradients(struct pass *p, double damping, float *g_acc, float *g_fair,
                          struct fis_error *e)
{
    uint32_t last = p->shape->n_layers - 1, in = p->shape->width[last], count;
    struct precondition *curvature;
    int rc = precondition_new(p->shape, p->n, &curvature, e);
    if (rc)
        return rc;
    g_acc += fis_shape_offset(p->shape, last);
    g_fair += fis_shape_offset(p->shape, last);
    for (uint32_t from = 0; from < p->n; from += count) {
        size_t at = (size_t)from * p->classes;
        count = chunk_at(p, from);
        const float *x = chunk_rows(p, from, count);
        const float *a = network_last_inputs(p->shape, p->scratch, x);
        network_layer_gradient(a, in, p->d_acc + at, p->classes, count, g_acc);
        network_layer_gradient(a, in, p->d_fair + at, p->classes, count, g_fair);
        precondition_add(curvature, a, p->logits + at, count);
    }
    rc = precondition_apply(curvature, damping, g_acc, g_fair, e);
    precondition_free(curvature);
    return rc;
}

static int check_rows(const struct fis_shape *shape, const struct fis_rows *rows,
                      const uint32_t *index, uint32_t n_index, struct fis_error *e)
{
    if (rows->d != fis_shape_inputs(shape))
        return fis_fail(e, FIS_INPUT, "directions: rows have %u features, the network takes %u",
                        rows->d, fis_shape_inputs(shape));
    if (!rows->group)
        return fis_fail(e, FIS_INPUT, "directions: rows have no groups");
    for (uint32_t i = 0; index && i < n_index; i++)
        if (index[i] >= rows->n)
            return fis_fail(e, FIS_INPUT, "directions: row %u expected, there are %u", index[i],
                            rows->n);
    return 0;
}

static int losses(struct pass *p, const struct fis_direction_options *o, double *phi,
                  struct fis_error *e)
{
    double ce = 0;
    int rc;
    all_logits(p);
    if (o->losses) {
        rc = o->losses(o->losses_arg, p->logits, p->labels, p->groups, p->index, p->n, p->classes,
                       &ce, p->d_acc, phi, p->d_fair, e);
    } else {
        rc = fis_surrogate_eval(&o->surrogate, p->logits, p->labels, p->groups, p->n, p->classes,
                                o->n_groups, phi, p->d_fair, e);
        ce = fis_cross_entropy(p->logits, p->labels, NULL, p->n, p->classes, p->d_acc);
    }
    if (rc)
        return fis_error_prefix(e, "directions"), rc;
    if (!isfinite(*phi) || !isfinite(ce))
        return fis_fail(e, FIS_INPUT, "directions: loss not finite (cross-entropy %g, phi %g)", ce,
                        *phi);
    return 0;
}

int fis_directions(const struct fis_shape *shape, const float *params, const struct fis_rows *rows,
                   const uint32_t *index, uint32_t n_index, const struct fis_direction_options *o,
                   float *g_acc, float *g_fair, double *phi, struct fis_error *e)
{
    struct pass p;
    double value = NAN;
    size_t n_params = fis_shape_params(shape);
    int rc = check_rows(shape, rows, index, n_index, e);
    if (rc)
        return rc;
    if (o->privacy)
        return fis_fail(e, FIS_INPUT, "directions: noise is for a learner's refresh");
    if (!pass_init(&p, shape, params, rows, index, n_index)) {
        rc = fis_fail(e, FIS_NOMEM, "directions: no memory for %u rows", p.n);
        goto out;
    }
    rc = losses(&p, o, &value, e);
    if (rc)
        goto out;
    memset(g_acc, 0, n_params * sizeof *g_acc);
    memset(g_fair, 0, n_params * sizeof *g_fair);
    if (o->precondition)
        rc = last_gradients(&p, o->damping, g_acc, g_fair, e);
    else
        all_gradients(&p, o->score_layers, g_acc, g_fair);
    if (!rc && !(slab_finite(g_acc, n_params) && slab_finite(g_fair, n_params)))
        rc = fis_fail(e, FIS_INPUT, "directions: gradient not finite");
    if (!rc)
        *phi = value;
out:
    pass_done(&p);
    return rc;
}
