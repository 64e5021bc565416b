/* Images that training sees flipped and moved, so that few of them say more. */
#include <string.h>

#include "core/learner_impl.h"

static uint32_t clamp(int64_t at, uint32_t n)
{
    return at < 0 ? 0 : at >= n ? n - 1 : (uint32_t)at;
}

/* to, from: [height][width][channels]. */
static void move(const struct fis_vit *v, const float *from, bool flip, int64_t down, int64_t right,
                 float *to)
{
    const size_t c = v->channels;
    for (uint32_t i = 0; i < v->height; i++) {
        const float *line = from + (size_t)clamp(i - down, v->height) * v->width * c;
        for (uint32_t j = 0; j < v->width; j++, to += c) {
            const uint32_t at = clamp(j - right, v->width);
            memcpy(to, line + (flip ? v->width - 1 - at : at) * c, c * sizeof *to);
        }
    }
}

void learner_augment(struct fis_learner *t, uint32_t n)
{
    const struct fis_vit *v = &t->o.shape.vit;
    const uint32_t d = fis_shape_inputs(&t->o.shape), ways = 2 * t->o.shift + 1;
    if (!t->o.flip && !t->o.shift)
        return;
    for (uint32_t i = 0; i < n; i++) {
        float *x = t->x + (size_t)i * d;
        const bool flip = t->o.flip && fis_rng_below(&t->draw, 2);
        const int64_t down = (int64_t)fis_rng_below(&t->draw, ways) - t->o.shift;
        const int64_t right = (int64_t)fis_rng_below(&t->draw, ways) - t->o.shift;
        memcpy(t->image, x, d * sizeof *x);
        move(v, t->image, flip, down, right, x);
    }
}
