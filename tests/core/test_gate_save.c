/* The gate from one process to the next, and what is served held in place. */
#include <math.h>
#include "kit/cmocka.h"

#include "fis/gate.h"
#include "fis/mem.h"
#include "kit/core/biased_rows.h"

#define ROUNDS 6u
#define LABELS 90u
#define SLAB 64u

static struct synthetic initial, bought, validation;
static struct fis_error e;

static int set_up(void **state)
{
    (void)state;
    synthetic_make(&initial, 400, .5, 1);
    synthetic_make(&bought, ROUNDS * LABELS, .5, 2);
    synthetic_make(&validation, 1200, .5, 3);
    return 0;
}

static struct fis_shape shape(void)
{
    struct fis_shape s;
    uint32_t hidden = 8;
    assert_int_equal(fis_shape_init(&s, SYN_D, &hidden, 1, 2, &e), 0);
    assert_true(fis_shape_params(&s) <= SLAB);
    return s;
}

static struct fis_learner *learner(uint32_t folds)
{
    struct fis_learner_options o = {.shape = shape(),
                                    .folds = folds,
                                    .learning_rate = .05f,
                                    .momentum = .9f,
                                    .batch = 64,
                                    .kept_min = 16,
                                    .average_every = 6,
                                    .seed = 5};
    struct fis_rows rows = synthetic_rows(&validation);
    struct fis_learner *t = fis_learner_new(&o, &e);
    assert_non_null(t);
    for (uint32_t i = 0; i < initial.n; i++)
        assert_int_equal(fis_learner_add_initial(t, initial.x[i], initial.y[i], &e), 0);
    assert_int_equal(fis_learner_set_validation(t, &rows, 2, &e), 0);
    assert_int_equal(fis_learner_warm_up(t, 100, &e), 0);
    return t;
}

/* Little is asked of a new version, so that there are some of each verdict. */
static struct fis_gate *gate(bool line)
{
    struct fis_shape s = shape();
    struct fis_gate_options o = {.metric = FIS_DEMOGRAPHIC_PARITY,
                                 .positive = 1,
                                 .epsilon = .02,
                                 .line = line,
                                 .min_rows = 500,
                                 .min_cell = 30,
                                 .warn_cell = 100,
                                 .rule = FIS_GATE_RULE_FAIRER,
                                 .standard_errors = .5,
                                 .resamples = 60,
                                 .seed = 4};
    struct fis_gate *g = fis_gate_new(&o, &s, &e);
    assert_non_null(g);
    return g;
}

static void train_round(struct fis_learner *t, uint32_t round)
{
    struct fis_direction_options d = {.surrogate = {FIS_DEMOGRAPHIC_PARITY, FIS_GAP_PAIRS, 1, 10},
                                      .n_groups = 2};
    uint32_t index;
    assert_int_equal(fis_learner_refresh(t, &d, NULL, &e), 0);
    for (uint32_t i = round * LABELS; i < (round + 1) * LABELS; i++) {
        assert_int_equal(fis_learner_add_bought(t, bought.x[i], bought.y[i], &index, &e), 0);
        (void)fis_learner_check(t, index, NULL, NULL);
    }
    fis_learner_round_begin(t);
    assert_int_equal(fis_learner_train(t, 60, &e), 0);
}

struct judged_round {
    struct fis_gate_judgement j;
    float params[SLAB], picked[SLAB];
};

static void judge(struct fis_gate *g, const struct fis_learner *t, struct judged_round *out)
{
    size_t bytes = fis_shape_params(fis_learner_shape(t)) * sizeof(float);
    memset(out, 0, sizeof *out);
    assert_int_equal(fis_gate_judge(g, t, &out->j, out->params, &e), 0);
    assert_non_null(fis_gate_picked(g));
    memcpy(out->picked, fis_gate_picked(g), bytes);
}

