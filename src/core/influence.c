#include "fis/influence.h"

#include <assert.h>
#include <math.h>

#include "core/network_scratch.h"

static void run(const struct fis_panel *panel, const struct network_input *in, uint32_t n,
                struct fis_scratch *s, float *p, float *infl_acc, float *infl_fair)
{
    assert(network_panel_directions(panel) == FIS_DIRECTIONS);
    struct network_rows rows = {p, {infl_acc, infl_fair}, FIS_DIRECTIONS};
    network_panel_run(panel, in, n, s, 1, NETWORK_ALL, network_take_rows, &rows);
}

void fis_influence_batch(const struct fis_panel *panel, const float *x, uint32_t n,
                         struct fis_scratch *s, float *p, float *infl_acc, float *infl_fair)
{
    run(panel, &(struct network_input){.x = x}, n, s, p, infl_acc, infl_fair);
}

void fis_influence_sparse(const struct fis_panel *panel, const struct fis_sparse *x, uint32_t n,
                          struct fis_scratch *s, float *p, float *infl_acc, float *infl_fair)
{
    run(panel, &(struct network_input){.sparse = x}, n, s, p, infl_acc, infl_fair);
}

uint32_t fis_proxy_label(int strategy, const float *p, const float *infl_acc, uint32_t classes)
{
    uint32_t best = 0;
    for (uint32_t k = 1; k < classes; k++)
        if (strategy == 1 ? fabsf(infl_acc[k]) < fabsf(infl_acc[best]) : p[k] > p[best])
            best = k;
    return best;
}
