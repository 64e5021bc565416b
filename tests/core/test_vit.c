/*
 * The vision transformer: against flax and optax (tests/golden/vit.txt), against finite differences
 * of a plain forward pass in double, and that nothing depends on the batch.
 */
#include <math.h>
#include <stdlib.h>
#include "kit/cmocka.h"

#include "kit/core/golden_file.h"
#include "core/vit_impl.h"
#include "fis/influence.h"
#include "fis/learner.h"
#include "fis/loss.h"
#include "fis/mem.h"

static const struct fis_vit small = {.height = 8,
                                     .width = 12,
                                     .channels = 3,
                                     .patch = 4,
                                     .dim = 8,
                                     .depth = 2,
                                     .heads = 2,
                                     .mlp = 12};
static const uint32_t hidden = 6, classes = 3;

static void shape_of(const struct fis_vit *v, bool token, struct fis_shape *s)
{
    struct fis_vit vit = *v;
    vit.token = token;
    assert_int_equal(fis_shape_init(s, v->dim, &hidden, 1, classes, NULL), 0);
    assert_int_equal(fis_shape_set_vit(s, &vit, NULL), 0);
}

/* ---- flax ------------------------------------------------------------------------------------ */

#define N 5u

struct load {
    struct golden *g;
    uint32_t at;
    struct fis_shape shape;
    size_t params;
    float *w, *x;
    uint32_t y[N];
};

static const double *theirs(const struct load *c, const char *name, size_t count)
{
    const struct golden_entry *e = golden_find(c->g, c->at, name);
    assert_non_null(e);
    assert_int_equal(e->count, count);
    return e->v;
}

static float *floats(const struct load *c, const char *name, size_t count)
{
    const double *v = theirs(c, name, count);
    float *f = fis_alloc(count, sizeof *f);
    assert_non_null(f);
    for (size_t i = 0; i < count; i++)
        f[i] = (float)v[i];
    return f;
}

static void load_case(struct load *c, struct golden *g, uint32_t nth)
{
    *c = (struct load){.g = g};
    for (uint32_t i = 0; i < g->n; i++)
        if (!strcmp(g->entry[i].name, "token") && nth-- == 0)
            c->at = i;
    shape_of(&small, theirs(c, "token", 1)[0] != 0, &c->shape);
    c->params = fis_shape_params(&c->shape);
    c->w = floats(c, "params", c->params);
    c->x = floats(c, "x", (size_t)N * fis_shape_inputs(&c->shape));
    for (uint32_t i = 0; i < N; i++)
        c->y[i] = (uint32_t)theirs(c, "y", N)[i];
}

static void done(struct load *c)
{
    fis_free(c->w);
    fis_free(c->x);
}

/* To `relative` of the largest number of the array. */
static void agree(const char *what, const float *ours, const double *expected, size_t n,
                  double relative)
{
    double top = 0;
    for (size_t i = 0; i < n; i++)
        top = fmax(top, fabs(expected[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)ours[i] - expected[i]) <= relative * top))
            fail_msg("%s[%zu]: %.9g, flax has %.9g", what, i, (double)ours[i], expected[i]);
}

/* Loss of the case's rows; the gradient into g, which is cleared. */
static double gradient(const struct load *c, const float *w, struct fis_scratch *s, float *logits,
                       float *g)
{
    float dlogits[N * 3];
    fis_network_forward(&c->shape, w, c->x, N, s, logits);
    double loss = fis_cross_entropy(logits, c->y, NULL, N, classes, dlogits);
    memset(g, 0, c->params * sizeof *g);
    fis_network_backward(&c->shape, w, c->x, N, s, dlogits, g);
    return loss;
}

