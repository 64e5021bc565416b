/*
 * The naive twin of fis_influence_batch: plain loops in double, the gradient of every label formed
 * whole. It shares no code with the fast path, so that the two can check each other.
 */
#include "fis/influence.h"

#include <math.h>
#include <string.h>

#include "fis/mem.h"

struct naive {
    const struct fis_shape *shape;
    const float *params;
    double *act[FIS_MAX_LAYERS + 1];   /* act[0] = x, act[n_layers] = logits */
    double *delta[FIS_MAX_LAYERS + 1]; /* d CE / d z of the layer that ends there */
    double *gradient;                  /* slab */
    double *slab;
};

static int naive_init(struct naive *v, const struct fis_shape *shape, const float *params)
{
    size_t units = 0;
    for (uint32_t l = 0; l <= shape->n_layers; l++)
        units += shape->width[l];
    *v = (struct naive){.shape = shape, .params = params};
    v->slab = fis_calloc(2 * units + fis_shape_params(shape), sizeof *v->slab);
    if (!v->slab)
        return 0;
    double *at = v->slab;
    for (uint32_t l = 0; l <= shape->n_layers; at += 2 * (size_t)shape->width[l], l++) {
        v->act[l] = at;
        v->delta[l] = at + shape->width[l];
    }
    v->gradient = at;
    return 1;
}

static void forward(struct naive *v, const float *x)
{
    const struct fis_shape *s = v->shape;
    for (uint32_t i = 0; i < s->width[0]; i++)
        v->act[0][i] = x[i];
    for (uint32_t l = 0; l < s->n_layers; l++) {
        uint32_t in = s->width[l], out = s->width[l + 1];
        const float *w = v->params + fis_shape_offset(s, l), *b = w + (size_t)in * out;
        for (uint32_t j = 0; j < out; j++) {
            double z = b[j];
            for (uint32_t i = 0; i < in; i++)
                z += v->act[l][i] * w[(size_t)i * out + j];
            v->act[l + 1][j] = l + 1 < s->n_layers && z < 0 ? 0 : z;
        }
    }
    for (uint32_t j = 1; j <= s->margins; j++)
        v->act[s->n_layers][fis_shape_classes(s) - j] +=
            (double)FIS_MARGIN_SCALE * (double)x[s->width[0] - j];
}

/* v->gradient = grad_w CE(x, label), from the activations of `forward`. */
static void backward(struct naive *v, uint32_t label)
{
    const struct fis_shape *s = v->shape;
    uint32_t classes = fis_shape_classes(s);
    const double *f = v->act[s->n_layers];
    for (uint32_t k = 0; k < classes; k++) {
        double below = 0; /* 1 / p_k = sum_j exp(f_j - f_k) */
        for (uint32_t j = 0; j < classes; j++)
            below += exp(f[j] - f[k]);
        v->delta[s->n_layers][k] = 1 / below - (k == label);
    }
    for (uint32_t l = s->n_layers; l-- > 0;) {
        uint32_t in = s->width[l], out = s->width[l + 1];
        size_t at = fis_shape_offset(s, l);
        const double *dz = v->delta[l + 1];
        for (uint32_t i = 0; i < in; i++) {
            double da = 0;
            for (uint32_t j = 0; j < out; j++) {
                v->gradient[at + (size_t)i * out + j] = v->act[l][i] * dz[j];
                da += v->params[at + (size_t)i * out + j] * dz[j];
            }
            v->delta[l][i] = v->act[l][i] > 0 ? da : 0;
        }
        memcpy(v->gradient + at + (size_t)in * out, dz, out * sizeof *dz);
    }
}

int fis_influence_naive(const struct fis_shape *shape, const float *params, const float *x,
                        const float *g_acc, const float *g_fair, double *infl_acc,
                        double *infl_fair, struct fis_error *e)
{
    struct naive v;
    if (shape->vit.height)
        return fis_fail(e, FIS_INPUT, "influence: the plain one is of dense layers alone");
    if (!naive_init(&v, shape, params))
        return fis_fail(e, FIS_NOMEM, "influence: no memory for a gradient");
    forward(&v, x);
    for (uint32_t k = 0; k < fis_shape_classes(shape); k++) {
        backward(&v, k);
        infl_acc[k] = infl_fair[k] = 0;
        for (size_t i = 0; i < fis_shape_params(shape); i++) {
            infl_acc[k] -= v.gradient[i] * g_acc[i];
            infl_fair[k] -= v.gradient[i] * g_fair[i];
        }
    }
    fis_free(v.slab);
    return 0;
}
