/* half-random: half of a round by entropy, half at random: what is learnt from stays near what
 * comes, and so do its probabilities. */
#include "lab/method.h"

static void score(const struct fis_criteria *c, const struct fis_id *id, const float *p,
                  const float *infl_acc, const float *infl_fair, uint32_t classes, float *scores)
{
    fis_acquisition_entropy.score(c, id, p, infl_acc, infl_fair, classes, scores);
    fis_acquisition_random.score(c, id, p, infl_acc, infl_fair, classes, scores + 1);
}

const struct fis_acquisition lab_acquisition_half_random = {
    .name = "half-random", .criteria = {"entropy", "random"}, .score = score};
