#include "fis/influence.h"

#include <assert.h>
#include <math.h>

#include "core/network_scratch.h"
#include "fis/loss.h"

/*
 * s_k - p.s in place. Taken relative to the likeliest class m, t_k = s_k - s_m:
 *     s_k - p.s = t_k - sum_{j != m} p_j t_j
 * which loses nothing to cancellation where the model is sure of m; there s_m - p.s is tiny, and
 * its sign decides.
 */
static void influence_row(const float *p, float *s, uint32_t classes)
{
    uint32_t m = 0;
    double mean = 0;
    for (uint32_t k = 1; k < classes; k++)
        m = p[k] > p[m] ? k : m;
    double top = s[m];
    for (uint32_t k = 0; k < classes; k++)
        mean += p[k] * (s[k] - top);
    for (uint32_t k = 0; k < classes; k++)
        s[k] = (float)(s[k] - top - mean);
}

void fis_influence_batch(const struct fis_panel *panel, const float *x, uint32_t n,
                         struct fis_scratch *s, float *p, float *infl_acc, float *infl_fair)
{
    assert(network_panel_directions(panel) == FIS_DIRECTIONS);
    uint32_t k = fis_shape_classes(fis_panel_shape(panel));
    float *tangents[FIS_DIRECTIONS] = {infl_acc, infl_fair};
    network_panel_run(panel, x, n, s, p, tangents);
    fis_softmax(p, n, k, p);
    for (uint32_t i = 0; i < n; i++, p += k, infl_acc += k, infl_fair += k) {
        influence_row(p, infl_acc, k);
        influence_row(p, infl_fair, k);
    }
}

uint32_t fis_proxy_label(int strategy, const float *p, const float *infl_acc, uint32_t classes)
{
    uint32_t best = 0;
    for (uint32_t k = 1; k < classes; k++)
        if (strategy == 1 ? fabsf(infl_acc[k]) < fabsf(infl_acc[best]) : p[k] > p[best])
            best = k;
    return best;
}
