#include <math.h>
#include "kit/cmocka.h"

#include "core/interpolate.h"
#include "core/slab.h"
#include "fis/gate.h"
#include "fis/mem.h"
#include "kit/core/biased_rows.h"

static struct synthetic initial, bought, validation;
static float params[64];
static struct fis_error e;

static int set_up(void **state)
{
    (void)state;
    synthetic_make(&initial, 400, .5, 1);
    synthetic_make(&bought, 600, .5, 2);
    synthetic_make(&validation, 1500, .5, 3);
    return 0;
}

static struct fis_gate_options options(void)
{
    return (struct fis_gate_options){
        .metric = FIS_DEMOGRAPHIC_PARITY,
        .positive = 1,
        .epsilon = .02,
        .line = true,
        .min_rows = 500,
        .min_cell = 30,
        .warn_cell = 100,
        .rule = FIS_GATE_RULE_FAIRER,
        .standard_errors = 1,
        .resamples = 100,
        .seed = 4,
    };
}

static struct fis_shape shape(void)
{
    struct fis_shape s;
    uint32_t hidden = 8;
    assert_int_equal(fis_shape_init(&s, SYN_D, &hidden, 1, 2, &e), 0);
    return s;
}

static struct fis_learner *learner(uint32_t folds, const struct synthetic *val)
{
    struct fis_learner_options o = {.shape = shape(),
                                    .folds = folds,
                                    .guided = folds == 2,
                                    .learning_rate = .05f,
                                    .momentum = .9f,
                                    .batch = 64,
                                    .average_every = 6,
                                    .seed = 5};
    struct fis_rows rows = synthetic_rows(val);
    struct fis_learner *t = fis_learner_new(&o, &e);
    assert_non_null(t);
    for (uint32_t i = 0; i < initial.n; i++)
        assert_int_equal(fis_learner_add_initial(t, initial.x[i], initial.y[i], &e), 0);
    assert_int_equal(fis_learner_set_validation(t, &rows, 2, &e), 0);
    return t;
}

static struct fis_gate *gate(const struct fis_gate_options *o)
{
    struct fis_shape s = shape();
    struct fis_gate *g = fis_gate_new(o, &s, &e);
    assert_non_null(g);
    return g;
}

static void warm_up(struct fis_learner *t)
{
    assert_int_equal(fis_learner_warm_up(t, 200, &e), 0);
}

static void buy_and_train(struct fis_learner *t)
{
    struct fis_direction_options d = {.surrogate = {FIS_DEMOGRAPHIC_PARITY, FIS_GAP_PAIRS, 1, 10},
                                      .n_groups = 2};
    uint32_t index;
    assert_int_equal(fis_learner_refresh(t, &d, NULL, &e), 0);
    for (uint32_t i = 0; i < bought.n; i++) {
        assert_int_equal(fis_learner_add_bought(t, bought.x[i], bought.y[i], &index, &e), 0);
        (void)fis_learner_check(t, index, NULL, NULL);
    }
    fis_learner_round_begin(t);
    assert_int_equal(fis_learner_train(t, 240, &e), 0);
}

static struct fis_gate_points points_of(const struct fis_learner *t, const float *to)
{
    const float *from = fis_learner_end_anchor(t);
    struct fis_gate_points p = {.publish_from = from, .publish_to = to};
    for (uint32_t h = 0; h < FIS_MAX_FOLDS; h++) {
        p.from[h] = from;
        p.to[h] = to;
    }
    return p;
}

/* Says what the accuracy is, and has the rest from the rows. */
static void measure_as_given(void *arg, const uint32_t *predictions, const float *logits,
                             const uint32_t *labels, const uint32_t *groups, const uint32_t *source,
                             const uint32_t *rows, uint32_t n, uint32_t classes, uint32_t n_groups,
                             uint32_t positive, struct fis_metrics *out)
{
    fis_metrics_eval(predictions, logits, labels, groups, rows, n, classes, n_groups, positive,
                     out);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(validation.y[source[i]], labels[i]);
    out->accuracy = *(double *)arg;
}

