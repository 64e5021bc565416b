/*
 * The scoring kernel against the bare matrix products that it needs (panel and later layers), in
 * one process, turn by turn. A line for each shape: its name, then the ratio of each round.
 */
#include "bench.h"

#include <cblas.h>

#include "fis/influence.h"
#include "fis/mem.h"

#define ROWS 512u
#define MAX_ROUNDS 101

struct kernel {
    int d, h, k;
    struct fis_panel *panel;
    struct fis_scratch *scratch;
    float *x, *p, *acc, *fair; /* ours */
    float *w, *z, *o;          /* the bare products' */
};

static float *random_floats(size_t n, struct fis_rng *rng)
{
    float *v = fis_alloc(n, sizeof *v);
    if (!v)
        die("no memory");
    for (size_t i = 0; i < n; i++)
        v[i] = (float)fis_rng_normal(rng) * .1f;
    return v;
}

static void bare(struct kernel *b)
{
    int d = b->d, h = b->h, k = b->k;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)ROWS, 3 * h, d, 1, b->x, d, b->w,
                3 * h, 0, b->z, 3 * h);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)ROWS, 3 * k, h, 1, b->z, 3 * h,
                b->w, 3 * k, 0, b->o, 3 * k);
    for (int t = 1; t < 3; t++)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)ROWS, k, h, 1, b->z + t * h,
                    3 * h, b->w, 3 * k, 1, b->o, 3 * k);
}

static void ours(struct kernel *b)
{
    fis_influence_batch(b->panel, b->x, ROWS, b->scratch, b->p, b->acc, b->fair);
}

static double time_of(void (*run)(struct kernel *), struct kernel *b, int repeat)
{
    double t = thread_s();
    for (int i = 0; i < repeat; i++)
        run(b);
    return (thread_s() - t) / repeat;
}

static void make(struct kernel *b, struct fis_shape *shape)
{
    struct fis_rng rng;
    fis_rng_seed(&rng, BENCH_SEED, 2);
    uint32_t h = (uint32_t)b->h;
    if (fis_shape_init(shape, (uint32_t)b->d, &h, 1, (uint32_t)b->k, NULL) < 0)
        die("no such shape");
    size_t n = fis_shape_params(shape), h3 = 3 * (size_t)b->h, k3 = 3 * (size_t)b->k;
    float *params = random_floats(n, &rng), *ga = random_floats(n, &rng),
          *gf = random_floats(n, &rng);
    const float *g[2] = {ga, gf};
    b->panel = fis_panel_new(shape, params, g, 2);
    b->scratch = fis_scratch_new(shape, ROWS, 2);
    b->x = random_floats(ROWS * (size_t)b->d, &rng);
    b->w = random_floats((size_t)(b->d > b->h ? b->d : b->h) * (h3 > k3 ? h3 : k3), &rng);
    b->z = random_floats(ROWS * h3, &rng);
    b->o = random_floats(ROWS * k3, &rng);
    b->p = random_floats(ROWS * (size_t)b->k, &rng);
    b->acc = random_floats(ROWS * (size_t)b->k, &rng);
    b->fair = random_floats(ROWS * (size_t)b->k, &rng);
    if (!b->panel || !b->scratch)
        die("no memory");
    fis_free(params);
    fis_free(ga);
    fis_free(gf);
}

static void done(struct kernel *b)
{
    float *all[] = {b->x, b->w, b->z, b->o, b->p, b->acc, b->fair};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fis_free(all[i]);
    fis_panel_unref(b->panel);
    fis_scratch_free(b->scratch);
}

static void measure(int d, int h, int k, int rounds)
{
    struct kernel b = {.d = d, .h = h, .k = k};
    struct fis_shape shape;
    double mine[MAX_ROUNDS];
    int repeat = (int)(2e8 / ((double)d * h * 3 * ROWS)) + 1;
    make(&b, &shape);
    printf("kernel_d%d_h%d_k%d", d, h, k);
    for (int i = -1; i < rounds; i++) { /* the first to warm up */
        double a = time_of(bare, &b, repeat), c = time_of(ours, &b, repeat);
        if (i < 0)
            continue;
        printf(" %.4f", c / a);
        mine[i] = c;
    }
    double t = median(mine, rounds);
    double flop = ROWS * 2.0 * ((double)d * 3 * h + (double)h * 5 * k);
    printf(" : %.0f records/s, %.0f GFLOP/s\n", ROWS / t, 1e-9 * flop / t);
    fflush(stdout);
    done(&b);
}

/* Rows of numbers below the smallest normal one against ordinary rows. */
static void measure_denormals(int rounds)
{
    struct kernel b = {.d = 104, .h = 64, .k = 2};
    struct fis_shape shape;
    make(&b, &shape);
    float *ordinary = b.x, *tiny = fis_alloc(ROWS * (size_t)b.d, sizeof *tiny);
    if (!tiny)
        die("no memory");
    for (size_t i = 0; i < ROWS * (size_t)b.d; i++)
        tiny[i] = 1e-40f;
    printf("denormals");
    for (int i = -1; i < rounds; i++) {
        b.x = ordinary;
        double a = time_of(ours, &b, 20);
        b.x = tiny;
        double c = time_of(ours, &b, 20);
        if (i >= 0)
            printf(" %.4f", c / a);
    }
    printf(" : d 104, h 64, all 1e-40\n");
    b.x = ordinary;
    fis_free(tiny);
    done(&b);
}

int bench_kernel(int argc, char **argv)
{
    static const int d[] = {14, 104, 512, 2048}, h[] = {64, 256}, k[] = {2, 10};
    int rounds = argc ? (int)number(argv[0]) : 15;
    if (rounds < 1 || rounds > MAX_ROUNDS)
        die("1 to %d rounds", MAX_ROUNDS);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++)
            for (int m = 0; m < 2; m++)
                measure(d[i], h[j], k[m], rounds);
    measure_denormals(rounds);
    return 0;
}
