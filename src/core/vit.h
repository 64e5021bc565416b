/*
 * The vision transformer below the dense layers (fis/network.h has its layers and where its
 * parameters lie). Without `keep` images pass one by one, so that the features of an image do not
 * depend on its batch, to the last bit. With it they pass in chunks, whose activations stay for a
 * backward pass. A work space belongs to one caller at a time.
 */
#ifndef CORE_VIT_H
#define CORE_VIT_H

#include "fis/network.h"

/* Offsets into the transformer's parameters, and into those of a block. */
struct vit_layout {
    size_t patch, patch_bias, token, position, block, norm, total;
    size_t norm1, qkv, qkv_bias, out, out_bias, norm2, up, up_bias, down, down_bias, block_total;
};
struct vit_layout vit_layout(const struct fis_vit *v);

uint32_t vit_tokens(const struct fis_vit *v);
size_t vit_params(const struct fis_vit *v);
#define VIT_EPSILON 1e-6f /* of layer norms */
void vit_init(const struct fis_vit *v, float *params, struct fis_rng *rng);

struct vit_work;
/* keep: activations of up to max_n images; 0: none. NULL: no memory. */
struct vit_work *vit_work_new(const struct fis_vit *v, uint32_t keep);
void vit_work_free(struct vit_work *w);
bool vit_keeps(const struct vit_work *w); /* NULL: no */

/* features [n][dim] of images x [n][height][width][channels]. */
void vit_forward(const struct fis_vit *v, const float *params, const float *x, uint32_t n,
                 struct vit_work *w, float *features);
/* Adds to gradient (of vit_params) that of sum_n dfeatures[n] . features[n], for the images of the
 * last vit_forward with this work space, which keeps. */
void vit_backward(const struct fis_vit *v, const float *params, uint32_t n, struct vit_work *w,
                  const float *dfeatures, float *gradient);

#endif
