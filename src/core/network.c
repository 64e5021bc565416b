#include "fis/network.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/network_kernel.h"
#include "core/network_scratch.h"
#include "core/vit.h"
#include "fis/mem.h"

/* Keeps every dimension of a matrix product, panels included, within BLAS' int. */
#define MAX_WIDTH (1u << 20)

int fis_shape_init(struct fis_shape *shape, uint32_t d, const uint32_t *hidden, uint32_t n_hidden,
                   uint32_t classes, struct fis_error *e)
{
    if (n_hidden > FIS_MAX_LAYERS - 1)
        return fis_fail(e, FIS_INPUT, "network: %u hidden layers, at most %d allowed", n_hidden,
                        FIS_MAX_LAYERS - 1);
    if (classes < 2 || classes > FIS_MAX_CLASSES)
        return fis_fail(e, FIS_INPUT, "network: found classes: %u, allowed 2 to %d", classes,
                        FIS_MAX_CLASSES);
    if (d == 0 || d > MAX_WIDTH)
        return fis_fail(e, FIS_INPUT, "network: %u inputs, 1 to %u allowed", d, MAX_WIDTH);
    for (uint32_t i = 0; i < n_hidden; i++)
        if (hidden[i] == 0 || hidden[i] > MAX_WIDTH)
            return fis_fail(e, FIS_INPUT, "network: hidden layer %u has width %u, 1 to %u allowed",
                            i, hidden[i], MAX_WIDTH);
    memset(shape, 0, sizeof *shape);
    shape->n_layers = n_hidden + 1;
    shape->width[0] = d;
    for (uint32_t i = 0; i < n_hidden; i++)
        shape->width[i + 1] = hidden[i];
    shape->width[n_hidden + 1] = classes;
    return 0;
}

int fis_shape_set_margins(struct fis_shape *shape, uint32_t margins, struct fis_error *e)
{
    uint32_t k = fis_shape_classes(shape), expected = k == 2 ? 1 : k;
    if (margins && (shape->vit.height || margins != expected || margins >= fis_shape_inputs(shape)))
        return fis_fail(e, FIS_INPUT,
                        "network: %u margins among %u inputs; %u, and a feature beside, expected "
                        "for %u classes",
                        margins, fis_shape_inputs(shape), expected, k);
    shape->margins = margins;
    return 0;
}

/* Bounds that keep every product within BLAS' int and a slab within memory. */
#define MAX_SIDE 1024u
#define MAX_TOKENS 4096u
#define MAX_DEPTH 64u

static int check_vit(const struct fis_vit *v, struct fis_error *e)
{
    const struct {
        const char *name;
        uint32_t value, most;
    } all[] = {{"height", v->height, MAX_SIDE}, {"width", v->width, MAX_SIDE},
               {"channels", v->channels, 4},    {"patch", v->patch, MAX_SIDE},
               {"dim", v->dim, 4096},           {"depth", v->depth, MAX_DEPTH},
               {"heads", v->heads, v->dim},     {"mlp", v->mlp, 16384}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].value < 1 || all[i].value > all[i].most)
            return fis_fail(e, FIS_INPUT, "transformer: %s %u, 1 to %u allowed", all[i].name,
                            all[i].value, all[i].most);
    if (v->height % v->patch || v->width % v->patch)
        return fis_fail(e, FIS_INPUT,
                        "transformer: patches of %u do not divide an image of %u x %u", v->patch,
                        v->height, v->width);
    if (v->dim % v->heads)
        return fis_fail(e, FIS_INPUT, "transformer: %u heads do not divide %u", v->heads, v->dim);
    if (vit_tokens(v) > MAX_TOKENS)
        return fis_fail(e, FIS_INPUT, "transformer: %u patches, at most %u allowed", vit_tokens(v),
                        MAX_TOKENS);
    return 0;
}

int fis_shape_set_vit(struct fis_shape *shape, const struct fis_vit *vit, struct fis_error *e)
{
    int rc = check_vit(vit, e);
    if (rc)
        return rc;
    if (shape->width[0] != vit->dim || shape->margins)
        return fis_fail(e, FIS_INPUT,
                        "transformer: %u numbers for dense layers of %u inputs, %u of them margins",
                        vit->dim, shape->width[0], shape->margins);
    shape->vit = *vit;
    return 0;
}

bool fis_shape_equal(const struct fis_shape *a, const struct fis_shape *b)
{
    const struct fis_vit *v = &a->vit, *w = &b->vit;
    return a->n_layers == b->n_layers &&
           memcmp(a->width, b->width, (a->n_layers + 1) * sizeof *a->width) == 0 &&
           v->height == w->height && v->width == w->width && v->channels == w->channels &&
           v->patch == w->patch && v->dim == w->dim && v->depth == w->depth &&
           v->heads == w->heads && v->mlp == w->mlp && v->token == w->token;
}

