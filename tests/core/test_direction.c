#include <math.h>
#include "kit/cmocka.h"

#include "kit/core/random_case.h"
#include "fis/loss.h"

#define N 300u /* more than one chunk of rows */

static struct fis_direction_options options(uint32_t groups, enum fis_metric metric)
{
    return (struct fis_direction_options){
        .surrogate = {.metric = metric, .form = FIS_GAP_OVERALL, .positive = 1, .min_cell = 1},
        .n_groups = groups,
        .damping = .01};
}

/* Mean CE and phi of the twin at params + t G. phi takes float logits, so the steps are wide and
 * the kinks between them are counted. */
static void losses_at(const struct random_case *c, const struct fis_surrogate *s, const float *g,
                      double t, double *ce, double *phi, uint64_t *kinks)
{
    static float f[N * 10];
    double row[64];
    *ce = 0;
    for (uint32_t i = 0; i < N; i++) {
        double z = 0;
        twin_logits(c, g, t, c->x + (size_t)i * c->d, row, kinks);
        for (uint32_t k = 0; k < c->classes; k++) {
            f[i * c->classes + k] = (float)row[k];
            z += exp(row[k] - row[c->y[i]]);
        }
        *ce += log(z) / N;
    }
    assert_int_equal(
        fis_surrogate_eval(s, f, c->y, c->group, N, c->classes, c->groups, phi, NULL, NULL), 0);
}

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

/* The slope of both losses along a random direction, where no ReLU changes sides on the way. */
static void directions_are_gradients(void **state)
{
    (void)state;
    uint32_t checked = 0;
    for (uint32_t i = 0; i < RANDOM_CASES; i++) {
        struct random_case c;
        assert_int_equal(random_case_number(&c, i, N), 0);
        float *along = fis_alloc(c.params, sizeof *along);
        struct fis_direction_options o =
            options(c.groups, (enum fis_metric)(FIS_DEMOGRAPHIC_PARITY + i % 4));
        double phi, ce[2], f[2], mid[2], norms;
        assert_non_null(along);
        assert_int_equal(
            fis_directions(&c.shape, c.w, &c.rows, NULL, 0, &o, c.g_acc, c.g_fair, &phi, NULL), 0);
        losses_at(&c, &o.surrogate, NULL, 0, &mid[0], &mid[1], NULL);
        assert_true(fabs(phi - mid[1]) <= 2e-6 * sqrt(mid[1]));
        for (size_t j = 0; j < c.params; j++)
            along[j] = random_normal(&c.rng, 1);
        norms = sqrt(dot(along, along, c.params));
        for (double h = 1e-3; h > 2e-5; h /= 2) {
            uint64_t kinks[2] = {0, 0};
            losses_at(&c, &o.surrogate, along, h, &ce[0], &f[0], &kinks[0]);
            losses_at(&c, &o.surrogate, along, -h, &ce[1], &f[1], &kinks[1]);
            if (kinks[0] != kinks[1])
                continue;
            double want[2] = {(ce[0] - ce[1]) / (2 * h), (f[0] - f[1]) / (2 * h)};
            double got[2] = {dot(c.g_acc, along, c.params), dot(c.g_fair, along, c.params)};
            double size[2] = {norms * sqrt(dot(c.g_acc, c.g_acc, c.params)),
                              norms * sqrt(dot(c.g_fair, c.g_fair, c.params))};
            assert_true(fabs(got[0] - want[0]) <= 1e-4 * size[0]);
            assert_true(fabs(got[1] - want[1]) <= 1e-3 * size[1] + 1e-7 / h * sqrt(phi));
            checked++;
            break;
        }
        fis_free(along);
        random_case_done(&c);
    }
    assert_true(checked > RANDOM_CASES / 2);
}

enum { SUBSET = 260 };

