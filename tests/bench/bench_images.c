/*
 * The transformer of docs/images.md: training steps, and what a forward pass takes beside the
 * matrix products that it needs, and scoring beside the forward pass. In one process, turn by turn:
 * a line for each figure, its name and its value in each round. Times are of this thread's
 * processor.
 */
#include "bench.h"

#include <cblas.h>

#include "fis/influence.h"
#include "fis/learner.h"
#include "fis/loss.h"
#include "fis/mem.h"

#define BATCH 128u
#define CLASSES 2u
#define DIRECTIONS 2u
#define MAX_ROUNDS 101

static const struct fis_vit vit = {.height = 64,
                                   .width = 64,
                                   .channels = 3,
                                   .patch = 8,
                                   .dim = 64,
                                   .depth = 4,
                                   .heads = 4,
                                   .mlp = 128};

struct work {
    struct fis_shape shape;
    size_t n; /* parameters */
    float *x, *params, *gradient, *m, *v, *logits, *dlogits, *p, *acc, *fair;
    uint32_t y[BATCH];
    uint64_t step;
    struct fis_scratch *training, *scoring;
    struct fis_panel *panel;
    float *a, *b, *c; /* of the bare products */
};

static float *floats(size_t n, float scale, struct fis_rng *rng)
{
    float *v = fis_alloc(n, sizeof *v);
    if (!v)
        die("no memory");
    for (size_t i = 0; i < n; i++)
        v[i] = (float)fis_rng_normal(rng) * scale;
    return v;
}

static void make(struct work *w)
{
    const uint32_t hidden = 64;
    struct fis_rng rng;
    struct fis_error e;
    fis_rng_seed(&rng, BENCH_SEED, 7);
    if (fis_shape_init(&w->shape, vit.dim, &hidden, 1, CLASSES, &e) < 0 ||
        fis_shape_set_vit(&w->shape, &vit, &e) < 0)
        die("%s", e.text);
    w->n = fis_shape_params(&w->shape);
    const size_t inputs = fis_shape_inputs(&w->shape), below = fis_shape_offset(&w->shape, 0);
    w->x = floats(BATCH * inputs, .5f, &rng);
    float **slabs[] = {&w->params, &w->gradient, &w->m, &w->v};
    for (size_t i = 0; i < sizeof slabs / sizeof *slabs; i++)
        *slabs[i] = floats(w->n, 0, &rng);
    float **outputs[] = {&w->logits, &w->dlogits, &w->p, &w->acc, &w->fair};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        *outputs[i] = floats(BATCH * CLASSES, 0, &rng);
    for (uint32_t i = 0; i < BATCH; i++)
        w->y[i] = fis_rng_below(&rng, CLASSES);
    fis_network_init(&w->shape, w->params, &rng);
    float *g[DIRECTIONS];
    for (uint32_t i = 0; i < DIRECTIONS; i++) {
        g[i] = floats(w->n, .1f, &rng);
        memset(g[i], 0, below * sizeof *g[i]);
    }
    w->panel = fis_panel_new(&w->shape, w->params, (const float *const[]){g[0], g[1]}, DIRECTIONS);
    w->training = fis_scratch_new_training(&w->shape, BATCH);
    w->scoring = fis_scratch_new(&w->shape, BATCH, DIRECTIONS);
    if (!w->panel || !w->training || !w->scoring)
        die("no memory");
    fis_free(g[0]);
    fis_free(g[1]);
    const size_t most = (size_t)4 * 64 * 192;
    w->a = floats(most, .1f, &rng);
    w->b = floats(most, .1f, &rng);
    w->c = floats(most, .1f, &rng);
}

static void train(struct work *w)
{
    const struct fis_adamw adamw = {1e-3f, .05f};
    fis_network_forward(&w->shape, w->params, w->x, BATCH, w->training, w->logits);
    fis_cross_entropy(w->logits, w->y, NULL, BATCH, CLASSES, w->dlogits);
    memset(w->gradient, 0, w->n * sizeof *w->gradient);
    fis_network_backward(&w->shape, w->params, w->x, BATCH, w->training, w->dlogits, w->gradient);
    fis_adamw_step(&adamw, ++w->step, w->gradient, w->n, w->m, w->v, w->params);
}

static void forward(struct work *w)
{
    fis_network_forward(&w->shape, w->params, w->x, BATCH, w->scoring, w->logits);
}

static void score(struct work *w)
{
    fis_influence_batch(w->panel, w->x, BATCH, w->scoring, w->p, w->acc, w->fair);
}

static void product(const struct work *w, uint32_t rows, uint32_t columns, uint32_t inner)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)columns, (int)inner, 1,
                w->a, (int)inner, w->b, (int)columns, 0, w->c, (int)columns);
}

/* The matrix products of the images, one image after the other. */
static void products(struct work *w)
{
    const uint32_t t = vit.height / vit.patch * (vit.width / vit.patch), d = vit.dim;
    for (uint32_t i = 0; i < BATCH; i++) {
        product(w, t, d, vit.patch * vit.patch * vit.channels);
        for (uint32_t l = 0; l < vit.depth; l++) {
            product(w, t, 3 * d, d);
            for (uint32_t h = 0; h < vit.heads; h++) {
                product(w, t, t, d / vit.heads);
                product(w, t, d / vit.heads, t);
            }
            product(w, t, d, d);
            product(w, t, vit.mlp, d);
            product(w, t, d, vit.mlp);
        }
    }
}

static double ms_of(void (*run)(struct work *w), struct work *w)
{
    const double t = thread_s();
    run(w);
    return 1e3 * (thread_s() - t);
}

int bench_images(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(struct work *w);
    } what[] = {{"train", train}, {"products", products}, {"forward", forward}, {"score", score}};
    enum { WHAT = sizeof what / sizeof *what };
    static double ms[WHAT][MAX_ROUNDS];
    const int rounds = argc ? (int)number(argv[0]) : 15;
    static struct work w;
    if (rounds < 1 || rounds > MAX_ROUNDS)
        die("1 to %d rounds", MAX_ROUNDS);
    make(&w);
    for (int r = -1; r < rounds; r++) /* the first to warm up */
        for (int i = 0; i < WHAT; i++) {
            const double took = ms_of(what[i].run, &w);
            if (r >= 0)
                ms[i][r] = took;
        }
    for (int i = 0; i < WHAT; i++) {
        printf("%s", what[i].name);
        for (int r = 0; r < rounds; r++)
            printf(" %.3f", ms[i][r]);
        printf("\n");
    }
    return 0;
}
