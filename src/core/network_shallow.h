/* Parameters of a network with one hidden layer and few classes, and one direction of them, as
 * network_kernel's shallow reads them; private to core. */
#ifndef CORE_NETWORK_SHALLOW_H
#define CORE_NETWORK_SHALLOW_H

#include "core/network_kernel.h"
#include "fis/network.h"

int network_shallow_fits(const struct network_kernel *k, const struct fis_shape *shape);
/* Floats that make() writes, a multiple of 16. */
size_t network_shallow_floats(const struct network_kernel *k, const struct fis_shape *shape,
                              int paired);
/* s and, at `to`, what it points at. direction: as params; NULL: only logits are wanted. paired:
 * its first layer is not all 0. */
void network_shallow_make(struct network_shallow *s, const struct network_kernel *k,
                          const struct fis_shape *shape, const float *params,
                          const float *direction, int paired, float *to);

#endif
