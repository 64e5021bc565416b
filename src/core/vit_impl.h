/* What the transformer's forward and backward pass share: the layout of its parameters, its work
 * space, and the layers that are no matrix product. */
#ifndef CORE_VIT_IMPL_H
#define CORE_VIT_IMPL_H

#include "core/vit.h"

#define VIT_CHUNK 16u /* images that pass together in training: their activations fit a cache */

/* A block's activations for the rows (tokens) of a chunk. */
struct vit_block {
    float *hat1, *rstd1; /* [rows][D], [rows]: the first LN before scale and shift */
    float *qkv;          /* [rows][3 D] */
    float *share;        /* [images][heads][T][T]: attention */
    float *mixed;        /* [rows][D]: what attention gives */
    float *hat2, *rstd2;
    float *act, *slope; /* [rows][F]: gelu and its derivative */
};
struct vit_chunk {
    float *patches; /* [images][patches][P P C] */
    float *hat, *rstd;
    float *blocks; /* the first block's floats */
};

struct vit_work {
    uint32_t chunk, keep; /* images of a chunk: 1 or VIT_CHUNK; of all chunks that are kept */
    size_t chunk_floats, block_floats;
    float *kept;            /* chunks; one that is used again for all without keep */
    float *x, *y;           /* [rows][D] */
    float *wide;            /* [rows][the most of 3 D, F, P P C] */
    float *dx, *dy, *dwide; /* the same, for the backward pass; with keep alone */
    float *dshare;          /* [T][T] */
    float *slab;
};

struct vit_chunk vit_chunk_at(const struct fis_vit *v, const struct vit_work *w, uint32_t nth);
struct vit_block vit_block_at(const struct fis_vit *v, const struct vit_work *w,
                              const struct vit_chunk *c, uint32_t layer);

/* y [rows][d] = x normalised, scaled and shifted; p: scale [d], shift [d]. */
void vit_norm(const float *x, uint32_t rows, uint32_t d, const float *p, float *hat, float *rstd,
              float *y);
/* y = hat scaled and shifted again. */
void vit_scale(const float *hat, uint32_t rows, uint32_t d, const float *p, float *y);
/* dx += the gradient by x of dy . y; adds to dp, the gradient by p. */
void vit_norm_backward(const float *dy, const float *hat, const float *rstd, uint32_t rows,
                       uint32_t d, const float *p, float *dp, float *dx);
/* act = gelu(z); slope = its derivative, where it is not NULL. slope may be z. */
void vit_gelu(const float *z, size_t n, float *act, float *slope);
/* z [rows][n] += b [n]; y [n] *= x. */
void vit_add_row(const float *b, uint32_t rows, uint32_t n, float *z);
void vit_multiply(const float *x, size_t n, float *y);
/* Of each row; and ds = share o (dshare - its mean under share), in place. */
void vit_softmax(float *z, uint32_t rows, uint32_t n);
void vit_softmax_backward(const float *share, uint32_t rows, uint32_t n, float *ds);
/* mixed [T][D] of one image from its q, k, v [T][3 D]; share [heads][T][T]. */
void vit_attention(const struct fis_vit *v, const float *qkv, float *share, float *mixed);
/* dqkv [T][3 D] from dmixed [T][D]; work [T][T]. */
void vit_attention_backward(const struct fis_vit *v, const float *qkv, const float *share,
                            const float *dmixed, float *work, float *dqkv);

/* z [rows][out] = a [rows][in] W + b; p: W, then b. */
void vit_dense(const float *a, uint32_t rows, uint32_t in, uint32_t out, const float *p, float *z);
/* z += a W + b. */
void vit_dense_add(const float *a, uint32_t rows, uint32_t in, uint32_t out, const float *p,
                   float *z);

#endif
