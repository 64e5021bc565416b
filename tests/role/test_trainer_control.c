/* The trainer machine under its operator's hand, and a gate that says no. */
#include "kit/role/trainer_world.h"
#include "role/trainer_view.h"

static void test_a_pause(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.selector.in_flight = 4;
    start_world(&w, &o, 200);
    offer(&w, 100);
    idle(&w);
    assert_int_equal(requests(&w), 4);
    assert_true(control(&w, WIRE_CONTROL_PAUSE, 0, NULL));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(label(&w, open_id(&w, i), 1), 0); /* answers are taken */
    idle(&w);
    restart(&w);
    for (int i = 0; i < 5; i++)
        idle(&w);
    assert_int_equal(requests(&w), 4);
    assert_int_equal(w.output.n_versions, 1); /* the round is not over, it waits */
    assert_true(trainer_role_counts(w.role).paused);
    assert_int_equal(trainer_role_counts(w.role).learner.bought, 4);
    assert_true(control(&w, WIRE_CONTROL_RESUME, 0, NULL));
    idle(&w);
    assert_int_equal(requests(&w), 8);
    close_world(&w);
}

static void test_a_request_is_cancelled(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.selector.budget = 16;
    start_world(&w, &o, 200);
    offer(&w, 100);
    idle(&w);
    struct fis_id id = *open_id(&w, 2), held = id_of(4000);
    assert_true(control(&w, WIRE_CONTROL_CANCEL, 0, &id));
    assert_false(control(&w, WIRE_CONTROL_CANCEL, 0, &id));
    assert_false(control(&w, WIRE_CONTROL_CANCEL, 0, &held));
    assert_non_null(strstr(w.output.control_text, "no open request"));
    assert_int_equal(w.output.n_requests, 17);
    assert_true(w.output.request[16].cancelled);
    assert_int_equal(entry_state(&w, &id), WIRE_CANCELLED);
    idle(&w);
    assert_int_equal(requests(&w), 17); /* the budget had it back */
    assert_int_equal(label(&w, &id, 1), 0);
    assert_int_equal(trainer_role_counts(w.role).late, 1);
    close_world(&w);
}

static void some_more(struct world *w)
{
    for (int i = 0; i < 4; i++)
        play_round(w);
}

/* Rounds that publish nothing end the asking, with budget left; a resume goes on, and what becomes
 * of it is on the ledger. */
static void test_patience_ends_the_asking(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.rounds = 0;
    o.selector.budget = 10 * o.selector.labels_per_round;
    o.idle_rounds = 2;
    o.gate.min_rows = 100000; /* the gate refuses whatever comes */
    start_world(&w, &o, 200);
    some_more(&w);
    assert_int_equal(requests(&w), 2 * o.selector.labels_per_round);
    assert_string_equal(trainer_role_counts(w.role).phase, "done");
    assert_int_equal(trainer_role_counts(w.role).selector.budget_left,
                     8 * o.selector.labels_per_round);
    struct trainer_view v;
    trainer_view(w.role, 0, &v);
    assert_int_equal(v.asking.state, ASKING_PATIENCE);
    assert_non_null(strstr(v.asking.text, "2 rounds in a row published nothing"));
    commit(&w);
    restart(&w); /* the next leader decides the same */
    some_more(&w);
    assert_int_equal(requests(&w), 2 * o.selector.labels_per_round);
    assert_string_equal(trainer_role_counts(w.role).phase, "done");
    assert_true(control(&w, WIRE_CONTROL_RESUME, 0, NULL));
    assert_non_null(strstr(w.output.control_text, "requested again"));
    assert_string_equal(trainer_role_counts(w.role).phase, "collect");
    some_more(&w);
    assert_int_equal(requests(&w), 4 * o.selector.labels_per_round);
    assert_string_equal(trainer_role_counts(w.role).phase, "done");
    o.idle_rounds = 3; /* more patience */
    trainer_role_adjust(w.role, &o, now_of(&w));
    some_more(&w);
    assert_int_equal(requests(&w), 5 * o.selector.labels_per_round);
    close_world(&w);
}

/* Of a model without a gap that could be seen, all labels are requested by the criterion for
 * accuracy. */
