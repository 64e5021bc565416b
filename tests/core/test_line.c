/* The Newton line: against a naive twin in double, finite differences, and what it is for. */
#include <math.h>
#include "kit/cmocka.h"

#include "core/line.h"
#include "fis/learner.h"
#include "fis/loss.h"
#include "fis/mem.h"
#include "kit/core/biased_rows.h"

enum { H = 5, N = 400, MOST = 200 };

struct problem {
    struct fis_shape shape;
    uint32_t k, groups;
    float params[MOST], x[N][SYN_D], extra[N][SYN_D];
    uint32_t y[N], group[N];
    struct fis_rows rows;
    struct line_unlabelled unlabelled;
};

static struct fis_error e;

static void make(struct problem *p, uint32_t k, uint32_t groups, uint64_t seed)
{
    const uint32_t hidden = H;
    struct fis_rng rng;
    fis_rng_seed(&rng, seed, 5);
    *p = (struct problem){.k = k, .groups = groups};
    assert_int_equal(fis_shape_init(&p->shape, SYN_D, &hidden, 1, k, &e), 0);
    assert_true(fis_shape_params(&p->shape) <= MOST);
    fis_network_init(&p->shape, p->params, &rng);
    for (uint32_t i = 0; i < N; i++) {
        p->group[i] = fis_rng_below(&rng, groups);
        for (uint32_t j = 0; j < SYN_D; j++) {
            p->x[i][j] = (float)(fis_rng_normal(&rng) + (j == 0 ? p->group[i] : 0.0));
            p->extra[i][j] = (float)fis_rng_normal(&rng);
        }
        p->y[i] = fis_rng_below(&rng, k);
    }
    p->rows = (struct fis_rows){.n = N, .d = SYN_D, .x = &p->x[0][0], .y = p->y, .group = p->group};
    p->unlabelled = (struct line_unlabelled){{&p->extra[0][0], p->rows.x}, {N, N}};
}

static void probabilities(const struct problem *p, const float *params, const float *x, float *h,
                          float *out)
{
    const float *w = params + fis_shape_offset(&p->shape, 1), *v = params;
    float z[8];
    for (uint32_t j = 0; j < H; j++) {
        h[j] = v[SYN_D * H + j];
        for (uint32_t i = 0; i < SYN_D; i++)
            h[j] += x[i] * v[i * H + j];
        h[j] = h[j] > 0 ? h[j] : 0;
    }
    h[H] = 1;
    for (uint32_t k = 0; k < p->k; k++) {
        z[k] = 0;
        for (uint32_t j = 0; j <= H; j++)
            z[k] += h[j] * w[j * p->k + k];
    }
    fis_softmax(z, 1, p->k, out);
}

static bool in_cell(enum fis_metric m, int part, uint32_t y, uint32_t k)
{
    return m == FIS_DEMOGRAPHIC_PARITY || (part == 0) == (y == k);
}

/* The mean of p_k over a group's rows of a part, less that over the rows of all groups (or of the
 * other one), at the weights `params`. */
static double gap(const struct problem *p, const float *params, enum fis_metric m, int part,
                  uint32_t k, uint32_t group)
{
    double own = 0, n = 0, rest = 0, all = 0;
    for (uint32_t i = 0; i < N; i++) {
        float h[H + 1], q[8];
        if (!in_cell(m, part, p->y[i], k))
            continue;
        probabilities(p, params, p->x[i], h, q);
        if (p->group[i] == group) {
            own += (double)q[k];
            n++;
        }
        if (p->groups > 2 || p->group[i] != group) {
            rest += (double)q[k];
            all++;
        }
    }
    return own / n - rest / all;
}

static double largest(const struct problem *p, const float *params, enum fis_metric m)
{
    double most = 0;
    for (int part = 0; part < (m == FIS_EQUALIZED_ODDS ? 2 : 1); part++)
        for (uint32_t k = p->k == 2; k < p->k; k++)
            for (uint32_t g = 0; g < p->groups; g++)
                most = fmax(most, fabs(gap(p, params, m, part, k, g)));
    return most;
}

