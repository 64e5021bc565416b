/* What the acquisitions of gain and entropy add up over the classes. */
#ifndef CORE_ACQUISITION_SUMS_H
#define CORE_ACQUISITION_SUMS_H

#include <math.h>

#include "fis/acquisition.h"

/* -EKG, the expected kept gain: what the labels that the check would keep are expected to take off
 * the unfairness. >= 0. */
static inline double acquisition_gain(const float *p, const float *acc, const float *fair,
                                      uint32_t k_n)
{
    double sum = 0;
    for (uint32_t k = 0; k < k_n; k++)
        if (acc[k] <= 0 && fair[k] <= 0)
            sum += (double)p[k] * (double)fair[k];
    return -sum;
}

static inline double acquisition_entropy(const float *p, uint32_t k_n)
{
    double sum = 0;
    for (uint32_t k = 0; k < k_n; k++)
        if (!(p[k] <= 0)) /* NaN goes through, so that the selector sees it and refuses */
            sum -= (double)p[k] * (double)logf(p[k]);
    return sum;
}

/* A gain as a score: of what gains nothing there is none. NaN goes through. */
static inline float acquisition_gain_score(double gain)
{
    return gain <= 0 ? FIS_NOT_A_CANDIDATE : (float)gain;
}

#endif