char *fis_shape_text(const struct fis_shape *shape, char out[FIS_SHAPE_TEXT])
{
    const struct fis_vit *v = &shape->vit;
    int n = snprintf(out, FIS_SHAPE_TEXT, "%s", shape->n_layers ? "" : "none");
    if (v->height)
        n = snprintf(
            out, FIS_SHAPE_TEXT,
            "image %u x %u x %u in patches of %u, %u blocks of %u (%u heads, mlp %u), %s; ",
            v->height, v->width, v->channels, v->patch, v->depth, v->dim, v->heads, v->mlp,
            v->token ? "token" : "mean");
    for (uint32_t l = 0; shape->n_layers && l <= shape->n_layers; l++)
        n += snprintf(out + n, FIS_SHAPE_TEXT - (size_t)n, "%s%u", l ? "-" : "", shape->width[l]);
    return out;
}

size_t fis_shape_offset(const struct fis_shape *shape, uint32_t layer)
{
    size_t at = vit_params(&shape->vit);
    for (uint32_t l = 0; l < layer; l++)
        at += ((size_t)shape->width[l] + 1) * shape->width[l + 1];
    return at;
}

size_t fis_shape_params(const struct fis_shape *shape)
{
    return fis_shape_offset(shape, shape->n_layers);
}

void fis_network_init(const struct fis_shape *shape, float *params, struct fis_rng *rng)
{
    if (shape->vit.height)
        vit_init(&shape->vit, params, rng);
    for (uint32_t l = 0; l < shape->n_layers; l++) {
        float *w = params + fis_shape_offset(shape, l);
        size_t n = (size_t)shape->width[l] * shape->width[l + 1];
        double deviation = sqrt(1.0 / shape->width[l]) / FIS_RNG_TRUNCATED_DEVIATION;
        for (size_t i = 0; i < n; i++)
            w[i] = (float)(fis_rng_truncated(rng) * deviation);
        memset(w + n, 0, shape->width[l + 1] * sizeof *w);
        if (shape->margins && l + 1 == shape->n_layers)
            memset(w, 0, n * sizeof *w);
    }
}

static uint32_t widest(const struct fis_shape *shape, uint32_t from, uint32_t to)
{
    uint32_t w = 0;
    for (uint32_t l = from; l <= to; l++)
        w = shape->width[l] > w ? shape->width[l] : w;
    return w;
}

/* The first dense layer whose inputs are computed, and kept. */
static uint32_t lowest(const struct fis_shape *shape)
{
    return shape->vit.height ? 0 : 1;
}

static struct fis_scratch *scratch_new(const struct fis_shape *shape, uint32_t max_n,
                                       uint32_t max_directions, bool training)
{
    assert(max_directions <= FIS_MAX_DIRECTIONS);
    uint32_t last = shape->n_layers;
    const uint32_t low = lowest(shape);
    size_t hidden = last > low ? widest(shape, low, last - 1) : 0, all_hidden = 0;
    for (uint32_t l = low; l < last; l++)
        all_hidden += shape->width[l];
    size_t delta = max_n * hidden, pad = (size_t)NETWORK_MAX_TILE * shape->width[0];
    size_t outputs = (1 + (size_t)max_directions) * (widest(shape, 1, last) + NETWORK_MAX_UNITS);
    size_t tile = NETWORK_MAX_TILE * (outputs + NETWORK_MAX_CHUNK);
    /* Lists of a tile, the last of them cut short when it is not sparse; and what network_kernel's
     * others need. */
    size_t listed = (pad / 4 + shape->width[0] + 31) / 16 * 16;

    struct fis_scratch *s = fis_calloc(1, sizeof *s);
    float *at =
        fis_calloc(max_n * all_hidden + 2 * delta + last * tile + 2 * pad + listed, sizeof *at);
    uint32_t *from = fis_alloc(NETWORK_MAX_TILE + 1 + listed, sizeof *from);
    if (!s || !at || !from ||
        (shape->vit.height && !(s->vit = vit_work_new(&shape->vit, training ? max_n : 0)))) {
        fis_free(from);
        fis_free(at);
        fis_free(s);
        return NULL;
    }
    s->from = from;
    s->index = from + NETWORK_MAX_TILE + 1;
    s->max_n = max_n;
    s->max_directions = max_directions;
    s->slab = s->pad = at;
    s->turned = at + pad;
    at += 2 * pad;
    for (uint32_t l = 0; l < last; l++, at += tile)
        s->tile[l] = at;
    s->value = at;
    at += listed;
    for (int i = 0; i < 2; i++, at += delta)
        s->delta[i] = at;
    for (uint32_t l = low; l < last; at += (size_t)max_n * shape->width[l], l++)
        s->act[l] = at;
    return s;
}

