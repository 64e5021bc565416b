#include <math.h>
#include "kit/cmocka.h"

#include "fis/loss.h"
#include "fis/mem.h"
#include "lab/fair_term.h"
#include "lab/isal.h"
#include "lab/jtt.h"
#include "kit/lab/small_task.h"

static struct small_task task;
static struct fis_error e;

static const char *const rivals[] = {"bald",        "isal",     "jtt",     "random+val",
                                     "group-aware", "isal/pub", "bald/pub"};
enum { RIVALS = sizeof rivals / sizeof *rivals };

static struct lab_result run(const char *method, const struct lab_options *o,
                             const struct lab_hooks *hooks)
{
    struct lab_method m;
    struct lab_result result;
    if (lab_method_find(method, &m, &e) < 0 || lab_run(&task.split, &m, o, hooks, &result, &e) < 0)
        fail_msg("%s", e.text);
    return result;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static void each_runs_and_is_repeatable(void **state)
{
    static const struct {
        uint32_t classes, groups;
        enum fis_metric metric;
    } cases[] = {{2, 2, FIS_EQUALIZED_ODDS},
                 {3, 3, FIS_DEMOGRAPHIC_PARITY},
                 {3, 2, FIS_EQUAL_OPPORTUNITY},
                 {2, 3, FIS_RISK_DISPARITY}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        small_task_make(&task, cases[c].classes, cases[c].groups, 5);
        const struct lab_options o = small_options(&task, cases[c].metric);
        for (int i = 0; i < RIVALS; i++) {
            struct lab_result a = run(rivals[i], &o, NULL), b = run(rivals[i], &o, NULL);
            assert_true(small_same(&a, &b));
            assert_int_equal(a.bought, 120);
            assert_true(isfinite(fis_metrics_of(&a.test, o.metric)));
            assert_true(a.test.accuracy > (cases[c].classes == 2 ? .5 : .3));
        }
    }
}

static void training_groups_are_seen_by_the_privileged_alone(void **state)
{
    (void)state;
    small_task_make(&task, 2, 2, 6);
    struct lab_options o = small_options(&task, FIS_DEMOGRAPHIC_PARITY);
    struct lab_result before[RIVALS];
    o.epsilon = .1; /* so that the gate picks another point than the anchor */
    for (int i = 0; i < RIVALS; i++)
        before[i] = run(rivals[i], &o, NULL);
    for (uint32_t i = 0; i < SMALL_INITIAL + SMALL_POOL; i++)
        task.group[i] = 1 - task.group[i] * (i % 3 == 0);
    for (int i = 0; i < RIVALS; i++) {
        struct lab_result after = run(rivals[i], &o, NULL);
        assert_int_equal(small_same(&before[i], &after), strcmp(rivals[i], "group-aware") != 0);
    }
}

static int sees_groups(void *arg, struct lab_run *r, struct fis_error *error)
{
    (void)error;
    *(int *)arg = r->training_group != NULL;
    return 0;
}

static void others_are_not_even_handed_them(void **state)
{
    (void)state;
    small_task_make(&task, 2, 2, 6);
    const struct lab_options o = small_options(&task, FIS_DEMOGRAPHIC_PARITY);
    int seen = -1;
    const struct lab_hooks hooks = {.arg = &seen, .begun = sees_groups};
    for (int i = 0; i < RIVALS; i++) {
        (void)run(rivals[i], &o, &hooks);
        assert_int_equal(seen, strcmp(rivals[i], "group-aware") == 0);
    }
}

/* ---- what each is by its definition --------------------------------------------------------- */

static double phi_at(struct lab_run *r, const float *params)
{
    float *g = calloc(2 * r->n_params, sizeof *g);
    double phi = NAN;
    struct fis_direction_options o = *r->directions;
    o.precondition = 0;
    assert_int_equal(fis_directions(&r->shape, params, fis_learner_validation(r->learner), NULL, 0,
                                    &o, g, g + r->n_params, &phi, &e),
                     0);
    free(g);
    return phi;
}

static int compare_phi(void *arg, struct lab_run *r, struct fis_error *error)
{
    double *phi = arg;
    (void)error;
    if (r->round + 1 < r->o->protocol.rounds)
        return 0;
    phi[0] = phi_at(r, fis_learner_end_anchor(r->learner));
    phi[1] = phi_at(r, r->published);
    return 0;
}

static void random_val_lowers_phi_on_validation(void **state)
{
    static const enum fis_metric metrics[] = {FIS_DEMOGRAPHIC_PARITY, FIS_EQUAL_OPPORTUNITY,
                                              FIS_EQUALIZED_ODDS};
    (void)state;
    for (int i = 0; i < 3; i++) {
        double phi[2] = {0, 0};
        small_task_make(&task, 2, 2, 7);
        const struct lab_options o = small_options(&task, metrics[i]);
        const struct lab_hooks hooks = {.arg = phi, .round_end = compare_phi};
        (void)run("random+val", &o, &hooks);
        assert_true(phi[0] > 1e-4);
        assert_true(phi[1] < .6 * phi[0]);
    }
}

static void group_aware_is_fairer_than_random(void **state)
{
    (void)state;
    small_task_make(&task, 2, 2, 8);
    struct lab_options o = small_options(&task, FIS_DEMOGRAPHIC_PARITY);
    o.epsilon = .1;
    o.fresh_steps = 0; /* random publishes the anchor too */
    struct lab_result aware = run("group-aware", &o, NULL), random = run("random", &o, NULL);
    assert_true(aware.interpolation > 0);
    assert_true(aware.test.demographic_parity < .8 * random.test.demographic_parity);
    assert_memory_equal(&aware.anchor, &random.test, sizeof random.test);
}

static void jtt_upweights_exactly_what_is_wrong(void **state)
{
    const uint32_t rows[] = {4, 0, 2}, y[] = {1, 9, 0, 9, 1}, predicted[] = {0, 1, 0};
    uint32_t out[3 * LAB_JTT_WEIGHT], times[5] = {0};
    (void)state;
    const uint32_t n = lab_jtt_upweight(rows, predicted, y, 3, LAB_JTT_WEIGHT, out);
    assert_int_equal(n, 22);
    for (uint32_t i = 0; i < n; i++)
        times[out[i]]++;
    assert_int_equal(times[4], 20); /* 0 for 1 */
    assert_int_equal(times[0], 1);
    assert_int_equal(times[2], 1);
}

/* What the method makes of the first rows of the pool. */
static void scores_of(struct lab_run *r, float scores[LAB_SCORE_ROWS])
{
    static float all[LAB_SCORE_ROWS][FIS_MAX_CRITERIA];
    const struct fis_criteria c = {.acquisition = r->method->acquisition, .state = r};
    c.acquisition->batch(&c, NULL, lab_split_row(r->split, r->split->pool[0]), LAB_SCORE_ROWS,
                         &all[0][0]);
    for (uint32_t i = 0; i < LAB_SCORE_ROWS; i++)
        scores[i] = all[i][0];
}

static int check_bald(void *arg, struct lab_run *r, struct fis_error *error)
{
    float scores[LAB_SCORE_ROWS], most = 0;
    (void)error;
    scores_of(r, scores);
    for (uint32_t i = 0; i < LAB_SCORE_ROWS; i++) {
        assert_true(scores[i] > -1e-5f && (double)scores[i] <= log(r->classes));
        most = scores[i] > most ? scores[i] : most;
    }
    *(float *)arg = most;
    return 0;
}

static void bald_is_mutual_information(void **state)
{
    float most = 0;
    (void)state;
    small_task_make(&task, 3, 2, 10);
    const struct lab_options o = small_options(&task, FIS_EQUALIZED_ODDS);
    const struct lab_hooks hooks = {.arg = &most, .round_end = check_bald};
    (void)run("bald", &o, &hooks);
    assert_true(most > 1e-4f); /* members differ */
}

/* ---- isal ----------------------------------------------------------------------------------- */

enum { SMALL_PARAMS = 64 };

/* The matrix by its definition, from gradients of single logits. */
static void dense(const struct lab_isal *a, uint32_t n_params, double *h)
{
    const uint32_t k = fis_shape_classes(a->shape);
    struct fis_scratch *s = fis_scratch_new(a->shape, 1, 0);
    float logits[4], p[4], unit[4], j[4][SMALL_PARAMS];
    memset(h, 0, (size_t)n_params * n_params * sizeof *h);
    for (uint32_t i = 0; i < a->n; i++) {
        const float *x = a->x + (size_t)i * SMALL_D;
        for (uint32_t c = 0; c < k; c++) {
            memset(j[c], 0, sizeof j[c]);
            for (uint32_t l = 0; l < k; l++)
                unit[l] = c == l;
            fis_network_forward(a->shape, a->params, x, 1, s, logits);
            fis_network_backward(a->shape, a->params, x, 1, s, unit, j[c]);
        }
        fis_softmax(logits, 1, k, p);
        for (uint32_t c = 0; c < k; c++)
            for (uint32_t l = 0; l < k; l++)
                for (uint32_t u = 0; u < n_params; u++)
                    for (uint32_t v = 0; v < n_params; v++)
                        h[u * n_params + v] += (double)p[c] * ((c == l) - (double)p[l]) *
                                               (double)j[c][u] * (double)j[l][v] / a->n;
    }
    for (uint32_t u = 0; u < n_params; u++)
        h[u * n_params + u] += a->damping;
    fis_scratch_free(s);
}

/* h is positive definite: no pivots. */
static void solve(double *h, double *b, uint32_t n)
{
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t i = c + 1; i < n; i++) {
            const double f = h[i * n + c] / h[c * n + c];
            for (uint32_t j = c; j < n; j++)
                h[i * n + j] -= f * h[c * n + j];
            b[i] -= f * b[c];
        }
    for (uint32_t i = n; i-- > 0;) {
        for (uint32_t j = i + 1; j < n; j++)
            b[i] -= h[i * n + j] * b[j];
        b[i] /= h[i * n + i];
    }
}

