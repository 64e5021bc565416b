/* fis+: half of a round by expected kept gain, half by entropy. */
#include "core/acquisition_sums.h"

static void score(const struct fis_criteria *c, const struct fis_id *id, const float *p,
                  const float *infl_acc, const float *infl_fair, uint32_t classes, float *scores)
{
    (void)c;
    (void)id;
    scores[0] = acquisition_gain_score(acquisition_gain(p, infl_acc, infl_fair, classes));
    scores[1] = (float)acquisition_entropy(p, classes);
}

static void of_sums(const float *gain, const float *entropy, uint32_t n, float *scores)
{
    for (uint32_t i = 0; i < n; i++, scores += FIS_MAX_CRITERIA) {
        scores[0] = gain[i] <= 0 ? FIS_NOT_A_CANDIDATE : gain[i];
        scores[1] = entropy[i];
    }
}

const struct fis_acquisition fis_acquisition_fis_plus = {.name = "fis+",
                                                         .criteria = {"ekg", "entropy"},
                                                         .for_accuracy = 2,
                                                         .by_influence = true,
                                                         .score = score,
                                                         .of_sums = of_sums};
