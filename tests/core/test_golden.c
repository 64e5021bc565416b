/*
 * Values computed by the paper's program (tests/golden/README.md). A number agrees when
 *     |ours - theirs| <= 1e-4 |theirs| + 2e-6 max |theirs over the same array| + 1e-9,
 * which is float32 accuracy: both programs compute in float32, and an element that is small beside
 * its neighbours is a difference of sums of their size.
 */
#include <math.h>
#include "kit/cmocka.h"

#include "kit/core/golden_file.h"
#include "fis/influence.h"
#include "fis/loss.h"
#include "fis/mem.h"

#define CASES 6
#define CANDIDATES 5

struct load {
    struct golden *g;
    uint32_t at; /* first entry of the case */
    struct fis_shape shape;
    float *params, *x, *cand;
    uint32_t *y, *group;
    struct fis_rows rows;
};

static const double *theirs(const struct load *c, const char *name, uint32_t count)
{
    const struct golden_entry *e = golden_find(c->g, c->at, name);
    assert_non_null(e);
    assert_int_equal(e->count, count);
    return e->v;
}

static void agree(const char *what, const double *ours, const double *want, uint32_t n)
{
    double top = 0;
    for (uint32_t i = 0; i < n; i++)
        top = fmax(top, fabs(want[i]));
    for (uint32_t i = 0; i < n; i++)
        if (!(fabs(ours[i] - want[i]) <= 1e-4 * fabs(want[i]) + 2e-6 * top + 1e-9))
            fail_msg("%s[%u]: %.9g, the paper's program has %.9g", what, i, ours[i], want[i]);
}

static void agree_float(const char *what, const float *ours, const double *want, uint32_t n)
{
    double *wide = calloc(n, sizeof *wide);
    assert_non_null(wide);
    for (uint32_t i = 0; i < n; i++)
        wide[i] = ours[i];
    agree(what, wide, want, n);
    free(wide);
}

static float *floats(const struct load *c, const char *name, size_t count)
{
    const double *v = theirs(c, name, (uint32_t)count);
    float *f = fis_alloc(count, sizeof *f);
    assert_non_null(f);
    for (size_t i = 0; i < count; i++)
        f[i] = (float)v[i];
    return f;
}

static uint32_t *integers(const struct load *c, const char *name, uint32_t count)
{
    const double *v = theirs(c, name, count);
    uint32_t *u = fis_alloc(count, sizeof *u);
    assert_non_null(u);
    for (uint32_t i = 0; i < count; i++)
        u[i] = (uint32_t)v[i];
    return u;
}

static struct load load(struct golden *g, int number)
{
    char name[16];
    snprintf(name, sizeof name, "case%d", number);
    const struct golden_entry *start = golden_find(g, 0, name);
    assert_non_null(start);
    struct load c = {.g = g, .at = (uint32_t)(start - g->entry)};
    const double *s = theirs(&c, "shape", 3);
    uint32_t d = (uint32_t)s[0], hidden = (uint32_t)s[1];
    uint32_t n = golden_find(g, c.at, "val.y")->count;
    assert_int_equal(fis_shape_init(&c.shape, d, &hidden, 1, (uint32_t)s[2], NULL), 0);
    c.params = floats(&c, "params", fis_shape_params(&c.shape));
    c.x = floats(&c, "val.x", (size_t)n * d);
    c.cand = floats(&c, "cand.x", (size_t)CANDIDATES * d);
    c.y = integers(&c, "val.y", n);
    c.group = integers(&c, "val.group", n);
    c.rows = (struct fis_rows){n, d, c.x, c.y, c.group};
    return c;
}

static void unload(struct load *c)
{
    fis_free(c->params);
    fis_free(c->x);
    fis_free(c->cand);
    fis_free(c->y);
    fis_free(c->group);
}

static double norm(const float *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)v[i] * v[i];
    return sqrt(sum);
}

/* Influences of the candidates along g_acc, g_fair. */
static void influences(const struct load *c, const float *g_acc, const float *g_fair, float *p,
                       float *acc, float *fair)
{
    const float *g[] = {g_acc, g_fair};
    struct fis_panel *panel = fis_panel_new(&c->shape, c->params, g, 2);
    struct fis_scratch *s = fis_scratch_new(&c->shape, CANDIDATES, 2);
    assert_true(panel && s);
    fis_influence_batch(panel, c->cand, CANDIDATES, s, p, acc, fair);
    fis_scratch_free(s);
    fis_panel_unref(panel);
}

