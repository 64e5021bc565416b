/*
 * Parameters and directions packed for scoring. Layer l is the matrices W, G_1, … G_A, each packed
 * for the kernel, then their biases. A, the number of active directions, grows with the layer: a
 * direction whose lower layers are all zero has no matrix, and no tangent to carry, before its
 * first layer that is not. Directions are therefore held in the order of their first layer; of
 * equals the last one comes first, since what scoring looks at first is unfairness.
 */
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "core/network_kernel.h"
#include "core/network_lists.h"
#include "core/network_scratch.h"
#include "core/vit.h"
#include "fis/mem.h"

struct fis_panel {
    atomic_uint references;
    struct fis_shape shape;
    uint32_t n_directions;
    uint32_t order[FIS_MAX_DIRECTIONS]; /* slot -> direction */
    uint32_t active[FIS_MAX_LAYERS];    /* slots in use at this layer */
    const struct network_kernel *kernel;
    uint32_t columns[FIS_MAX_LAYERS]; /* outputs of a layer, as packed */
    float *layer[FIS_MAX_LAYERS]; /* (1+A) x [in * columns] packed, then biases (1+A) x [columns] */
    struct network_lists lists;
    float *vit; /* the transformer's parameters */
    float *slab;
};

/* With fewer features the dense product is as fast. */
#define SPARSE_FROM 24u
/* A record is sparse when at most one in so many of its numbers is not 0. */
#define SPARSE_SHARE 4u

/* The first dense layer of g with an element other than 0; n_layers when there is none. */
static uint32_t first_layer(const struct fis_shape *shape, const float *g)
{
    size_t i = fis_shape_offset(shape, 0), n = fis_shape_params(shape);
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
        for (uint32_t i = p->n_directions; i-- > 0;)
            if (first[i] == l)
                p->order[slot++] = i;
        if (l < shape->n_layers)
            p->active[l] = slot;
    }
}

/* Floats of a layer: a multiple of 16, so that the next one is aligned too. */
static size_t layer_floats(const struct fis_panel *p, uint32_t l)
{
    size_t n = ((size_t)p->shape.width[l] + 1) * (1 + p->active[l]) * p->columns[l];
    return (n + 15) / 16 * 16;
}

static float *biases(const struct fis_panel *p, uint32_t l)
{
    return p->layer[l] + (size_t)p->shape.width[l] * (1 + p->active[l]) * p->columns[l];
}

/* One layer's W and b of `slab` into matrix `slot`. */
static void pack(const struct fis_panel *p, uint32_t l, uint32_t slot, const float *slab)
{
    uint32_t in = p->shape.width[l], out = p->shape.width[l + 1], columns = p->columns[l];
    const float *from = slab + fis_shape_offset(&p->shape, l);
    network_kernel_pack(p->kernel, from, in, out, p->layer[l] + (size_t)slot * in * columns);
    memcpy(biases(p, l) + (size_t)slot * columns, from + (size_t)in * out, out * sizeof *from);
}

