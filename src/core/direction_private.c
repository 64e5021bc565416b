#include "core/direction_private.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "core/direction_precondition.h"
#include "core/network_scratch.h"
#include "core/softmax.h"
#include "fis/mem.h"

#define CHUNK 256u

struct pass {
    const struct fis_shape *shape;
    const float *params;
    const struct fis_rows *rows;
    const uint32_t *index;
    uint32_t n, d, classes, last, in; /* last: layer; in: its inputs */
    struct fis_scratch *scratch;
    float *x;                  /* [CHUNK][d] */
    float *logits;             /* [n][K] */
    float *d_acc, *d_fair;     /* [CHUNK][K] */
    uint32_t *labels, *groups; /* [n] */
    struct private_cells *cells;
    const struct fairness_work *weights;
    double clip;
};

static void pass_done(struct pass *p)
{
    fis_scratch_free(p->scratch);
    void *const all[] = {p->x, p->logits, p->d_acc, p->d_fair, p->labels, p->groups, p->cells};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fis_free(all[i]);
}

static int pass_init(struct pass *p)
{
    uint32_t k = p->classes;
    p->scratch = fis_scratch_new(p->shape, CHUNK, 0);
    p->x = fis_alloc((size_t)CHUNK * p->d, sizeof *p->x);
    p->logits = fis_alloc((size_t)p->n * k, sizeof *p->logits);
    p->d_acc = fis_alloc((size_t)CHUNK * k, sizeof *p->d_acc);
    p->d_fair = fis_alloc((size_t)CHUNK * k, sizeof *p->d_fair);
    p->labels = fis_alloc(p->n, sizeof *p->labels);
    p->groups = fis_alloc(p->n, sizeof *p->groups);
    p->cells = fis_alloc(1, sizeof *p->cells);
    return p->scratch && p->x && p->logits && p->d_acc && p->d_fair && p->labels && p->groups &&
           p->cells;
}

/* Rows from, from + 1, … of the subset through the network; returns the inputs of the last layer
 * and says how many rows they are. */
static const float *forward(struct pass *p, uint32_t from, uint32_t *count)
{
    *count = p->n - from < CHUNK ? p->n - from : CHUNK;
    const float *x = p->rows->x + (size_t)from * p->d;
    if (p->index) {
        for (uint32_t i = 0; i < *count; i++)
            memcpy(p->x + (size_t)i * p->d, p->rows->x + (size_t)p->index[from + i] * p->d,
                   p->d * sizeof *p->x);
        x = p->x;
    }
    fis_network_forward(p->shape, p->params, x, *count, p->scratch,
                        p->logits + (size_t)from * p->classes);
    return network_last_inputs(p->shape, p->scratch, x);
}

static int all_logits(struct pass *p, struct fis_error *e)
{
    uint32_t count;
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t row = p->index ? p->index[i] : i;
        p->labels[i] = p->rows->y[row];
        p->groups[i] = p->rows->group[row];
    }
    for (uint32_t from = 0; from < p->n; from += count)
        (void)forward(p, from, &count);
    for (size_t i = 0; i < (size_t)p->n * p->classes; i++)
        if (!isfinite(p->logits[i]))
            return fis_fail(e, FIS_INPUT, "directions: loss not finite");
    return 0;
}

/* One row's gradient by the logits, d [K], shortened so that the last layer's gradient is no
 * longer than `limit`; length: of the last hidden activations and 1. */
static void private_clip(float *d, uint32_t classes, double length, double limit)
{
    double sum = 0;
    for (uint32_t k = 0; k < classes; k++)
        sum += (double)d[k] * (double)d[k];
    double norm = sqrt(sum) * length;
    /* A little less, so that rounding to float does not lead beyond it. Not "norm > limit": what
     * is no number is cut off too. */
    double scale = norm <= limit ? 1 : limit / norm * (1 - 1e-6);
    for (uint32_t k = 0; k < classes; k++)
        d[k] = scale > 0 ? (float)(d[k] * scale) : 0;
}

static double length_of(const float *a, uint32_t n)
{
    double sum = 1;
    for (uint32_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)a[i];
    return sqrt(sum);
}

