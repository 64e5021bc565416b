/* The criteria of many rows, a tile at a time, as the panel has computed it; the naive twin is
 * fis_criteria_score. */
#include <assert.h>

#include "core/network_kernel.h"
#include "core/network_scratch.h"
#include "fis/acquisition.h"

struct scoring {
    const struct fis_criteria *criteria;
    const struct fis_id *const *ids;
    const float *floors;
    float *scores;
};

/* Of directions that are 0 throughout. */
static const _Alignas(64) float zero[FIS_MAX_CLASSES * NETWORK_MAX_TILE];

static void one_by_one(const struct scoring *s, const struct network_tile *t, const float *acc,
                       const float *fair)
{
    float of[3][FIS_MAX_CLASSES];
    for (uint32_t i = 0; i < t->rows; i++) {
        for (uint32_t k = 0; k < t->classes; k++) {
            size_t at = (size_t)k * t->kernel->rows + i;
            of[0][k] = t->logits[at];
            of[1][k] = acc[at];
            of[2][k] = fair[at];
        }
        fis_criteria_score(s->criteria, s->ids[t->first + i], of[0], of[1], of[2], t->classes,
                           s->scores + (size_t)(t->first + i) * FIS_MAX_CRITERIA);
    }
}

/* Whether one of the tile's rows reaches a floor. NaN does, so that it is seen and refused. */
static bool reaches(const struct scoring *s, const struct network_tile *t)
{
    const float *score = s->scores + (size_t)t->first * FIS_MAX_CRITERIA;
    int below = 1;
    for (uint32_t i = 0; i < t->rows; i++, score += FIS_MAX_CRITERIA)
        below &= (score[0] < s->floors[0]) & (score[1] < s->floors[1]);
    return !below;
}

/* Without the accuracy's direction a gain is that of all labels that are good for fairness: no less
 * than it will be, in float too, as the terms that are too many are not negative. */
static int take(void *arg, const struct network_tile *t)
{
    const struct scoring *s = arg;
    const float *acc = t->tangents[FIS_DIRECTION_ACCURACY];
    const float *fair = t->tangents[FIS_DIRECTION_FAIRNESS];
    acc = acc ? acc : zero;
    fair = fair ? fair : zero;
    const struct fis_acquisition *a = s->criteria->acquisition;
    if (!a->of_sums) {
        one_by_one(s, t, acc, fair);
        return 0;
    }
    _Alignas(64) float gain[NETWORK_MAX_TILE], entropy[NETWORK_MAX_TILE];
    t->kernel->criteria(t->logits, acc, fair, t->classes, gain, entropy);
    a->of_sums(gain, entropy, t->rows, s->scores + (size_t)t->first * FIS_MAX_CRITERIA);
    return !t->whole && reaches(s, t);
}

/* Which direction is enough for the scores, or to see that a row stays below the floors. */
static uint32_t foremost(const struct fis_acquisition *a, const float *floors)
{
    if (!a->by_influence)
        return NETWORK_NONE;
    if (!a->of_sums || !floors || floors[0] == FIS_NOT_A_CANDIDATE ||
        floors[1] == FIS_NOT_A_CANDIDATE)
        return NETWORK_ALL; /* every row reaches it */
    return FIS_DIRECTION_FAIRNESS;
}

void fis_criteria_batch(const struct fis_criteria *c, const struct fis_panel *panel,
                        const struct fis_id *const *ids, const float *x,
                        const struct fis_sparse *sparse, uint32_t n, struct fis_scratch *s,
                        const float *floors, float *scores)
{
    if (c->acquisition->batch) {
        assert(x);
        c->acquisition->batch(c, ids, x, n, scores);
        return;
    }
    assert(network_panel_directions(panel) == FIS_DIRECTIONS);
    struct network_input in = {x, x ? NULL : sparse};
    struct scoring all = {c, ids, floors, scores};
    network_panel_run(panel, &in, n, s, 1, foremost(c->acquisition, floors), take, &all);
}
