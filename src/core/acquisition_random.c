/* random: for comparison. */
#include "fis/acquisition.h"

static void score(const struct fis_criteria *c, const struct fis_id *id, const float *p,
                  const float *infl_acc, const float *infl_fair, uint32_t classes, float *scores)
{
    (void)p;
    (void)infl_acc;
    (void)infl_fair;
    (void)classes;
    /* The top 24 bits fill a float's mantissa exactly; equal ones are ordered by the id. */
    scores[0] = (float)(fis_id_hash(id, c->seed) >> 40) * 0x1p-24f;
}

const struct fis_acquisition fis_acquisition_random = {
    .name = "random", .criteria = {"random"}, .score = score};