static struct fis_direction_options options(enum fis_metric metric)
{
    return (struct fis_direction_options){
        .surrogate = {.metric = metric, .form = FIS_GAP_PAIRS, .positive = 1, .min_cell = 0},
        .n_groups = 2};
}

/* Selection scores before and after the check with the true label, as the paper's program has
 * them: 0 for what is refused. */
static void check_scores(const struct load *c, const char *metric, const float *p, const float *acc,
                         const float *fair)
{
    char name[40];
    double before[CANDIDATES], after[CANDIDATES];
    const double *truth = theirs(c, "cand.y_true", CANDIDATES);
    const double *proxy = theirs(c, "proxy", CANDIDATES);
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        uint32_t k = fis_proxy_label(1, p + 2 * i, acc + 2 * i, 2), t = 2 * i + (uint32_t)truth[i];
        assert_int_equal(k, proxy[i]);
        assert_int_equal(fis_proxy_label(2, p + 2 * i, acc + 2 * i, 2), proxy[i]);
        before[i] = acc[2 * i + k] <= 0 ? fair[2 * i + k] : 0;
        after[i] = acc[t] <= 0 && fair[t] <= 0 ? fair[t] : 0;
    }
    snprintf(name, sizeof name, "%s.before", metric);
    agree(name, before, theirs(c, name, CANDIDATES), CANDIDATES);
    snprintf(name, sizeof name, "%s.after", metric);
    agree(name, after, theirs(c, name, CANDIDATES), CANDIDATES);
}

/* phi taken per validation batch, directions averaged with the batches' sizes as weights. */
static void check_per_batch(const struct load *c, const char *metric,
                            const struct fis_direction_options *o)
{
    char name[40];
    size_t params = fis_shape_params(&c->shape);
    uint32_t n_batches = golden_find(c->g, c->at, "val.batches")->count, from = 0;
    const double *size = theirs(c, "val.batches", n_batches);
    float *acc = fis_calloc(params, sizeof *acc), *fair = fis_calloc(params, sizeof *fair);
    float *ga = fis_alloc(params, sizeof *ga), *gf = fis_alloc(params, sizeof *gf);
    double phi[4], norms[4];
    uint32_t index[256];
    assert_true(acc && fair && ga && gf && n_batches <= 4);
    for (uint32_t b = 0; b < n_batches; from += (uint32_t)size[b], b++) {
        for (uint32_t i = 0; i < (uint32_t)size[b]; i++)
            index[i] = from + i;
        assert_int_equal(fis_directions(&c->shape, c->params, &c->rows, index, (uint32_t)size[b], o,
                                        ga, gf, &phi[b], NULL),
                         0);
        norms[b] = norm(gf, params);
        for (size_t i = 0; i < params; i++) {
            acc[i] += (float)(ga[i] * size[b] / c->rows.n);
            fair[i] += (float)(gf[i] * size[b] / c->rows.n);
        }
    }
    snprintf(name, sizeof name, "%s.phi", metric);
    agree(name, phi, theirs(c, name, n_batches), n_batches);
    snprintf(name, sizeof name, "%s.batch_norm", metric);
    agree(name, norms, theirs(c, name, n_batches), n_batches);
    snprintf(name, sizeof name, "%s.g", metric);
    agree_float(name, fair, theirs(c, name, (uint32_t)params), (uint32_t)params);
    agree_float("acc.g", acc, theirs(c, "acc.g", (uint32_t)params), (uint32_t)params);
    agree("acc.g_norm", (double[]){norm(acc, params)}, theirs(c, "acc.g_norm", 1), 1);
    snprintf(name, sizeof name, "%s.g_norm", metric);
    agree(name, (double[]){norm(fair, params)}, theirs(c, name, 1), 1);

    float p[2 * CANDIDATES], ia[2 * CANDIDATES], jf[2 * CANDIDATES];
    influences(c, acc, fair, p, ia, jf);
    agree_float("acc.infl", ia, theirs(c, "acc.infl", 2 * CANDIDATES), 2 * CANDIDATES);
    snprintf(name, sizeof name, "%s.infl", metric);
    agree_float(name, jf, theirs(c, name, 2 * CANDIDATES), 2 * CANDIDATES);
    check_scores(c, metric, p, ia, jf);
    fis_free(acc);
    fis_free(fair);
    fis_free(ga);
    fis_free(gf);
}

