/* The criteria of many rows, a tile at a time, as the panel has computed it; the naive twin is
 * fis_criteria_score. */
#include <assert.h>

#include "core/network_kernel.h"
#include "core/network_scratch.h"
#include "fis/selector.h"

struct scoring {
    const struct fis_criteria *criteria;
    const struct fis_id *const *ids;
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

static void take(void *arg, const struct network_tile *t)
{
    const struct scoring *s = arg;
    const float *acc = t->tangents[FIS_DIRECTION_ACCURACY];
    const float *fair = t->tangents[FIS_DIRECTION_FAIRNESS];
    acc = acc ? acc : zero;
    fair = fair ? fair : zero;
    enum fis_algorithm a = s->criteria->algorithm;
    if (a == FIS_ALGORITHM_FIS || a == FIS_ALGORITHM_RANDOM) {
        one_by_one(s, t, acc, fair);
        return;
    }
    _Alignas(64) float gain[NETWORK_MAX_TILE], entropy[NETWORK_MAX_TILE];
    t->kernel->criteria(t->logits, acc, fair, t->classes, gain, entropy);
    float *to = s->scores + (size_t)t->first * FIS_MAX_CRITERIA;
    for (uint32_t i = 0; i < t->rows; i++, to += FIS_MAX_CRITERIA) {
        float g = a == FIS_ALGORITHM_PRODUCT ? gain[i] * entropy[i] : gain[i];
        to[0] = a == FIS_ALGORITHM_ENTROPY ? entropy[i] : g <= 0 ? FIS_NOT_A_CANDIDATE : g;
        to[1] = a == FIS_ALGORITHM_FIS_PLUS ? entropy[i] : FIS_NOT_A_CANDIDATE;
    }
}

void fis_criteria_batch(const struct fis_criteria *c, const struct fis_panel *panel,
                        const struct fis_id *const *ids, const float *x,
                        const struct fis_sparse *sparse, uint32_t n, struct fis_scratch *s,
                        float *scores)
{
    assert(network_panel_directions(panel) == FIS_DIRECTIONS);
    struct network_input in = {x, x ? NULL : sparse};
    struct scoring all = {c, ids, scores};
    network_panel_run(panel, &in, n, s, 1, take, &all);
}
