/* Noise on directions: what one example can move, how much noise there is, and what it costs. */
#include <math.h>
#include "kit/cmocka.h"

#include "core/direction_private.h"
#include "fis/learner.h"
#include "kit/core/random_case.h"
#include "kit/core/biased_rows.h"

#define N 200u

/* ---- the account ---------------------------------------------------------------------------- */

static void known_values(void **state)
{
    (void)state;
    /* mu, and epsilon at delta = 1e-5; by other means (Python's erfc). */
    static const double known[][2] = {{.1, .3406693646843256},
                                      {.5, 1.993091404415119},
                                      {1, 4.3771780956812245},
                                      {2, 9.997256146434305},
                                      {5, 33.103732335922466}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double rho = known[i][0] * known[i][0] / 2, eps = fis_privacy_epsilon(rho, 1e-5);
        assert_true(fabs(eps - known[i][1]) < 1e-7 * known[i][1]);
        /* Bun and Steinke's bound is never below what holds exactly. */
        assert_true(eps < rho + 2 * sqrt(rho * log(1e5)));
        assert_true(fabs(fis_privacy_delta(rho, eps) / 1e-5 - 1) < 1e-6);
    }
    assert_true(fabs(fis_privacy_delta(.5, 1) - .1269367375066439) < 1e-12);
    assert_true(fis_privacy_epsilon(0, 1e-5) == 0);
    assert_true(isinf(fis_privacy_epsilon(INFINITY, 1e-5)));
    assert_true(isfinite(fis_privacy_epsilon(1e6, 1e-9)));
    /* Four refreshes with noise 2 are as private as one with noise 1; one costs three releases. */
    assert_true(fabs(4 * fis_privacy_rho(2) - fis_privacy_rho(1)) < 1e-15);
    assert_true(fabs(fis_privacy_rho(1) - 1.5) < 1e-15);
}

/* ---- sensitivity ---------------------------------------------------------------------------- */

struct twin {
    struct random_case c;
    float *x;
    uint32_t *y, *group;
    struct fis_rows rows; /* another row in the place of one */
};

static void twin_make(struct twin *t, uint32_t i)
{
    assert_int_equal(random_case_number(&t->c, i, N), 0);
    t->x = fis_alloc((size_t)N * t->c.d, sizeof *t->x);
    t->y = fis_alloc(N, sizeof *t->y);
    t->group = fis_alloc(N, sizeof *t->group);
    assert_true(t->x && t->y && t->group);
    memcpy(t->x, t->c.x, (size_t)N * t->c.d * sizeof *t->x);
    memcpy(t->y, t->c.y, N * sizeof *t->y);
    memcpy(t->group, t->c.group, N * sizeof *t->group);
    t->rows = (struct fis_rows){N, t->c.d, t->x, t->y, t->group};
    uint32_t at = fis_rng_below(&t->c.rng, N);
    static const double scale[] = {1, 10, 1000};
    for (uint32_t j = 0; j < t->c.d; j++)
        t->x[(size_t)at * t->c.d + j] = random_normal(&t->c.rng, scale[i % 3]);
    t->y[at] = fis_rng_below(&t->c.rng, t->c.classes);
    t->group[at] = fis_rng_below(&t->c.rng, t->c.groups);
}

static void twin_done(struct twin *t)
{
    random_case_done(&t->c);
    fis_free(t->x);
    fis_free(t->y);
    fis_free(t->group);
}

static double distance(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    return sqrt(sum);
}

static void cells_of(const struct twin *t, const struct fis_rows *rows,
                     const struct fis_surrogate *s, struct private_cells *cells)
{
    struct fis_scratch *scratch = fis_scratch_new(&t->c.shape, N, 0);
    float *logits = fis_alloc((size_t)N * t->c.classes, sizeof *logits);
    assert_true(scratch && logits);
    fis_network_forward(&t->c.shape, t->c.w, rows->x, N, scratch, logits);
    private_cells_add(cells, s, logits, rows->y, rows->group, N, t->c.classes, t->c.groups);
    fis_scratch_free(scratch);
    fis_free(logits);
}

