/* The networks that are published: a function of rows, options and round alone, sound, and for each
 * fold one that has not seen it. */
#include <math.h>
#include "kit/cmocka.h"

#include "core/network_scratch.h"
#include "fis/learner.h"
#include "fis/loss.h"
#include "fis/mem.h"
#include "kit/core/biased_rows.h"

static struct synthetic initial, bought, validation;
static struct fis_error e;

static int set_up(void **state)
{
    (void)state;
    synthetic_make(&initial, 300, .5, 1);
    synthetic_make(&bought, 100, .5, 2);
    synthetic_make(&validation, 500, .5, 3);
    return 0;
}

static struct fis_learner *learner(uint32_t folds, int learn_validation)
{
    struct fis_learner_options o = {.folds = folds,
                                    .learning_rate = .05f,
                                    .momentum = .9f,
                                    .batch = 32,
                                    .fresh_steps = 200,
                                    .learn_validation = learn_validation,
                                    .seed = 5};
    uint32_t hidden = 16, index;
    struct fis_rows rows = synthetic_rows(&validation);
    assert_int_equal(fis_shape_init(&o.shape, SYN_D, &hidden, 1, 2, &e), 0);
    struct fis_learner *t = fis_learner_new(&o, &e);
    assert_non_null(t);
    for (uint32_t i = 0; i < initial.n; i++)
        assert_int_equal(fis_learner_add_initial(t, initial.x[i], initial.y[i], &e), 0);
    assert_int_equal(fis_learner_set_validation(t, &rows, 2, &e), 0);
    for (uint32_t i = 0; i < bought.n; i++)
        assert_int_equal(fis_learner_add_bought(t, bought.x[i], bought.y[i], &index, &e), 0);
    return t;
}

static bool same(const struct fis_learner *t, const float *a, const float *b)
{
    return !memcmp(a, b, fis_shape_params(fis_learner_shape(t)) * sizeof *a);
}

static double loss_on(const struct fis_learner *t, const float *params, const struct synthetic *s)
{
    static float logits[SYN_MAX * 2];
    struct fis_scratch *scratch = fis_scratch_new(fis_learner_shape(t), s->n, 0);
    fis_network_forward(fis_learner_shape(t), params, &s->x[0][0], s->n, scratch, logits);
    fis_scratch_free(scratch);
    return fis_cross_entropy(logits, s->y, NULL, s->n, 2, NULL);
}

/* However the anchor got where it is: a learner that is restored makes the same networks. */
static void it_follows_from_rows_and_round_alone(void **state)
{
    (void)state;
    struct fis_learner *a = learner(3, 1), *b = learner(3, 1);
    assert_int_equal(fis_learner_train(b, 70, &e), 0);
    assert_int_equal(fis_learner_retrain(a, 4, &e), 0);
    assert_int_equal(fis_learner_retrain(b, 4, &e), 0);
    assert_true(same(a, fis_learner_end(a), fis_learner_end(b)));
    for (uint32_t h = 0; h < 3; h++)
        assert_true(same(a, fis_learner_end_of(a, h), fis_learner_end_of(b, h)));
    assert_int_equal(fis_learner_retrain(b, 5, &e), 0);
    assert_false(same(a, fis_learner_end(a), fis_learner_end(b)));
    assert_int_equal(fis_learner_train(a, 1, &e), 0); /* no longer in force */
    assert_true(same(a, fis_learner_end(a), fis_learner_end_anchor(a)));
    assert_true(same(a, fis_learner_end_of(a, 1), fis_learner_end_anchor(a)));
    fis_learner_free(a);
    fis_learner_free(b);
}

static void it_learns(void **state)
{
    (void)state;
    struct fis_learner *t = learner(1, -1);
    double before = loss_on(t, fis_learner_anchor(t), &validation);
    assert_int_equal(fis_learner_retrain(t, 1, &e), 0);
    assert_false(fis_learner_learns_validation(t)); /* one fold: nothing could judge it */
    assert_true(loss_on(t, fis_learner_end(t), &validation) < .5 * before);
    assert_true(same(t, fis_learner_end(t), fis_learner_end_of(t, 0)));
    fis_learner_free(t);
}

/* A row moves the networks of other folds than its own, and by its label, never its group. */
static void a_fold_is_judged_by_what_has_not_seen_it(void **state)
{
    (void)state;
    struct fis_learner *a = learner(3, -1);
    assert_true(fis_learner_learns_validation(a)); /* 400 labels, 500 rows */
    assert_int_equal(fis_learner_retrain(a, 1, &e), 0);
    const uint32_t own = fis_learner_fold_of(a)[11];
    validation.x[11][0] += 1; /* the folds are by group and label, and stay */
    struct fis_learner *b = learner(3, -1);
    assert_int_equal(fis_learner_retrain(b, 1, &e), 0);
    for (uint32_t h = 0; h < 3; h++)
        assert_int_equal(same(a, fis_learner_end_of(a, h), fis_learner_end_of(b, h)), h == own);
    assert_false(same(a, fis_learner_end(a), fis_learner_end(b)));
    validation.x[11][0] -= 1;
    fis_learner_free(b);
    b = learner(3, 0);
    assert_int_equal(fis_learner_retrain(b, 1, &e), 0);
    assert_true(same(b, fis_learner_end(b), fis_learner_end_of(b, 2)));
    fis_learner_free(b);
    fis_learner_free(a);
}

