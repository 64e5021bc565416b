/* Prediction by XGBoost itself, as a team has it that uses trees alone: 120 trees of depth 4, rows
 * in batches, one thread. A line with the ns for one row of each round. */
#include "bench.h"

#include <xgboost/c_api.h>

#include "fis/mem.h"
#include "fis/rng.h"

#define ROWS 4096u
#define TREES 120

static void ok(int rc)
{
    if (rc)
        die("XGBoost: %s", XGBGetLastError());
}

static BoosterHandle boosted(const float *x, const float *y, uint32_t d)
{
    static const char *const parameters[][2] = {{"objective", "binary:logistic"},
                                                {"tree_method", "hist"},
                                                {"max_depth", "4"},
                                                {"eta", "0.08"},
                                                {"subsample", "0.8"},
                                                {"colsample_bytree", "0.8"},
                                                {"verbosity", "0"},
                                                {"nthread", "1"}};
    DMatrixHandle data;
    BoosterHandle b;
    ok(XGDMatrixCreateFromMat_omp(x, ROWS, d, 1e38f, &data, 1));
    ok(XGDMatrixSetFloatInfo(data, "label", y, ROWS));
    ok(XGBoosterCreate(&data, 1, &b));
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        ok(XGBoosterSetParam(b, parameters[i][0], parameters[i][1]));
    for (int i = 0; i < TREES; i++)
        ok(XGBoosterUpdateOneIter(b, i, data));
    ok(XGDMatrixFree(data));
    return b;
}

int bench_predict(int argc, char **argv)
{
    uint32_t rounds = argc ? number(argv[0]) : 9, d = argc > 1 ? number(argv[1]) : 104;
    float *x = fis_alloc((size_t)ROWS * d, sizeof *x), *y = fis_alloc(ROWS, sizeof *y);
    char array[160];
    struct fis_rng rng;
    fis_rng_seed(&rng, BENCH_SEED, 6);
    for (size_t i = 0; i < (size_t)ROWS * d; i++)
        x[i] = (float)fis_rng_normal(&rng);
    for (uint32_t i = 0; i < ROWS; i++)
        y[i] = x[(size_t)i * d] + x[(size_t)i * d + 1] + (float)fis_rng_normal(&rng) > 0;
    BoosterHandle b = boosted(x, y, d);
    snprintf(array, sizeof array,
             "{\"data\": [%zu, true], \"shape\": [%u, %u], \"typestr\": \"<f4\", \"version\": 3}",
             (size_t)x, ROWS, d);
    printf("predict");
    for (uint32_t r = 0; r <= rounds; r++) {
        const bst_ulong *shape;
        bst_ulong dimensions;
        const float *p;
        double t = thread_s();
        for (int i = 0; i < 8; i++)
            ok(XGBoosterPredictFromDense(b, array,
                                         "{\"type\": 1, \"iteration_begin\": 0, "
                                         "\"iteration_end\": 0, \"strict_shape\": false, "
                                         "\"cache_id\": 0, \"missing\": NaN}",
                                         NULL, &shape, &dimensions, &p));
        if (r) /* the first one warms up */
            printf(" %.1f", 1e9 * (thread_s() - t) / ROWS / 8);
    }
    printf("\n");
    ok(XGBoosterFree(b));
    fis_free(x);
    fis_free(y);
    return 0;
}