static bool takes_lists(const struct fis_panel *p)
{
    return p->shape.width[0] >= SPARSE_FROM && !p->shape.vit.height;
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

    const float *slabs[1 + FIS_MAX_DIRECTIONS] = {params};
    for (uint32_t slot = 0; slot < n_directions; slot++)
        slabs[slot + 1] = directions[p->order[slot]];
    const size_t below = fis_shape_offset(shape, 0);
    size_t floats = (below + 15) / 16 * 16, lists = 0;
    p->kernel = network_kernel(0);
    for (uint32_t l = 0; l < shape->n_layers; l++) {
        p->columns[l] = network_kernel_columns(p->kernel, shape->width[l + 1]);
        floats += layer_floats(p, l);
    }
    if (takes_lists(p))
        lists = network_lists_init(&p->lists, p->kernel, shape, 1 + p->active[shape->n_layers - 1],
                                   1 + p->active[0]);
    float *at = p->slab = fis_calloc(floats + lists, sizeof *at);
    if (!at) {
        fis_free(p);
        return NULL;
    }
    p->vit = at;
    memcpy(at, params, below * sizeof *at);
    at += (below + 15) / 16 * 16;
    for (uint32_t l = 0; l < shape->n_layers; l++) {
        p->layer[l] = at;
        at += layer_floats(p, l);
        for (uint32_t slot = 0; slot <= p->active[l]; slot++)
            pack(p, l, slot, slabs[slot]);
    }
    if (lists)
        network_lists_make(&p->lists, slabs, at);
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

/* Slots of a tile: 0 the network itself, t the direction in slot t - 1. */
struct span {
    uint32_t from, to; /* [from, to) */
};

/* Of a layer with so many directions. */
static uint32_t end_of(struct span slots, uint32_t active)
{
    return slots.to < 1 + active ? slots.to : 1 + active;
}

/*
 * One layer of a tile. `a`: inputs [in][rows], their `carried` tangents `stride` units apart behind
 * them; z: [1 + active][columns][rows], of which `slots` receive
 *     z = W a + b,   dz_t = G_t a + g_t + W da_t.
 */
static void run_layer(const struct fis_panel *p, uint32_t l, const float *a, uint32_t carried,
                      uint32_t stride, struct span slots, float *z)
{
    const struct network_kernel *k = p->kernel;
    uint32_t in = p->shape.width[l], out = p->shape.width[l + 1], columns = p->columns[l];
    size_t matrix = (size_t)in * columns, step = (size_t)columns * k->rows;
    const float *w = p->layer[l], *b = biases(p, l);
    for (uint32_t t = slots.from; t < end_of(slots, p->active[l]); t++)
        network_kernel_run(k, w + t * matrix, in, out, a, b + (size_t)t * columns, z + t * step);
    for (uint32_t t = slots.from ? slots.from : 1; t < end_of(slots, carried); t++)
        network_kernel_run(k, w, in, out, a + (size_t)t * stride * k->rows, NULL, z + t * step);
}

/* What is not 0 of a tile of dense rows, as the scratch's lists. 0 when a row is not sparse.
 */
static int list(const struct fis_panel *p, const float *x, struct fis_scratch *s)
{
    uint32_t d = p->shape.width[0];
    s->from[0] = 0;
    for (uint32_t i = 0; i < p->kernel->rows; i++, x += d) {
        uint32_t n = p->kernel->others(x, d, s->index + s->from[i], s->value + s->from[i]);
        if (n > d / SPARSE_SHARE)
            return 0;
        s->from[i + 1] = s->from[i] + n;
    }
    return 1;
}

/* Rows [first, first + rows) of `sparse`, and empty ones up to a tile: where each begins. */
static void cut(const struct fis_panel *p, const struct fis_sparse *sparse, uint32_t first,
                uint32_t rows, uint32_t *from)
{
    for (uint32_t i = 0; i <= p->kernel->rows; i++)
        from[i] = sparse->from[first + (i < rows ? i : rows)];
}

/* The dense rows of a tile. */
static const float *spread(const struct fis_panel *p, const struct fis_sparse *sparse,
                           struct fis_scratch *s)
{
    uint32_t d = p->shape.width[0];
    memset(s->pad, 0, (size_t)p->kernel->rows * d * sizeof *s->pad);
    for (uint32_t i = 0; i < p->kernel->rows; i++)
        for (uint32_t k = s->from[i]; k < s->from[i + 1]; k++)
            s->pad[(size_t)i * d + sparse->index[k]] = sparse->value[k];
    return s->pad;
}

/* As many rows as a tile has: those that are not there are 0. */
static const float *fill_up(const struct fis_panel *p, const float *x, uint32_t rows,
                            struct fis_scratch *s)
{
    size_t d = p->shape.width[0], tile = p->kernel->rows;
    if (rows == tile)
        return x;
    memcpy(s->pad, x, rows * d * sizeof *x);
    memset(s->pad + rows * d, 0, (tile - rows) * d * sizeof *x);
    return s->pad;
}

/* What the transformer makes of a tile's rows; those that are not there are 0. */
static const float *transform(const struct fis_panel *p, const float *x, uint32_t rows,
                              struct fis_scratch *s)
{
    const size_t d = p->shape.width[0];
    vit_forward(&p->shape.vit, p->vit, x, rows, s->vit, s->pad);
    memset(s->pad + rows * d, 0, (p->kernel->rows - rows) * d * sizeof *s->pad);
    return s->pad;
}

/* The rows of a tile: as lists when they are sparse, in `own` or the caller's, else NULL and turned
 * in s->turned. */
static const struct fis_sparse *open_tile(const struct fis_panel *p, const struct network_input *in,
                                          uint32_t first, uint32_t rows, struct fis_scratch *s,
                                          const struct fis_sparse *own)
{
    const struct network_kernel *k = p->kernel;
    uint32_t d = p->shape.width[0];
    const struct fis_sparse *lists = in->sparse;
    const float *x = NULL;
    assert(!lists || !p->shape.vit.height);
    if (lists) {
        cut(p, lists, first, rows, s->from);
        if (!takes_lists(p) || s->from[k->rows] - s->from[0] > k->rows * (d / SPARSE_SHARE))
            x = spread(p, lists, s);
    } else if (p->shape.vit.height) {
        x = transform(p, in->x + (size_t)first * fis_shape_inputs(&p->shape), rows, s);
    } else {
        x = fill_up(p, in->x + (size_t)first * d, rows, s);
        if (takes_lists(p) && list(p, x, s))
            lists = own, x = NULL;
    }
    if (!x)
        return lists;
    k->transpose(x, d, s->turned);
    return NULL;
}

/* The outputs behind the one hidden layer of a network whose lists are taken so far. */
static void run_outputs(const struct fis_panel *p, const float *a, struct span slots, float *z)
{
    const struct network_kernel *k = p->kernel;
    uint32_t in = p->shape.width[1];
    size_t ahead = (size_t)p->columns[0] * k->rows;
    const float *w = p->layer[1], *b = biases(p, 1);
    for (uint32_t t = slots.from; t < end_of(slots, p->active[1]); t++)
        k->output(w + (size_t)t * in * NETWORK_FEW, a, w,
                  t && t <= p->active[0] ? a + t * ahead : NULL, in, b + (size_t)t * NETWORK_FEW,
                  z + (size_t)t * NETWORK_FEW * k->rows);
}

/* The layers of a tile: the first of lists, or all of them, and those that are left; with the same
 * numbers as of dense rows, as adding 0 changes nothing. What was done of other slots before is
 * left as it is: relu changes nothing the second time. */
static void run_layers(const struct fis_panel *p, const struct fis_sparse *lists, struct span slots,
                       struct fis_scratch *s)
{
    uint32_t last = p->shape.n_layers - 1, done = lists && p->lists.shallow ? last : 0;
    if (lists)
        network_lists_run(&p->lists, slots.from, end_of(slots, p->active[done]), s->from, lists,
                          s->tile[done]);
    else
        run_layer(p, 0, s->turned, 0, 0, slots, s->tile[0]);
    for (uint32_t l = done + 1; l <= last; l++) {
        uint32_t carried = p->active[l - 1], stride = p->columns[l - 1];
        float *a = s->tile[l - 1];
        p->kernel->relu(a, p->shape.width[l], stride, end_of(slots, carried) - 1);
        if (p->lists.shallow)
            run_outputs(p, a, slots, s->tile[l]);
        else
            run_layer(p, l, a, carried, stride, slots, s->tile[l]);
    }
}

/* Adds the margins of a tile, which are its last inputs, to the logits z [K][rows]. */
static void add_margins(const struct fis_panel *p, const struct fis_sparse *lists,
                        const struct fis_scratch *s, float *z)
{
    uint32_t m = p->shape.margins, rows = p->kernel->rows, first = p->shape.width[0] - m;
    const float *turned = s->turned + (size_t)first * rows;
    z += (size_t)(fis_shape_classes(&p->shape) - m) * rows;
    for (size_t i = 0; !lists && i < (size_t)m * rows; i++)
        z[i] += FIS_MARGIN_SCALE * turned[i];
    for (uint32_t i = 0; lists && m && i < rows; i++)
        for (uint32_t k = s->from[i + 1]; k > s->from[i] && lists->index[k - 1] >= first; k--)
            z[(size_t)(lists->index[k - 1] - first) * rows + i] +=
                FIS_MARGIN_SCALE * lists->value[k - 1];
}

/* Computes `slots` of a tile; those from 0 on come first. */
static void run_tile(const struct fis_panel *p, const struct fis_sparse *lists, struct span slots,
                     int influence, struct fis_scratch *s, struct network_tile *t)
{
    uint32_t last = p->shape.n_layers - 1;
    size_t step = (size_t)p->columns[last] * p->kernel->rows;
    float *z = s->tile[last];
    run_layers(p, lists, slots, s);
    t->logits = z;
    if (!slots.from)
        add_margins(p, lists, s, z);
    if (influence && !slots.from)
        p->kernel->softmax(z, t->classes);
    for (uint32_t i = slots.from ? slots.from : 1; i < end_of(slots, p->active[last]); i++) {
        if (influence)
            p->kernel->centre(z, z + i * step, t->classes);
        t->tangents[p->order[i - 1]] = z + i * step;
    }
}

/* [K][tile] to [rows][K]. */
static void unpack(const float *z, const struct network_tile *t, float *out)
{
    uint32_t classes = t->classes, tile = t->kernel->rows;
    out += (size_t)t->first * classes;
    for (uint32_t i = 0; i < t->rows; i++)
        for (uint32_t k = 0; k < classes; k++)
            out[(size_t)i * classes + k] = z ? z[(size_t)k * tile + i] : 0;
}

int network_take_rows(void *arg, const struct network_tile *t)
{
    const struct network_rows *r = arg;
    unpack(t->logits, t, r->logits);
    for (uint32_t i = 0; i < r->n_directions; i++)
        unpack(t->tangents[i], t, r->tangents[i]);
    return 0;
}

/* The slots up to that of a direction. */
static struct span up_to(const struct fis_panel *p, uint32_t direction)
{
    uint32_t slots = p->active[p->shape.n_layers - 1];
    if (direction == NETWORK_ALL)
        return (struct span){0, 1 + slots};
    for (uint32_t i = slots; i-- > 0;)
        if (p->order[i] == direction)
            return (struct span){0, i + 2};
    return (struct span){0, 1};
}

void network_panel_run(const struct fis_panel *p, const struct network_input *in, uint32_t n,
                       struct fis_scratch *s, int influence, uint32_t foremost,
                       network_take_fn *take, void *arg)
{
    assert(p->n_directions <= s->max_directions);
    uint32_t tile = p->kernel->rows;
    const struct span begin = up_to(p, foremost), rest = {begin.to, up_to(p, NETWORK_ALL).to};
    const struct fis_sparse own = {s->from, s->index, s->value};
    bool whole = rest.from == rest.to || foremost == NETWORK_NONE;
    for (uint32_t first = 0; first < n; first += tile) {
        struct network_tile t = {.kernel = p->kernel,
                                 .first = first,
                                 .rows = n - first < tile ? n - first : tile,
                                 .classes = fis_shape_classes(&p->shape),
                                 .whole = whole};
        const struct fis_sparse *lists = open_tile(p, in, first, t.rows, s, &own);
        run_tile(p, lists, begin, influence, s, &t);
        if (take(arg, &t) && !whole) {
            run_tile(p, lists, rest, influence, s, &t);
            t.whole = true;
            take(arg, &t);
        }
    }
}

void fis_panel_tangents(const struct fis_panel *p, const float *x, uint32_t n,
                        struct fis_scratch *s, float *logits, float *tangents)
{
    struct network_rows rows = {.logits = logits, .n_directions = p->n_directions};
    for (uint32_t i = 0; i < p->n_directions; i++)
        rows.tangents[i] = tangents + (size_t)i * n * fis_shape_classes(&p->shape);
    network_panel_run(p, &(struct network_input){.x = x}, n, s, 0, NETWORK_ALL, network_take_rows,
                      &rows);
}