static void agrees_with_flax(const struct load *c)
{
    struct fis_scratch *s = fis_scratch_new_training(&c->shape, N);
    float *g = fis_alloc(c->params, sizeof *g), logits[N * 3];
    assert_true(s && g);
    float loss = (float)gradient(c, c->w, s, logits, g);
    agree("logits", logits, theirs(c, "logits", (size_t)N * classes), (size_t)N * classes, 1e-5);
    agree("loss", &loss, theirs(c, "loss", 1), 1, 1e-5);
    agree("gradient", g, theirs(c, "gradient", c->params), c->params, 1e-4);
    fis_scratch_free(s);
    fis_free(g);
}

static void influences_agree_with_flax(const struct load *c)
{
    const size_t covered = c->params - fis_shape_offset(&c->shape, 0), k = (size_t)N * classes;
    const double *d = theirs(c, "direction", covered);
    float *g = fis_calloc(c->params, sizeof *g), p[N * 3], acc[N * 3], fair[N * 3];
    struct fis_scratch *s = fis_scratch_new(&c->shape, N, 2);
    assert_true(g && s);
    for (size_t i = 0; i < covered; i++)
        g[c->params - covered + i] = (float)d[i];
    struct fis_panel *panel = fis_panel_new(&c->shape, c->w, (const float *[]){g, g}, 2);
    assert_non_null(panel);
    fis_influence_batch(panel, c->x, N, s, p, acc, fair);
    agree("influence", acc, theirs(c, "influence", k), k, 1e-4);
    assert_memory_equal(acc, fair, sizeof acc);
    fis_panel_unref(panel);
    fis_scratch_free(s);
    fis_free(g);
}

/* Attention does not depend on the biases of its keys: their gradient is rounding alone, of which
 * AdamW makes whole steps. They become equal. */
static void leave_out_key_biases(const struct fis_vit *v, float *ours, const double *expected)
{
    const struct vit_layout l = vit_layout(v);
    for (uint32_t i = 0; i < v->depth; i++)
        for (size_t j = 0; j < v->dim; j++) {
            const size_t at = l.block + i * l.block_total + l.qkv_bias + v->dim + j;
            ours[at] = (float)expected[at];
        }
}

static void training_agrees_with_optax(const struct load *c)
{
    struct fis_scratch *s = fis_scratch_new_training(&c->shape, N);
    float *g = fis_alloc(c->params, sizeof *g), *w = fis_alloc(c->params, sizeof *w);
    float *m = fis_calloc(c->params, sizeof *m), *v = fis_calloc(c->params, sizeof *v);
    float logits[N * 3];
    assert_true(s && g && w && m && v);
    const struct fis_sgd sgd = {.05f, .9f, 5e-4f};
    memcpy(w, c->w, c->params * sizeof *w);
    for (int i = 0; i < 10; i++) {
        gradient(c, w, s, logits, g);
        fis_sgd_step(&sgd, g, c->params, m, w);
    }
    agree("sgd", w, theirs(c, "sgd", c->params), c->params, 1e-3);

    memcpy(w, c->w, c->params * sizeof *w);
    memset(m, 0, c->params * sizeof *m);
    for (uint32_t i = 0; i < 10; i++) {
        gradient(c, w, s, logits, g);
        const struct fis_adamw adamw = {1e-2f * fis_rate_at(i, 3, 12), .05f};
        fis_adamw_step(&adamw, i + 1, g, c->params, m, v, w);
    }
    leave_out_key_biases(&c->shape.vit, w, theirs(c, "adamw", c->params));
    agree("adamw", w, theirs(c, "adamw", c->params), c->params, 1e-3);
    fis_scratch_free(s);
    fis_free(g);
    fis_free(w);
    fis_free(m);
    fis_free(v);
}

static void golden(void **state)
{
    (void)state;
    struct golden *g = golden_read("tests/golden/vit.txt");
    assert_non_null(g);
    for (uint32_t nth = 0; nth < 2; nth++) {
        struct load c;
        load_case(&c, g, nth);
        agrees_with_flax(&c);
        influences_agree_with_flax(&c);
        training_agrees_with_optax(&c);
        done(&c);
    }
    golden_free(g);
}

/* ---- a twin in double ------------------------------------------------------------------------ */