static void subset_equals_copy(uint32_t depth, int precondition)
{
    struct random_case c;
    assert_int_equal(random_case_init(&c, 5, depth, 3, 3, N), 0);
    uint32_t index[SUBSET], y[SUBSET], group[SUBSET];
    float *x = fis_alloc((size_t)SUBSET * c.d, sizeof *x);
    float *ga = fis_alloc(c.params, sizeof *ga), *gf = fis_alloc(c.params, sizeof *gf);
    assert_true(x && ga && gf);
    for (uint32_t i = 0; i < SUBSET; i++) {
        index[i] = N - 1 - i;
        y[i] = c.y[N - 1 - i];
        group[i] = c.group[N - 1 - i];
        memcpy(x + (size_t)i * c.d, c.x + (size_t)index[i] * c.d, c.d * sizeof *x);
    }
    struct fis_rows copy = {SUBSET, c.d, x, y, group};
    struct fis_direction_options o = options(3, FIS_EQUALIZED_ODDS);
    double one, two;
    o.precondition = precondition;
    assert_int_equal(
        fis_directions(&c.shape, c.w, &c.rows, index, SUBSET, &o, c.g_acc, c.g_fair, &one, NULL),
        0);
    assert_int_equal(fis_directions(&c.shape, c.w, &copy, NULL, 0, &o, ga, gf, &two, NULL), 0);
    assert_true(one == two);
    assert_memory_equal(c.g_acc, ga, c.params * sizeof *ga);
    assert_memory_equal(c.g_fair, gf, c.params * sizeof *gf);
    fis_free(x);
    fis_free(ga);
    fis_free(gf);
    random_case_done(&c);
}

static void subset_is_a_copy_of_its_rows(void **state)
{
    (void)state;
    for (uint32_t depth = 0; depth < 3; depth++)
        for (int precondition = 0; precondition < 2; precondition++)
            subset_equals_copy(depth, precondition);
}

/* Last hidden activations of one row, by the twin's rule, with a 1 behind them; and p. */
static uint32_t last_activations(const struct random_case *c, const float *x, double *a, double *p)
{
    double sum = 0;
    struct random_case cut = *c;
    cut.shape.n_layers--;
    cut.shape.margins = 0;
    uint32_t width = c->shape.width[cut.shape.n_layers];
    cut.classes = width;
    twin_logits(&cut, NULL, 0, x, a, NULL);
    for (uint32_t j = 0; j < width && cut.shape.n_layers; j++)
        a[j] = a[j] > 0 ? a[j] : 0;
    a[width] = 1;
    twin_logits(c, NULL, 0, x, p, NULL);
    for (uint32_t k = 0; k < c->classes; k++)
        sum += p[k] = exp(p[k]);
    for (uint32_t k = 0; k < c->classes; k++)
        p[k] /= sum;
    return width + 1;
}

/* (H_k + damping trace/dim I) v_k must be g_k again; other layers 0. */
static void check_solution(const struct random_case *c, const float *g, const float *v)
{
    size_t at = fis_shape_offset(&c->shape, c->shape.n_layers - 1);
    uint32_t dim = c->shape.width[c->shape.n_layers - 1] + 1;
    for (size_t j = 0; j < at; j++)
        assert_true(v[j] == 0);
    for (uint32_t k = 0; k < c->classes; k++) {
        double back[64] = {0}, trace = 0, size = 0, a[64], p[64];
        for (uint32_t i = 0; i < N; i++) {
            double av = 0, aa = 0;
            last_activations(c, c->x + (size_t)i * c->d, a, p);
            for (uint32_t j = 0; j < dim; j++) {
                av += a[j] * v[at + (size_t)j * c->classes + k];
                aa += a[j] * a[j];
            }
            for (uint32_t j = 0; j < dim; j++)
                back[j] += p[k] * (1 - p[k]) / N * a[j] * av;
            trace += p[k] * (1 - p[k]) / N * aa;
        }
        for (uint32_t j = 0; j < dim; j++)
            size = fmax(size, fabs((double)g[at + (size_t)j * c->classes + k]));
        for (uint32_t j = 0; j < dim; j++) {
            double got = back[j] + .01 * trace / dim * v[at + (size_t)j * c->classes + k];
            assert_true(fabs(got - g[at + (size_t)j * c->classes + k]) <= 1e-4 * size);
        }
    }
}

