/*
 * Parameters and directions packed for scoring. Layer l is the matrix [W | G_1 | … | G_A] with
 * `in` rows and (1 + A) * out columns, followed by the biases in the same order. A, the number of
 * active directions, grows with the layer: a direction whose lower layers are all zero has no
 * column, and no tangent to carry, before its first layer that is not. Directions are therefore
 * held in the order of their first layer.
 */
#include <assert.h>
#include <cblas.h>
#include <stdatomic.h>
#include <string.h>

#include "core/network_scratch.h"
#include "fis/mem.h"

struct fis_panel {
    atomic_uint references;
    struct fis_shape shape;
    uint32_t n_directions;
    uint32_t order[FIS_MAX_DIRECTIONS]; /* slot -> direction */
    uint32_t active[FIS_MAX_LAYERS];    /* slots in use at this layer */
    float *layer[FIS_MAX_LAYERS];       /* weights [in][(1+A) out], then biases [(1+A) out] */
    float *slab;
};

/* The first layer of g with an element other than 0; n_layers when there is none. */
static uint32_t first_layer(const struct fis_shape *shape, const float *g)
{
    size_t i = 0, n = fis_shape_params(shape);
    while (i < n && g[i] == 0)
        i++;
    uint32_t l = 0;
    while (l < shape->n_layers && i >= fis_shape_offset(shape, l + 1))
        l++;
    return l;
}

static void choose_slots(struct fis_panel *p, const float *const *directions)
{
    const struct fis_shape *shape = &p->shape;
    uint32_t first[FIS_MAX_DIRECTIONS] = {0}, slot = 0;
    for (uint32_t i = 0; i < p->n_directions; i++)
        first[i] = first_layer(shape, directions[i]);
    for (uint32_t l = 0; l <= shape->n_layers; l++) {
        for (uint32_t i = 0; i < p->n_directions; i++)
            if (first[i] == l)
                p->order[slot++] = i;
        if (l < shape->n_layers)
            p->active[l] = slot;
    }
}

/* One layer's W and b of `slab` into column block `slot`. */
static void pack(const struct fis_panel *p, uint32_t l, uint32_t slot, const float *slab)
{
    uint32_t in = p->shape.width[l], out = p->shape.width[l + 1];
    size_t stride = (size_t)(1 + p->active[l]) * out;
    const float *from = slab + fis_shape_offset(&p->shape, l);
    for (uint32_t r = 0; r <= in; r++) /* row `in` is the biases */
        memcpy(p->layer[l] + r * stride + (size_t)slot * out, from + (size_t)r * out,
               out * sizeof *from);
}

struct fis_panel *fis_panel_new(const struct fis_shape *shape, const float *params,
                                const float *const *directions, uint32_t n_directions)
{
    assert(n_directions <= FIS_MAX_DIRECTIONS);
    struct fis_panel *p = fis_calloc(1, sizeof *p);
    if (!p)
        return NULL;
    atomic_init(&p->references, 1);
    p->shape = *shape;
    p->n_directions = n_directions;
    choose_slots(p, directions);

    size_t floats = 0;
    for (uint32_t l = 0; l < shape->n_layers; l++)
        floats += ((size_t)shape->width[l] + 1) * (1 + p->active[l]) * shape->width[l + 1];
    float *at = p->slab = fis_alloc(floats, sizeof *at);
    if (!at) {
        fis_free(p);
        return NULL;
    }
    for (uint32_t l = 0; l < shape->n_layers; l++) {
        p->layer[l] = at;
        at += ((size_t)shape->width[l] + 1) * (1 + p->active[l]) * shape->width[l + 1];
        pack(p, l, 0, params);
        for (uint32_t slot = 0; slot < p->active[l]; slot++)
            pack(p, l, slot + 1, directions[p->order[slot]]);
    }
    return p;
}

struct fis_panel *fis_panel_ref(struct fis_panel *p)
{
    atomic_fetch_add_explicit(&p->references, 1, memory_order_relaxed);
    return p;
}

void fis_panel_unref(struct fis_panel *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->references, 1, memory_order_acq_rel) != 1)
        return;
    fis_free(p->slab);
    fis_free(p);
}

const struct fis_shape *fis_panel_shape(const struct fis_panel *p)
{
    return &p->shape;
}

uint32_t network_panel_directions(const struct fis_panel *p)
{
    return p->n_directions;
}

/* ReLU of a tile [(1 + slots) * out][NETWORK_TILE]: da = [z > 0] dz below a = max(z, 0). */
static void relu_with_tangents(float *tile, uint32_t out, uint32_t slots)
{
    for (uint32_t j = 0; j < out; j++) {
        float *z = tile + (size_t)j * NETWORK_TILE;
        for (uint32_t t = 1; t <= slots; t++) {
            float *dz = z + (size_t)t * out * NETWORK_TILE;
            for (uint32_t i = 0; i < NETWORK_TILE; i++)
                dz[i] = z[i] > 0 ? dz[i] : 0;
        }
        for (uint32_t i = 0; i < NETWORK_TILE; i++)
            z[i] = z[i] < 0 ? 0 : z[i]; /* NaN stays NaN */
    }
}

