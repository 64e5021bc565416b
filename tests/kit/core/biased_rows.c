#include "kit/core/biased_rows.h"

void synthetic_make(struct synthetic *s, uint32_t n, double positives, uint64_t seed)
{
    struct fis_rng rng;
    fis_rng_seed(&rng, seed, 77);
    s->n = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t g = fis_rng_unit(&rng) < .4;
        double a = fis_rng_normal(&rng), noise = fis_rng_normal(&rng);
        s->group[i] = g;
        s->x[i][0] = (float)a;
        s->x[i][1] = (float)((g ? -1 : 1) + fis_rng_normal(&rng) * .5);
        s->x[i][2] = (float)fis_rng_normal(&rng);
        double level = positives <= 0 ? -1e9 : 4 * (positives - .5);
        s->y[i] = a + (g ? -.7 : .7) + .6 * noise + level > 0;
    }
}

struct fis_rows synthetic_rows(const struct synthetic *s)
{
    return (struct fis_rows){.n = s->n, .d = SYN_D, .x = &s->x[0][0], .y = s->y, .group = s->group};
}
