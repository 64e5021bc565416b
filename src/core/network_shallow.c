#include "core/network_shallow.h"

#include <string.h>

int network_shallow_fits(const struct network_kernel *k, const struct fis_shape *shape)
{
    return shape->n_layers == 2 && network_kernel_columns(k, shape->width[2]) == NETWORK_FEW;
}

/* Units in whole chunks; those that are not there are 0 throughout, and add nothing. */
static uint32_t hidden_of(const struct network_kernel *k, const struct fis_shape *shape)
{
    return (shape->width[1] + k->chunk - 1) / k->chunk * k->chunk;
}

size_t network_shallow_floats(const struct network_kernel *k, const struct fis_shape *shape,
                              int paired)
{
    size_t first = ((size_t)shape->width[0] + 1) * (paired ? 2 : 1);
    return hidden_of(k, shape) * (first + 2 * NETWORK_FEW) + 16;
}

/* Where unit j stands: each four lie in one lane of a chunk's four vectors, since output adds them
 * one after another. */
static uint32_t place(const struct network_kernel *k, uint32_t j)
{
    uint32_t in_chunk = j % k->chunk;
    return j - in_chunk + in_chunk % 4 * (k->chunk / 4) + in_chunk / 4;
}

/* The first layer of `slab`: as the nth of `of` matrices whose chunks lie side by side. */
static void lay_first(const struct network_kernel *k, const struct fis_shape *shape,
                      const float *slab, uint32_t nth, uint32_t of, float *rows, float *bias)
{
    uint32_t in = shape->width[0], hidden = shape->width[1];
    size_t stride = (size_t)of * k->chunk;
    for (uint32_t j = 0; j < hidden; j++) {
        size_t block = j / k->chunk * stride, at = nth * k->chunk + place(k, j) % k->chunk;
        for (uint32_t u = 0; u < in; u++)
            rows[block * in + u * stride + at] = slab[(size_t)u * hidden + j];
        bias[block + at] = slab[(size_t)in * hidden + j];
    }
}

/* The second one, [hidden][classes], to rows [classes][stride]. */
static void lay_outputs(const struct network_kernel *k, const struct fis_shape *shape,
                        const float *slab, uint32_t stride, float *to, float *bias)
{
    uint32_t hidden = shape->width[1], classes = shape->width[2];
    const float *from = slab + fis_shape_offset(shape, 1);
    for (uint32_t c = 0; c < classes; c++)
        for (uint32_t j = 0; j < hidden; j++)
            to[(size_t)c * stride + place(k, j)] = from[(size_t)j * classes + c];
    memcpy(bias, from + (size_t)hidden * classes, classes * sizeof *bias);
}

void network_shallow_make(struct network_shallow *s, const struct network_kernel *k,
                          const struct fis_shape *shape, const float *params,
                          const float *direction, int paired, float *to)
{
    uint32_t hidden = hidden_of(k, shape), of = paired ? 2 : 1;
    float *rows = to, *bias = rows + (size_t)shape->width[0] * hidden * of;
    float *w = bias + (size_t)hidden * of, *g = w + (size_t)NETWORK_FEW * hidden;
    float *w_bias = g + (size_t)NETWORK_FEW * hidden, *g_bias = w_bias + NETWORK_FEW;
    lay_first(k, shape, params, 0, of, rows, bias);
    lay_outputs(k, shape, params, hidden, w, w_bias);
    if (paired)
        lay_first(k, shape, direction, 1, of, rows, bias);
    if (direction)
        lay_outputs(k, shape, direction, hidden, g, g_bias);
    *s = (struct network_shallow){.in = shape->width[0],
                                  .hidden = hidden,
                                  .classes = shape->width[2],
                                  .paired = paired,
                                  .rows = rows,
                                  .bias = bias,
                                  .w = w,
                                  .g = g,
                                  .w_bias = w_bias,
                                  .g_bias = g_bias};
}
