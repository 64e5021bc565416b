/* What the scorer commits, and what becomes of ranges when partitions go or begin again. */
#include "kit/role/scorer_fake.h"

static void test_nothing_is_committed_before_its_acknowledgements(void **state)
{
    (void)state;
    static struct fake_batch a, b;
    struct fake f;
    fake_open(&f, &fis_acquisition_entropy, 2);
    assert_int_equal(scorer_free_slot(f.machine), -1); /* no head yet */
    fake_new_head(&f, 1);
    fake_batch(&a, 1);
    fake_add(&a, 1, 1.0f, 0);
    fake_add_bad(&a, WIRE_BAD);
    fake_add_bad(&a, WIRE_TOMBSTONE);
    fake_batch(&b, 1);
    fake_add(&b, 2, 2.0f, 0);
    f.batch[0] = &a.b;
    f.batch[1] = &b.b;
    fake_place(&a, 0, 1, 10);
    fake_place(&b, 0, 1, 13);
    scorer_batch(f.machine, 0, &a.b);
    scorer_batch(f.machine, 1, &b.b);
    assert_int_equal(scorer_free_slot(f.machine), -1); /* two in flight: the consumer waits */
    assert_int_equal(f.scoring, 3);
    fake_scored(&f, 1, &b.b);
    fake_scored(&f, 0, &a.b);
    assert_int_equal(f.sent[0], 2); /* a candidate and a dead letter; progress comes later */
    fake_ack_all(&f, 1);
    assert_int_equal(f.n_progress, 0); /* progress does not overtake that of the older batch */
    assert_int_equal(f.n_released, 0);
    scorer_acked(f.machine, 0, 1);
    f.sent[0]--;
    assert_int_equal(f.n_progress, 0);
    fake_ack_all(&f, 0);
    assert_int_equal(f.n_released, 1);
    fake_ack_all(&f, 1);
    assert_int_equal(f.n_released, 2);
    assert_int_equal(f.released[0], 0);
    assert_int_equal(f.released[1], 1);
    assert_int_equal(f.n_committed[0], 1);
    assert_int_equal(f.n_committed[1], 1);
    assert_int_equal(f.committed[1], 14);
    assert_int_equal(f.progress_records, 2);
    assert_int_equal(f.refused, 1);
    assert_int_equal(scorer_counts(f.machine)->tombstones, 1);
    assert_true(scorer_idle(f.machine));
    fake_close(&f);
}

static void test_ranges_are_reported_by_partition(void **state)
{
    (void)state;
    static struct fake_batch a;
    struct fake f;
    fake_begin(&f, 1, &a);
    for (uint32_t i = 0; i < 4; i++)
        fake_add(&a, i, 1.0f, 0);
    fake_place(&a, 0, 2, 100);
    for (uint32_t i = 4; i < 6; i++)
        fake_add(&a, i, 1.0f, 0);
    fake_place(&a, 4, 0, 7);
    fake_add_bad(&a, WIRE_BAD);
    fake_add_bad(&a, WIRE_TOMBSTONE);
    fake_place(&a, 6, 2, 104);
    fake_add(&a, 8, 1.0f, 0);
    fake_place(&a, 8, 2, 109); /* 106 .. 108 are markers, or compacted away */
    fake_run(&f, &a);
    const struct wire_range want[] = {
        {2, 100, 104, 4, 0, 0}, {0, 7, 9, 2, 0, 0}, {2, 104, 106, 0, 1, 1}, {2, 109, 110, 1, 0, 0}};
    assert_int_equal(f.n_progress, 1);
    assert_int_equal(f.n_ranges, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(f.ranges[i].partition, want[i].partition);
        assert_int_equal(f.ranges[i].begin, want[i].begin);
        assert_int_equal(f.ranges[i].next, want[i].next);
        assert_int_equal(f.ranges[i].records, want[i].records);
        assert_int_equal(f.ranges[i].refused, want[i].refused);
        assert_int_equal(f.ranges[i].tombstones, want[i].tombstones);
    }
    assert_int_equal(f.committed[0], 9);
    assert_int_equal(f.committed[2], 110);
    fake_close(&f);
}

static void test_a_topic_full_of_gaps_is_reported_in_few_ranges(void **state)
{
    (void)state;
    static struct fake_batch a;
    struct fake f;
    fake_begin(&f, 1, &a);
    for (uint32_t i = 0; i < FAKE_RECORDS; i++) {
        fake_add(&a, i, 1.0f, 0);
        a.messages[i].offset = 2 * i;
    }
    assert_true(FAKE_RECORDS > SCORER_MAX_RANGES);
    fake_run(&f, &a);
    assert_int_equal(f.n_ranges, 64); /* and more: what the fake has room for */
    assert_int_equal(f.progress_records, FAKE_RECORDS);
    assert_int_equal(f.committed[0], 2 * FAKE_RECORDS - 1);
    fake_close(&f);
}