/* z [out][NETWORK_TILE] += w^T a, with w [in][ldw]; a is [in][NETWORK_TILE], or with `rows`
 * [NETWORK_TILE][in] as records come. */
static void add_product(const float *w, uint32_t ldw, const float *a, uint32_t in, uint32_t out,
                        int rows, float *z)
{
    cblas_sgemm(CblasRowMajor, CblasTrans, rows ? CblasTrans : CblasNoTrans, (int)out,
                (int)NETWORK_TILE, (int)in, 1, w, (int)ldw, a, rows ? (int)in : (int)NETWORK_TILE,
                1, z, (int)NETWORK_TILE);
}

/*
 * One layer of a tile. `a`: inputs [in][NETWORK_TILE], their `carried` tangents below them (for
 * layer 0 the records themselves); z: [(1 + active) * out][NETWORK_TILE], receives
 *     z = W a + b,   dz_t = G_t a + g_t + W da_t.
 */
static void run_layer(const struct fis_panel *p, uint32_t l, const float *a, uint32_t carried,
                      float *z)
{
    uint32_t in = p->shape.width[l], out = p->shape.width[l + 1], all = (1 + p->active[l]) * out;
    const float *w = p->layer[l], *b = w + (size_t)in * all;
    for (uint32_t j = 0; j < all; j++)
        for (uint32_t i = 0; i < NETWORK_TILE; i++)
            z[(size_t)j * NETWORK_TILE + i] = b[j];
    add_product(w, all, a, in, all, l == 0, z);
    for (uint32_t t = 1; t <= carried; t++)
        add_product(w, all, a + (size_t)t * in * NETWORK_TILE, in, out, 0,
                    z + (size_t)t * out * NETWORK_TILE);
}

/* All layers for one tile of records; returns [(1 + active) * K][NETWORK_TILE]. */
static const float *run_tile(const struct fis_panel *p, const float *x, struct fis_scratch *s)
{
    const float *a = x;
    uint32_t carried = 0, last = p->shape.n_layers - 1;
    for (uint32_t l = 0; l <= last; l++) {
        float *z = s->tile[l & 1];
        run_layer(p, l, a, carried, z);
        carried = p->active[l];
        if (l < last)
            relu_with_tangents(z, p->shape.width[l + 1], carried);
        a = z;
    }
    return a;
}

/* [K][NETWORK_TILE] to [rows][K]. */
static void unpack(const float *z, uint32_t rows, uint32_t classes, float *out)
{
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t k = 0; k < classes; k++)
            out[(size_t)i * classes + k] = z[(size_t)k * NETWORK_TILE + i];
}

void network_panel_run(const struct fis_panel *p, const float *x, uint32_t n, struct fis_scratch *s,
                       float *logits, float *const *tangents)
{
    assert(p->n_directions <= s->max_directions);
    uint32_t d = p->shape.width[0], k = fis_shape_classes(&p->shape);
    uint32_t slots = p->active[p->shape.n_layers - 1];
    for (uint32_t i = slots; i < p->n_directions; i++) /* directions that are 0 throughout */
        memset(tangents[p->order[i]], 0, (size_t)n * k * sizeof(float));
    for (uint32_t from = 0; from < n; from += NETWORK_TILE) {
        uint32_t rows = n - from < NETWORK_TILE ? n - from : NETWORK_TILE;
        const float *xs = x + (size_t)from * d;
        if (rows < NETWORK_TILE) {
            memcpy(s->pad, xs, (size_t)rows * d * sizeof *xs);
            memset(s->pad + (size_t)rows * d, 0, (size_t)(NETWORK_TILE - rows) * d * sizeof *xs);
            xs = s->pad;
        }
        const float *z = run_tile(p, xs, s);
        size_t at = (size_t)from * k;
        unpack(z, rows, k, logits + at);
        for (uint32_t t = 0; t < slots; t++)
            unpack(z + (size_t)(1 + t) * k * NETWORK_TILE, rows, k, tangents[p->order[t]] + at);
    }
}

void fis_panel_tangents(const struct fis_panel *p, const float *x, uint32_t n,
                        struct fis_scratch *s, float *logits, float *tangents)
{
    float *each[FIS_MAX_DIRECTIONS];
    for (uint32_t i = 0; i < p->n_directions; i++)
        each[i] = tangents + (size_t)i * n * fis_shape_classes(&p->shape);
    network_panel_run(p, x, n, s, logits, each);
}
