/*
 * A network: d inputs, any number of hidden ReLU layers, K logits; for images a vision transformer
 * below them. All parameters lie in one slab of floats.
 *
 * Dense layer l (0 .. n_layers-1) has width[l] inputs and width[l+1] outputs. Its parameters lie in
 * the slab at fis_shape_offset(shape, l): the weights W, row-major [inputs][outputs], then the
 * biases b [outputs]; z = a W + b with a row vector a. A gradient or a direction has the shape of
 * the slab. Batches are row-major: X is [n][d], logits are [n][K].
 *
 * Transformer (struct fis_vit; Dosovitskiy et al. 2021): a row is an image
 * [height][width][channels], and what the transformer makes of it, width[0] features, is the input
 * of dense layer 0. Its parameters come first in the slab. With P x P patches, T tokens of D
 * numbers, F hidden units: patch embedding     W [P P C][D], b [D]       a patch is [P][P][C] class
 * token         [D]                        with `token` alone; it is token 0 position embedding
 * [T][D]                     added `depth` blocks      x += Attention(LN(x)); x += W2 gelu(W1 LN(x)
 * + b1) + b2 LN scale, shift [D]; W_qkv [D][3 D], b [3 D]; W_out [D][D], b [D]; LN scale, shift
 * [D]; W1 [D][F], b1 [F]; W2 [F][D], b2 [D] LN scale, shift [D] and the mean over the tokens, or
 * the class token. LN has epsilon 1e-6, gelu is the one by tanh, attention is softmax(q k^T /
 * sqrt(D / heads)) v.
 *
 * Margins: logits of a model below the network (the base), which the network corrects. They come
 * as the last inputs of each row, divided by FIS_MARGIN_SCALE, and are added to the logits:
 *     logits = base + network([features, base / FIS_MARGIN_SCALE]).
 * With two classes one margin is the log odds of class 1; with more there is one for each class.
 * No gradient reaches them, as they are part of the row. The last layer then begins at 0, so that
 * an untrained network is the base, to the bit.
 *
 * Thread: all functions are pure; a scratch belongs to one caller at a time. Owns: nothing.
 */
#ifndef FIS_NETWORK_H
#define FIS_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fis/error.h"
#include "fis/rng.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FIS_MAX_LAYERS 8
#define FIS_MAX_CLASSES 64
#define FIS_MAX_DIRECTIONS 8 /* tangents of one panel */

struct fis_vit {
    uint32_t height, width, channels; /* of an image; height 0: no transformer */
    uint32_t patch;                   /* divides height and width */
    uint32_t dim, depth, heads, mlp;  /* heads divide dim */
    bool token;                       /* a class token in place of the mean */
};

struct fis_shape {
    uint32_t n_layers; /* dense: 1 (logistic regression) .. FIS_MAX_LAYERS */
    uint32_t
        width[FIS_MAX_LAYERS + 1]; /* width[0] = d without a transformer, width[n_layers] = K */
    uint32_t margins;              /* of the d inputs; 0: no base */
    struct fis_vit vit;
};

/* A power of two, so that a margin passes through a feature without loss. */
#define FIS_MARGIN_SCALE 4.0f

/* INPUT when a width is 0 or over 2^20, K < 2 or K > FIS_MAX_CLASSES, or too many layers. */
int fis_shape_init(struct fis_shape *shape, uint32_t d, const uint32_t *hidden, uint32_t n_hidden,
                   uint32_t classes, struct fis_error *e) FIS_MUST_CHECK;
/* Gives the shape a base. INPUT: `margins` is neither 0 nor 1 for two classes and K for more, or
 * there is no input beside them. */
int fis_shape_set_margins(struct fis_shape *shape, uint32_t margins,
                          struct fis_error *e) FIS_MUST_CHECK;
/* Puts a transformer below dense layers of vit->dim inputs, without margins. INPUT: a size of 0 or
 * beyond its bound, or sizes that do not divide. */
int fis_shape_set_vit(struct fis_shape *shape, const struct fis_vit *vit,
                      struct fis_error *e) FIS_MUST_CHECK;
