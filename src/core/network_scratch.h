/*
 * Inside of struct fis_scratch, the panel's run with a pointer per direction, and one layer's
 * gradient; private to core.
 */
#ifndef CORE_NETWORK_SCRATCH_H
#define CORE_NETWORK_SCRATCH_H

#include "fis/network.h"

struct fis_scratch {
    uint32_t max_n, max_directions;
    /* act[l] [max_n][width[l]]: inputs of layer l, for l >= 1; with a transformer for l >= 0 */
    float *act[FIS_MAX_LAYERS];
    struct vit_work *vit; /* NULL: no transformer */
    float *delta[2];      /* [max_n][widest hidden]: backward, ping and pong */
    /* Of each layer's outputs: [(1 + max_directions) * widest output, as packed][a tile's rows] */
    float *tile[FIS_MAX_LAYERS];
    float *turned; /* [d][a tile's rows] */
    /* What is not 0 of a tile of dense rows, as struct fis_sparse has it. */
    uint32_t *from, *index;
    float *value;
    float *pad; /* [a tile's rows][d]: the last tile's records, filled up with zeros */
    float *slab;
    /* Forward and backward: each hidden unit is left out with probability `drop`, and the others
     * are scaled up for it; NULL: none is. */
    struct fis_rng *drop_rng;
    float drop;
};

/* The last layer's inputs [n][width] in the last fis_network_forward, which took x. */
static inline const float *network_last_inputs(const struct fis_shape *shape,
                                               const struct fis_scratch *s, const float *x)
{
    return shape->n_layers > 1 || shape->vit.height ? s->act[shape->n_layers - 1] : x;
}

/* Rows of either kind. */
struct network_input {
    const float *x; /* [n][d], or NULL and: */
    const struct fis_sparse *sparse;
};

/* The results of rows [first, first + rows), laid out [K][the kernel's rows]. */
struct network_tile {
    const struct network_kernel *kernel;
    uint32_t first, rows, classes;
    bool whole; /* no more will be computed */
    const float *logits;
    const float *tangents[FIS_MAX_DIRECTIONS]; /* NULL: not computed, or 0 throughout */
};
/* Of a tile that is not whole: nonzero when the rest of it is needed, and then `take` comes again.
 */
typedef int network_take_fn(void *arg, const struct network_tile *t);

/* All rows, a tile at a time, to `take`. `influence`: instead of logits and tangents, probabilities
 * p and the influences s_k - p.s. foremost: the direction that is computed first, with those that
 * cannot come after it, and the others when `take` needs them; NETWORK_ALL: all at once;
 * NETWORK_NONE: none at all. */
#define NETWORK_ALL UINT32_MAX
#define NETWORK_NONE (UINT32_MAX - 1)
void network_panel_run(const struct fis_panel *p, const struct network_input *in, uint32_t n,
                       struct fis_scratch *s, int influence, uint32_t foremost,
                       network_take_fn *take, void *arg);
/* Tiles to logits [n][K] and, of each direction, tangents [n][K]. */
struct network_rows {
    float *logits, *tangents[FIS_MAX_DIRECTIONS];
    uint32_t n_directions;
};
int network_take_rows(void *arg, const struct network_tile *t);
uint32_t network_panel_directions(const struct fis_panel *p);

/* g (a layer's block of a slab, [in + 1][out]) += [a 1]^T dz, of n rows. */
void network_layer_gradient(const float *a, uint32_t in, const float *dz, uint32_t out, uint32_t n,
                            float *g);

#endif