static double *dense(const double *a, size_t rows, size_t in, size_t out, const double **p)
{
    double *z = calloc(rows * out, sizeof *z);
    assert_non_null(z);
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < out; j++) {
            z[r * out + j] = (*p)[in * out + j];
            for (size_t i = 0; i < in; i++)
                z[r * out + j] += a[r * in + i] * (*p)[i * out + j];
        }
    *p += (in + 1) * out;
    return z;
}

static double *norm(const double *x, size_t rows, size_t d, const double **p)
{
    double *y = calloc(rows * d, sizeof *y);
    assert_non_null(y);
    for (size_t r = 0; r < rows; r++) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < d; i++)
            mean += x[r * d + i] / (double)d;
        for (size_t i = 0; i < d; i++)
            square += (x[r * d + i] - mean) * (x[r * d + i] - mean) / (double)d;
        for (size_t i = 0; i < d; i++)
            y[r * d + i] = (x[r * d + i] - mean) / sqrt(square + 1e-6) * (*p)[i] + (*p)[d + i];
    }
    *p += 2 * d;
    return y;
}

static double *attention(const struct fis_vit *v, const double *qkv, size_t t)
{
    const size_t d = v->dim, each = d / v->heads;
    double *o = calloc(t * d, sizeof *o), share[64];
    assert_true(o && t <= 64);
    for (size_t h = 0; h < v->heads; h++)
        for (size_t i = 0; i < t; i++) {
            double sum = 0;
            for (size_t j = 0; j < t; j++) {
                double dot = 0;
                for (size_t k = h * each; k < (h + 1) * each; k++)
                    dot += qkv[i * 3 * d + k] * qkv[j * 3 * d + d + k];
                sum += share[j] = exp(dot / sqrt((double)each));
            }
            for (size_t j = 0; j < t; j++)
                for (size_t k = h * each; k < (h + 1) * each; k++)
                    o[i * d + k] += share[j] / sum * qkv[j * 3 * d + 2 * d + k];
        }
    return o;
}

static void add(double *x, double *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
    free(y);
}

static double *block(const struct fis_vit *v, double *x, size_t t, const double **p)
{
    const size_t d = v->dim;
    double *y = norm(x, t, d, p), *qkv = dense(y, t, d, 3 * d, p), *mixed = attention(v, qkv, t);
    add(x, dense(mixed, t, d, d, p), t * d);
    double *z = norm(x, t, d, p), *up = dense(z, t, d, v->mlp, p);
    for (size_t i = 0; i < t * v->mlp; i++)
        up[i] = .5 * up[i] * (1 + tanh(sqrt(2 / M_PI) * (up[i] + .044715 * up[i] * up[i] * up[i])));
    add(x, dense(up, t, v->mlp, d, p), t * d);
    free(y);
    free(qkv);
    free(mixed);
    free(z);
    free(up);
    return x;
}

/* Sum of weight[i] times feature i of an image. */
static double twin(const struct fis_vit *v, const double *p, const float *x, const double *weight)
{
    const size_t t = vit_tokens(v), d = v->dim, c = v->channels, side = v->patch;
    const size_t size = side * side * c, patches = t - v->token;
    double *cut = calloc(patches * size, sizeof *cut), sum = 0;
    assert_non_null(cut);
    for (size_t i = 0; i < v->height; i++)
        for (size_t j = 0; j < v->width; j++)
            for (size_t k = 0; k < c; k++)
                cut[(i / side * (v->width / side) + j / side) * size +
                    ((i % side) * side + j % side) * c + k] = x[(i * v->width + j) * c + k];
    double *embedded = dense(cut, patches, size, d, &p), *y = calloc(t * d, sizeof *y);
    assert_non_null(y);
    memcpy(y + v->token * d, embedded, patches * d * sizeof *y);
    if (v->token)
        memcpy(y, p, d * sizeof *y), p += d;
    for (size_t i = 0; i < t * d; i++)
        y[i] += p[i];
    p += t * d;
    for (uint32_t i = 0; i < v->depth; i++)
        y = block(v, y, t, &p);
    double *out = norm(y, t, d, &p);
    for (size_t i = 0; i < (v->token ? 1 : t); i++)
        for (size_t k = 0; k < d; k++)
            sum += weight[k] * out[i * d + k] / (v->token ? 1 : (double)t);
    free(cut);
    free(embedded);
    free(y);
    free(out);
    return sum;
}

