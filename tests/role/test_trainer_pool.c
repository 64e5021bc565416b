/* The trainer machine in pool mode: a round scores the whole topic. */
#include "kit/role/trainer_world.h"

static void open_pool(struct world *w, struct trainer_role_options *o)
{
    o->pool = 1;
    open_world(w, o);
    load_world(w, 200);
    start(w);
    assert_int_equal(w->pools, 1);
    assert_int_equal(w->output.head_scan, 0); /* not before the ends are known */
}

static void bring_ends(struct world *w, int64_t a, int64_t b)
{
    struct fis_error e;
    struct wire_pool_end ends[] = {{0, a}, {1, b}, {2, 0}};
    assert_int_equal(trainer_role_pool(w->role, ends, 3, now_of(w), &e), 0);
}

static void scanned(struct world *w, uint64_t scan, int32_t partition, int64_t begin, int64_t next)
{
    struct wire_range r = {partition, begin, next, (uint64_t)(next - begin), 0, 0};
    struct wire_progress p = {.scorer = "s", .scan = scan, .ranges = &r, .n_ranges = 1};
    trainer_role_progress(w->role, &p);
}

static void offer_pool(struct world *w, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!w->output.asked[i])
            offer_one(w, i);
}

static void answer_round(struct world *w, uint32_t from)
{
    idle(w);
    for (uint32_t i = from; i < requests(w); i++)
        label(w, open_id(w, i), truth(open_id(w, i)));
    idle(w);
    idle(w);
}

static void test_a_scan_is_a_window(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.window_records = 10; /* is for the other mode */
    open_pool(&w, &o);
    bring_ends(&w, 60, 40);
    uint64_t scan = w.output.head_scan;
    assert_true(scan == w.output.last_head);
    assert_int_equal(w.output.n_ends, 2); /* a partition without records has nothing to wait for */
    assert_int_equal(trainer_role_counts(w.role).scan, scan);
    offer_pool(&w, 100);
    scanned(&w, scan, 0, 0, 60);
    scanned(&w, scan, 0, 0, 60);
    scanned(&w, scan - 1, 1, 0, 40); /* of an older scan */
    scanned(&w, scan, 1, 0, 39);
    assert_false(trainer_role_due(w.role));
    idle(&w);
    assert_string_equal(trainer_role_counts(w.role).phase, "collect");
    scanned(&w, scan, 1, 39, 40);
    assert_true(trainer_role_due(w.role));
    answer_round(&w, 0);
    assert_int_equal(w.output.n_versions, 2);
    assert_int_equal(requests(&w), 16);
    /* The next round has a scan and ends of its own. */
    assert_int_equal(w.pools, 2);
    assert_int_equal(w.output.head_scan, 0);
    assert_int_equal(trainer_role_counts(w.role).scan, 0);
    bring_ends(&w, 70, 50);
    assert_true(w.output.head_scan > scan);
    bring_ends(&w, 1, 1); /* nobody asked */
    assert_int_equal(w.output.ends[0].end, 70);
    offer_pool(&w, 120);
    scanned(&w, w.output.head_scan, 0, 0, 70);
    scanned(&w, w.output.head_scan, 1, 0, 50);
    answer_round(&w, 16);
    assert_int_equal(w.output.n_versions, 3);
    assert_int_equal(requests(&w), 32);
    close_world(&w);
}

/* A scan that was under way begins again, with what was held; and the same ones are asked for. */
static void test_a_scan_begins_again(void **state)
{
    (void)state;
    static struct world whole, w;
    struct trainer_role_options o = small_options();
    open_pool(&whole, &o);
    open_pool(&w, &o);
    bring_ends(&whole, 100, 0);
    offer_pool(&whole, 100);
    scanned(&whole, whole.output.head_scan, 0, 0, 100);
    answer_round(&whole, 0);

    bring_ends(&w, 100, 0);
    uint64_t scan = w.output.head_scan;
    offer_pool(&w, 50);
    scanned(&w, scan, 0, 0, 50);
    commit(&w);
    restart(&w);
    assert_int_equal(w.pools, 2);
    scanned(&w, scan, 0, 50, 100);
    assert_false(trainer_role_due(w.role));
    bring_ends(&w, 100, 0);
    assert_true(w.output.head_scan > scan);
    scanned(&w, scan, 0, 50, 100);
    assert_false(trainer_role_due(w.role));
    offer_pool(&w, 100);
    scanned(&w, w.output.head_scan, 0, 0, 100);
    answer_round(&w, 0);
    assert_int_equal(requests(&w), 16);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(fis_id_compare(open_id(&whole, i), open_id(&w, i)), 0);
    assert_memory_equal(whole.output.head, w.output.head, sizeof w.output.head);
    close_world(&whole);
    close_world(&w);
}