static double cells_distance(const struct private_cells *a, const struct private_cells *b)
{
    double sum = 0;
    for (uint32_t g = 0; g < a->sums.groups; g++)
        for (uint32_t y = 0; y < FIS_MAX_CLASSES; y++)
            sum += pow(a->rows[g][y] - b->rows[g][y], 2);
    for (int part = 0; part < PARTS; part++)
        for (uint32_t k = a->sums.first; a->sums.uses[part] && k < a->sums.last; k++)
            for (uint32_t g = 0; g < a->sums.groups; g++)
                sum += pow(a->sums.mean[part][k].at[g] - b->sums.mean[part][k].at[g], 2);
    return sqrt(sum);
}

/* Replacing any example by any other moves no release by more than the noise is made for. */
static void one_example_moves_no_more_than_the_bound(void **state)
{
    (void)state;
    static struct private_cells one, two;
    double closest[3] = {0};
    for (uint32_t i = 0; i < 4 * RANDOM_CASES; i++) {
        struct twin t;
        struct fis_privacy privacy = {.noise = 1, .clip = i % 5 ? .3 : 3};
        struct fis_direction_options o = {.privacy = &privacy};
        twin_make(&t, i);
        o.n_groups = t.c.groups;
        o.surrogate =
            (struct fis_surrogate){.metric = (enum fis_metric)(FIS_DEMOGRAPHIC_PARITY + i / 2 % 4),
                                   .form = i % 2 ? FIS_GAP_PAIRS : FIS_GAP_OVERALL,
                                   .positive = 1};
        cells_of(&t, &t.c.rows, &o.surrogate, &one);
        cells_of(&t, &t.rows, &o.surrogate, &two);
        double moved[3] = {cells_distance(&one, &two)};
        private_cells_weights(&one, &o.surrogate, 0, NULL);
        float *ga = fis_calloc(t.c.params, sizeof *ga), *gf = fis_calloc(t.c.params, sizeof *gf);
        assert_true(ga && gf);
        assert_int_equal(private_gradients(&t.c.shape, t.c.w, &t.c.rows, NULL, 0, &o, &one.sums,
                                           NULL, t.c.g_acc, t.c.g_fair, NULL),
                         0);
        assert_int_equal(private_gradients(&t.c.shape, t.c.w, &t.rows, NULL, 0, &o, &one.sums, NULL,
                                           ga, gf, NULL),
                         0);
        moved[1] = distance(ga, t.c.g_acc, t.c.params);
        moved[2] = distance(gf, t.c.g_fair, t.c.params);
        double bound[3] = {2, 2 * privacy.clip / N,
                           2 * privacy.clip * private_largest_weight(&one.sums)};
        for (int r = 0; r < 3; r++) {
            /* Sums of floats are exact to a few ulps of what is summed. */
            double slack = r == 2 ? 1e-5 * bound[2] * N : r == 1 ? 1e-5 * privacy.clip : 1e-9;
            assert_true(moved[r] <= bound[r] + slack / 10);
            closest[r] = fmax(closest[r], bound[r] > 0 ? moved[r] / bound[r] : 0);
        }
        fis_free(ga);
        fis_free(gf);
        twin_done(&t);
    }
    /* And the bounds are no larger than they need to be. */
    assert_true(closest[0] > .9 && closest[1] > .9 && closest[2] > .8);
}

/* Nothing cut off and no noise: the gradients as they are, of the last layer. */
static void without_noise_and_clip_it_is_the_gradient(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RANDOM_CASES; i++) {
        struct random_case c;
        struct fis_privacy privacy = {.noise = 1, .clip = 1e6};
        assert_int_equal(random_case_number(&c, i, N), 0);
        float *ga = fis_calloc(c.params, sizeof *ga), *gf = fis_calloc(c.params, sizeof *gf);
        struct fis_direction_options o = {
            .surrogate = {.metric = (enum fis_metric)(FIS_DEMOGRAPHIC_PARITY + i % 3),
                          .form = i % 2 ? FIS_GAP_PAIRS : FIS_GAP_OVERALL,
                          .positive = 1,
                          .min_cell = 1},
            .n_groups = c.groups};
        double phi;
        assert_true(ga && gf);
        assert_int_equal(
            fis_directions(&c.shape, c.w, &c.rows, NULL, 0, &o, c.g_acc, c.g_fair, &phi, NULL), 0);
        o.privacy = &privacy;
        assert_int_equal(
            private_gradients(&c.shape, c.w, &c.rows, NULL, 0, &o, NULL, NULL, ga, gf, NULL), 0);
        size_t at = fis_shape_offset(&c.shape, c.shape.n_layers - 1), n = c.params - at;
        float *zero = fis_calloc(c.params, sizeof *zero);
        assert_non_null(zero);
        assert_memory_equal(ga, zero, at * sizeof *ga);
        assert_memory_equal(gf, zero, at * sizeof *gf);
        assert_true(distance(ga + at, c.g_acc + at, n) <= 1e-5 * distance(ga + at, zero, n));
        assert_true(distance(gf + at, c.g_fair + at, n) <= 1e-4 * distance(gf + at, zero, n));
        fis_free(zero);
        fis_free(ga);
        fis_free(gf);
        random_case_done(&c);
    }
}

