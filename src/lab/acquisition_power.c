/* power: entropy times a random factor, so that a round is a random sample in which uncertain
 * records are likely, not the most uncertain records alone ("Stochastic Batch Acquisition", Kirsch
 * et al., 2023). The best of log(entropy) + Gumbel noise are a sample in proportion to its power.
 */
#include <math.h>

#include "lab/method.h"

#define POWER 4 /* of the entropy, in proportion to which a record is likely */

static void score(const struct fis_criteria *c, const struct fis_id *id, const float *p,
                  const float *infl_acc, const float *infl_fair, uint32_t classes, float *scores)
{
    const double u = ((double)(fis_id_hash(id, c->seed) >> 11) + .5) * 0x1p-53;
    fis_acquisition_entropy.score(c, id, p, infl_acc, infl_fair, classes, scores);
    scores[0] = (float)(POWER * log((double)scores[0] + 1e-12) - log(-log(u)));
}

const struct fis_acquisition lab_acquisition_power = {
    .name = "power", .criteria = {"power"}, .score = score};