static void step_of(struct problem *p, enum fis_metric m, float *step)
{
    const struct line_guide guide = {.rows = &p->rows};
    assert_int_equal(
        line_step(&p->shape, p->params, &guide, &p->unlabelled, m, 1, p->groups, step, &e), 0);
}

/* To first order every gap is closed at 1: gap(a) = gap(0) (1 - a) + O(a^2). */
static void all_gaps_fall_alike(void **state)
{
    (void)state;
    static struct problem p;
    static const enum fis_metric metrics[] = {FIS_DEMOGRAPHIC_PARITY, FIS_EQUAL_OPPORTUNITY,
                                              FIS_EQUALIZED_ODDS};
    for (int i = 0; i < 3 * 4; i++) {
        const enum fis_metric m = metrics[i % 3];
        float step[MOST], moved[MOST];
        const double a = 2e-3;
        make(&p, i / 3 % 2 ? 3 : 2, i / 6 ? 3 : 2, (uint64_t)i);
        step_of(&p, m, step);
        for (size_t j = 0; j < MOST; j++)
            moved[j] = p.params[j] + (float)a * step[j];
        for (size_t j = 0; j < fis_shape_offset(&p.shape, 1); j++)
            assert_float_equal(step[j], 0, 0);
        for (int part = 0; part < (m == FIS_EQUALIZED_ODDS ? 2 : 1); part++)
            for (uint32_t k = p.k == 2; k < p.k; k++)
                for (uint32_t g = 0; g < p.groups; g++) {
                    double before = gap(&p, p.params, m, part, k, g);
                    double fall = before - gap(&p, moved, m, part, k, g);
                    assert_true(fabs(fall - a * before) <= .02 * a * fabs(before) + 4e-6);
                }
        for (size_t j = 0; j < MOST; j++)
            moved[j] = p.params[j] + step[j];
        assert_true(largest(&p, moved, m) < .35 * largest(&p, p.params, m));
    }
}

static void solve(double *a, double *b, int n, int sides) /* Gauss-Jordan, in place */
{
    for (int c = 0; c < n; c++) {
        int best = c;
        for (int r = c; r < n; r++)
            best = fabs(a[r * n + c]) > fabs(a[best * n + c]) ? r : best;
        for (int i = 0; i < n; i++) {
            double t = a[c * n + i];
            a[c * n + i] = a[best * n + i];
            a[best * n + i] = t;
        }
        for (int i = 0; i < sides; i++) {
            double t = b[c * sides + i];
            b[c * sides + i] = b[best * sides + i];
            b[best * sides + i] = t;
        }
        for (int r = 0; r < n; r++) {
            double f = r == c ? 0 : a[r * n + c] / a[c * n + c];
            for (int i = 0; i < n; i++)
                a[r * n + i] -= f * a[c * n + i];
            for (int i = 0; i < sides; i++)
                b[r * sides + i] -= f * b[c * sides + i];
        }
    }
    for (int r = 0; r < n; r++)
        for (int i = 0; i < sides; i++)
            b[r * sides + i] /= a[r * n + r];
}

/* Two classes and groups, equalized odds: v = -H^-1 J^T (J H^-1 J^T)^-1 g of the margin m = f_1 -
 * f_0, written out. */
