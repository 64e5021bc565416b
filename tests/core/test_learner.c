#include <math.h>
#include "kit/cmocka.h"

#include "fis/loss.h"
#include "fis/mem.h"
#include "fis/learner.h"
#include "kit/core/biased_rows.h"

static struct synthetic initial, bought, validation;

static struct fis_learner_options options(bool mixed, uint32_t folds)
{
    struct fis_learner_options o = {
        .mixed = mixed,
        .folds = folds,
        .learning_rate = .05f,
        .momentum = .9f,
        .weight_decay = 5e-4f,
        .batch = 32,
        .mix = .25f,
        .kept_min = 16,
        .average_every = 6,
        .seed = 5,
    };
    uint32_t hidden = 8;
    struct fis_error e;
    assert_int_equal(fis_shape_init(&o.shape, SYN_D, &hidden, 1, 2, &e), 0);
    return o;
}

static struct fis_learner *learner(const struct fis_learner_options *o)
{
    struct fis_error e;
    struct fis_rows rows = synthetic_rows(&validation);
    struct fis_learner *t = fis_learner_new(o, &e);
    assert_non_null(t);
    for (uint32_t i = 0; i < initial.n; i++)
        assert_int_equal(fis_learner_add_initial(t, initial.x[i], initial.y[i], &e), 0);
    assert_int_equal(fis_learner_set_validation(t, &rows, 2, &e), 0);
    return t;
}

static struct fis_direction_options directions(int precondition)
{
    return (struct fis_direction_options){
        .surrogate = {FIS_DEMOGRAPHIC_PARITY, FIS_GAP_PAIRS, 1, 10},
        .n_groups = 2,
        .precondition = precondition,
        .damping = .01,
    };
}

static void buy(struct fis_learner *t, uint32_t n)
{
    struct fis_error e;
    uint32_t index;
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(fis_learner_add_bought(t, bought.x[i], bought.y[i], &index, &e), 0);
        (void)fis_learner_check(t, index, NULL, NULL);
    }
}

static void assert_same(const float *a, const float *b, const struct fis_learner_options *o)
{
    assert_memory_equal(a, b, fis_shape_params(&o->shape) * sizeof *a);
}

static int set_up(void **state)
{
    (void)state;
    synthetic_make(&initial, 300, .5, 1);
    synthetic_make(&bought, 200, .5, 2);
    synthetic_make(&validation, 601, .5, 3);
    return 0;
}

static void warm_up_is_resumable_and_learns(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_learner_options o = options(false, 1);
    struct fis_learner *a = learner(&o), *b = learner(&o);
    assert_int_equal(fis_learner_epoch_steps(a), 10);
    assert_int_equal(fis_learner_warm_up(a, 1, &e), 0);
    double first = fis_learner_counts(a).last_loss;
    assert_int_equal(fis_learner_warm_up(a, 99, &e), 0);
    assert_int_equal(fis_learner_warm_up(b, 50, &e), 0);
    assert_int_equal(fis_learner_warm_up(b, 50, &e), 0);
    assert_same(fis_learner_anchor(a), fis_learner_anchor(b), &o);
    assert_int_equal(fis_learner_counts(a).steps, 100);
    assert_true(fis_learner_counts(a).last_loss < .7 * first);
    fis_learner_free(a);
    fis_learner_free(b);
}

/* One layer, the whole set a batch: Nesterov as PyTorch documents it, in double. */
static void steps_are_nesterov_with_weight_decay(void **state)
{
    (void)state;
    enum { P = SYN_D * 2 + 2, STEPS = 5 };
    struct fis_error e;
    struct fis_learner_options o = options(false, 1);
    o.batch = 300;
    assert_int_equal(fis_shape_init(&o.shape, SYN_D, NULL, 0, 2, &e), 0);
    struct fis_learner *t = learner(&o);
    double w[P], m[P] = {0};
    for (int i = 0; i < P; i++)
        w[i] = (double)fis_learner_anchor(t)[i];
    for (int step = 0; step < STEPS; step++) {
        double g[P] = {0};
        for (uint32_t r = 0; r < initial.n; r++) {
            double z[2] = {w[6], w[7]};
            for (uint32_t j = 0; j < SYN_D; j++)
                for (uint32_t k = 0; k < 2; k++)
                    z[k] += (double)initial.x[r][j] * w[j * 2 + k];
            double p1 = 1 / (1 + exp(z[0] - z[1]));
            double dz[2] = {1 - p1 - (initial.y[r] == 0), p1 - (initial.y[r] == 1)};
            for (uint32_t k = 0; k < 2; k++) {
                g[6 + k] += dz[k] / initial.n;
                for (uint32_t j = 0; j < SYN_D; j++)
                    g[j * 2 + k] += dz[k] * (double)initial.x[r][j] / initial.n;
            }
        }
        for (int i = 0; i < P; i++) {
            g[i] += 5e-4 * w[i];
            m[i] = .9 * m[i] + g[i];
            w[i] -= .05 * (g[i] + .9 * m[i]);
        }
        assert_int_equal(fis_learner_warm_up(t, 1, &e), 0);
        for (int i = 0; i < P; i++)
            assert_float_equal(fis_learner_anchor(t)[i], w[i], 1e-5);
    }
    fis_learner_free(t);
}