static void assert_same_bits(double a, double b)
{
    assert_memory_equal(&a, &b, sizeof a);
}

static void assert_same_figures(const struct judged_round *a, const struct judged_round *b)
{
    assert_same_bits(a->j.difference, b->j.difference);
    assert_same_bits(a->j.difference_se, b->j.difference_se);
    assert_same_bits(a->j.floor, b->j.floor);
    assert_same_bits(a->j.interpolation, b->j.interpolation);
    assert_same_bits(a->j.pick.accuracy, b->j.pick.accuracy);
    assert_same_bits(a->j.pick.demographic_parity, b->j.pick.demographic_parity);
    assert_same_bits(a->j.served.accuracy, b->j.served.accuracy);
    assert_same_bits(a->j.served.demographic_parity, b->j.served.demographic_parity);
    assert_same_bits(a->j.intervals.demographic_parity.low, b->j.intervals.demographic_parity.low);
    assert_int_equal(a->j.looks, b->j.looks);
    assert_memory_equal(a->picked, b->picked, sizeof a->picked);
}

static void assert_same(const struct judged_round *a, const struct judged_round *b)
{
    assert_same_figures(a, b);
    assert_int_equal(a->j.verdict, b->j.verdict);
    assert_int_equal(a->j.reason, b->j.reason);
    assert_string_equal(a->j.text, b->j.text);
    assert_memory_equal(a->params, b->params, sizeof a->params);
}

struct blob {
    unsigned char *bytes;
    size_t size;
};

static struct blob save(const struct fis_gate *g)
{
    struct blob b = {.size = fis_gate_save_size(g)};
    b.bytes = malloc(b.size);
    assert_non_null(b.bytes);
    fis_gate_save(g, b.bytes);
    return b;
}

static void judgements_go_on_to_the_bit(void **state)
{
    (void)state;
    uint32_t published = 0, rejected = 0;
    for (uint32_t folds = 1; folds <= 3; folds += 2) {
        struct fis_learner *t = learner(folds);
        struct fis_gate *g = gate(true), *twin = NULL;
        struct judged_round a, b;
        assert_int_equal(fis_gate_first(g, t, &a.j, a.params, &e), 0);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            struct blob saved = save(g);
            fis_gate_free(twin);
            twin = gate(true);
            assert_int_equal(fis_gate_load(twin, saved.bytes, saved.size, &e), 0);
            assert_null(fis_gate_picked(twin));
            free(saved.bytes);
            train_round(t, round);
            judge(g, t, &a);
            judge(twin, t, &b);
            assert_same(&a, &b);
            assert_same_bits(fis_gate_val0(g), fis_gate_val0(twin));
            published += a.j.verdict == FIS_PUBLISH;
            rejected += a.j.verdict == FIS_REJECT;
        }
        fis_gate_free(g);
        fis_gate_free(twin);
        fis_learner_free(t);
    }
    assert_true(published > 0 && rejected > 0);
}

/* Through every round beside one that is free: the figures are the same until the free one has
 * published, and what is served never changes. */
static void what_is_held_is_served_on(void **state)
{
    (void)state;
    struct fis_learner *t = learner(3);
    struct fis_gate *g = gate(true), *held = gate(true);
    struct judged_round a, b;
    uint32_t pinned = 0, looks = 24; /* where they stand in the bytes */
    assert_int_equal(fis_gate_first(g, t, &a.j, a.params, &e), 0);
    assert_int_equal(fis_gate_first(held, t, &b.j, b.params, &e), 0);
    fis_gate_hold(held, true);
    struct blob before = save(held);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        train_round(t, round);
        judge(g, t, &a);
        judge(held, t, &b);
        assert_int_equal(b.j.verdict, FIS_REJECT);
        pinned += b.j.reason == FIS_GATE_PINNED;
        if (pinned == 1 && b.j.reason == FIS_GATE_PINNED) {
            assert_same_figures(&a, &b);
            assert_int_equal(a.j.verdict, FIS_PUBLISH);
            assert_non_null(strstr(b.j.text, "rejected: pinned: "));
            assert_memory_equal(b.picked, a.params, sizeof a.params);
        }
        struct blob now = save(held);
        assert_memory_equal(now.bytes, before.bytes, looks);
        assert_memory_equal(now.bytes + looks + 4, before.bytes + looks + 4,
                            before.size - looks - 4);
        free(now.bytes);
    }
    assert_true(pinned > 0);
    assert_string_equal(fis_gate_reason_name(FIS_GATE_PINNED), "pinned");
    fis_gate_hold(held, false);
    judge(held, t, &b);
    assert_int_not_equal(b.j.reason, FIS_GATE_PINNED);
    free(before.bytes);
    fis_gate_free(g);
    fis_gate_free(held);
    fis_learner_free(t);
}

