/*
 * Every constructor of the core and what else allocates, under every refused allocation: NOMEM each
 * time, nothing changed where the header says so, and the object goes on working afterwards.
 */
#include <math.h>
#include "kit/cmocka.h"

#include "kit/base/oom.h"
#include "fis/encoder.h"
#include "fis/gate.h"
#include "fis/selector.h"
#include "kit/core/biased_rows.h"
#include "kit/core/requests.h"

#define CANDIDATES 200u

static struct synthetic initial, bought, validation;

static int set_up(void **state)
{
    (void)state;
    synthetic_make(&initial, 100, .5, 1);
    synthetic_make(&bought, 300, .5, 2);
    synthetic_make(&validation, 600, .5, 3);
    return 0;
}

static struct fis_shape shape(void)
{
    struct fis_shape s;
    uint32_t hidden = 8;
    assert_int_equal(fis_shape_init(&s, SYN_D, &hidden, 1, 2, NULL), 0);
    return s;
}

/* ---- small ones ----------------------------------------------------------------------------- */

static int make_heap(void *arg, struct fis_error *e)
{
    struct fis_heap h;
    (void)arg;
    int r = fis_heap_init(&h, 10, e);
    if (r == 0)
        fis_heap_done(&h);
    return r;
}

/* These two say no more than NULL. */
static int make_network(void *arg, struct fis_error *e)
{
    static float params[64], direction[64];
    const float *const directions[] = {direction, direction};
    struct fis_shape s = shape();
    (void)arg;
    struct fis_scratch *scratch = fis_scratch_new(&s, 16, 2);
    struct fis_panel *panel = scratch ? fis_panel_new(&s, params, directions, 2) : NULL;
    fis_scratch_free(scratch);
    if (!panel)
        return fis_fail(e, FIS_NOMEM, "network: no memory");
    fis_panel_unref(panel);
    return 0;
}

static int take_directions(void *arg, struct fis_error *e)
{
    float params[64] = {0}, g_acc[64] = {0}, g_fair[64] = {0};
    double phi, acc[2], fair[2];
    struct fis_shape s = shape();
    struct fis_rng rng;
    struct fis_rows rows = synthetic_rows(&validation);
    struct fis_direction_options o = {.surrogate = {FIS_EQUALIZED_ODDS, FIS_GAP_PAIRS, 1, 10},
                                      .n_groups = 2,
                                      .precondition = *(const int *)arg,
                                      .damping = .01};
    fis_rng_seed(&rng, 1, 1);
    fis_network_init(&s, params, &rng);
    int r = fis_directions(&s, params, &rows, NULL, 0, &o, g_acc, g_fair, &phi, e);
    if (r == 0)
        r = fis_influence_naive(&s, params, rows.x, g_acc, g_fair, acc, fair, e);
    return r;
}

static void small_ones(void **state)
{
    (void)state;
    int plain = 0, preconditioned = 1;
    oom_run(make_heap, NULL);
    oom_run(make_network, NULL);
    oom_run(take_directions, &plain);
    oom_run(take_directions, &preconditioned);
}

/* ---- encoder -------------------------------------------------------------------------------- */

static int copy_encoder(const struct fis_encoder *enc, struct fis_error *e)
{
    struct fis_encoder_column_state states[2];
    for (uint32_t i = 0; i < 2; i++)
        fis_encoder_state(enc, i, &states[i]);
    struct fis_encoder *copy = fis_encoder_from_states(states, 2, e);
    if (!copy)
        return oom_failed(e);
    fis_encoder_free(copy);
    return 0;
}

