/* entropy: the least certain. */
#include "core/acquisition_sums.h"

static void score(const struct fis_criteria *c, const struct fis_id *id, const float *p,
                  const float *infl_acc, const float *infl_fair, uint32_t classes, float *scores)
{
    (void)c;
    (void)id;
    (void)infl_acc;
    (void)infl_fair;
    scores[0] = (float)acquisition_entropy(p, classes);
}

static void of_sums(const float *gain, const float *entropy, uint32_t n, float *scores)
{
    (void)gain;
    for (uint32_t i = 0; i < n; i++, scores += FIS_MAX_CRITERIA) {
        scores[0] = entropy[i];
        scores[1] = FIS_NOT_A_CANDIDATE;
    }
}

const struct fis_acquisition fis_acquisition_entropy = {
    .name = "entropy", .criteria = {"entropy"}, .score = score, .of_sums = of_sums};