static void points_of_ones_own_are_judged(void **state)
{
    (void)state;
    struct fis_gate_options o = options();
    struct fis_gate_judgement j, k;
    struct fis_gate_points p;
    float other[64], known[64];
    double accuracy = .99;
    o.epsilon = .5; /* fairness alone decides */
    struct fis_learner *t = learner(1, &validation);
    struct fis_gate *g = gate(&o);
    warm_up(t);
    assert_int_equal(fis_gate_first(g, t, &j, params, &e), 0);
    buy_and_train(t);
    /* A network that does not look at the group's stand-in, feature 1, is fairer. */
    memcpy(other, fis_learner_end_anchor(t),
           fis_shape_params(fis_learner_shape(t)) * sizeof *other);
    for (int h = 0; h < 8; h++)
        other[8 + h] = 0;
    p = points_of(t, other);
    p.share[p.n++] = 0;
    p.share[p.n++] = .5f;
    p.share[p.n++] = 1;
    assert_int_equal(fis_gate_judge_points(g, t, &p, &j, params, &e), 0);
    assert_int_equal(j.verdict, FIS_PUBLISH);
    assert_float_equal(j.interpolation, 1, 0);
    for (int i = 0; i < 16; i++)
        assert_float_equal(params[i], other[i], 0);
    fis_gate_measure_with(g, measure_as_given, &accuracy);
    p.n = 1;
    assert_int_equal(fis_gate_judge_points(g, t, &p, &k, known, &e), 0);
    assert_int_equal(k.verdict, FIS_REJECT);
    assert_float_equal(k.anchor.accuracy, .99, 0);
    fis_gate_free(g);
    fis_learner_free(t);
}

static void the_warm_up_model_is_first(void **state)
{
    (void)state;
    struct fis_gate_options o = options();
    struct fis_gate_judgement j;
    struct fis_learner *t = learner(3, &validation);
    struct fis_gate *g = gate(&o);
    assert_true(isnan(fis_gate_val0(g)));
    warm_up(t);
    assert_int_equal(fis_gate_first(g, t, &j, params, &e), 0);
    assert_int_equal(j.verdict, FIS_PUBLISH);
    assert_int_equal(j.reason, FIS_GATE_FIRST);
    assert_int_equal(j.served.n, 0);
    assert_int_equal(j.pick.n, validation.n);
    assert_true(fis_gate_val0(g) > .7);
    assert_float_equal(j.pick.accuracy, fis_gate_val0(g), 1e-12);
    assert_memory_equal(params, fis_learner_anchor(t), 4 * sizeof *params);
    fis_gate_free(g);
    fis_learner_free(t);
}

static void it_publishes_what_is_fairer_and_no_less_accurate(void **state)
{
    (void)state;
    for (uint32_t folds = 2; folds <= 3; folds++) {
        struct fis_gate_options o = options();
        struct fis_gate_judgement j, again;
        struct fis_learner *t = learner(folds, &validation);
        struct fis_gate *g = gate(&o), *twin = gate(&o);
        warm_up(t);
        assert_int_equal(fis_gate_first(g, t, &j, params, &e), 0);
        assert_int_equal(fis_gate_first(twin, t, &j, params, &e), 0);
        double before = j.pick.demographic_parity;
        buy_and_train(t);
        assert_int_equal(fis_gate_judge(g, t, &j, params, &e), 0);
        assert_int_equal(j.verdict, FIS_PUBLISH);
        assert_int_equal(j.reason, FIS_GATE_FAIRER);
        assert_int_equal(j.looks, 2);
        assert_true(j.interpolation > 0);
        assert_true(j.change >= -o.epsilon && j.pick.accuracy >= j.floor);
        assert_true(j.floor < j.served.accuracy - o.epsilon);
        assert_true(j.pick.demographic_parity < before - j.difference_se);
        assert_true(j.intervals.demographic_parity.low <= j.pick.demographic_parity);
        assert_int_equal(j.pick.n, folds == 2 ? 750 : 1500);
        float twin_params[64];
        assert_int_equal(fis_gate_judge(twin, t, &again, twin_params, &e), 0);
        assert_string_equal(j.text, again.text);
        assert_memory_equal(params, twin_params, 8 * sizeof *params);
        /* The same again is not fairer than itself. */
        assert_int_equal(fis_gate_judge(g, t, &j, params, &e), 0);
        assert_int_equal(j.verdict, FIS_REJECT);
        assert_int_equal(j.reason, FIS_GATE_NOT_FAIRER);
        assert_float_equal(j.difference, 0, 1e-12);
        fis_gate_free(g);
        fis_gate_free(twin);
        fis_learner_free(t);
    }
}

