#include "fis/selector.h"

#include <math.h>

static const char *const names[] = {
    [FIS_ALGORITHM_FIS_PLUS] = "fis+", [FIS_ALGORITHM_FIS] = "fis",
    [FIS_ALGORITHM_EKG] = "ekg",       [FIS_ALGORITHM_PRODUCT] = "product",
    [FIS_ALGORITHM_RANDOM] = "random", [FIS_ALGORITHM_ENTROPY] = "entropy",
};

static int known(enum fis_algorithm a)
{
    return a >= FIS_ALGORITHM_FIS_PLUS && a <= FIS_ALGORITHM_ENTROPY;
}

const char *fis_algorithm_name(enum fis_algorithm a)
{
    return known(a) ? names[a] : "unknown";
}

uint32_t fis_criteria_count(enum fis_algorithm a)
{
    return a == FIS_ALGORITHM_FIS_PLUS ? 2 : 1;
}

const char *fis_criterion_name(enum fis_algorithm a, uint32_t criterion)
{
    if (!known(a) || criterion >= fis_criteria_count(a))
        return "unknown";
    if (a == FIS_ALGORITHM_FIS_PLUS)
        return criterion == 0 ? "ekg" : "entropy";
    return a == FIS_ALGORITHM_FIS ? "influence" : names[a];
}

/* Expected kept gain: what the labels that the check would keep are expected to take off the
 * unfairness. <= 0. */
static double expected_kept_gain(const float *p, const float *acc, const float *fair, uint32_t k_n)
{
    double sum = 0;
    for (uint32_t k = 0; k < k_n; k++)
        if (acc[k] <= 0 && fair[k] <= 0)
            sum += (double)p[k] * (double)fair[k];
    return sum;
}

static double entropy(const float *p, uint32_t k_n)
{
    double sum = 0;
    for (uint32_t k = 0; k < k_n; k++)
        if (!(p[k] <= 0)) /* NaN goes through, so that the selector sees it and refuses */
            sum -= (double)p[k] * (double)logf(p[k]);
    return sum;
}

static float published_score(const struct fis_criteria *c, const float *p, const float *acc,
                             const float *fair, uint32_t classes)
{
    uint32_t k = fis_proxy_label(c->strategy, p, acc, classes);
    return acc[k] <= 0 && fair[k] <= 0 ? -fair[k] : FIS_NOT_A_CANDIDATE;
}

/* The top 24 bits fill a float's mantissa exactly; equal ones are told apart by the id. */
static float random_score(const struct fis_criteria *c, const struct fis_id *id)
{
    return (float)(fis_id_hash(id, c->seed) >> 40) * 0x1p-24f;
}

void fis_criteria_score(const struct fis_criteria *c, const struct fis_id *id, const float *p,
                        const float *infl_acc, const float *infl_fair, uint32_t classes,
                        float *scores)
{
    for (uint32_t i = 0; i < FIS_MAX_CRITERIA; i++)
        scores[i] = FIS_NOT_A_CANDIDATE;
    double gain = 0;
    switch (c->algorithm) {
    case FIS_ALGORITHM_FIS_PLUS:
    case FIS_ALGORITHM_EKG:
    case FIS_ALGORITHM_PRODUCT:
        gain = -expected_kept_gain(p, infl_acc, infl_fair, classes);
        if (c->algorithm == FIS_ALGORITHM_PRODUCT)
            gain *= entropy(p, classes);
        if (!(gain <= 0))
            scores[0] = (float)gain;
        if (c->algorithm == FIS_ALGORITHM_FIS_PLUS)
            scores[1] = (float)entropy(p, classes);
        break;
    case FIS_ALGORITHM_FIS:
        scores[0] = published_score(c, p, infl_acc, infl_fair, classes);
        break;
    case FIS_ALGORITHM_RANDOM:
        scores[0] = random_score(c, id);
        break;
    case FIS_ALGORITHM_ENTROPY:
        scores[0] = (float)entropy(p, classes);
        break;
    }
}