static void conjugate_gradients_agree_with_a_dense_solve(void **state)
{
    static double h[SMALL_PARAMS * SMALL_PARAMS];
    double b[SMALL_PARAMS], residual = 1;
    float params[SMALL_PARAMS], g[SMALL_PARAMS], s[SMALL_PARAMS];
    const uint32_t hidden = 5;
    struct fis_shape shape;
    struct fis_rng rng;
    (void)state;
    small_task_make(&task, 3, 2, 11);
    assert_int_equal(fis_shape_init(&shape, SMALL_D, &hidden, 1, 3, &e), 0);
    const uint32_t n = (uint32_t)fis_shape_params(&shape);
    assert_true(n <= SMALL_PARAMS);
    fis_rng_seed(&rng, 1, 1);
    fis_network_init(&shape, params, &rng);
    for (uint32_t i = 0; i < n; i++)
        b[i] = (double)(g[i] = (float)fis_rng_normal(&rng));
    const struct lab_isal a = {
        .shape = &shape, .params = params, .x = task.split.x, .n = 300, .damping = .01};
    assert_int_equal(lab_isal_solve(&a, g, 1e-5, 500, s, &residual, &e), 0);
    assert_true(residual <= 1e-5);
    dense(&a, n, h);
    solve(h, b, n);
    for (uint32_t i = 0; i < n; i++)
        assert_true(fabs((double)s[i] - b[i]) <= 2e-3 * (1 + fabs(b[i])));
    /* Fewer products: a larger residual, which is reported. */
    assert_int_equal(lab_isal_solve(&a, g, 1e-5, 3, s, &residual, &e), 0);
    assert_true(residual > 1e-5);
}

