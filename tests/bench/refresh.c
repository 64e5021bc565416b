#include "bench.h"

#include "fis/influence.h"
#include "fis/mem.h"

/* Directions for 10,000 validation rows and 10^5 parameters: a line with the ms of each round. */
int bench_refresh(int argc, char **argv)
{
    uint32_t rounds = argc ? number(argv[0]) : 5, n = 10000, d = 392, h = 256;
    struct fis_shape shape;
    struct fis_rng rng;
    struct fis_error e;
    fis_rng_seed(&rng, BENCH_SEED, 5);
    if (fis_shape_init(&shape, d, &h, 1, 2, &e) < 0)
        die("%s", e.text);
    size_t params = fis_shape_params(&shape);
    float *w = fis_calloc(3 * params, sizeof *w), *x = fis_alloc((size_t)n * d, sizeof *x);
    uint32_t *y = fis_alloc(n, sizeof *y), *group = fis_alloc(n, sizeof *group);
    fis_network_init(&shape, w, &rng);
    for (size_t i = 0; i < (size_t)n * d; i++)
        x[i] = (float)fis_rng_normal(&rng);
    for (uint32_t i = 0; i < n; i++) {
        y[i] = fis_rng_below(&rng, 2);
        group[i] = fis_rng_below(&rng, 2);
    }
    struct fis_rows rows = {.n = n, .d = d, .x = x, .y = y, .group = group};
    printf("refresh");
    for (int what = 0; what < 2; what++) {
        struct fis_direction_options o = {
            .surrogate = {.metric = FIS_EQUALIZED_ODDS, .form = FIS_GAP_OVERALL, .positive = 1},
            .n_groups = 2,
            .precondition = what,
            .damping = .01,
        };
        for (uint32_t i = 0; i < rounds; i++) {
            double phi, t = wall_s();
            if (fis_directions(&shape, w, &rows, NULL, 0, &o, w + params, w + 2 * params, &phi,
                               &e) < 0)
                die("%s", e.text);
            printf(" %.3f", 1e3 * (wall_s() - t));
        }
        printf(what ? "\n" : " :");
    }
    fis_free(w);
    fis_free(x);
    fis_free(y);
    fis_free(group);
    return 0;
}