bool fis_shape_equal(const struct fis_shape *a, const struct fis_shape *b); /* but for margins */
/* For people: "8-64-2", with a transformer "image 28 x 28 x 3 in patches of 7, 2 blocks of 32 (4
 * heads, mlp 64), mean; 32-64-2"; "none" without layers. Returns out. */
#define FIS_SHAPE_TEXT 256
char *fis_shape_text(const struct fis_shape *shape, char out[FIS_SHAPE_TEXT]);
size_t fis_shape_params(const struct fis_shape *shape);
size_t fis_shape_offset(const struct fis_shape *shape, uint32_t layer); /* of a dense layer */
static inline uint32_t fis_shape_inputs(const struct fis_shape *s)
{
    return s->vit.height ? s->vit.height * s->vit.width * s->vit.channels : s->width[0];
}
static inline uint32_t fis_shape_classes(const struct fis_shape *s)
{
    return s->width[s->n_layers];
}

/* Weights ~ N(0, 1/inputs) truncated at two deviations (LeCun, as Flax's Dense), biases 0. With a
 * base the last layer is 0 (and takes as many random numbers). Position embedding and class token
 * ~ N(0, .02^2), scales 1. */
void fis_network_init(const struct fis_shape *shape, float *params, struct fis_rng *rng);

/* Work space for batches of up to `max_n` rows and up to `max_directions` tangents. */
struct fis_scratch;
struct fis_scratch *fis_scratch_new(const struct fis_shape *shape, uint32_t max_n,
                                    uint32_t max_directions);
/* For training: a backward pass goes through the transformer too, and its activations are kept. */
struct fis_scratch *fis_scratch_new_training(const struct fis_shape *shape, uint32_t max_n);
void fis_scratch_free(struct fis_scratch *s);

/* Rows given by their nonzero entries: row i has value[k] at column index[k] < d for k in
 * [from[i], from[i + 1]), columns rising. A borrowed view; from has one element more than rows. */
struct fis_sparse {
    const uint32_t *from, *index;
    const float *value;
};

/* logits [n][K] of X [n][d]; n <= the scratch's rows. Keeps the activations in the scratch for a
 * backward pass over the same X. */
void fis_network_forward(const struct fis_shape *shape, const float *params, const float *x,
                         uint32_t n, struct fis_scratch *s, float *logits);

/* Adds to `gradient` (the slab's shape) sum_n dlogits[n] . d logits[n] / d params, for the batch
 * of the last fis_network_forward on this scratch; of the dense layers alone when the scratch is
 * not for training. */
void fis_network_backward(const struct fis_shape *shape, const float *params, const float *x,
                          uint32_t n, struct fis_scratch *s, const float *dlogits, float *gradient);

/* Forward-mode tangents: for each direction G of `directions` (n_directions slabs)
 *     tangents[i][n][k] = d/dt logits_k of the network params + t G_i at t = 0,
 * with logits [n][K] as a by-product. Layer 0 is one GEMM of the batch with the panel
 * [W | G_1 | … ] (DESIGN notes, "scoring is one forward pass with tangents"). Directions whose
 * first layers are all zero (last-layer directions) are detected by fis_panel_new and cost next
 * to nothing. */
struct fis_panel; /* parameters and directions packed for scoring; immutable, reference counted */
struct fis_panel *fis_panel_new(const struct fis_shape *shape, const float *params,
                                const float *const *directions, uint32_t n_directions);
struct fis_panel *fis_panel_ref(struct fis_panel *p);
void fis_panel_unref(struct fis_panel *p);
const struct fis_shape *fis_panel_shape(const struct fis_panel *p);

void fis_panel_tangents(const struct fis_panel *p, const float *x, uint32_t n,
                        struct fis_scratch *s, float *logits, float *tangents);

/* This thread takes numbers below the smallest normal one for 0, as inputs and as results: they
 * cost 50 times the time of others and say nothing. Every thread that computes calls it once before
 * (one that it then creates has it too): a result to the last bit is that of threads of one mode.
 */
void fis_flush_denormals(void);

#ifdef __cplusplus
}
#endif

#endif