static void check_whole(const struct load *c, const char *metric,
                        const struct fis_direction_options *o)
{
    char name[40];
    size_t params = fis_shape_params(&c->shape);
    float *ga = fis_alloc(params, sizeof *ga), *gf = fis_alloc(params, sizeof *gf);
    float p[2 * CANDIDATES], acc[2 * CANDIDATES], fair[2 * CANDIDATES];
    double phi;
    assert_true(ga && gf);
    assert_int_equal(fis_directions(&c->shape, c->params, &c->rows, NULL, 0, o, ga, gf, &phi, NULL),
                     0);
    influences(c, ga, gf, p, acc, fair);
    snprintf(name, sizeof name, "%s.whole.phi", metric);
    agree(name, &phi, theirs(c, name, 1), 1);
    snprintf(name, sizeof name, "%s.whole.g_norm", metric);
    agree(name, (double[]){norm(gf, params)}, theirs(c, name, 1), 1);
    snprintf(name, sizeof name, "%s.whole.infl", metric);
    agree_float(name, fair, theirs(c, name, 2 * CANDIDATES), 2 * CANDIDATES);
    fis_free(ga);
    fis_free(gf);
}

static void check_network(const struct load *c)
{
    uint32_t n = c->rows.n, from = 0;
    size_t params = fis_shape_params(&c->shape);
    struct fis_scratch *s = fis_scratch_new(&c->shape, n, 0);
    float *logits = fis_alloc(2 * n, sizeof *logits), *g = fis_alloc(params, sizeof *g);
    float dlogits[2];
    double norms[2 * CANDIDATES], loss[4];
    assert_true(s && logits && g);
    fis_network_forward(&c->shape, c->params, c->x, n, s, logits);
    agree_float("val.logits", logits, theirs(c, "val.logits", 2 * n), 2 * n);
    uint32_t n_batches = golden_find(c->g, c->at, "val.batches")->count;
    const double *size = theirs(c, "val.batches", n_batches);
    for (uint32_t b = 0; b < n_batches; from += (uint32_t)size[b], b++)
        loss[b] =
            fis_cross_entropy(logits + 2 * from, c->y + from, NULL, (uint32_t)size[b], 2, NULL);
    agree("acc.loss", loss, theirs(c, "acc.loss", n_batches), n_batches);

    fis_network_forward(&c->shape, c->params, c->cand, CANDIDATES, s, logits);
    agree_float("cand.logits", logits, theirs(c, "cand.logits", 2 * CANDIDATES), 2 * CANDIDATES);
    for (uint32_t i = 0; i < 2 * CANDIDATES; i++) {
        const float *x = c->cand + (size_t)(i / 2) * c->rows.d;
        fis_network_forward(&c->shape, c->params, x, 1, s, logits);
        (void)fis_cross_entropy(logits, (uint32_t[]){i % 2}, NULL, 1, 2, dlogits);
        memset(g, 0, params * sizeof *g);
        fis_network_backward(&c->shape, c->params, x, 1, s, dlogits, g);
        norms[i] = norm(g, params);
    }
    agree("cand.grad_norm", norms, theirs(c, "cand.grad_norm", 2 * CANDIDATES), 2 * CANDIDATES);
    fis_scratch_free(s);
    fis_free(logits);
    fis_free(g);
}

static void all_cases(void **state)
{
    (void)state;
    const char *name[] = {"dp", "eop", "eod"};
    const enum fis_metric metric[] = {FIS_DEMOGRAPHIC_PARITY, FIS_EQUAL_OPPORTUNITY,
                                      FIS_EQUALIZED_ODDS};
    struct golden *g = golden_read("tests/golden/paper-golden.txt");
    assert_non_null(g);
    for (int i = 0; i < CASES; i++) {
        struct load c = load(g, i);
        check_network(&c);
        for (int m = 0; m < 3; m++) {
            struct fis_direction_options o = options(metric[m]);
            check_per_batch(&c, name[m], &o);
            check_whole(&c, name[m], &o);
            /* Two groups: the overall form is the pair form. */
            o.surrogate.form = FIS_GAP_OVERALL;
            check_whole(&c, name[m], &o);
        }
        unload(&c);
    }
    golden_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_cases)};
    return cmocka_run_group_tests_name("core/golden", tests, NULL, NULL);
}