static double guide_loss(struct lab_run *r, const float *params)
{
    const struct fis_rows *v = fis_learner_validation(r->learner);
    lab_forward(r, params, v->x, v->n, r->logits);
    return fis_cross_entropy(r->logits, v->y, NULL, v->n, r->classes, NULL);
}

/* What the guide loss becomes when the row is learnt at the model's own label, by H^-1. */
static double loss_after(struct lab_run *r, const struct lab_isal *a, const float *x)
{
    float p[4], dlogits[4], g[SMALL_PARAMS] = {0}, s[SMALL_PARAMS], moved[SMALL_PARAMS];
    uint32_t own;
    fis_network_forward(a->shape, a->params, x, 1, r->scratch, p);
    fis_predict(p, 1, r->classes, &own);
    (void)fis_cross_entropy(p, &own, NULL, 1, r->classes, dlogits);
    fis_network_backward(a->shape, a->params, x, 1, r->scratch, dlogits, g);
    assert_int_equal(lab_isal_solve(a, g, 1e-4, 200, s, NULL, &e), 0);
    for (size_t i = 0; i < r->n_params; i++)
        moved[i] = a->params[i] - .02f * s[i];
    return guide_loss(r, moved);
}

static int check_isal(void *arg, struct lab_run *r, struct fis_error *error)
{
    double *changes = arg;
    float scores[LAB_SCORE_ROWS];
    uint32_t best = 0, worst = 0;
    if (r->round + 1 < r->o->protocol.rounds)
        return 0;
    const float *x = lab_split_row(r->split, r->split->pool[0]);
    scores_of(r, scores);
    for (uint32_t i = 0; i < LAB_SCORE_ROWS; i++) {
        best = scores[i] > scores[best] ? i : best;
        worst = scores[i] < scores[worst] ? i : worst;
    }
    const struct lab_isal a = {.shape = &r->shape,
                               .params = fis_learner_anchor(r->learner),
                               .x = r->split->x,
                               .n = SMALL_INITIAL,
                               .damping = .01};
    changes[0] = guide_loss(r, a.params);
    changes[1] = loss_after(r, &a, x + (size_t)best * SMALL_D);
    changes[2] = loss_after(r, &a, x + (size_t)worst * SMALL_D);
    (void)error;
    return 0;
}