static void it_is_the_formula(void **state)
{
    (void)state;
    static struct problem p;
    enum { D = H + 1 };
    double hess[D * D] = {0}, x[D * 2], j[2][D] = {{0}}, g[2] = {0}, trace = 0;
    float step[MOST];
    make(&p, 2, 2, 77);
    double n[2][2] = {{0}};
    for (uint32_t i = 0; i < N; i++)
        n[p.y[i] != 1][p.group[i]]++;
    for (uint32_t i = 0; i < 2 * N; i++) {
        float h[D], q[2];
        probabilities(&p, p.params, i < N ? p.x[i] : p.extra[i - N], h, q);
        const double c = (double)q[0] * (double)q[1];
        for (int r = 0; r < D; r++)
            for (int s = 0; s < D; s++)
                hess[r * D + s] += c * (double)h[r] * (double)h[s] / (2 * N);
        if (i >= N)
            continue;
        const int part = p.y[i] != 1;
        const double weight = (p.group[i] ? -1 : 1) / n[part][p.group[i]];
        g[part] += weight * (double)q[1];
        for (int r = 0; r < D; r++)
            j[part][r] += weight * c * (double)h[r];
    }
    for (int r = 0; r < D; r++)
        trace += hess[r * D + r];
    for (int r = 0; r < D; r++) {
        hess[r * D + r] += .01 * trace / D;
        for (int s = 0; s < 2; s++)
            x[r * 2 + s] = j[s][r];
    }
    solve(hess, x, D, 2);
    double a[4] = {0};
    for (int s = 0; s < 4; s++)
        for (int r = 0; r < D; r++)
            a[s] += j[s / 2][r] * x[r * 2 + s % 2];
    solve(a, g, 2, 1);
    step_of(&p, FIS_EQUALIZED_ODDS, step);
    const float *v = step + fis_shape_offset(&p.shape, 1);
    double most = 0;
    for (int r = 0; r < D; r++)
        most = fmax(most, fabs(x[r * 2] * g[0] + x[r * 2 + 1] * g[1]));
    for (int r = 0; r < D; r++) {
        const double margin = -(x[r * 2] * g[0] + x[r * 2 + 1] * g[1]);
        assert_true(fabs((double)v[r * 2 + 1] - (double)v[r * 2] - margin) < 1e-3 * most);
    }
}

/* Groups' mean cross-entropies come together; a group without rows takes no part, and where there
 * is nothing to compare there is no step. */
static void risk_and_empty_cells(void **state)
{
    (void)state;
    static struct problem p;
    float step[MOST], moved[MOST];
    make(&p, 3, 3, 9);
    step_of(&p, FIS_RISK_DISPARITY, step);
    double before[3] = {0}, after[3] = {0}, n[3] = {0};
    for (size_t j = 0; j < MOST; j++)
        moved[j] = p.params[j] + .01f * step[j];
    for (uint32_t i = 0; i < N; i++) {
        float h[H + 1], q[8];
        probabilities(&p, p.params, p.x[i], h, q);
        before[p.group[i]] -= log((double)q[p.y[i]]);
        probabilities(&p, moved, p.x[i], h, q);
        after[p.group[i]] -= log((double)q[p.y[i]]);
        n[p.group[i]]++;
    }
    for (int g = 1; g < 3; g++) {
        double was = before[g] / n[g] - before[0] / n[0], is = after[g] / n[g] - after[0] / n[0];
        assert_true(fabs(is - .99 * was) < 2e-4 * fabs(was) + 2e-5);
    }
    p.groups = 4; /* of which one has no rows */
    step_of(&p, FIS_EQUALIZED_ODDS, step);
    p.groups = 3;
    step_of(&p, FIS_EQUALIZED_ODDS, moved);
    assert_memory_equal(step, moved, fis_shape_params(&p.shape) * sizeof *step);
    memset(p.group, 0, sizeof p.group);
    step_of(&p, FIS_DEMOGRAPHIC_PARITY, step);
    for (size_t j = 0; j < fis_shape_params(&p.shape); j++)
        assert_float_equal(step[j], 0, 0);
}