static int fit_encoder(void *arg, struct fis_error *e)
{
    const struct fis_column columns[] = {{"age", FIS_NUMERIC, FIS_SCALE_STANDARD},
                                         {.name = "job", .type = FIS_CATEGORICAL}};
    (void)arg;
    struct fis_encoder *enc = fis_encoder_new(columns, 2, 50, e);
    if (!enc)
        return oom_failed(e);
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < 40; i++) {
        char job[16];
        int n = snprintf(job, sizeof job, "job %u", i % 20);
        const struct fis_value row[] = {
            {.kind = i % 7 ? FIS_VALUE_NUMBER : FIS_VALUE_MISSING, .number = i},
            {.kind = FIS_VALUE_TEXT, .text = job, .length = (size_t)n}};
        r = fis_encoder_observe(enc, row, e);
    }
    if (r == 0)
        r = fis_encoder_finish(enc, e);
    if (r == 0)
        r = copy_encoder(enc, e);
    fis_encoder_free(enc);
    return r;
}

static void encoders(void **state)
{
    (void)state;
    assert_true(oom_run(fit_encoder, NULL) > 20);
}

/* ---- selector ------------------------------------------------------------------------------- */

static void candidate(uint32_t i, struct fis_candidate *c)
{
    char name[16];
    int n = snprintf(name, sizeof name, "rec-%u", i);
    *c = (struct fis_candidate){.x = bought.x[i], .payload = "text", .payload_length = 4};
    c->scores[0] = c->scores[1] = (float)(i % 13);
    assert_int_equal(fis_id_set(&c->id, name, (size_t)n), 0);
}

static int put(struct fis_selector *s, uint32_t i, struct fis_error *e)
{
    struct fis_candidate c;
    candidate(i, &c);
    switch (i % 5) {
    case 0:
        return fis_selector_restore_held(s, &c, e);
    case 1:
        return restore_as(s, &c, 1, FIS_OPEN, 0, 0, false, e);
    case 2:
        return restore_as(s, &c, 1, FIS_ACCEPTED, 0, 0, false, e);
    case 3:
        return restore_as(s, &c, 1, FIS_SKIPPED, 0, 0, true, e);
    default:
        return fis_selector_offer(s, &c, e);
    }
}

/* What failed is as if it had not been tried, and can be tried again. */
static void try_again(struct fis_selector *s, uint32_t i, const struct fis_selector_counts *before)
{
    struct fis_error e;
    struct fis_candidate c;
    struct fis_selector_counts now = fis_selector_counts(s);
    candidate(i, &c);
    fis_mem_refuse_after(UINT64_MAX);
    assert_memory_equal(before, &now, sizeof now);
    assert_int_equal(state_of(s, &c.id), FIS_NONE);
    assert_true(put(s, i, &e) >= 0);
    assert_int_not_equal(state_of(s, &c.id), FIS_NONE);
}

static int fill_selector(void *arg, struct fis_error *e)
{
    struct fis_selector_options o = {.distinct = true,
                                     .criteria = {.acquisition = &fis_acquisition_fis_plus},
                                     .d = SYN_D,
                                     .labels_per_round = 150};
    (void)arg;
    struct fis_selector *s = fis_selector_new(&o, e);
    if (!s)
        return oom_failed(e);
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < CANDIDATES; i++) {
        struct fis_selector_counts before = fis_selector_counts(s);
        r = put(s, i, e);
        r = r > 0 ? 0 : r;
        if (r < 0)
            try_again(s, i, &before);
    }
    fis_selector_free(s);
    return r;
}

static void ignore_id(void *arg, const struct fis_id *id)
{
    (void)id;
    ++*(uint32_t *)arg;
}

static void ignore_candidate(void *arg, const struct fis_candidate *c)
{
    (void)arg;
    (void)c;
}

static void nothing_scores(void *arg, const float *x, const struct fis_id *const *ids, uint32_t n,
                           float *scores)
{
    (void)arg;
    (void)x;
    (void)ids;
    for (uint32_t i = 0; i < n * FIS_MAX_CRITERIA; i++)
        scores[i] = FIS_NOT_A_CANDIDATE;
}

/* Reported as held, gone, and not reported as gone yet: an offer that finds no memory leaves that
 * to be reported. */