static void noise_is_as_wide_as_stated(void **state)
{
    (void)state;
    static struct private_cells cells;
    struct twin t;
    enum { TIMES = 400 };
    struct fis_privacy privacy = {.noise = 3, .clip = .5};
    struct fis_direction_options o = {.surrogate = {.metric = FIS_EQUALIZED_ODDS, .positive = 1},
                                      .privacy = &privacy};
    unsigned char key[CHACHA_KEY] = {1};
    twin_make(&t, 1);
    o.n_groups = t.c.groups;
    cells_of(&t, &t.c.rows, &o.surrogate, &cells);
    private_cells_weights(&cells, &o.surrogate, 0, NULL);
    size_t at = fis_shape_offset(&t.c.shape, t.c.shape.n_layers - 1), n = t.c.params - at;
    float *ga = fis_calloc(t.c.params, sizeof *ga), *gf = fis_calloc(t.c.params, sizeof *gf);
    assert_true(ga && gf);
    assert_int_equal(private_gradients(&t.c.shape, t.c.w, &t.c.rows, NULL, 0, &o, &cells.sums, NULL,
                                       t.c.g_acc, t.c.g_fair, NULL),
                     0);
    double square[2] = {0};
    for (uint32_t i = 0; i < TIMES; i++) {
        struct chacha_normal noise;
        chacha_normal_init(&noise, key, i);
        assert_int_equal(private_gradients(&t.c.shape, t.c.w, &t.c.rows, NULL, 0, &o, &cells.sums,
                                           &noise, ga, gf, NULL),
                         0);
        square[0] += pow(distance(ga + at, t.c.g_acc + at, n), 2);
        square[1] += pow(distance(gf + at, t.c.g_fair + at, n), 2);
    }
    double want[2] = {3 * 2 * .5 / N, 3 * 2 * .5 * private_largest_weight(&cells.sums)};
    double error = 5 * sqrt(2.0 / (double)(TIMES * n)); /* five deviations of a variance */
    for (int r = 0; r < 2; r++) {
        double variance = square[r] / (double)(TIMES * n);
        assert_true(fabs(variance / (want[r] * want[r]) - 1) < error);
    }
    fis_free(ga);
    fis_free(gf);
    twin_done(&t);
}

/* ---- the learner ---------------------------------------------------------------------------- */

static struct synthetic initial, validation;

static struct fis_learner *learner(uint32_t folds, int by_place)
{
    struct fis_learner_options o = {.folds = folds,
                                    .guided = folds == 2,
                                    .learning_rate = .05f,
                                    .momentum = .9f,
                                    .batch = 32,
                                    .split_by_place = by_place,
                                    .kept_min = 16,
                                    .average_every = 6,
                                    .seed = 3};
    const uint32_t hidden[] = {8};
    struct fis_rows rows = synthetic_rows(&validation);
    assert_int_equal(fis_shape_init(&o.shape, SYN_D, hidden, 1, 2, NULL), 0);
    struct fis_learner *t = fis_learner_new(&o, NULL);
    assert_non_null(t);
    for (uint32_t i = 0; i < initial.n; i++)
        assert_int_equal(fis_learner_add_initial(t, initial.x[i], initial.y[i], NULL), 0);
    assert_int_equal(fis_learner_set_validation(t, &rows, 2, NULL), 0);
    assert_int_equal(fis_learner_warm_up(t, 60, NULL), 0);
    return t;
}

static struct fis_direction_options options(const struct fis_privacy *p, int precondition)
{
    return (struct fis_direction_options){
        .surrogate = {.metric = FIS_EQUALIZED_ODDS, .form = FIS_GAP_OVERALL, .positive = 1},
        .n_groups = 2,
        .precondition = precondition,
        .damping = .01,
        .privacy = p};
}