/* What has no finite loss leaves the anchor, and the row that is to blame is left out next time. */
static void one_that_diverges_leaves_the_anchor(void **state)
{
    (void)state;
    const float absurd[SYN_D] = {3e38f, 3e38f, 3e38f};
    struct fis_learner *t = learner(3, -1);
    uint32_t index;
    assert_int_equal(fis_learner_add_bought(t, absurd, 0, &index, &e), 0);
    assert_int_equal(fis_learner_retrain(t, 1, &e), -FIS_INPUT);
    assert_true(same(t, fis_learner_end(t), fis_learner_end_anchor(t)));
    assert_int_equal(fis_learner_counts(t).excluded, 1);
    assert_int_equal(fis_learner_retrain(t, 2, &e), 0);
    assert_false(same(t, fis_learner_end(t), fis_learner_end_anchor(t)));
    fis_learner_free(t);
}

/* Dropout leaves the mean as it is, and its gradient is that of what it left. */
static void dropout_by_finite_differences(void **state)
{
    (void)state;
    enum { N = 40, MOST = 128 };
    struct fis_shape shape;
    const uint32_t hidden[2] = {6, 5};
    struct fis_rng rng, drop;
    float params[MOST], g[MOST] = {0}, logits[N * 2], d[N * 2];
    assert_int_equal(fis_shape_init(&shape, SYN_D, hidden, 2, 2, &e), 0);
    const size_t n = fis_shape_params(&shape);
    size_t off = 0;
    assert_true(n <= MOST);
    fis_rng_seed(&rng, 3, 3);
    fis_network_init(&shape, params, &rng);
    for (size_t i = 0; i < n; i++) /* a unit whose inputs are all left out is not on its kink */
        params[i] += (float)(.1 * fis_rng_normal(&rng));
    struct fis_scratch *s = fis_scratch_new(&shape, N, 0);
    s->drop = .5f;
    s->drop_rng = &drop;
    fis_rng_seed(&drop, 1, 1);
    fis_network_forward(&shape, params, &initial.x[0][0], N, s, logits);
    (void)fis_cross_entropy(logits, initial.y, NULL, N, 2, d);
    fis_network_backward(&shape, params, &initial.x[0][0], N, s, d, g);
    for (size_t i = 0; i < n; i++) {
        double loss[2];
        for (int up = 0; up < 2; up++) {
            const float was = params[i];
            params[i] += up ? 1e-3f : -1e-3f;
            fis_rng_seed(&drop, 1, 1);
            fis_network_forward(&shape, params, &initial.x[0][0], N, s, logits);
            loss[up] = fis_cross_entropy(logits, initial.y, NULL, N, 2, NULL);
            params[i] = was;
        }
        off += fabs((loss[1] - loss[0]) / 2e-3 - (double)g[i]) > 3e-3;
    }
    assert_true(off <= n / 20); /* a unit of a row may cross its kink */
    double mean = 0, left = 0;
    const uint32_t rounds = 2000;
    for (uint32_t i = 0; i < rounds; i++) {
        fis_network_forward(&shape, params, &initial.x[0][0], 1, s, logits);
        for (int j = 0; j < 6; j++) {
            mean += (double)s->act[1][j] / rounds;
            left += s->act[1][j] > 0;
        }
    }
    s->drop_rng = NULL;
    fis_network_forward(&shape, params, &initial.x[0][0], 1, s, logits);
    double whole = 0, active = 0;
    for (int j = 0; j < 6; j++) {
        whole += (double)s->act[1][j];
        active += s->act[1][j] > 0;
    }
    assert_true(fabs(mean - whole) <= .1 * whole + 1e-6);
    assert_true(fabs(left / rounds - active / 2) <= .1 * active);
    fis_scratch_free(s);
}

static int retrain_with(uint64_t allow)
{
    struct fis_learner *t = learner(3, 1);
    fis_mem_refuse_after(allow);
    int rc = fis_learner_retrain(t, 1, &e);
    fis_mem_refuse_after(UINT64_MAX);
    assert_true(rc == 0 || rc == -FIS_NOMEM);
    if (rc < 0)
        assert_true(same(t, fis_learner_end(t), fis_learner_end_anchor(t)));
    fis_learner_free(t);
    return rc;
}

static void every_refused_allocation_is_survived(void **state)
{
    (void)state;
    uint64_t allow = 0;
    while (retrain_with(allow) < 0)
        assert_true(++allow < 100);
    assert_true(allow >= 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_follows_from_rows_and_round_alone),
        cmocka_unit_test(it_learns),
        cmocka_unit_test(a_fold_is_judged_by_what_has_not_seen_it),
        cmocka_unit_test(one_that_diverges_leaves_the_anchor),
        cmocka_unit_test(dropout_by_finite_differences),
        cmocka_unit_test(every_refused_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