static int revive(void *arg, struct fis_error *e)
{
    struct fis_selector_options o = {
        .criteria = {.acquisition = &fis_acquisition_fis_plus}, .d = SYN_D, .labels_per_round = 4};
    struct fis_candidate c;
    uint32_t gone = 0;
    (void)arg;
    candidate(4, &c);
    struct fis_selector *s = fis_selector_new(&o, e);
    if (!s)
        return oom_failed(e);
    int r = fis_selector_offer(s, &c, e);
    if (r > 0) {
        fis_selector_changes(s, ignore_id, ignore_candidate, &gone);
        r = fis_selector_rescore(s, nothing_scores, NULL, e);
        assert_true(fis_selector_changed(s));
        if (r == 0 && (r = fis_selector_offer(s, &c, e)) < 0) {
            assert_int_equal(state_of(s, &c.id), FIS_NONE);
            fis_selector_changes(s, ignore_id, ignore_candidate, &gone);
            assert_int_equal(gone, 1);
        }
    }
    fis_selector_free(s);
    return r > 0 ? 0 : r;
}

static void selectors(void **state)
{
    (void)state;
    assert_true(oom_run(fill_selector, NULL) > 50);
    oom_run(revive, NULL);
}

/* ---- learner and gate ----------------------------------------------------------------------- */

static struct fis_learner *make_learner(uint32_t folds, struct fis_error *e)
{
    struct fis_learner_options o = {.shape = shape(),
                                    .folds = folds,
                                    .guided = folds == 2,
                                    .learning_rate = .05f,
                                    .momentum = .9f,
                                    .batch = 32,
                                    .kept_min = 4,
                                    .average_every = 2,
                                    .split_by_place = 1,
                                    .seed = 5};
    return fis_learner_new(&o, e);
}

static int add_rows(struct fis_learner *t, struct fis_error *e)
{
    int r = 0;
    uint32_t index;
    for (uint32_t i = 0; r == 0 && i < initial.n; i++)
        r = fis_learner_add_initial(t, initial.x[i], initial.y[i], e);
    for (uint32_t i = 0; r == 0 && i < bought.n; i++) {
        struct fis_learner_counts before = fis_learner_counts(t);
        r = fis_learner_add_bought(t, bought.x[i], bought.y[i], &index, e);
        assert_int_equal(fis_learner_counts(t).bought, before.bought + (r == 0));
    }
    return r;
}

/* What could not be made is not charged. */
static int noisy(struct fis_learner *t, struct fis_direction_options d, struct fis_error *e)
{
    const struct fis_privacy privacy = {.noise = 1, .clip = 1};
    uint64_t before = fis_learner_privacy(t).refreshes;
    d.privacy = &privacy;
    d.precondition = 1;
    d.damping = .01;
    int r = fis_learner_refresh(t, &d, NULL, e);
    assert_int_equal(fis_learner_privacy(t).refreshes, before + (r == 0));
    return r;
}

static int work(struct fis_learner *t, struct fis_error *e)
{
    struct fis_direction_options d = {.surrogate = {FIS_DEMOGRAPHIC_PARITY, FIS_GAP_PAIRS, 1, 10},
                                      .n_groups = 2};
    struct fis_rows rows = synthetic_rows(&validation);
    int r = fis_learner_set_validation(t, &rows, 2, e);
    if (r == 0)
        r = fis_learner_warm_up(t, 5, e);
    if (r == 0)
        r = fis_learner_refresh(t, &d, NULL, e);
    if (r == 0)
        r = noisy(t, d, e);
    if (r == 0)
        (void)fis_learner_review(t);
    return r == 0 ? fis_learner_train(t, 5, e) : r;
}

