#include "core/slab.h"

bool slab_finite(const float *v, size_t n)
{
    /* x - x is 0 for a finite x and NaN otherwise, and NaN stays in a sum. */
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i] - v[i];
    return sum == 0;
}
