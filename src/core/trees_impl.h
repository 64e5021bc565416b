/* Trees by one of the kernels, for tests; private to core. */
#ifndef CORE_TREES_IMPL_H
#define CORE_TREES_IMPL_H

#include "core/network_kernel.h"
#include "fis/trees.h"

void trees_apply_by(const struct network_kernel *k, const struct fis_trees *t, float *x,
                    uint32_t n);

#endif