/* Against the gradient of phi the gap falls, and logits move by as much as is reported. */
static void along_a_direction_the_gap_falls(void **state)
{
    (void)state;
    static struct problem p;
    const struct fis_direction_options o = {
        .surrogate = {.metric = FIS_DEMOGRAPHIC_PARITY, .form = FIS_GAP_OVERALL, .positive = 1},
        .n_groups = 2};
    float g[2][MOST], step[MOST], moved[MOST];
    double phi, square = 0;
    make(&p, 2, 2, 4);
    assert_int_equal(fis_directions(&p.shape, p.params, &p.rows, NULL, 0, &o, g[0], g[1], &phi, &e),
                     0);
    assert_int_equal(line_along(&p.shape, p.params, g[1], p.rows.x, N, step, &e), 0);
    for (size_t j = 0; j < MOST; j++)
        moved[j] = p.params[j] + .05f * step[j];
    assert_true(largest(&p, moved, FIS_DEMOGRAPHIC_PARITY) <
                .99 * largest(&p, p.params, FIS_DEMOGRAPHIC_PARITY));
    for (uint32_t i = 0; i < N; i++) {
        float h[H + 1], q[8];
        const float *v = step + fis_shape_offset(&p.shape, 1);
        probabilities(&p, p.params, p.x[i], h, q);
        for (uint32_t k = 0; k < 2; k++) {
            double z = 0;
            for (uint32_t j = 0; j <= H; j++)
                z += (double)h[j] * (double)v[j * 2 + k];
            square += z * z / (2 * N);
        }
    }
    assert_true(fabs(sqrt(square) - .5) < 1e-4);
    memset(g[1], 0, sizeof g[1]);
    assert_int_equal(line_along(&p.shape, p.params, g[1], p.rows.x, N, step, &e), 0);
    for (size_t j = 0; j < fis_shape_params(&p.shape); j++)
        assert_float_equal(step[j], 0, 0);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    static struct problem p;
    const struct line_guide guide = {.rows = &p.rows};
    float step[MOST];
    make(&p, 8, 2, 3);
    assert_int_equal(
        line_step(&p.shape, p.params, &guide, &p.unlabelled, FIS_EQUALIZED_ODDS, 1, 64, step, &e),
        -FIS_INPUT);
    assert_non_null(strstr(e.text, "gaps"));
    p.params[3] = NAN;
    assert_int_equal(
        line_step(&p.shape, p.params, &guide, &p.unlabelled, FIS_EQUALIZED_ODDS, 1, 2, step, &e),
        0);
    for (size_t j = 0; j < fis_shape_params(&p.shape); j++)
        assert_float_equal(step[j], 0, 0);
}

/* ---- calibration ---------------------------------------------------------------------------- */

/* Labels drawn by softmax(.5 f + b), b by group: the fit finds it, and the mean of pi is the share
 * of labels. */
static void calibration_finds_the_scale(void **state)
{
    (void)state;
    enum { ROWS = 20000 };
    static float logits[ROWS * 3], pi[ROWS * 3];
    static uint32_t y[ROWS], group[ROWS];
    const float bias[2][3] = {{0, .4f, -.3f}, {0, -.5f, .2f}};
    for (uint32_t k = 2; k <= 3; k++) {
        struct fis_rng rng;
        double off = 0, share[3] = {0}, mean[3] = {0};
        fis_rng_seed(&rng, k, 8);
        for (uint32_t i = 0; i < ROWS; i++) {
            float z[3], p[3];
            group[i] = i % 2;
            for (uint32_t c = 0; c < k; c++) {
                logits[i * k + c] = (float)(3 * fis_rng_normal(&rng));
                z[c] = .5f * logits[i * k + c] + bias[group[i]][c];
            }
            fis_softmax(z, 1, k, p);
            double u = fis_rng_unit(&rng);
            for (y[i] = 0; y[i] + 1 < k && u >= (double)p[y[i]]; y[i]++)
                u -= (double)p[y[i]];
            share[y[i]] += 1.0 / ROWS;
        }
        assert_int_equal(line_calibrate(logits, NULL, y, group, ROWS, k, 2, pi, &e), 0);
        for (uint32_t i = 0; i < ROWS; i++) {
            float z[3], p[3];
            for (uint32_t c = 0; c < k; c++)
                z[c] = .5f * logits[i * k + c] + bias[group[i]][c];
            fis_softmax(z, 1, k, p);
            for (uint32_t c = 0; c < k; c++) {
                off = fmax(off, fabs((double)p[c] - (double)pi[i * k + c]));
                mean[c] += (double)pi[i * k + c] / ROWS;
            }
        }
        assert_true(off < .03);
        for (uint32_t c = 0; c < k; c++)
            assert_float_equal(mean[c], share[c], 1e-4);
    }
}