/* With `mixed` what is kept has its share of the batches, and what is not is not learnt from. */
static void kept_rows_count_only_when_mixed(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_direction_options d = directions(1);
    for (int mixed = 0; mixed < 2; mixed++) {
        struct fis_learner_options o = options(mixed, 1);
        o.mix = 0;
        struct fis_learner *t = learner(&o), *twin = learner(&o);
        size_t bytes = fis_shape_params(&o.shape) * sizeof(float);
        assert_int_equal(fis_learner_refresh(t, &d, NULL, &e), 0);
        buy(t, 200);
        assert_true(fis_learner_counts(t).kept >= 32);
        assert_int_equal(fis_learner_train(t, 30, &e), 0);
        assert_int_equal(fis_learner_train(twin, 30, &e), 0);
        /* A share of 0 of the kept ones: as if nothing had been bought. */
        assert_int_equal(!memcmp(fis_learner_anchor(t), fis_learner_anchor(twin), bytes), mixed);
        fis_learner_free(t);
        fis_learner_free(twin);
    }
}

/* Of a round of `steps`, the mean of iterates first, first + 6, … */
static void see_average(const struct fis_learner_options *o, uint32_t steps, uint32_t first)
{
    struct fis_error e;
    struct fis_learner *t = learner(o), *walk = learner(o);
    const size_t n = fis_shape_params(&o->shape);
    const uint32_t count = (steps - first) / 6 + 1;
    double mean[64] = {0};
    assert_true(n <= 64);
    fis_learner_round_begin(t);
    fis_learner_round_begin(walk);
    assert_int_equal(fis_learner_train(t, first - 1, &e), 0);
    assert_same(fis_learner_end_anchor(t), fis_learner_anchor(t), o); /* no average yet */
    assert_int_equal(fis_learner_train(t, steps - first + 1, &e), 0);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(fis_learner_train(walk, i ? 6 : first, &e), 0);
        for (size_t j = 0; j < n; j++)
            mean[j] += (double)fis_learner_anchor(walk)[j] / count;
    }
    for (size_t j = 0; j < n; j++)
        assert_float_equal(fis_learner_end_anchor(t)[j], mean[j], 1e-5);
    fis_learner_free(t);
    fis_learner_free(walk);
}

static void averages_are_of_every_sixth_iterate(void **state)
{
    (void)state;
    struct fis_learner_options o = options(false, 1);
    see_average(&o, 20, 6);
    o.adamw = true; /* and a rate that falls over the round: of its last quarter */
    o.fall = 60;
    see_average(&o, 60, 48);
}

static void check_agrees_with_the_naive_influence(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_direction_options d = directions(0);
    struct fis_learner_options o = options(false, 1);
    struct fis_learner *t = learner(&o);
    uint32_t kept = 0, index;
    assert_int_equal(fis_learner_warm_up(t, 100, &e), 0);
    assert_int_equal(fis_learner_refresh(t, &d, NULL, &e), 0);
    for (uint32_t i = 0; i < 100; i++) {
        double acc[2], fair[2];
        float a = 0, f = 0;
        uint32_t y = bought.y[i];
        assert_int_equal(fis_learner_add_bought(t, bought.x[i], y, &index, &e), 0);
        bool keeps = fis_learner_check(t, index, &a, &f);
        assert_int_equal(fis_influence_naive(&o.shape, fis_learner_anchor(t), bought.x[i],
                                             fis_learner_direction(t, FIS_DIRECTION_ACCURACY),
                                             fis_learner_direction(t, FIS_DIRECTION_FAIRNESS), acc,
                                             fair, &e),
                         0);
        assert_true(fabs((double)a - acc[y]) <= 1e-5 + 1e-4 * fabs(acc[y]));
        assert_true(fabs((double)f - fair[y]) <= 1e-5 + 1e-4 * fabs(fair[y]));
        assert_int_equal(keeps, a <= 0 && f <= 0);
        assert_int_equal(fis_learner_is_kept(t, index), keeps);
        kept += keeps;
    }
    assert_true(kept > 5 && kept < 95);
    assert_int_equal(fis_learner_counts(t).kept, kept);
    assert_int_equal(fis_learner_review(t), 0); /* the same head: nothing changes sides */
    assert_int_equal(fis_learner_train(t, 100, &e), 0);
    assert_int_equal(fis_learner_refresh(t, &d, NULL, &e), 0);
    assert_true(fis_learner_review(t) > 0);
    fis_learner_free(t);
}