static void test_nothing_to_correct(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    uint32_t by[2][FIS_MAX_CRITERIA] = {{0}};
    start_world(&w, &o, 200);
    commit(&w);
    for (int undetectable = 0; undetectable < 2; undetectable++) {
        const uint32_t before = requests(&w);
        w.kept.state.undetectable = undetectable != 0;
        restart(&w);
        offer(&w, 100);
        idle(&w);
        for (uint32_t i = before; i < requests(&w); i++)
            by[undetectable][w.output.item[number_of(open_id(&w, i))].entry.criterion]++;
        assert_true(requests(&w) > before);
        for (uint32_t i = before; i < requests(&w); i++)
            assert_int_equal(label(&w, open_id(&w, i), truth(open_id(&w, i))), 0);
        idle(&w);
        idle(&w);
        commit(&w);
    }
    assert_true(by[0][0] > 0 && by[0][1] > 0);
    assert_true(by[1][0] == 0 && by[1][1] > 0);
    close_world(&w);
}

/* Rounds until a version is published, at most so many; 0: none was. */
static uint64_t publish_one(struct world *w, int rounds)
{
    uint64_t was = trainer_role_counts(w->role).served_version;
    for (int i = 0; i < rounds; i++) {
        play_round(w);
        uint64_t now = trainer_role_counts(w->role).served_version;
        if (now != was)
            return now;
    }
    return 0;
}

/* The last version has the metrics of that one, and the outcome says them, and which rows. */
static void says_accuracy_of(const struct world *w, uint32_t i)
{
    char text[64];
    assert_true(w->output.version[w->output.n_versions - 1].accuracy ==
                w->output.version[i].accuracy);
    snprintf(text, sizeof text, "accuracy %.4f as it was judged", w->output.version[i].accuracy);
    if (!strstr(w->output.control_text, text) ||
        !strstr(w->output.control_text, "all validation rows"))
        fail_msg("%s; expected: %s", w->output.control_text, text);
}

/* Open requests go out again as they were, also after a restart; all can be taken back at once. */
static void test_all_open_requests(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.selector.budget = 100;
    start_world(&w, &o, 200);
    offer(&w, 100);
    idle(&w);
    uint32_t n = w.output.n_requests;
    struct fis_id second = *open_id(&w, 1), nobody = id_of(4000);
    assert_true(n > 2);
    assert_int_equal(label(&w, open_id(&w, 0), 1), 0);
    for (int again = 0; again < 2; again++) {
        uint32_t before = w.output.n_requests;
        w.output.resends = true;
        assert_true(control(&w, WIRE_CONTROL_RESEND, 0, NULL));
        assert_int_equal(w.output.n_requests, before + n - 1);
        for (uint32_t i = 0; i + 1 < n; i++) {
            const struct fis_id *id = &w.output.request[before + i].id;
            assert_int_equal(entry_state(&w, id), WIRE_REQUESTED);
            for (uint32_t k = 0; k < i; k++)
                assert_int_not_equal(fis_id_compare(id, &w.output.request[before + k].id), 0);
        }
        restart(&w);
    }
    assert_true(control(&w, WIRE_CONTROL_RESEND, 0, &second));
    assert_false(control(&w, WIRE_CONTROL_RESEND, 0, &nobody));
    assert_int_equal(w.output.n_requests, 3 * n - 1);
    assert_int_equal(trainer_role_counts(w.role).selector.charged, 1);
    w.output.resends = false;
    assert_true(control(&w, WIRE_CONTROL_PAUSE, 0, NULL));
    assert_true(control(&w, WIRE_CONTROL_CANCEL_ALL, 0, NULL));
    assert_int_equal(trainer_role_counts(w.role).selector.open, 0);
    assert_int_equal(w.output.n_requests, 4 * n - 2);
    assert_true(w.output.request[4 * n - 3].cancelled);
    assert_int_equal(entry_state(&w, &second), WIRE_CANCELLED);
    assert_true(control(&w, WIRE_CONTROL_CANCEL_ALL, 0, NULL)); /* none: nothing to do */
    close_world(&w);
}