/* Labels drawn by softmax(.5 f + .8 added): the fit by groups, which say nothing here, cannot know,
 * the other one does, and what comes out is their mean. */
static void calibration_follows_the_line(void **state)
{
    (void)state;
    enum { ROWS = 20000 };
    static float logits[ROWS * 3], added[ROWS * 3], pi[ROWS * 3], by_group[ROWS * 3];
    static uint32_t y[ROWS], group[ROWS];
    for (uint32_t k = 2; k <= 3; k++) {
        struct fis_rng rng;
        double off = 0, off_by_group = 0;
        fis_rng_seed(&rng, k, 9);
        for (uint32_t i = 0; i < ROWS; i++) {
            float z[3];
            group[i] = i % 2;
            for (uint32_t c = 0; c < k; c++) {
                logits[i * k + c] = (float)(2 * fis_rng_normal(&rng));
                added[i * k + c] = (float)fis_rng_normal(&rng);
                z[c] = .5f * logits[i * k + c] + .8f * added[i * k + c];
            }
            fis_softmax(z, 1, k, z);
            double u = fis_rng_unit(&rng);
            for (y[i] = 0; y[i] + 1 < k && u >= (double)z[y[i]]; y[i]++)
                u -= (double)z[y[i]];
        }
        assert_int_equal(line_calibrate(logits, added, y, group, ROWS, k, 2, pi, &e), 0);
        assert_int_equal(line_calibrate(logits, NULL, y, group, ROWS, k, 2, by_group, &e), 0);
        for (uint32_t i = 0; i < ROWS; i++) {
            float p[3];
            for (uint32_t c = 0; c < k; c++)
                p[c] = .5f * logits[i * k + c] + .8f * added[i * k + c];
            fis_softmax(p, 1, k, p);
            for (uint32_t c = 0; c < k; c++) {
                const double g = (double)by_group[i * k + c];
                off = fmax(off, fabs(2 * (double)pi[i * k + c] - g - (double)p[c]));
                off_by_group = fmax(off_by_group, fabs(g - (double)p[c]));
            }
        }
        assert_true(off < .03);
        assert_true(off_by_group > .2);
    }
}

/* Labels that the logits part without error have no fit: they are taken as they are. */
static void without_a_fit_it_is_the_softmax(void **state)
{
    (void)state;
    float logits[40], pi[40], p[40];
    uint32_t y[20], group[20] = {0};
    for (uint32_t i = 0; i < 20; i++) {
        y[i] = i % 2;
        logits[2 * i] = y[i] ? -1 : 1;
        logits[2 * i + 1] = -logits[2 * i];
    }
    assert_int_equal(line_calibrate(logits, NULL, y, group, 20, 2, 2, pi, &e), 0);
    fis_softmax(logits, 20, 2, p);
    for (int i = 0; i < 40; i++)
        assert_float_equal(pi[i], p[i], 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_gaps_fall_alike),
        cmocka_unit_test(it_is_the_formula),
        cmocka_unit_test(risk_and_empty_cells),
        cmocka_unit_test(along_a_direction_the_gap_falls),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(calibration_finds_the_scale),
        cmocka_unit_test(calibration_follows_the_line),
        cmocka_unit_test(without_a_fit_it_is_the_softmax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