static size_t params_of(const struct fis_learner *t)
{
    return fis_shape_params(fis_learner_shape(t));
}

static int same_directions(const struct fis_learner *a, const struct fis_learner *b)
{
    size_t bytes = params_of(a) * sizeof(float);
    return !memcmp(fis_learner_direction(a, 0), fis_learner_direction(b, 0), bytes) &&
           !memcmp(fis_learner_direction(a, 1), fis_learner_direction(b, 1), bytes);
}

static int make_sets(void **state)
{
    (void)state;
    synthetic_make(&initial, 300, .5, 1);
    synthetic_make(&validation, 600, .5, 2);
    return 0;
}

static void a_refresh_is_charged_and_follows_from_the_key(void **state)
{
    (void)state;
    for (uint32_t folds = 2; folds <= 3; folds++) {
        struct fis_privacy p = {.noise = 4, .clip = 1, .key = {1}}, other = p;
        struct fis_learner *a = learner(folds, 1), *b = learner(folds, 1);
        other.key[0] = 2;
        struct fis_direction_options o = options(&p, 1), with = options(&other, 1);
        assert_int_equal(fis_learner_refresh(a, &o, NULL, NULL), 0);
        assert_int_equal(fis_learner_refresh(b, &o, NULL, NULL), 0);
        assert_true(same_directions(a, b));
        assert_int_equal(fis_learner_refresh(b, &with, NULL, NULL), 0);
        assert_false(same_directions(a, b));
        /* Again, of the same: other noise. */
        assert_int_equal(fis_learner_refresh(a, &o, NULL, NULL), 0);
        struct fis_privacy_account spent = fis_learner_privacy(a);
        assert_int_equal(spent.refreshes, 2);
        assert_int_equal(spent.exact, 0);
        assert_true(fabs(spent.rho - 2 * fis_privacy_rho(4)) < 1e-15);
        /* Without noise after some with it: no epsilon holds, and that is reported. */
        struct fis_direction_options exact = options(NULL, 1);
        assert_int_equal(fis_learner_refresh(a, &exact, NULL, NULL), 0);
        assert_int_equal(fis_learner_privacy(a).exact, 1);
        assert_int_equal(fis_learner_privacy(a).refreshes, 2);
        fis_learner_free(a);
        fis_learner_free(b);
    }
}

static void after_a_restart_the_same_is_free_and_another_is_not(void **state)
{
    (void)state;
    struct fis_privacy p = {.noise = 4, .clip = 1, .key = {1}}, other = {4, 1, {2}};
    struct fis_direction_options o = options(&p, 1), with = options(&other, 1);
    struct fis_learner *a = learner(2, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fis_learner_refresh(a, &o, NULL, NULL), 0);
    struct fis_privacy_account spent = fis_learner_privacy(a);
    assert_int_equal(spent.refreshes, 3);

    struct fis_learner *b = learner(2, 1);
    fis_learner_set_privacy(b, &spent);
    assert_int_equal(fis_learner_refresh(b, &o, NULL, NULL), 0);
    assert_true(same_directions(a, b));
    struct fis_privacy_account now = fis_learner_privacy(b);
    assert_memory_equal(&now, &spent, sizeof now);
    /* Then both go on alike, with new noise. */
    assert_int_equal(fis_learner_refresh(a, &o, NULL, NULL), 0);
    assert_false(same_directions(a, b));
    assert_int_equal(fis_learner_refresh(b, &o, NULL, NULL), 0);
    assert_true(same_directions(a, b));
    assert_int_equal(fis_learner_privacy(b).refreshes, 4);
    fis_learner_free(b);

    b = learner(2, 1); /* another key */
    fis_learner_set_privacy(b, &spent);
    assert_int_equal(fis_learner_refresh(b, &with, NULL, NULL), 0);
    assert_int_equal(fis_learner_privacy(b).refreshes, 4);
    fis_learner_free(b);
    fis_learner_free(a);
}

