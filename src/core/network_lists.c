#include "core/network_lists.h"

#include <string.h>

/* n columns in whole chunks. Those that are not there are 0 throughout, and add nothing. */
static uint32_t chunks_of(const struct network_lists *l, uint32_t n)
{
    return (n + l->kernel->chunk - 1) / l->kernel->chunk * l->kernel->chunk;
}

/* The direction in a slot has a first layer. */
static bool paired(const struct network_lists *l, uint32_t slot)
{
    return slot > 0 && slot < l->first_slots;
}

/* A multiple of 16, as chunks are. */
static size_t shallow_floats(const struct network_lists *l, uint32_t slot)
{
    size_t first = ((size_t)l->shape.width[0] + 1) * (paired(l, slot) ? 2 : 1);
    return chunks_of(l, l->shape.width[1]) * (first + 2 * NETWORK_FEW) + 16;
}

size_t network_lists_init(struct network_lists *l, const struct network_kernel *k,
                          const struct fis_shape *shape, uint32_t slots, uint32_t first_slots)
{
    size_t floats = 0;
    *l = (struct network_lists){.kernel = k,
                                .shape = *shape,
                                .slots = slots,
                                .first_slots = first_slots,
                                .columns = network_kernel_columns(k, shape->width[1])};
    l->shallow = shape->n_layers == 2 && network_kernel_columns(k, shape->width[2]) == NETWORK_FEW;
    if (!l->shallow)
        return (shape->width[0] + (size_t)1) * chunks_of(l, first_slots * l->columns);
    for (uint32_t slot = 0; slot < slots; slot++)
        floats += shallow_floats(l, slot);
    return floats;
}

/* Where unit j stands: each four lie in one lane of a chunk's four vectors, since the kernel's
 * output adds them one after another. */
static uint32_t place(const struct network_lists *l, uint32_t j)
{
    uint32_t chunk = l->kernel->chunk, nth = j % chunk;
    return j - nth + nth % 4 * (chunk / 4) + nth / 4;
}

/* The first layer of a slab: as the nth of `of` matrices whose chunks lie side by side. */
static void lay_first(const struct network_lists *l, const float *slab, uint32_t nth, uint32_t of,
                      float *rows, float *bias)
{
    uint32_t in = l->shape.width[0], hidden = l->shape.width[1], chunk = l->kernel->chunk;
    size_t stride = (size_t)of * chunk;
    for (uint32_t j = 0; j < hidden; j++) {
        size_t block = j / chunk * stride, at = nth * chunk + place(l, j) % chunk;
        for (uint32_t u = 0; u < in; u++)
            rows[block * in + u * stride + at] = slab[(size_t)u * hidden + j];
        bias[block + at] = slab[(size_t)in * hidden + j];
    }
}

/* The second one, [hidden][classes], to rows [classes][stride]. */
static void lay_outputs(const struct network_lists *l, const float *slab, uint32_t stride,
                        float *to, float *bias)
{
    uint32_t hidden = l->shape.width[1], classes = l->shape.width[2];
    const float *from = slab + fis_shape_offset(&l->shape, 1);
    for (uint32_t c = 0; c < classes; c++)
        for (uint32_t j = 0; j < hidden; j++)
            to[(size_t)c * stride + place(l, j)] = from[(size_t)j * classes + c];
    memcpy(bias, from + (size_t)hidden * classes, classes * sizeof *bias);
}

static void make_shallow(struct network_lists *l, uint32_t slot, const float *const *slabs,
                         float *to)
{
    uint32_t hidden = chunks_of(l, l->shape.width[1]), of = paired(l, slot) ? 2 : 1;
    float *rows = to, *bias = rows + (size_t)l->shape.width[0] * hidden * of;
    float *w = bias + (size_t)hidden * of, *g = w + (size_t)NETWORK_FEW * hidden;
    float *w_bias = g + (size_t)NETWORK_FEW * hidden, *g_bias = w_bias + NETWORK_FEW;
    lay_first(l, slabs[0], 0, of, rows, bias);
    lay_outputs(l, slabs[0], hidden, w, w_bias);
    if (of == 2)
        lay_first(l, slabs[slot], 1, of, rows, bias);
    lay_outputs(l, slabs[slot], hidden, g, g_bias);
    l->slot[slot] = (struct network_shallow){.in = l->shape.width[0],
                                             .hidden = hidden,
                                             .classes = l->shape.width[2],
                                             .paired = of == 2,
                                             .rows = rows,
                                             .bias = bias,
                                             .w = w,
                                             .g = g,
                                             .w_bias = w_bias,
                                             .g_bias = g_bias};
}

static void lay_rows(struct network_lists *l, uint32_t slot, const float *slab)
{
    uint32_t in = l->shape.width[0], out = l->shape.width[1], chunk = l->kernel->chunk;
    for (uint32_t j = 0; j < out; j++) {
        uint32_t at = slot * l->columns + j;
        float *to = l->rows + (size_t)(at / chunk) * in * chunk + at % chunk;
        for (uint32_t u = 0; u < in; u++)
            to[(size_t)u * chunk] = slab[(size_t)u * out + j];
        l->bias[at] = slab[(size_t)in * out + j];
    }
}

static void make_rows(struct network_lists *l, const float *const *slabs, float *to)
{
    l->rows = to;
    l->bias = to + (size_t)l->shape.width[0] * chunks_of(l, l->first_slots * l->columns);
    for (uint32_t slot = 0; slot < l->first_slots; slot++)
        lay_rows(l, slot, slabs[slot]);
}

void network_lists_make(struct network_lists *l, const float *const *slabs, float *to)
{
    if (!l->shallow) {
        make_rows(l, slabs, to);
        return;
    }
    for (uint32_t slot = 0; slot < l->slots; slot++) {
        make_shallow(l, slot, slabs, to);
        to += shallow_floats(l, slot);
    }
}

/* The logits come with the first direction. */
static void run_shallow(const struct network_lists *l, uint32_t first, uint32_t end,
                        const uint32_t *from, const struct fis_sparse *lists, float *z)
{
    size_t step = (size_t)NETWORK_FEW * l->kernel->rows;
    float *logits = first ? NULL : z;
    for (uint32_t t = first || end == 1 ? first : 1; t < end; t++, logits = NULL)
        l->kernel->shallow(&l->slot[t], from, lists->index, lists->value, logits,
                           t ? z + t * step : NULL);
}

void network_lists_run(const struct network_lists *l, uint32_t first, uint32_t end,
                       const uint32_t *from, const struct fis_sparse *lists, float *z)
{
    if (l->shallow)
        run_shallow(l, first, end, from, lists, z);
    else
        l->kernel->sparse(l->rows, l->shape.width[0], chunks_of(l, first * l->columns),
                          chunks_of(l, end * l->columns), from, lists->index, lists->value, l->bias,
                          z);
}
