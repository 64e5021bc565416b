#include "kit/core/random_case.h"

float random_normal(struct fis_rng *rng, double scale)
{
    return (float)(scale * fis_rng_normal(rng));
}

void random_case_done(struct random_case *c)
{
    fis_free(c->w);
    fis_free(c->g_acc);
    fis_free(c->g_fair);
    fis_free(c->x);
    fis_free(c->y);
    fis_free(c->group);
}

int random_case_init(struct random_case *c, uint64_t seed, uint32_t depth, uint32_t classes,
                     uint32_t groups, uint32_t n)
{
    uint32_t hidden[8];
    *c = (struct random_case){.n = n, .classes = classes, .groups = groups};
    fis_rng_seed(&c->rng, seed, 17 * depth + 5 * classes + groups);
    c->d = 3 + fis_rng_below(&c->rng, 6);
    for (uint32_t l = 0; l < depth; l++)
        hidden[l] = 5 + fis_rng_below(&c->rng, 8);
    uint32_t margins = classes == 2 ? 1 : classes;
    c->d += seed % 2 ? margins : 0;
    if (fis_shape_init(&c->shape, c->d, hidden, depth, classes, NULL) ||
        fis_shape_set_margins(&c->shape, seed % 2 ? margins : 0, NULL))
        return -1;
    c->params = fis_shape_params(&c->shape);
    c->w = fis_alloc(c->params, sizeof *c->w);
    c->g_acc = fis_alloc(c->params, sizeof *c->g_acc);
    c->g_fair = fis_alloc(c->params, sizeof *c->g_fair);
    c->x = fis_alloc((size_t)n * c->d, sizeof *c->x);
    c->y = fis_alloc(n, sizeof *c->y);
    c->group = fis_alloc(n, sizeof *c->group);
    if (!c->w || !c->g_acc || !c->g_fair || !c->x || !c->y || !c->group) {
        random_case_done(c);
        return -1;
    }
    fis_network_init(&c->shape, c->w, &c->rng);
    for (size_t i = 0; i < c->params; i++) {
        c->w[i] += random_normal(&c->rng, .1);
        c->g_acc[i] = random_normal(&c->rng, 1);
        c->g_fair[i] = random_normal(&c->rng, 1);
    }
    for (size_t i = 0; i < (size_t)n * c->d; i++)
        c->x[i] = random_normal(&c->rng, 1);
    for (uint32_t i = 0; i < n; i++) { /* every cell in turn, then at random */
        uint32_t cell = i < classes * groups ? i : fis_rng_below(&c->rng, classes * groups);
        c->y[i] = cell % classes;
        c->group[i] = cell / classes;
    }
    c->rows = (struct fis_rows){n, c->d, c->x, c->y, c->group};
    return 0;
}

int random_case_number(struct random_case *c, uint32_t i, uint32_t n)
{
    static const uint32_t classes[] = {2, 3, 10}, groups[] = {2, 3, 5};
    return random_case_init(c, i, i % 4, classes[i / 4 % 3], groups[i / 12 % 3], n);
}

void twin_logits(const struct random_case *c, const float *direction, double t, const float *x,
                 double *out, uint64_t *pattern)
{
    double a[64], z[64];
    for (uint32_t i = 0; i < c->d; i++)
        a[i] = x[i];
    for (uint32_t l = 0; l < c->shape.n_layers; l++) {
        uint32_t in = c->shape.width[l], width = c->shape.width[l + 1];
        size_t at = fis_shape_offset(&c->shape, l);
        for (uint32_t j = 0; j < width; j++) {
            z[j] = 0;
            for (uint32_t i = 0; i <= in; i++) {
                size_t p = at + (size_t)i * width + j;
                z[j] += (i < in ? a[i] : 1) * (c->w[p] + t * (direction ? direction[p] : 0));
            }
        }
        for (uint32_t j = 0; j < width; j++) {
            int on = z[j] > 0, hidden = l + 1 < c->shape.n_layers;
            a[j] = hidden && !on ? 0 : z[j];
            if (pattern && hidden)
                *pattern = *pattern * 6364136223846793005u + (uint64_t)on + 1;
        }
    }
    for (uint32_t k = 0; k < c->classes; k++)
        out[k] = a[k];
    for (uint32_t j = 1; j <= c->shape.margins; j++)
        out[c->classes - j] += (double)FIS_MARGIN_SCALE * (double)x[c->d - j];
}