static void preconditioned_solves_gauss_newton(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RANDOM_CASES; i += 3) {
        struct random_case c;
        double phi;
        assert_int_equal(random_case_number(&c, i, N), 0);
        float *va = fis_alloc(c.params, sizeof *va), *vf = fis_alloc(c.params, sizeof *vf);
        struct fis_direction_options o = options(c.groups, FIS_EQUALIZED_ODDS);
        assert_true(va && vf);
        assert_int_equal(
            fis_directions(&c.shape, c.w, &c.rows, NULL, 0, &o, c.g_acc, c.g_fair, &phi, NULL), 0);
        o.precondition = 1;
        assert_int_equal(fis_directions(&c.shape, c.w, &c.rows, NULL, 0, &o, va, vf, &phi, NULL),
                         0);
        check_solution(&c, c.g_acc, va);
        check_solution(&c, c.g_fair, vf);
        fis_free(va);
        fis_free(vf);
        random_case_done(&c);
    }
}

static void refuses(struct random_case *c, const struct fis_direction_options *o,
                    const uint32_t *index, const char *text)
{
    struct fis_error e = {0};
    double phi = 7;
    assert_int_equal(
        fis_directions(&c->shape, c->w, &c->rows, index, 1, o, c->g_acc, c->g_fair, &phi, &e),
        -FIS_INPUT);
    assert_true(phi == 7);
    if (!strstr(e.text, text))
        fail_msg("\"%s\" does not say \"%s\"", e.text, text);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    struct random_case c;
    uint32_t far = N;
    assert_int_equal(random_case_init(&c, 5, 1, 2, 2, N), 0);
    struct fis_direction_options o = options(2, FIS_DEMOGRAPHIC_PARITY);
    refuses(&c, &o, &far, "row 300 expected, there are 300");
    o.surrogate.min_cell = 1000;
    refuses(&c, &o, NULL, "directions: group 0");
    o.surrogate.min_cell = 1;
    c.rows.d++;
    refuses(&c, &o, NULL, "features, the network takes");
    c.rows.d--;
    c.rows.group = NULL;
    refuses(&c, &o, NULL, "no groups");
    c.rows.group = c.group;
    o.precondition = 1;
    o.damping = -1e6;
    refuses(&c, &o, NULL, "not positive definite");
    c.w[0] = NAN;
    refuses(&c, &o, NULL, "not finite");
    c.w[0] = 3e38f;
    refuses(&c, &o, NULL, "not finite");
    random_case_done(&c);
}

/* Outputs that are 0 or 1 leave no curvature: the gradient then stands as it is. */
static void saturated_model_is_not_divided_by_zero(void **state)
{
    (void)state;
    struct random_case c;
    double phi;
    assert_int_equal(random_case_init(&c, 5, 0, 2, 2, N), 0);
    memset(c.w, 0, c.params * sizeof *c.w);
    c.w[c.params - 1] = 1e4f;
    struct fis_direction_options o = options(2, FIS_EQUALIZED_ODDS);
    o.precondition = 1;
    assert_int_equal(
        fis_directions(&c.shape, c.w, &c.rows, NULL, 0, &o, c.g_acc, c.g_fair, &phi, NULL), 0);
    assert_true(fabsf(c.g_acc[c.params - 1]) > .1f && fabsf(c.g_acc[c.params - 1]) < 1);
    random_case_done(&c);
}

static void out_of_memory(void **state)
{
    (void)state;
    struct random_case c;
    assert_int_equal(random_case_init(&c, 5, 2, 3, 3, N), 0);
    struct fis_direction_options o = options(3, FIS_EQUALIZED_ODDS);
    o.precondition = 1;
    int rc = -1;
    uint64_t n = 0;
    for (; rc; n++) {
        struct fis_error e;
        double phi = 7;
        fis_mem_refuse_after(n);
        rc = fis_directions(&c.shape, c.w, &c.rows, NULL, 0, &o, c.g_acc, c.g_fair, &phi, &e);
        fis_mem_refuse_after(UINT64_MAX);
        assert_true(rc == 0 || (rc == -FIS_NOMEM && e.kind == FIS_NOMEM && phi == 7));
    }
    assert_true(n > 8 && n < 40);
    random_case_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directions_are_gradients),
        cmocka_unit_test(subset_is_a_copy_of_its_rows),
        cmocka_unit_test(preconditioned_solves_gauss_newton),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(saturated_model_is_not_divided_by_zero),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("core/direction", tests, NULL, NULL);
}