static void test_what_was_taken_away_is_not_committed(void **state)
{
    (void)state;
    static struct fake_batch a;
    const int32_t taken[] = {1, 3};
    struct fake f;
    fake_begin(&f, 1, &a);
    fake_add(&a, 1, 1.0f, 0);
    fake_place(&a, 0, 1, 50);
    fake_add(&a, 2, 1.0f, 0);
    fake_place(&a, 1, 2, 60);
    f.batch[0] = &a.b;
    scorer_batch(f.machine, 0, &a.b);
    scorer_revoked(f.machine, taken, 2);
    fake_scored(&f, 0, &a.b);
    fake_ack_all(&f, 0);
    assert_int_equal(f.n_released, 1);
    assert_int_equal(f.n_committed[0], 1); /* what was not taken away */
    assert_int_equal(f.committed[1], 0);
    assert_int_equal(f.committed[2], 61);
    assert_int_equal(f.progress_records, 2); /* and what was handled was handled */
    fake_run(&f, &a);                        /* it came back: the next batch is committed again */
    assert_int_equal(f.committed[1], 51);
    fake_close(&f);
}

static void test_a_batch_over_two_assignments_is_committed_by_the_newer(void **state)
{
    (void)state;
    static struct fake_batch a;
    const int32_t taken[] = {1};
    struct fake f;
    fake_begin(&f, 1, &a);
    for (uint32_t i = 0; i < 30; i++)
        fake_add(&a, i, 1.0f, 0);
    fake_place(&a, 0, 1, 50);
    f.batch[0] = &a.b;
    scorer_reading(f.machine, 0, &a.b);
    scorer_revoked(f.machine, taken, 1);
    for (uint32_t i = 30; i < 40; i++)
        fake_add(&a, i, 1.0f, 0);
    fake_place(&a, 30, 1, 40); /* given back, and what was in flight is read again */
    scorer_batch(f.machine, 0, &a.b);
    fake_scored(&f, 0, &a.b);
    fake_ack_all(&f, 0);
    assert_int_equal(f.n_committed[0], 1);
    assert_int_equal(f.committed[1], 50); /* and not 80 */
    assert_int_equal(f.n_ranges, 2);
    assert_int_equal(f.ranges[1].begin, 40);
    assert_int_equal(f.ranges[1].next, 50);
    fake_close(&f);
}

static void test_what_begins_again_is_reported_once(void **state)
{
    (void)state;
    static struct fake_batch a;
    struct fake f;
    fake_open(&f, &fis_acquisition_entropy, 1);
    fake_new_head(&f, 1);
    assert_int_equal(scorer_reset(f.machine, 1, 3000, 2000, 0, NULL), 0);
    assert_int_equal(scorer_reset(f.machine, 2, 0, 0, 1, NULL), 0);
    assert_int_equal(scorer_counts(f.machine)->lost, 2000);
    for (int64_t at = 0; at < 2; at++) {
        fake_batch(&a, 1);
        fake_add(&a, 1, 1.0f, 0);
        fake_place(&a, 0, 1, 3000 + at);
        fake_add(&a, 2, 1.0f, 0);
        fake_place(&a, 1, 2, at);
        fake_run(&f, &a);
    }
    assert_int_equal(f.n_ranges, 5);
    assert_int_equal(f.ranges[0].begin, 3000);
    assert_int_equal(f.ranges[0].records, 1);
    assert_int_equal(f.ranges[1].partition, 2);
    assert_int_equal(f.ranges[1].next, 0); /* a range of nothing, before the first of it */
    assert_int_equal(f.ranges[2].records, 1);
    assert_int_equal(f.ranges[4].begin, 1);
    fake_close(&f);
}

static void test_a_partition_that_goes_takes_its_beginning_along(void **state)
{
    (void)state;
    static struct fake_batch a;
    struct fake f;
    int32_t gone = 2;
    fake_open(&f, &fis_acquisition_entropy, 1);
    fake_new_head(&f, 1);
    assert_int_equal(scorer_reset(f.machine, 2, 0, 0, 1, NULL), 0);
    scorer_revoked(f.machine, &gone, 1);
    fake_batch(&a, 1);
    fake_add(&a, 1, 1.0f, 0);
    fake_place(&a, 0, 2, 500); /* it came back, and others had read on */
    fake_run(&f, &a);
    assert_int_equal(f.n_ranges, 1);
    assert_int_equal(f.ranges[0].begin, 500);
    fake_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_committed_before_its_acknowledgements),
        cmocka_unit_test(test_ranges_are_reported_by_partition),
        cmocka_unit_test(test_a_topic_full_of_gaps_is_reported_in_few_ranges),
        cmocka_unit_test(test_what_was_taken_away_is_not_committed),
        cmocka_unit_test(test_a_batch_over_two_assignments_is_committed_by_the_newer),
        cmocka_unit_test(test_what_begins_again_is_reported_once),
        cmocka_unit_test(test_a_partition_that_goes_takes_its_beginning_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
