#include "core/slab.h"

#include "fis/learner.h"

bool slab_finite(const float *v, size_t n)
{
    /* x - x is 0 for a finite x and NaN otherwise, and NaN stays in a sum. */
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i] - v[i];
    return sum == 0;
}

void fis_sgd_step(const struct fis_sgd *o, const float *gradient, size_t n, float *momentum,
                  float *params)
{
    const float mu = o->momentum, rate = o->learning_rate, decay = o->weight_decay;
    for (size_t i = 0; i < n; i++) {
        float g = gradient[i] + decay * params[i];
        momentum[i] = mu * momentum[i] + g;
        params[i] -= rate * (g + mu * momentum[i]);
    }
}

void fis_running_average(const float *params, size_t n, uint32_t count, float *average)
{
    float share = 1.0f / (float)count;
    for (size_t i = 0; i < n; i++)
        average[i] = count == 1 ? params[i] : average[i] + share * (params[i] - average[i]);
}