static void what_is_served_is_replaced_when_it_has_aged(void **state)
{
    (void)state;
    struct fis_gate_options o = options();
    struct fis_gate_judgement j;
    struct fis_learner *t = learner(3, &validation);
    struct fis_gate *g = gate(&o);
    float fair_but_poor[64] = {0};
    struct fis_shape s = shape();
    size_t last = fis_shape_offset(&s, 1);
    warm_up(t);
    buy_and_train(t);
    fair_but_poor[last + 8 * 2 + 1] = 1; /* always class 1: gap 0, accuracy about one half */
    fis_gate_restore(g, .6, fair_but_poor, 7);
    assert_int_equal(fis_gate_judge(g, t, &j, params, &e), 0);
    assert_int_equal(j.verdict, FIS_PUBLISH);
    assert_int_equal(j.reason, FIS_GATE_SERVED_AGED);
    assert_int_equal(j.looks, 8);
    assert_float_equal(j.served.demographic_parity, 0, 1e-12);
    fis_gate_free(g);
    fis_learner_free(t);
}

static void accuracy_below_the_floor_is_rejected(void **state)
{
    (void)state;
    struct fis_gate_options o = options();
    struct fis_gate_judgement j;
    o.rule = FIS_GATE_RULE_ALWAYS;
    o.line = false;
    struct fis_learner *t = learner(1, &validation);
    struct fis_gate *g = gate(&o);
    warm_up(t);
    params[0] = 42;
    fis_gate_restore(g, .999, fis_learner_anchor(t), 0);
    assert_int_equal(fis_gate_judge(g, t, &j, params, &e), 0);
    assert_int_equal(j.verdict, FIS_REJECT);
    assert_int_equal(j.reason, FIS_GATE_BELOW_FLOOR);
    assert_float_equal(j.floor, .979, 1e-9);
    assert_float_equal(params[0], 42, 0); /* nothing is written on reject */
    fis_gate_free(g);
    fis_learner_free(t);
}

static void too_few_rows_are_refused(void **state)
{
    (void)state;
    static struct synthetic few;
    struct fis_gate_options o = options();
    struct fis_gate_judgement j;
    synthetic_make(&few, 400, .5, 9);
    struct fis_learner *t = learner(2, &few);
    struct fis_gate *g = gate(&o);
    warm_up(t);
    assert_int_equal(fis_gate_first(g, t, &j, params, &e), 0);
    assert_non_null(strstr(j.text, "too few"));
    buy_and_train(t);
    assert_int_equal(fis_gate_judge(g, t, &j, params, &e), 0);
    assert_int_equal(j.reason, FIS_GATE_FEW_ROWS);
    assert_int_equal(j.verdict, FIS_REJECT);
    assert_in_range(j.smallest_cell, 1, 100); /* of the half that judges */
    assert_int_equal(fis_gate_smallest_cell(g, t), j.smallest_cell);
    /* What was refused has figures all the same, and no number stands for one that is missing. */
    assert_int_equal(j.pick.n, 200);
    assert_true(j.pick.accuracy > .5 && j.intervals.accuracy.low < j.pick.accuracy);
    assert_true(isnan(j.difference) && isnan(j.served.accuracy));
    o.min_rows = 100;
    o.min_cell = 10000;
    struct fis_gate *strict = gate(&o);
    assert_int_equal(fis_gate_first(strict, t, &j, params, &e), 0);
    assert_int_equal(fis_gate_judge(strict, t, &j, params, &e), 0);
    assert_int_equal(j.reason, FIS_GATE_SMALL_CELL);
    assert_int_equal(j.warn_cell, 1);
    fis_gate_free(strict);
    fis_gate_free(g);
    fis_learner_free(t);
}

