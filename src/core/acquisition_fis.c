/* fis: Algorithm 1 as published, by the influence at a proxy label. */
#include "fis/acquisition.h"

static void score(const struct fis_criteria *c, const struct fis_id *id, const float *p,
                  const float *infl_acc, const float *infl_fair, uint32_t classes, float *scores)
{
    uint32_t k = fis_proxy_label(c->strategy, p, infl_acc, classes);
    (void)id;
    if (infl_acc[k] <= 0 && infl_fair[k] <= 0)
        scores[0] = -infl_fair[k];
}

const struct fis_acquisition fis_acquisition_fis = {.name = "fis",
                                                    .criteria = {"influence"},
                                                    .by_influence = true,
                                                    .as_published = true,
                                                    .score = score};