/* What would have ended the scan was never read: it must not be waited for. */
static void test_a_scan_whose_end_was_lost(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    open_pool(&w, &o);
    trainer_role_candidates_lost(w.role); /* no scan yet: nothing to do */
    bring_ends(&w, 100, 0);
    uint64_t scan = w.output.head_scan;
    offer_pool(&w, 50);
    scanned(&w, scan, 0, 0, 50);
    trainer_role_candidates_lost(w.role);
    scanned(&w, scan, 0, 50, 100);
    assert_false(trainer_role_due(w.role)); /* it is no scan any more */
    idle(&w);
    assert_int_equal(w.pools, 2);
    bring_ends(&w, 100, 0);
    assert_true(w.output.head_scan > scan);
    offer_pool(&w, 100);
    scanned(&w, w.output.head_scan, 0, 0, 100);
    assert_true(trainer_role_due(w.role));
    answer_round(&w, 0);
    assert_int_equal(requests(&w), 16);
    close_world(&w);
}

/* A broker may lose progress that it had acknowledged: a scan that is silent begins again. */
static void test_a_silent_scan_begins_again(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    open_pool(&w, &o);
    bring_ends(&w, 100, 0);
    uint64_t scan = w.output.head_scan;
    w.output.ms += 299000;
    idle(&w);
    offer_pool(&w, 50);
    scanned(&w, scan, 0, 0, 50);
    w.output.ms += 299000;
    idle(&w);
    assert_int_equal(w.pools, 1);
    w.output.ms += 2000;
    idle(&w);
    assert_int_equal(w.pools, 2);
    bring_ends(&w, 100, 0);
    assert_true(w.output.head_scan > scan);
    scanned(&w, w.output.head_scan, 0, 0, 100);
    assert_true(trainer_role_due(w.role));
    close_world(&w);
}

/* Without a label there is nothing to judge: no version, no round that counts; and the pool is gone
 * through again only when it has grown. */
static void test_a_pool_with_nothing_new(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    for (o.rounds = 0; o.rounds <= 2; o.rounds += 2) {
        open_pool(&w, &o);
        bring_ends(&w, 0, 0);
        idle(&w);
        assert_int_equal(w.pools, 1);
        w.output.ms += 9000;
        idle(&w);
        assert_int_equal(w.pools, 1);
        w.output.ms += 1000;
        idle(&w);
        assert_int_equal(w.pools, 2);
        uint64_t head = trainer_role_counts(w.role).head_version;
        bring_ends(&w, 0, 0);
        idle(&w);
        w.output.ms += 10000;
        idle(&w);
        assert_int_equal(w.pools, 3);
        assert_true(trainer_role_counts(w.role).head_version == head); /* no scan for nothing */
        assert_int_equal(trainer_role_counts(w.role).round, 1);
        assert_int_equal(w.output.n_versions, 1);

        bring_ends(&w, 100, 0);
        offer_pool(&w, 100);
        scanned(&w, w.output.head_scan, 0, 0, 100);
        answer_round(&w, 0);
        assert_int_equal(requests(&w), 16);
        assert_int_equal(w.output.n_versions, 2);
        assert_int_equal(trainer_role_counts(w.role).round, 2);
        close_world(&w);
    }
}

/* Requests without an answer end the round, and others are made; no version is made of nothing.
 */
static void test_a_round_without_labels(void **state)
{
    (void)state;
    static struct world w;
    struct trainer_role_options o = small_options();
    o.label_deadline_ms = 5000;
    o.replace = 0;
    o.selector.budget = 0;
    open_pool(&w, &o);
    bring_ends(&w, 100, 0);
    offer_pool(&w, 100);
    scanned(&w, w.output.head_scan, 0, 0, 100);
    idle(&w);
    assert_int_equal(requests(&w), 16);
    uint32_t asked = 16;
    for (int i = 0; i < 10 && w.pools < 2; i++, idle(&w)) { /* until the heap is empty */
        asked = requests(&w);
        w.output.ms += 5000;
        idle(&w);
    }
    assert_int_equal(w.pools, 2);
    assert_int_equal(w.output.n_versions, 1);
    bring_ends(&w, 100, 0);
    offer_pool(&w, 100);
    scanned(&w, w.output.head_scan, 0, 0, 100);
    idle(&w);
    assert_true(requests(&w) > asked);
    answer_round(&w, asked);
    assert_int_equal(w.output.n_versions, 2);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_scan_is_a_window),
        cmocka_unit_test(test_a_scan_begins_again),
        cmocka_unit_test(test_a_scan_whose_end_was_lost),
        cmocka_unit_test(test_a_silent_scan_begins_again),
        cmocka_unit_test(test_a_pool_with_nothing_new),
        cmocka_unit_test(test_a_round_without_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