static void a_class_that_is_missing_is_not_estimable(void **state)
{
    (void)state;
    static struct synthetic none;
    struct fis_gate_options o = options();
    struct fis_gate_judgement j;
    synthetic_make(&none, 800, 0, 9);
    o.metric = FIS_EQUALIZED_ODDS;
    struct fis_learner *t = learner(3, &none);
    struct fis_gate *g = gate(&o);
    warm_up(t);
    assert_int_equal(fis_gate_first(g, t, &j, params, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "cannot be estimated"));
    assert_true(isnan(fis_gate_val0(g)));
    fis_gate_free(g);
    fis_learner_free(t);
}

static void a_cell_that_is_empty_in_one_group_is_reported(void **state)
{
    (void)state;
    static struct synthetic one;
    struct fis_gate_options o = options();
    struct fis_gate_judgement j;
    synthetic_make(&one, 1200, .5, 9);
    for (uint32_t i = 0; i < one.n; i++)
        one.y[i] = one.group[i] ? 0 : one.y[i];
    o.metric = FIS_EQUALIZED_ODDS;
    struct fis_learner *t = learner(3, &one);
    struct fis_gate *g = gate(&o);
    warm_up(t);
    assert_int_equal(fis_gate_first(g, t, &j, params, &e), 0);
    assert_non_null(strstr(j.text, "cannot be estimated"));
    assert_true(isnan(j.pick.equalized_odds) && j.pick.accuracy > 0);
    buy_and_train(t);
    assert_int_equal(fis_gate_judge(g, t, &j, params, &e), 0);
    assert_int_equal(j.reason, FIS_GATE_SMALL_CELL);
    assert_true(isnan(j.pick.equalized_odds) && j.pick.n == 1200);
    assert_int_equal(fis_gate_smallest_cell(g, t), 0);
    o.metric = FIS_DEMOGRAPHIC_PARITY; /* compares groups whole, and has enough of each */
    struct fis_gate *whole = gate(&o);
    assert_int_equal(fis_gate_first(whole, t, &j, params, &e), 0);
    assert_in_range(j.smallest_cell, 400, 800);
    assert_int_equal(fis_gate_smallest_cell(whole, t), j.smallest_cell);
    fis_gate_free(whole);
    fis_gate_free(g);
    fis_learner_free(t);
}

static void a_constant_predictor_is_no_improvement(void **state)
{
    (void)state;
    struct fis_gate_options o = options();
    struct fis_gate_judgement j;
    struct fis_learner *t = learner(1, &validation);
    struct fis_shape s = shape();
    float constant[64] = {0};
    o.rule = FIS_GATE_RULE_ALWAYS;
    struct fis_gate *g = gate(&o);
    constant[fis_shape_offset(&s, 1) + 8 * 2] = 3; /* always class 0 */
    fis_learner_set_anchor(t, constant);
    assert_int_equal(fis_gate_first(g, t, &j, params, &e), 0);
    assert_non_null(strstr(j.text, "one class only"));
    assert_float_equal(j.pick.balanced_accuracy, .5, 1e-12);
    assert_int_equal(fis_gate_judge(g, t, &j, params, &e), 0);
    assert_int_equal(j.verdict, FIS_REJECT);
    assert_int_equal(j.reason, FIS_GATE_CONSTANT);
    assert_true(isnan(j.floor)); /* nothing was compared: no number stands for it */
    fis_gate_free(g);
    fis_learner_free(t);
}

