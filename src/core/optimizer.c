/* Steps of gradient descent, and what goes with them. */
#include <math.h>

#include "fis/learner.h"

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

void fis_adamw_step(const struct fis_adamw *o, uint64_t step, const float *gradient, size_t n,
                    float *m, float *v, float *params)
{
    const float keep_m = .9f, keep_v = .999f, epsilon = 1e-8f;
    const float by_m = (float)(1 / (1 - pow(.9, (double)step)));
    const float by_v = (float)(1 / (1 - pow(.999, (double)step)));
    for (size_t i = 0; i < n; i++) {
        const float g = gradient[i];
        m[i] = keep_m * m[i] + (1 - keep_m) * g;
        v[i] = keep_v * v[i] + (1 - keep_v) * g * g;
        params[i] -= o->learning_rate *
                     (m[i] * by_m / (sqrtf(v[i] * by_v) + epsilon) + o->weight_decay * params[i]);
    }
}

float fis_rate_at(uint64_t step, uint64_t warm_up, uint64_t end)
{
    if (step < warm_up)
        return (float)(step + 1) / (float)warm_up;
    if (!end)
        return 1;
    if (step >= end)
        return 0;
    return .5f * (1 + cosf((float)(M_PI * (double)(step - warm_up) / (double)(end - warm_up))));
}
