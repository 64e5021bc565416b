#include "fis/loss.h"

#include <math.h>

#include "core/softmax.h"

void fis_softmax(const float *logits, uint32_t n, uint32_t classes, float *p)
{
    for (uint32_t i = 0; i < n; i++, logits += classes, p += classes) {
        float top = logits[0], sum = 0;
        for (uint32_t k = 1; k < classes; k++)
            top = logits[k] > top ? logits[k] : top;
        for (uint32_t k = 0; k < classes; k++)
            sum += p[k] = expf(logits[k] - top);
        for (uint32_t k = 0; k < classes; k++)
            p[k] /= sum;
    }
}

double softmax_row(const float *logits, uint32_t classes, uint32_t label, double *p)
{
    double top = logits[0], sum = 0;
    for (uint32_t k = 1; k < classes; k++)
        top = logits[k] > top ? logits[k] : top;
    for (uint32_t k = 0; k < classes; k++)
        sum += p[k] = exp(logits[k] - top);
    for (uint32_t k = 0; k < classes; k++)
        p[k] /= sum;
    /* The two large terms first: both are exact, and what is left of them is the loss. */
    return (top - logits[label]) + log(sum);
}

double fis_cross_entropy(const float *logits, const uint32_t *labels, const float *weights,
                         uint32_t n, uint32_t classes, float *dlogits)
{
    double p[FIS_MAX_CLASSES], sum = 0, total = 0;
    for (uint32_t i = 0; i < n; i++)
        total += weights ? weights[i] : 1;
    for (uint32_t i = 0; i < n; i++) {
        double share = total > 0 ? (weights ? weights[i] : 1) / total : 0;
        sum += share * softmax_row(logits + (size_t)i * classes, classes, labels[i], p);
        if (!dlogits)
            continue;
        float *d = dlogits + (size_t)i * classes;
        for (uint32_t k = 0; k < classes; k++)
            d[k] = (float)(share * (p[k] - (k == labels[i])));
    }
    return sum;
}