static void weights_that_are_not_finite_never_pass(void **state)
{
    (void)state;
    struct fis_gate_options o = options();
    struct fis_gate_judgement j;
    struct fis_learner *t = learner(1, &validation);
    float broken[64];
    struct fis_gate *g = gate(&o);
    warm_up(t);
    memcpy(broken, fis_learner_anchor(t), sizeof broken / 64 * 50);
    fis_gate_restore(g, .5, fis_learner_anchor(t), 0);
    for (uint32_t i = 0; i < 50; i += 7)
        for (int inf = 0; inf < 2; inf++) {
            float kept = broken[i];
            broken[i] = inf ? INFINITY : NAN;
            fis_learner_set_anchor(t, broken);
            assert_int_equal(fis_gate_judge(g, t, &j, params, &e), 0);
            assert_int_equal(j.verdict, FIS_REJECT);
            assert_int_equal(j.reason, FIS_GATE_NOT_FINITE);
            struct fis_gate *start = gate(&o);
            assert_int_equal(fis_gate_first(start, t, &j, params, &e), -FIS_INPUT);
            fis_gate_free(start);
            broken[i] = kept;
        }
    fis_gate_free(g);
    fis_learner_free(t);
}

static void interpolation_ends_are_exact(void **state)
{
    (void)state;
    const float a[3] = {1.1f, -2.3f, 1e-9f}, b[3] = {.7f, 5, -4};
    float to[3];
    interpolate(a, b, 0, 3, to);
    assert_memory_equal(to, a, sizeof a);
    interpolate(a, b, 1, 3, to);
    assert_memory_equal(to, b, sizeof b);
    interpolate(a, b, .5f, 3, to);
    assert_float_equal(to[1], 1.35, 1e-6);
    const float bad[3] = {0, NAN, 0}, worse[3] = {0, 0, -INFINITY};
    assert_true(slab_finite(a, 3) && !slab_finite(bad, 3) && !slab_finite(worse, 3));
}

static int judge_with(struct fis_learner *t, uint64_t allow)
{
    struct fis_gate_options o = options();
    struct fis_shape s = shape();
    struct fis_gate_judgement j;
    fis_mem_refuse_after(allow);
    struct fis_gate *g = fis_gate_new(&o, &s, &e);
    int r = g ? fis_gate_first(g, t, &j, params, &e) : -FIS_NOMEM;
    if (r == 0)
        r = fis_gate_judge(g, t, &j, params, &e);
    fis_mem_refuse_after(UINT64_MAX);
    if (r < 0)
        assert_int_equal(r, -FIS_NOMEM);
    fis_gate_free(g);
    return r;
}

static void every_refused_allocation_is_survived(void **state)
{
    (void)state;
    struct fis_learner *t = learner(3, &validation);
    uint64_t allow = 0;
    warm_up(t);
    while (judge_with(t, allow) < 0)
        assert_true(++allow < 500);
    assert_true(allow > 20);
    fis_learner_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_of_ones_own_are_judged),
        cmocka_unit_test(the_warm_up_model_is_first),
        cmocka_unit_test(it_publishes_what_is_fairer_and_no_less_accurate),
        cmocka_unit_test(what_is_served_is_replaced_when_it_has_aged),
        cmocka_unit_test(accuracy_below_the_floor_is_rejected),
        cmocka_unit_test(too_few_rows_are_refused),
        cmocka_unit_test(a_class_that_is_missing_is_not_estimable),
        cmocka_unit_test(a_cell_that_is_empty_in_one_group_is_reported),
        cmocka_unit_test(a_constant_predictor_is_no_improvement),
        cmocka_unit_test(weights_that_are_not_finite_never_pass),
        cmocka_unit_test(interpolation_ends_are_exact),
        cmocka_unit_test(every_refused_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