/* Both gradients by the logits of a chunk's rows, cut off. */
static void chunk_terms(struct pass *p, int risk, const float *act, uint32_t from, uint32_t count)
{
    double soft[FIS_MAX_CLASSES];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t y = p->labels[from + i], g = p->groups[from + i];
        const float *f = p->logits + (size_t)(from + i) * p->classes;
        float *acc = p->d_acc + (size_t)i * p->classes, *fair = p->d_fair + (size_t)i * p->classes;
        double length = length_of(act + (size_t)i * p->in, p->in);
        (void)softmax_row(f, p->classes, y, soft);
        for (uint32_t k = 0; k < p->classes; k++)
            acc[k] = (float)(soft[k] - (k == y));
        private_clip(acc, p->classes, length, p->clip);
        fairness_row_gradient(p->weights, risk, f, y, g, fair);
        private_clip(fair, p->classes, length, p->clip * private_weight(p->weights, y, g));
    }
}

static void release(const struct pass *p, float *g, double scale, double deviation,
                    struct chacha_normal *noise)
{
    for (size_t j = 0; j < ((size_t)p->in + 1) * p->classes; j++)
        g[j] = (float)(scale * (double)g[j] + (noise ? deviation * chacha_normal(noise) : 0));
}

static void make_weights(struct pass *p, const struct fis_direction_options *o,
                         struct chacha_normal *noise)
{
    private_cells_add(p->cells, &o->surrogate, p->logits, p->labels, p->groups, p->n, p->classes,
                      o->n_groups);
    private_cells_weights(p->cells, &o->surrogate, 2 * o->privacy->noise, noise);
    p->weights = &p->cells->sums;
}

/* g_acc, g_fair: blocks of the last layer, 0. */
static void make_sums(struct pass *p, const struct fis_direction_options *o,
                      struct chacha_normal *noise, float *g_acc, float *g_fair)
{
    int risk = o->surrogate.metric == FIS_RISK_DISPARITY;
    uint32_t count;
    for (uint32_t from = 0; from < p->n; from += count) {
        const float *act = forward(p, from, &count);
        chunk_terms(p, risk, act, from, count);
        network_layer_gradient(act, p->in, p->d_acc, p->classes, count, g_acc);
        network_layer_gradient(act, p->in, p->d_fair, p->classes, count, g_fair);
    }
    double unit = 2 * o->privacy->noise * p->clip;
    release(p, g_acc, 1.0 / p->n, unit / p->n, noise);
    release(p, g_fair, 1, unit * private_largest_weight(p->weights), noise);
}

/* By the curvature on rows that need no protection: what comes out is as private as what went in.
 */
static int precondition(const struct fis_shape *shape, const float *params, const float *x,
                        uint32_t n, double damping, float *g_acc, float *g_fair,
                        struct fis_error *e)
{
    struct precondition *c = NULL;
    uint32_t d = fis_shape_inputs(shape), k = fis_shape_classes(shape), last = shape->n_layers - 1;
    size_t at = fis_shape_offset(shape, last);
    struct fis_scratch *s = fis_scratch_new(shape, CHUNK, 0);
    float *logits = fis_alloc((size_t)CHUNK * k, sizeof *logits);
    int rc = s && logits ? precondition_new(shape, n, &c, e)
                         : fis_fail(e, FIS_NOMEM, "directions: no memory for the curvature");
    for (uint32_t from = 0; rc == 0 && from < n; from += CHUNK) {
        uint32_t count = n - from < CHUNK ? n - from : CHUNK;
        const float *rows = x + (size_t)from * d;
        fis_network_forward(shape, params, rows, count, s, logits);
        precondition_add(c, network_last_inputs(shape, s, rows), logits, count);
    }
    if (rc == 0)
        rc = precondition_apply(c, damping, g_acc + at, g_fair + at, e);
    precondition_free(c);
    fis_scratch_free(s);
    fis_free(logits);
    return rc;
}

static int check(const struct fis_direction_options *o, uint32_t n, struct fis_error *e)
{
    if (o->losses)
        return fis_fail(e, FIS_INPUT, "directions: noise with losses of another kind");
    if (n == 0)
        return fis_fail(e, FIS_INPUT, "directions: no rows");
    if (!(o->privacy->noise > 0 && o->privacy->clip > 0))
        return fis_fail(e, FIS_INPUT, "directions: noise %g, clip %g; numbers above 0 are expected",
                        o->privacy->noise, o->privacy->clip);
    return 0;
}