/* What is forgotten is in no list, and comes back in none; what it cost stays spent. */
static void test_forgotten(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    struct fis_id nobody = id_of(4000), held = {0};
    o.selector.budget = 100;
    start_world(&w, &o, 200);
    offer(&w, 100);
    idle(&w);
    struct fis_id labelled = *open_id(&w, 0), opened = *open_id(&w, 1);
    assert_int_equal(label(&w, &labelled, 1), 0);
    commit(&w);
    for (uint32_t i = 0; i < 100 && !held.length; i++) {
        struct fis_id id = id_of(i);
        if (entry_state(&w, &id) == WIRE_IN_HEAP)
            held = id;
    }
    uint64_t used =
        trainer_role_counts(w.role).selector.charged + trainer_role_counts(w.role).selector.open;
    uint64_t checkpoint = w.output.state.checkpoint;
    w.output.forgets = true;
    assert_false(control(&w, WIRE_CONTROL_FORGET, 0, &nobody));
    assert_true(control(&w, WIRE_CONTROL_FORGET, 0, &held));
    assert_false(trainer_role_stale(w.role));
    assert_int_equal(w.output.forgotten[0].charged, 0);
    assert_true(control(&w, WIRE_CONTROL_FORGET, 0, &opened));
    assert_true(w.output.request[w.output.n_requests - 1].cancelled);
    assert_int_equal(w.output.state.checkpoint, checkpoint);
    assert_true(control(&w, WIRE_CONTROL_FORGET, 0, &labelled));
    assert_int_equal(w.output.state.checkpoint, checkpoint + 1); /* which does not exist */
    assert_int_equal(w.output.forgotten[2].charged, 1);
    assert_true(trainer_role_stale(w.role));
    restart_bare(&w); /* as who runs it must */
    struct trainer_role_counts n = trainer_role_counts(w.role);
    assert_int_equal(n.learner.bought, 0);
    assert_int_equal(n.forgotten, 3);
    assert_int_equal(n.selector.charged + n.selector.open, used);
    assert_int_equal(w.output.state.requested, n.selector.asked + n.forgotten);
    assert_true(control(&w, WIRE_CONTROL_FORGET, 0, &labelled)); /* again: nothing changes */
    assert_false(trainer_role_stale(w.role));
    assert_int_equal(w.output.n_forgotten, 3);
    const struct fis_id *all[] = {&held, &opened, &labelled};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(entry_state(&w, all[i]), 0);
        assert_true(label(&w, all[i], 1) < 0); /* nobody asked for it */
    }
    close_world(&w);
}

static void test_roll_back_and_promote(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.rounds = 0;
    o.gate.epsilon = .05;
    start_world(&w, &o, 200);
    assert_false(control(&w, WIRE_CONTROL_ROLLBACK, 0, NULL)); /* nothing was before the first */
    uint64_t second = publish_one(&w, 20);
    assert_true(second > 1);
    assert_false(control(&w, WIRE_CONTROL_ROLLBACK, 77, NULL));
    assert_non_null(strstr(w.output.control_text, "no version 77"));
    assert_false(control(&w, WIRE_CONTROL_ROLLBACK, second, NULL)); /* is what is served */
    uint32_t n = w.output.n_versions;

    assert_true(control(&w, WIRE_CONTROL_ROLLBACK, 0, NULL));
    assert_int_equal(w.output.n_versions, n + 1); /* the log is added to */
    assert_string_equal(w.output.version[n].reason, "rolled_back");
    says_accuracy_of(&w, 0);
    assert_true(w.output.version[n].served);
    assert_memory_equal(w.output.served, w.output.version[0].params, sizeof w.output.served);
    struct trainer_role_counts c = trainer_role_counts(w.role);
    assert_int_equal(c.served_version, n + 1);
    restart(&w); /* and the gate goes on from there */
    assert_int_equal(trainer_role_counts(w.role).served_version, n + 1);
    /* One further back there is nothing; what was rolled back from is not served again. */
    assert_false(control(&w, WIRE_CONTROL_ROLLBACK, 0, NULL));
    assert_non_null(strstr(w.output.control_text, "nothing was served before version"));
    assert_true(control(&w, WIRE_CONTROL_ROLLBACK, second, NULL)); /* unless by its number */
    assert_non_null(strstr(w.output.control_text, "a rollback goes to version 1"));
    assert_memory_equal(w.output.served, w.output.version[second - 1].params,
                        sizeof w.output.served);
    restart(&w);
    assert_true(control(&w, WIRE_CONTROL_ROLLBACK, 0, NULL));
    assert_memory_equal(w.output.served, w.output.version[0].params, sizeof w.output.served);
    assert_false(control(&w, WIRE_CONTROL_ROLLBACK, 0, NULL));

    /* What was rejected has its weights, and can be promoted; not rolled back to. */
    uint32_t rejected = 0;
    for (bool promoted = false; !promoted;
         promoted = control(&w, WIRE_CONTROL_PROMOTE, rejected, NULL)) {
        assert_true(!rejected || strstr(w.output.control_text, "the floor is"));
        do {
            assert_true(w.output.n_versions < 40);
            play_round(&w);
            rejected = w.output.n_versions;
        } while (w.output.version[rejected - 1].served);
        assert_true(w.output.version[rejected - 1].params_there);
        assert_false(control(&w, WIRE_CONTROL_ROLLBACK, rejected, NULL));
        assert_non_null(strstr(w.output.control_text, "never served"));
    }
    assert_string_equal(w.output.version[w.output.n_versions - 1].reason, "promoted");
    says_accuracy_of(&w, rejected - 1);
    assert_memory_equal(w.output.served, w.output.version[rejected - 1].params,
                        sizeof w.output.served);
    close_world(&w);
}