/* Were the noise the same, the difference would be what the example has moved, and small. */
static void another_example_never_gets_the_same_noise(void **state)
{
    (void)state;
    struct fis_privacy p = {.noise = 50, .clip = 1, .key = {1}};
    struct fis_direction_options o = options(&p, 0);
    struct fis_learner *a = learner(3, 1);
    assert_int_equal(fis_learner_refresh(a, &o, NULL, NULL), 0);
    struct fis_privacy_account spent = fis_learner_privacy(a);
    uint32_t kept = validation.group[5];
    validation.group[5] = !kept;
    struct fis_learner *b = learner(3, 1);
    validation.group[5] = kept;
    fis_learner_set_privacy(b, &spent);
    assert_int_equal(fis_learner_refresh(b, &o, NULL, NULL), 0);
    assert_int_equal(fis_learner_privacy(b).refreshes, 2);
    double moved = distance(fis_learner_direction(a, 0), fis_learner_direction(b, 0), params_of(a));
    assert_true(moved > 10 * 2 * p.clip / (validation.n / 2));
    fis_learner_free(a);
    fis_learner_free(b);
}

/* What an example is moves no other one from half to half. */
static void halves_by_place(void **state)
{
    (void)state;
    for (int by_place = 0; by_place < 2; by_place++) {
        struct fis_learner *a = learner(2, by_place);
        uint32_t group = validation.group[7], y = validation.y[7], moved = 0;
        validation.group[7] = !group;
        validation.y[7] = !y;
        struct fis_learner *b = learner(2, by_place);
        validation.group[7] = group;
        validation.y[7] = y;
        for (uint32_t i = 0; i < validation.n; i++)
            moved += fis_learner_fold_of(a)[i] != fis_learner_fold_of(b)[i];
        assert_true(by_place ? moved == 0 : moved > 1);
        fis_learner_free(a);
        fis_learner_free(b);
    }
}

static void refused(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_privacy p = {.noise = 4, .clip = 1}, none = {.noise = 0, .clip = 1};
    struct fis_direction_options o = options(&p, 1), zero = options(&none, 1);
    struct fis_learner *t = learner(2, 0);
    assert_int_equal(fis_learner_refresh(t, &o, NULL, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "by place"));
    fis_learner_free(t);
    t = learner(2, 1);
    assert_int_equal(fis_learner_refresh(t, &zero, NULL, &e), -FIS_INPUT);
    assert_int_equal(fis_learner_privacy(t).refreshes, 0);
    assert_true(fis_learner_privacy(t).rho == 0);
    fis_learner_free(t);
}

/* With little noise the directions point where the exact ones of the last layer do. */
static void little_noise_is_the_direction(void **state)
{
    (void)state;
    for (int precondition = 0; precondition < 2; precondition++) {
        struct fis_privacy p = {.noise = 1e-6, .clip = 100, .key = {1}};
        struct fis_direction_options o = options(&p, precondition);
        struct fis_direction_options exact = options(NULL, precondition);
        struct fis_learner *a = learner(2, 1), *b = learner(2, 1);
        assert_int_equal(fis_learner_refresh(a, &o, NULL, NULL), 0);
        assert_int_equal(fis_learner_refresh(b, &exact, NULL, NULL), 0);
        size_t at = fis_shape_offset(fis_learner_shape(a), 1), n = params_of(a) - at;
        for (int which = 0; which < 2; which++) {
            const float *x = fis_learner_direction(a, which) + at;
            const float *y = fis_learner_direction(b, which) + at;
            double xy = 0, xx = 0, yy = 0;
            for (size_t i = 0; i < n; i++) {
                xy += (double)x[i] * y[i];
                xx += (double)x[i] * x[i];
                yy += (double)y[i] * y[i];
            }
            assert_true(xy / sqrt(xx * yy) > (precondition ? .8 : .99));
        }
        fis_learner_free(a);
        fis_learner_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(one_example_moves_no_more_than_the_bound),
        cmocka_unit_test(without_noise_and_clip_it_is_the_gradient),
        cmocka_unit_test(noise_is_as_wide_as_stated),
        cmocka_unit_test(a_refresh_is_charged_and_follows_from_the_key),
        cmocka_unit_test(after_a_restart_the_same_is_free_and_another_is_not),
        cmocka_unit_test(another_example_never_gets_the_same_noise),
        cmocka_unit_test(halves_by_place),
        cmocka_unit_test(refused),
        cmocka_unit_test(little_noise_is_the_direction),
    };
    return cmocka_run_group_tests(tests, make_sets, NULL);
}