static void folds_are_stratified(void **state)
{
    (void)state;
    for (uint32_t folds = 1; folds <= FIS_MAX_FOLDS; folds++) {
        struct fis_learner_options o = options(false, folds);
        struct fis_learner *t = learner(&o);
        int by[FIS_MAX_FOLDS][4] = {{0}}, all[FIS_MAX_FOLDS] = {0};
        for (uint32_t i = 0; i < validation.n; i++) {
            assert_true(fis_learner_fold_of(t)[i] < folds);
            by[fis_learner_fold_of(t)[i]][validation.group[i] * 2 + validation.y[i]]++;
            all[fis_learner_fold_of(t)[i]]++;
        }
        for (uint32_t h = 1; h < folds; h++) {
            for (int c = 0; c < 4; c++)
                assert_in_range(by[0][c] - by[h][c] + 1, 0, 2);
            assert_in_range(all[0] - all[h] + 1, 0, 2);
        }
        fis_learner_free(t);
    }
}

static void roll_back_is_exact(void **state)
{
    (void)state;
    struct fis_error e;
    float before[64];
    struct fis_direction_options d = directions(0);
    struct fis_learner_options o = options(true, 1);
    struct fis_learner *t = learner(&o);
    assert_int_equal(fis_learner_warm_up(t, 50, &e), 0);
    assert_int_equal(fis_learner_refresh(t, &d, NULL, &e), 0);
    buy(t, 200);
    fis_learner_round_begin(t);
    memcpy(before, fis_learner_anchor(t), fis_shape_params(&o.shape) * sizeof *before);
    uint64_t steps = fis_learner_counts(t).steps;
    assert_int_equal(fis_learner_train(t, 40, &e), 0);
    assert_memory_not_equal(before, fis_learner_anchor(t), sizeof *before);
    fis_learner_roll_back(t);
    assert_same(before, fis_learner_anchor(t), &o);
    assert_same(before, fis_learner_end_anchor(t), &o);
    assert_int_equal(fis_learner_counts(t).steps, steps);
    fis_learner_free(t);
}

static void divergence_leaves_weights_as_they_were(void **state)
{
    (void)state;
    struct fis_error e;
    float before[64];
    struct fis_learner_options o = options(false, 2);
    o.learning_rate = 1e6f;
    o.weight_decay = .5f;
    struct fis_learner *t = learner(&o);
    memcpy(before, fis_learner_anchor(t), fis_shape_params(&o.shape) * sizeof *before);
    assert_int_equal(fis_learner_warm_up(t, 200, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "not finite"));
    assert_same(before, fis_learner_anchor(t), &o);
    assert_int_equal(fis_learner_counts(t).steps, 0);
    assert_int_equal(fis_learner_train(t, 200, &e), -FIS_INPUT);
    assert_same(before, fis_learner_anchor(t), &o);
    assert_int_equal(fis_learner_counts(t).excluded, 0);
    fis_learner_free(t);
}

static void an_absurd_row_spoils_one_round_only(void **state)
{
    (void)state;
    struct fis_error e;
    uint32_t index;
    float before[64];
    const float absurd[SYN_D] = {3e38f, 3e38f, 3e38f};
    struct fis_direction_options d = directions(0);
    struct fis_learner_options o = options(false, 2);
    struct fis_learner *t = learner(&o);
    assert_int_equal(fis_learner_warm_up(t, 100, &e), 0);
    assert_int_equal(fis_learner_refresh(t, &d, NULL, &e), 0);
    buy(t, 50);
    assert_int_equal(fis_learner_add_bought(t, absurd, 0, &index, &e), 0);
    (void)fis_learner_check(t, index, NULL, NULL);
    memcpy(before, fis_learner_anchor(t), fis_shape_params(&o.shape) * sizeof *before);
    fis_learner_round_begin(t);
    assert_int_equal(fis_learner_train(t, 60, &e), -FIS_INPUT);
    assert_same(before, fis_learner_anchor(t), &o);
    assert_int_equal(fis_learner_counts(t).excluded, 1);
    assert_int_equal(fis_learner_is_kept(t, index), 0);
    assert_int_equal(fis_learner_train(t, 60, &e), 0);
    (void)fis_learner_review(t);
    assert_int_equal(fis_learner_is_kept(t, index), 0);
    fis_learner_free(t);
}

