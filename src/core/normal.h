/* Quantiles of the normal distribution; private to core. */
#ifndef CORE_NORMAL_H
#define CORE_NORMAL_H

#include <math.h>

static inline double normal_tail(double z) /* P(Z > z) */
{
    return .5 * erfc(z / M_SQRT2);
}

/* z with P(Z > z) = p, 0 < p <= .5: Newton's method from 0, which comes from one side. */
static inline double normal_upper(double p)
{
    double z = 0;
    for (int i = 0; i < 200; i++) {
        const double off = (normal_tail(z) - p) / (exp(-z * z / 2) / sqrt(2 * M_PI));
        z += off;
        if (!(off > 1e-12))
            break;
    }
    return z;
}

#endif
