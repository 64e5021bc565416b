/* Vectors of all parameters of a network. */
#ifndef CORE_SLAB_H
#define CORE_SLAB_H

#include <stdbool.h>
#include <stddef.h>

bool slab_finite(const float *v, size_t n);

#endif
