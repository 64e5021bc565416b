/*
 * Inside of struct fis_scratch, and the panel's run with a pointer per direction; private to core.
 */
#ifndef CORE_NETWORK_SCRATCH_H
#define CORE_NETWORK_SCRATCH_H

#include "fis/network.h"

/* The panel is run in tiles of this many rows, the last one filled up with zeros, and within a
 * tile the rows are the fastest index (activations are [unit][row]). Every matrix product then has
 * the same shape whatever the batch, and rows lie along vector lanes: a record's scores do not
 * depend, not even in the last bit, on the batch it came in nor on its place there. 16 is the
 * largest width at which that holds for all of OpenBLAS' kernels; its Haswell one (Zen uses it too)
 * sums in another order for some rows when there are more. It costs 5 to 15 % against 64. */
#define NETWORK_TILE 16u

struct fis_scratch {
    uint32_t max_n, max_directions;
    float *act[FIS_MAX_LAYERS]; /* act[l] [max_n][width[l]]: inputs of layer l, for l >= 1 */
    float *delta[2];            /* [max_n][widest hidden]: backward, ping and pong */
    float *tile[2];             /* [(1 + max_directions) * widest output][NETWORK_TILE] */
    float *pad;                 /* [NETWORK_TILE][d]: the last tile's rows */
    float *slab;
};

/* As fis_panel_tangents, with tangents[i] [n][K] apart for each direction. */
void network_panel_run(const struct fis_panel *p, const float *x, uint32_t n, struct fis_scratch *s,
                       float *logits, float *const *tangents);
uint32_t network_panel_directions(const struct fis_panel *p);

#endif