int private_gradients(const struct fis_shape *shape, const float *params,
                      const struct fis_rows *rows, const uint32_t *index, uint32_t n,
                      const struct fis_direction_options *o, const struct fairness_work *weights,
                      struct chacha_normal *noise, float *g_acc, float *g_fair, struct fis_error *e)
{
    struct pass p = {.shape = shape, .params = params, .rows = rows, .index = index};
    size_t n_params = fis_shape_params(shape);
    p.n = index ? n : rows->n;
    int rc = check(o, p.n, e);
    if (rc)
        return rc;
    p.d = fis_shape_inputs(shape);
    p.classes = fis_shape_classes(shape);
    p.last = shape->n_layers - 1;
    p.in = shape->width[p.last];
    p.clip = o->privacy->clip;
    p.weights = weights;
    rc = pass_init(&p) ? all_logits(&p, e)
                       : fis_fail(e, FIS_NOMEM, "directions: no memory for %u rows", p.n);
    if (rc == 0) {
        size_t at = fis_shape_offset(shape, p.last);
        memset(g_acc, 0, n_params * sizeof *g_acc);
        memset(g_fair, 0, n_params * sizeof *g_fair);
        if (!weights)
            make_weights(&p, o, noise);
        make_sums(&p, o, noise, g_acc + at, g_fair + at);
    }
    pass_done(&p);
    return rc;
}

int private_directions(const struct fis_shape *shape, const float *params,
                       const struct fis_rows *rows, const uint32_t *index, uint32_t n,
                       const float *public_x, uint32_t n_public,
                       const struct fis_direction_options *o, struct chacha_normal *noise,
                       float *g_acc, float *g_fair, struct fis_error *e)
{
    int rc = private_gradients(shape, params, rows, index, n, o, NULL, noise, g_acc, g_fair, e);
    if (rc == 0 && o->precondition && n_public)
        rc = precondition(shape, params, public_x, n_public, o->damping, g_acc, g_fair, e);
    return rc;
}

void private_refresh_key(const struct fis_direction_options *o, uint64_t number,
                         const struct fis_shape *shape, const float *params,
                         const struct fis_rows *rows, const uint8_t *fold_of,
                         unsigned char key[CHACHA_KEY], uint64_t *tag)
{
    const struct fis_privacy *p = o->privacy;
    const uint32_t how[] = {(uint32_t)o->surrogate.metric, (uint32_t)o->surrogate.form,
                            o->surrogate.positive, o->n_groups, rows->n};
    unsigned char own[CHACHA_KEY], block[CHACHA_BLOCK];
    const uint32_t for_seed[4] = {1, 0, 0, 2}, for_tag[4] = {2, 0, 0, 2};
    memcpy(own, p->key, CHACHA_KEY);
    struct {
        uint64_t number, low, high, seed;
        double noise, clip;
    } in = {.number = number, .noise = p->noise, .clip = p->clip};
    /* A fast fingerprint, seeded by the key, so that nobody can aim at one. */
    chacha_block(own, for_seed, block);
    memcpy(&in.seed, block, sizeof in.seed);
    const struct {
        const void *bytes;
        size_t size;
    } parts[] = {{how, sizeof how},
                 {fold_of, rows->n},
                 {shape, sizeof *shape},
                 {params, fis_shape_params(shape) * sizeof *params},
                 {rows->x, (size_t)rows->n * rows->d * sizeof *rows->x},
                 {rows->y, rows->n * sizeof *rows->y},
                 {rows->group, rows->n * sizeof *rows->group}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        XXH128_hash_t hash = XXH3_128bits_withSeed(parts[i].bytes, parts[i].size, in.seed);
        in.low = hash.low64;
        in.high = hash.high64;
        chacha_absorb(own, &in, sizeof in);
    }
    chacha_block(own, for_tag, block);
    memcpy(tag, block, sizeof *tag);
    memcpy(key, own, CHACHA_KEY);
}