static void test_versions_that_may_not_be_served(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    float zeros[64] = {0};
    struct fis_error e;
    start_world(&w, &o, 200);
    struct wire_control c = {.kind = WIRE_CONTROL_PROMOTE, .version = 9, .by = "", .reason = ""};
    struct wire_model v = {.version = 9, .served = 1, .shape = *trainer_role_shape(w.role)};
    static const char *const why[] = {"no parameters", "another shape", "the floor is"};
    for (int i = 0; i < 3; i++) {
        char id[8];
        fis_id_set(&c.command, id, (size_t)snprintf(id, sizeof id, "c%d", i));
        v.params = i == 0 ? NULL : zeros;
        v.shape.width[0] = i == 1 ? D + 1 : D;
        assert_int_equal(trainer_role_control(w.role, &c, &v, now_of(&w), &e), 0);
        commit(&w);
        assert_false(w.output.state.control_ok);
        assert_non_null(strstr(w.output.control_text, why[i]));
    }
    assert_int_equal(w.output.n_versions, 1);
    /* The same command again is no second one. */
    uint32_t states = w.output.states;
    assert_int_equal(trainer_role_control(w.role, &c, &v, now_of(&w), &e), 0);
    commit(&w);
    assert_int_equal(w.output.states, states);
    close_world(&w);
}

static void test_a_pin(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.rounds = 0;
    o.gate.epsilon = .05;
    start_world(&w, &o, 200);
    assert_true(control(&w, WIRE_CONTROL_PIN, 0, NULL));
    restart(&w);
    assert_int_equal(publish_one(&w, 15), 0);
    uint32_t pinned = 0;
    for (uint32_t i = 0; i < w.output.n_versions; i++)
        pinned += strcmp(w.output.version[i].reason, "pinned") == 0;
    assert_true(pinned > 0);
    assert_true(control(&w, WIRE_CONTROL_UNPIN, 0, NULL));
    assert_true(publish_one(&w, 15) > 0);
    close_world(&w);
}

/* After so many verdicts against the head, training starts from what is served. */
static void test_patience(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.rounds = 0;
    o.patience = 2;
    o.publication = &publication_plain; /* which is held to VAL_0 */
    start_world(&w, &o, 200);
    for (int i = 0; i < 2; i++) {
        uint32_t from = requests(&w);
        assert_int_equal(w.went_back, 0);
        offer(&w, 100);
        idle(&w);
        for (uint32_t k = from; k < requests(&w); k++) /* one who answers the wrong way round */
            label(&w, open_id(&w, k), 1);
        idle(&w);
        idle(&w);
        if (i == 0)
            restart(&w); /* the count is on the ledger */
    }
    assert_string_equal(w.output.version[1].reason, "below_floor");
    assert_string_equal(w.output.version[2].reason, "below_floor");
    assert_int_equal(w.went_back, 1);
    assert_memory_equal(w.output.head, w.output.served, sizeof w.output.head);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pause),
        cmocka_unit_test(test_patience_ends_the_asking),
        cmocka_unit_test(test_nothing_to_correct),
        cmocka_unit_test(test_a_request_is_cancelled),
        cmocka_unit_test(test_all_open_requests),
        cmocka_unit_test(test_forgotten),
        cmocka_unit_test(test_roll_back_and_promote),
        cmocka_unit_test(test_versions_that_may_not_be_served),
        cmocka_unit_test(test_a_pin),
        cmocka_unit_test(test_patience),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
