/*
 * A machine that dies at any step and is restored from what was committed says what one that never
 * died says: the same requests in the same order, the same versions, the same weights to the bit.
 * A script is drawn from a seed, step by step; each step depends on the seed, its number and what
 * was put out so far, so that a step that was lost with its process comes again as it was.
 */
#include "kit/role/trainer_world.h"

#define STEPS 800
#define SEEDS 12

static const char *const people[] = {"ann", "bob", "cyd", "dan"};

static struct trainer_role_options script_options(struct fis_rng *r)
{
    struct trainer_role_options o = small_options();
    o.rounds = 0;
    o.window_records = 60;
    o.selector.labels_per_round = 12;
    o.selector.budget = 100 + fis_rng_below(r, 200);
    if (fis_rng_below(r, 2))
        o.selector.in_flight = 7;
    if (fis_rng_below(r, 3) == 0)
        o.selector.heap = 5; /* smaller than a round: heaps run empty */
    if (fis_rng_below(r, 2))
        o.votes = 3;
    if (fis_rng_below(r, 2))
        o.label_deadline_ms = 20000;
    if (fis_rng_below(r, 2))
        o.daily_budget = 30;
    o.replace = (int)fis_rng_below(r, 2);
    o.patience = 1 + fis_rng_below(r, 3);
    o.round_deadline_ms = fis_rng_below(r, 2) ? 15000 : 0;
    o.window_ms = fis_rng_below(r, 2) ? 8000 : 0;
    switch (fis_rng_below(r, 5)) {
    case 0:
        o.selector.criteria.acquisition = &fis_acquisition_fis;
        o.selector.criteria.strategy = 1;
        o.publication = &publication_mixed;
        o.learner.mix = .9f;
        break;
    case 1:
        o.publication = &publication_plain;
        break;
    case 2:
        o.learner.learning_rate = 1.5f; /* rounds that fail */
        break;
    case 3: /* what is absurd is picked too, and rounds diverge */
        o.selector.criteria.acquisition = &fis_acquisition_random;
        break;
    default:
        break;
    }
    if (fis_rng_below(r, 2)) {
        o.privacy = (struct fis_privacy){.noise = 6, .clip = 1, .key = {9}};
        o.privacy_delta = 1e-5;
        o.precondition = (int)fis_rng_below(r, 2);
    }
    return o;
}

static void some_label(struct world *w, struct fis_rng *r)
{
    uint32_t n = w->output.n_requests;
    if (n == 0)
        return;
    /* Mostly what is new; now and then one that is long decided, or was given up. */
    uint32_t back = fis_rng_below(r, fis_rng_below(r, 4) ? (n < 20 ? n : 20) : n);
    const struct fis_id *id = &w->output.request[n - 1 - back].id;
    uint32_t y = fis_rng_below(r, 6) ? truth(id) : !truth(id);
    enum wire_label_status status = fis_rng_below(r, 10) ? WIRE_LABELLED : WIRE_SKIPPED;
    const char *who = fis_rng_below(r, 15) ? people[fis_rng_below(r, 4)] : "";
    (void)answer(w, id, status, y, who);
}

static void some_command(struct world *w, struct fis_rng *r)
{
    const struct fis_id *id =
        w->output.n_requests ? &w->output.request[w->output.n_requests - 1].id : NULL;
    enum wire_control_kind kind = (enum wire_control_kind)(1 + fis_rng_below(r, 7));
    if (kind == WIRE_CONTROL_PAUSE && fis_rng_below(r, 2))
        kind = WIRE_CONTROL_RESUME;
    if (kind == WIRE_CONTROL_CANCEL && !id)
        return;
    command(w, kind, fis_rng_below(r, w->output.n_versions + 2), id);
}

static void pass_time(struct world *w, struct fis_rng *r)
{
    w->output.ms += fis_rng_below(r, 40) ? fis_rng_below(r, 1500) : 30000000;
    if (fis_rng_below(r, 20) == 0)
        w->output.wall_jump += fis_rng_below(r, 2) ? 10800000 : -10800000;
}