static void bad_rows_and_options_are_refused(void **state)
{
    (void)state;
    struct fis_error e;
    uint32_t index;
    const float bad[SYN_D] = {0, NAN, 0}, fine[SYN_D] = {0, 0, 0};
    struct fis_learner_options o = options(false, 2), broken;
    struct fis_learner *t = learner(&o);
    assert_int_equal(fis_learner_add_initial(t, bad, 0, &e), -FIS_INPUT);
    assert_int_equal(fis_learner_add_bought(t, bad, 0, &index, &e), -FIS_INPUT);
    assert_int_equal(fis_learner_add_bought(t, fine, 2, &index, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "class 2"));
    assert_int_equal(fis_learner_counts(t).bought, 0);
    struct fis_rows rows = synthetic_rows(&validation);
    assert_int_equal(fis_learner_set_validation(t, &rows, 1, &e), -FIS_INPUT);
    rows.d = 2;
    assert_int_equal(fis_learner_set_validation(t, &rows, 2, &e), -FIS_INPUT);
    fis_learner_free(t);
    broken = o;
    broken.folds = FIS_MAX_FOLDS + 1;
    assert_null(fis_learner_new(&broken, &e));
    broken = o;
    broken.folds = 3;
    broken.guided = true;
    assert_null(fis_learner_new(&broken, &e));
    broken = o;
    broken.learning_rate = NAN;
    assert_null(fis_learner_new(&broken, &e));
    broken = o;
    broken.batch = 0;
    assert_null(fis_learner_new(&broken, &e));
    t = fis_learner_new(&o, &e);
    assert_int_equal(fis_learner_warm_up(t, 1, &e), -FIS_INPUT); /* no rows */
    struct fis_direction_options d = directions(0);
    assert_int_equal(fis_learner_refresh(t, &d, NULL, &e), -FIS_INPUT);
    fis_learner_free(t);
}

static void a_failed_refresh_keeps_the_head(void **state)
{
    (void)state;
    struct fis_error e;
    double cosine = 0;
    struct fis_direction_options d = directions(1);
    struct fis_learner_options o = options(false, 2);
    struct fis_learner *t = learner(&o);
    assert_int_equal(fis_learner_warm_up(t, 50, &e), 0);
    assert_null(fis_learner_panel(t));
    assert_int_equal(fis_learner_refresh(t, &d, &cosine, &e), 0);
    assert_true(isnan(cosine));
    struct fis_panel *panel = fis_learner_panel(t);
    d.surrogate.min_cell = 500;
    assert_int_equal(fis_learner_refresh(t, &d, &cosine, &e), -FIS_INPUT);
    assert_ptr_equal(fis_learner_panel(t), panel);
    d.surrogate.min_cell = 10;
    assert_int_equal(fis_learner_refresh(t, &d, &cosine, &e), 0);
    assert_float_equal(cosine, 1, 1e-6);
    fis_learner_free(t);
}

static int everything(uint64_t allow)
{
    struct fis_error e;
    struct fis_rows rows = synthetic_rows(&validation);
    struct fis_direction_options d = directions(1);
    struct fis_learner_options o = options(false, 2);
    uint32_t index;
    fis_mem_refuse_after(allow);
    struct fis_learner *t = fis_learner_new(&o, &e);
    int r = t ? 0 : -1;
    for (uint32_t i = 0; r == 0 && i < initial.n; i++)
        r = fis_learner_add_initial(t, initial.x[i], initial.y[i], &e);
    if (r == 0)
        r = fis_learner_set_validation(t, &rows, 2, &e);
    if (r == 0)
        r = fis_learner_refresh(t, &d, NULL, &e);
    for (uint32_t i = 0; r == 0 && i < 20; i++)
        r = fis_learner_add_bought(t, bought.x[i], bought.y[i], &index, &e);
    if (r == 0)
        r = fis_learner_train(t, 3, &e);
    fis_mem_refuse_after(UINT64_MAX);
    if (r < 0)
        assert_int_equal(e.kind, FIS_NOMEM);
    fis_learner_free(t);
    return r < 0;
}

static void every_refused_allocation_is_survived(void **state)
{
    (void)state;
    uint64_t allow = 0;
    while (everything(allow))
        assert_true(++allow < 500);
    assert_true(allow > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warm_up_is_resumable_and_learns),
        cmocka_unit_test(steps_are_nesterov_with_weight_decay),
        cmocka_unit_test(kept_rows_count_only_when_mixed),
        cmocka_unit_test(averages_are_of_every_sixth_iterate),
        cmocka_unit_test(check_agrees_with_the_naive_influence),
        cmocka_unit_test(folds_are_stratified),
        cmocka_unit_test(roll_back_is_exact),
        cmocka_unit_test(divergence_leaves_weights_as_they_were),
        cmocka_unit_test(an_absurd_row_spoils_one_round_only),
        cmocka_unit_test(bad_rows_and_options_are_refused),
        cmocka_unit_test(a_failed_refresh_keeps_the_head),
        cmocka_unit_test(every_refused_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