struct fis_scratch *fis_scratch_new(const struct fis_shape *shape, uint32_t max_n,
                                    uint32_t max_directions)
{
    return scratch_new(shape, max_n, max_directions, false);
}

struct fis_scratch *fis_scratch_new_training(const struct fis_shape *shape, uint32_t max_n)
{
    return scratch_new(shape, max_n, 0, true);
}

void fis_scratch_free(struct fis_scratch *s)
{
    if (!s)
        return;
    vit_work_free(s->vit);
    fis_free(s->slab);
    fis_free(s->from);
    fis_free(s);
}

/* Adds the margins of n rows to their logits. */
static void add_margins(const struct fis_shape *shape, const float *x, uint32_t n, float *logits)
{
    uint32_t d = shape->width[0], classes = fis_shape_classes(shape), m = shape->margins;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < m; j++)
            logits[(size_t)i * classes + classes - m + j] +=
                FIS_MARGIN_SCALE * x[(size_t)i * d + d - m + j];
}

/* Eight units a draw, in 256ths. */
static void drop_units(struct fis_scratch *s, float *z, size_t n)
{
    const uint64_t least = (uint64_t)lroundf(s->drop * 256);
    const float scale = 1 / (1 - s->drop);
    uint64_t bits = 0;
    for (size_t i = 0; i < n; i++, bits >>= 8) {
        if (i % 8 == 0)
            bits = fis_rng_u64(s->drop_rng);
        z[i] = (bits & 255) < least ? 0 : z[i] * scale;
    }
}

void fis_network_forward(const struct fis_shape *shape, const float *params, const float *x,
                         uint32_t n, struct fis_scratch *s, float *logits)
{
    assert(n <= s->max_n);
    const float *a = x;
    if (shape->vit.height) {
        vit_forward(&shape->vit, params, x, n, s->vit, s->act[0]);
        a = s->act[0];
    }
    for (uint32_t l = 0; n && l < shape->n_layers; l++) {
        uint32_t in = shape->width[l], out = shape->width[l + 1];
        const float *w = params + fis_shape_offset(shape, l), *b = w + (size_t)in * out;
        int hidden = l + 1 < shape->n_layers;
        float *z = hidden ? s->act[l + 1] : logits;
        for (uint32_t i = 0; i < n; i++)
            memcpy(z + (size_t)i * out, b, out * sizeof *z);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)out, (int)in, 1, a,
                    (int)in, w, (int)out, 1, z, (int)out);
        /* Written so that NaN stays NaN: a broken weight must not vanish in a ReLU. */
        for (size_t i = 0; hidden && i < (size_t)n * out; i++)
            z[i] = z[i] < 0 ? 0 : z[i];
        if (hidden && s->drop_rng)
            drop_units(s, z, (size_t)n * out);
        a = z;
    }
    add_margins(shape, x, n, logits);
}

void network_layer_gradient(const float *a, uint32_t in, const float *dz, uint32_t out, uint32_t n,
                            float *g)
{
    float *gb = g + (size_t)in * out;
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)in, (int)out, (int)n, 1, a, (int)in,
                dz, (int)out, 1, g, (int)out);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < out; j++)
            gb[j] += dz[(size_t)i * out + j];
}

void fis_network_backward(const struct fis_shape *shape, const float *params, const float *x,
                          uint32_t n, struct fis_scratch *s, const float *dlogits, float *gradient)
{
    assert(n <= s->max_n);
    const float *dz = dlogits;
    const float scale = s->drop_rng ? 1 / (1 - s->drop) : 1;
    for (uint32_t l = shape->n_layers; n && l-- > 0;) {
        uint32_t in = shape->width[l], out = shape->width[l + 1];
        size_t at = fis_shape_offset(shape, l);
        const float *a = l || shape->vit.height ? s->act[l] : x;
        network_layer_gradient(a, in, dz, out, n, gradient + at);
        if (l == 0 && !vit_keeps(s->vit))
            break;
        float *da = s->delta[l & 1];
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)in, (int)out, 1, dz,
                    (int)out, params + at, (int)out, 0, da, (int)in);
        for (size_t i = 0; l && i < (size_t)n * in; i++)
            da[i] = a[i] > 0 ? da[i] * scale : 0;
        dz = da;
    }
    if (vit_keeps(s->vit))
        vit_backward(&shape->vit, params, n, s->vit, dz, gradient);
}