static int train(void *arg, struct fis_error *e)
{
    struct fis_learner *t = make_learner(*(const uint32_t *)arg, e);
    if (!t)
        return oom_failed(e);
    int r = add_rows(t, e);
    if (r == 0)
        r = work(t, e);
    if (r < 0 && fis_learner_counts(t).bought == bought.n) {
        struct fis_error again;
        fis_mem_refuse_after(UINT64_MAX);
        assert_int_equal(work(t, &again), 0);
    }
    fis_learner_free(t);
    return r;
}

static void learners(void **state)
{
    (void)state;
    for (uint32_t folds = 2; folds <= 3; folds++)
        assert_true(oom_run(train, &folds) > 40);
}

struct saved {
    unsigned char *bytes;
    size_t size;
};

/* A load that finds no memory changes nothing. */
static int load(void *arg, struct fis_error *e)
{
    const struct saved *saved = arg;
    struct fis_error none;
    struct fis_learner *t = make_learner(2, e);
    if (!t)
        return oom_failed(e);
    int r = add_rows(t, e);
    if (r == 0)
        r = fis_learner_load(t, saved->bytes, saved->size, e);
    if (r < 0 && fis_learner_counts(t).bought == bought.n) {
        assert_int_equal(fis_learner_counts(t).steps, 0); /* nothing was changed */
        fis_mem_refuse_after(UINT64_MAX);
        assert_int_equal(fis_learner_load(t, saved->bytes, saved->size, &none), 0);
        assert_int_equal(fis_learner_counts(t).steps, 10);
    }
    fis_learner_free(t);
    return r;
}

static void loading(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_learner *t = make_learner(2, &e);
    assert_non_null(t);
    assert_int_equal(add_rows(t, &e), 0);
    assert_int_equal(work(t, &e), 0);
    struct saved saved = {.size = fis_learner_save_size(t)};
    saved.bytes = malloc(saved.size);
    assert_non_null(saved.bytes);
    fis_learner_save(t, saved.bytes);
    oom_run(load, &saved);
    free(saved.bytes);
    fis_learner_free(t);
}

static struct saved save(const struct fis_gate *g)
{
    struct saved s = {.size = fis_gate_save_size(g)};
    s.bytes = malloc(s.size);
    assert_non_null(s.bytes);
    fis_gate_save(g, s.bytes);
    return s;
}

static int judge(void *arg, struct fis_error *e)
{
    struct fis_gate_options o = {.metric = FIS_DEMOGRAPHIC_PARITY,
                                 .positive = 1,
                                 .epsilon = .02,
                                 .line = true,
                                 .min_rows = 500,
                                 .min_cell = 30,
                                 .rule = FIS_GATE_RULE_FAIRER,
                                 .resamples = 10,
                                 .seed = 4};
    struct fis_learner *t = arg;
    struct fis_shape s = shape();
    struct fis_gate_judgement j = {.looks = 77};
    float params[64];
    struct fis_gate *g = fis_gate_new(&o, &s, e);
    if (!g)
        return oom_failed(e);
    struct saved before = save(g);
    int r = fis_gate_first(g, t, &j, params, e);
    if (r == 0) {
        free(before.bytes);
        before = save(g);
        j.looks = 77;
        r = fis_gate_judge(g, t, &j, params, e);
    }
    if (r < 0) {
        struct saved after = save(g);
        assert_int_equal(j.looks, 77);
        assert_memory_equal(before.bytes, after.bytes, after.size);
        free(after.bytes);
    }
    free(before.bytes);
    fis_gate_free(g);
    return r;
}

static void gates(void **state)
{
    (void)state;
    struct fis_error e;
    for (uint32_t folds = 2; folds <= 3; folds++) {
        struct fis_learner *t = make_learner(folds, &e);
        assert_non_null(t);
        assert_int_equal(add_rows(t, &e), 0);
        assert_int_equal(work(t, &e), 0);
        assert_true(oom_run(judge, t) > 20);
        fis_learner_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_ones), cmocka_unit_test(encoders), cmocka_unit_test(selectors),
        cmocka_unit_test(learners),   cmocka_unit_test(loading),  cmocka_unit_test(gates),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