static float *normals(size_t n, double scale, struct fis_rng *rng)
{
    float *x = fis_alloc(n, sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(scale * fis_rng_normal(rng));
    return x;
}

/* Features, and the derivative along random directions, against the twin's central difference. */
static void one_twin(const struct fis_vit *v, uint64_t seed)
{
    const size_t n = vit_params(v), image = (size_t)v->height * v->width * v->channels;
    const uint32_t images = 19; /* more than a chunk */
    struct fis_rng rng;
    fis_rng_seed(&rng, seed, 0);
    float *w = normals(n, .3, &rng), *x = normals(images * image, 1, &rng);
    float *dw = normals(n, 1, &rng), *df = normals((size_t)images * v->dim, 1, &rng);
    float *f = fis_alloc((size_t)images * v->dim, sizeof *f), *g = fis_calloc(n, sizeof *g);
    double *moved = calloc(n, sizeof *moved), *weight = calloc(v->dim, sizeof *weight);
    struct vit_work *work = vit_work_new(v, images);
    assert_true(f && g && moved && weight && work);
    vit_forward(v, w, x, images, work, f);
    vit_backward(v, w, images, work, df, g);
    double value = 0, expected = 0, slope = 0, along = 0;
    for (uint32_t i = 0; i < images; i++) {
        const double h = 1e-5;
        double side[2];
        for (size_t k = 0; k < v->dim; k++) {
            weight[k] = (double)df[i * v->dim + k];
            value += weight[k] * (double)f[i * v->dim + k];
        }
        for (int s = 0; s < 2; s++) {
            for (size_t j = 0; j < n; j++)
                moved[j] = (double)w[j] + (s ? h : -h) * (double)dw[j];
            side[s] = twin(v, moved, x + i * image, weight);
        }
        expected += (side[0] + side[1]) / 2;
        slope += (side[1] - side[0]) / (2 * h);
    }
    for (size_t j = 0; j < n; j++)
        along += (double)g[j] * (double)dw[j];
    assert_true(fabs(value - expected) < 1e-4 * (1 + fabs(expected)));
    assert_true(fabs(along - slope) < 1e-3 * (1 + fabs(slope)));
    vit_work_free(work);
    fis_free(w);
    fis_free(x);
    fis_free(dw);
    fis_free(df);
    fis_free(f);
    fis_free(g);
    free(moved);
    free(weight);
}

static void agrees_with_its_twin(void **state)
{
    (void)state;
    const struct fis_vit other = {.height = 6,
                                  .width = 4,
                                  .channels = 1,
                                  .patch = 2,
                                  .dim = 12,
                                  .depth = 3,
                                  .heads = 3,
                                  .mlp = 7,
                                  .token = true};
    one_twin(&small, 1);
    one_twin(&other, 2);
}

/* ---- the rest ---------------------------------------------------------------------------------
 */

/* Scores of an image do not depend on its batch, and those of a panel are those of a forward pass;
 * a scratch that is not for training gives the same. */
static void nothing_depends_on_the_batch(void **state)
{
    (void)state;
    struct fis_shape shape;
    struct fis_rng rng;
    shape_of(&small, false, &shape);
    const size_t n = fis_shape_params(&shape), image = fis_shape_inputs(&shape);
    const uint32_t rows = 70;
    fis_rng_seed(&rng, 5, 0);
    float *w = normals(n, .3, &rng), *g = normals(n, .3, &rng), *x = normals(rows * image, 1, &rng);
    memset(g, 0, fis_shape_offset(&shape, 0) * sizeof *g);
    struct fis_scratch *s = fis_scratch_new(&shape, rows, 2);
    struct fis_panel *panel = fis_panel_new(&shape, w, (const float *[]){g, g}, 2);
    float all[3][70 * 3], one[3][3];
    assert_true(s && panel);
    fis_influence_batch(panel, x, rows, s, all[0], all[1], all[2]);
    for (uint32_t i = 0; i < rows; i++) {
        fis_influence_batch(panel, x + i * image, 1, s, one[0], one[1], one[2]);
        for (int j = 0; j < 3; j++)
            assert_memory_equal(one[j], all[j] + i * classes, sizeof one[j]);
    }
    fis_panel_unref(panel);
    fis_scratch_free(s);
    fis_free(w);
    fis_free(g);
    fis_free(x);
}

/* After the first batch no image is scored, and no batch trained on, with an allocation. */
static void nothing_is_allocated_for_an_image(void **state)
{
    (void)state;
    struct fis_shape shape;
    struct fis_rng rng;
    shape_of(&small, true, &shape);
    const size_t n = fis_shape_params(&shape), image = fis_shape_inputs(&shape);
    const uint32_t rows = 40;
    fis_rng_seed(&rng, 6, 0);
    float *w = normals(n, .3, &rng), *g = fis_calloc(n, sizeof *g);
    float *x = normals(rows * image, 1, &rng), out[3][40 * 3];
    struct fis_scratch *training = fis_scratch_new_training(&shape, rows);
    struct fis_scratch *scoring = fis_scratch_new(&shape, rows, 2);
    struct fis_panel *panel = fis_panel_new(&shape, w, (const float *[]){g, g}, 2);
    uint64_t before = 0;
    assert_true(g && training && scoring && panel);
    for (uint32_t batch = 0; batch < 4; batch++) {
        const uint32_t m = rows - 9 * batch;
        fis_network_forward(&shape, w, x, m, training, out[0]);
        fis_network_backward(&shape, w, x, m, training, out[0], g);
        fis_influence_batch(panel, x, m, scoring, out[0], out[1], out[2]);
        if (batch == 0)
            before = fis_mem_count();
    }
    assert_int_equal(fis_mem_count(), before);
    fis_panel_unref(panel);
    fis_scratch_free(training);
    fis_scratch_free(scoring);
    fis_free(w);
    fis_free(g);
    fis_free(x);
}

static void refuses_shapes(void **state)
{
    (void)state;
    struct fis_shape s;
    struct fis_error e;
    const struct {
        struct fis_vit v;
        const char *text;
    } all[] = {
        {{8, 12, 3, 5, 8, 2, 2, 12, false}, "patches of 5 do not divide"},
        {{8, 12, 3, 4, 8, 2, 3, 12, false}, "3 heads do not divide 8"},
        {{8, 12, 0, 4, 8, 2, 2, 12, false}, "channels 0, 1 to 4 allowed"},
        {{8, 12, 3, 4, 8, 0, 2, 12, false}, "depth 0, 1 to 64 allowed"},
        {{1024, 1024, 3, 4, 8, 2, 2, 12, false}, "65536 patches, at most 4096"},
        {{8, 12, 3, 4, 16, 2, 2, 12, false}, "16 numbers for dense layers of 8"},
    };
    assert_int_equal(fis_shape_init(&s, 8, &hidden, 1, classes, NULL), 0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_int_equal(fis_shape_set_vit(&s, &all[i].v, &e), -FIS_INPUT);
        if (!strstr(e.text, all[i].text))
            fail_msg("%s", e.text);
        assert_int_equal(s.vit.height, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden),
        cmocka_unit_test(agrees_with_its_twin),
        cmocka_unit_test(nothing_depends_on_the_batch),
        cmocka_unit_test(nothing_is_allocated_for_an_image),
        cmocka_unit_test(refuses_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