static void step(struct world *w, uint64_t seed)
{
    struct fis_rng r;
    fis_rng_seed(&r, seed, 1000 + w->output.step++);
    if (trainer_role_due(w->role))
        turn(w);
    uint32_t what = fis_rng_below(&r, 20);
    if (what < 5 && w->output.n_records + 30 < MAX_IDS)
        offer(w, 1 + fis_rng_below(&r, 30));
    else if (what < 15)
        some_label(w, &r);
    else if (what < 19)
        pass_time(w, &r);
    else
        some_command(w, &r);
    if (fis_rng_below(&r, 10) < 7)
        turn(w);
}

static int commits(uint64_t seed, uint32_t number)
{
    struct fis_rng r;
    fis_rng_seed(&r, seed, 900000 + number);
    return fis_rng_below(&r, 4) == 0;
}

static void play(struct world *w, uint64_t seed, uint64_t deaths)
{
    struct fis_rng r, fate;
    fis_rng_seed(&r, seed, 1);
    fis_rng_seed(&fate, seed, deaths);
    struct trainer_role_options o = script_options(&r);
    open_world(w, &o);
    w->absurd_every = o.selector.criteria.acquisition == &fis_acquisition_random ? 31 : 0;
    load_world(w, 150);
    start(w);
    while (w->output.step < STEPS) {
        step(w, seed);
        if (commits(seed, w->output.step))
            commit(w);
        if (deaths && fis_rng_below(&fate, 12) == 0)
            restart(w);
    }
    progress(w, 0, 1); /* so that both have something to write */
    commit(w);
}

static void compare(struct world *a, struct world *b, uint64_t seed)
{
    struct role_output *x = &a->output, *y = &b->output;
    for (uint32_t i = 0; i < x->n_requests && i < y->n_requests; i++)
        if (fis_id_compare(&x->request[i].id, &y->request[i].id) ||
            x->request[i].cancelled != y->request[i].cancelled)
            fail_msg("seed %d: request %u differs", (int)seed, i);
    assert_int_equal(x->n_requests, y->n_requests);
    assert_int_equal(x->n_versions, y->n_versions);
    for (uint32_t i = 0; i < x->n_versions; i++) {
        assert_string_equal(x->version[i].reason, y->version[i].reason);
        assert_int_equal(x->version[i].served, y->version[i].served);
        assert_int_equal(x->version[i].labels, y->version[i].labels);
        assert_memory_equal(x->version[i].params, y->version[i].params,
                            sizeof x->version[i].params);
    }
    assert_memory_equal(x->head, y->head, sizeof x->head);
    for (uint32_t i = 0; i < MAX_IDS; i++)
        assert_int_equal(x->item[i].entry.state, y->item[i].entry.state);
    struct trainer_role_counts c = trainer_role_counts(a->role), d = trainer_role_counts(b->role);
    assert_string_equal(c.phase, d.phase);
    assert_int_equal(c.round, d.round);
    assert_int_equal(c.window, d.window);
    assert_int_equal(c.day_asked, d.day_asked);
    assert_memory_equal(&c.selector, &d.selector, sizeof c.selector);
    assert_memory_equal(&c.learner, &d.learner, offsetof(struct fis_learner_counts, last_loss));
    assert_true(x->state.clock_ms == y->state.clock_ms);
    /* Noise was neither drawn twice for different directions nor charged twice for the same. */
    assert_true(c.privacy.refreshes == d.privacy.refreshes && c.privacy.tag == d.privacy.tag);
    assert_true(c.privacy.exact == 0 && d.privacy.exact == 0 && c.privacy.rho == d.privacy.rho);
}

static void test_dying_changes_nothing(void **state)
{
    (void)state;
    static struct world whole, w;
    uint32_t restarts = 0, versions = 0, cancelled = 0, asked = 0, noisy = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(&whole, seed, 0);
        for (uint64_t deaths = 100; deaths < 102; deaths++) {
            play(&w, seed, deaths);
            compare(&whole, &w, seed);
            restarts += w.restarts;
            close_world(&w);
        }
        versions += whole.output.n_versions;
        asked += requests(&whole);
        cancelled += whole.output.n_requests - requests(&whole);
        noisy += trainer_role_counts(whole.role).privacy.refreshes > 10;
        close_world(&whole);
    }
    /* The scripts are worth something. */
    print_message("restarts %u, versions %u, requests %u, cancelled %u\n", restarts, versions,
                  asked, cancelled);
    assert_true(restarts > 40 * SEEDS && versions > 5 * SEEDS && cancelled > 100);
    assert_true(noisy >= 3 && noisy < SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_dying_changes_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