static void isal_prefers_what_lowers_the_guide_loss(void **state)
{
    double loss[3] = {0};
    (void)state;
    small_task_make(&task, 2, 2, 12);
    const struct lab_options o = small_options(&task, FIS_EQUALIZED_ODDS);
    const struct lab_hooks hooks = {.arg = loss, .refreshed = check_isal};
    (void)run("isal", &o, &hooks);
    assert_true(loss[1] < loss[2]);
    assert_true(loss[1] < loss[0]);
}

/* ---- the fairness term ---------------------------------------------------------------------- */

static void the_term_is_half_the_squared_gap(void **state)
{
    const uint32_t hidden = 5;
    struct fis_shape shape;
    struct fis_rng rng;
    float params[SMALL_PARAMS], g[SMALL_PARAMS] = {0};
    double mean[2] = {0}, rows[2] = {0};
    (void)state;
    small_task_make(&task, 2, 2, 13);
    assert_int_equal(fis_shape_init(&shape, SMALL_D, &hidden, 1, 2, &e), 0);
    fis_rng_seed(&rng, 2, 1);
    fis_network_init(&shape, params, &rng);
    const struct fis_direction_options d = {
        .surrogate = {FIS_DEMOGRAPHIC_PARITY, FIS_GAP_OVERALL, 1, 0}, .n_groups = 2};
    const struct lab_fair_term_options o = {
        .shape = shape,
        .directions = &d,
        .rows = {200, SMALL_D, task.split.x, task.y, task.group},
        .weight = 3};
    struct lab_fair_term *t = lab_fair_term_new(&o, NULL, 0, &e);
    assert_non_null(t);
    assert_true(isnan(lab_fair_term_value(t)));
    assert_int_equal(lab_fair_term_add(t, params, g, &e), 0);
    struct fis_scratch *s = fis_scratch_new(&shape, 200, 0);
    float p[400], zero[SMALL_PARAMS] = {0};
    fis_network_forward(&shape, params, task.split.x, 200, s, p);
    fis_softmax(p, 200, 2, p);
    for (uint32_t i = 0; i < 200; i++) {
        mean[task.group[i]] += (double)p[2 * i + 1];
        rows[task.group[i]]++;
    }
    const double gap = mean[0] / rows[0] - mean[1] / rows[1], value = lab_fair_term_value(t);
    assert_true(fabs(value - gap * gap / 2) <= 1e-5 * value + 1e-7);
    for (size_t i = 0; i < fis_shape_params(&shape); i += 3) {
        const float at = params[i], h = 5e-3f;
        params[i] = at + h;
        assert_int_equal(lab_fair_term_add(t, params, zero, &e), 0);
        const double up = lab_fair_term_value(t);
        params[i] = at - h;
        assert_int_equal(lab_fair_term_add(t, params, zero, &e), 0);
        const double slope = (up - lab_fair_term_value(t)) / (2 * (double)h);
        params[i] = at;
        assert_true(fabs((double)g[i] - 3 * slope) <= .03 * fabs(3 * slope) + 5e-4); /* kinks */
    }
    fis_scratch_free(s);
    lab_fair_term_free(t);
}

static void every_refused_allocation_is_survived(void **state)
{
    (void)state;
    small_task_make(&task, 2, 2, 14);
    struct lab_options o = small_options(&task, FIS_DEMOGRAPHIC_PARITY);
    o.protocol.rounds = 1;
    o.protocol.steps_per_round = 8;
    o.refreshes = 1;
    for (int i = 0; i < RIVALS; i++) {
        struct lab_method m;
        struct lab_result result;
        assert_int_equal(lab_method_find(rivals[i], &m, &e), 0);
        int rc = -1;
        for (uint64_t n = 0; rc < 0 && n < 3000; n += 1 + n / 12) {
            fis_mem_refuse_after(n);
            rc = lab_run(&task.split, &m, &o, NULL, &result, &e);
            fis_mem_refuse_after(UINT64_MAX);
            assert_true(rc == 0 || rc == -FIS_NOMEM);
        }
        assert_int_equal(rc, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_runs_and_is_repeatable),
        cmocka_unit_test(training_groups_are_seen_by_the_privileged_alone),
        cmocka_unit_test(others_are_not_even_handed_them),
        cmocka_unit_test(random_val_lowers_phi_on_validation),
        cmocka_unit_test(group_aware_is_fairer_than_random),
        cmocka_unit_test(jtt_upweights_exactly_what_is_wrong),
        cmocka_unit_test(bald_is_mutual_information),
        cmocka_unit_test(conjugate_gradients_agree_with_a_dense_solve),
        cmocka_unit_test(isal_prefers_what_lowers_the_guide_loss),
        cmocka_unit_test(the_term_is_half_the_squared_gap),
        cmocka_unit_test(every_refused_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