/* The pick of a rejection is the model that its figures are of. */
static void a_rejected_pick_can_be_had(void **state)
{
    (void)state;
    struct fis_learner *t = learner(1);
    struct fis_gate *g = gate(false);
    struct judged_round a;
    size_t bytes = fis_shape_params(fis_learner_shape(t)) * sizeof(float);
    assert_null(fis_gate_picked(g));
    assert_int_equal(fis_gate_first(g, t, &a.j, a.params, &e), 0);
    assert_memory_equal(fis_gate_picked(g), fis_learner_anchor(t), bytes);
    train_round(t, 0);
    fis_gate_rebase(g, 2); /* nothing can reach that */
    judge(g, t, &a);
    assert_int_equal(a.j.reason, FIS_GATE_BELOW_FLOOR);
    assert_memory_equal(a.picked, fis_learner_end_anchor(t), bytes);
    fis_gate_free(g);
    fis_learner_free(t);
}

static void refuse(struct fis_gate *g, const struct blob *b, size_t size, const char *says)
{
    struct blob before = save(g);
    unsigned char *cut = malloc(size ? size : 1);
    memcpy(cut, b->bytes, size);
    e = (struct fis_error){0};
    assert_int_equal(fis_gate_load(g, cut, size, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, says));
    struct blob after = save(g);
    assert_memory_equal(before.bytes, after.bytes, after.size);
    free(before.bytes);
    free(after.bytes);
    free(cut);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct fis_learner *t = learner(1);
    struct fis_gate *g = gate(true), *fresh = gate(true);
    struct judged_round a;
    assert_int_equal(fis_gate_first(g, t, &a.j, a.params, &e), 0);
    struct blob b = save(g), none = save(fresh);
    for (size_t n = 0; n < b.size; n++)
        refuse(fresh, &b, n, "saved gate");
    b.bytes[4] ^= 2;
    refuse(fresh, &b, b.size, "format");
    b.bytes[4] ^= 2;
    b.bytes[8] ^= 1;
    refuse(fresh, &b, b.size, "parameters");
    b.bytes[8] ^= 1;
    const float bad = NAN;
    memcpy(b.bytes + b.size - sizeof bad, &bad, sizeof bad);
    refuse(fresh, &b, b.size, "not finite");
    memset(b.bytes + b.size - sizeof bad, 0, sizeof bad);
    const double no_number = NAN;
    memcpy(b.bytes + 16, &no_number, sizeof no_number);
    refuse(fresh, &b, b.size, "not finite");
    /* One that served nothing yet is loaded as that. */
    assert_int_equal(fis_gate_load(g, none.bytes, none.size, &e), 0);
    assert_true(isnan(fis_gate_val0(g)));
    free(b.bytes);
    free(none.bytes);
    fis_gate_free(g);
    fis_gate_free(fresh);
    fis_learner_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judgements_go_on_to_the_bit),
        cmocka_unit_test(what_is_held_is_served_on),
        cmocka_unit_test(a_rejected_pick_can_be_had),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
