/*
 * Parameters and directions as records given as lists take them, by slot as a panel has them: 0 the
 * network itself, t the direction in slot t. Private to core.
 */
#ifndef CORE_NETWORK_LISTS_H
#define CORE_NETWORK_LISTS_H

#include "core/network_kernel.h"
#include "fis/network.h"

struct network_lists {
    const struct network_kernel *kernel;
    struct fis_shape shape;
    /* Slots in use at the last layer, and those of them that have a first layer. */
    uint32_t slots, first_slots;
    /* With one hidden layer and few classes lists are taken from it to the outputs. */
    int shallow;
    struct network_shallow slot[1 + FIS_MAX_DIRECTIONS];
    /* Else the first layer alone is: the columns of W, G_1, … G_A, in blocks [d][the kernel's
     * chunk], and the biases. */
    uint32_t columns; /* of a slot, as packed */
    float *rows, *bias;
};

/* Returns the floats that make() needs. */
size_t network_lists_init(struct network_lists *l, const struct network_kernel *k,
                          const struct fis_shape *shape, uint32_t slots, uint32_t first_slots);
/* slabs [slots]: parameters, then directions. to: aligned to 64 bytes and 0 throughout; it is kept.
 */
void network_lists_make(struct network_lists *l, const float *const *slabs, float *to);

/* The lists of a tile, to slots [first, end) of z. Shallow: [NETWORK_FEW][rows] each, of the
 * outputs; else of the first layer, [columns][rows]. */
void network_lists_run(const struct network_lists *l, uint32_t first, uint32_t end,
                       const uint32_t *from, const struct fis_sparse *lists, float *z);

#endif
