/* Intake: which offsets may be committed when, and what was taken before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/intake.h"
#include "fis/mem.h"

enum { CANDIDATES, LABELS };

static int take(struct intake *in, uint32_t topic, int32_t partition, int64_t offset)
{
    struct fis_error e;
    return intake_take(in, topic, partition, offset, &e);
}

/* The commit that is told for a place, or -1; everything else that is told is passed over. */
static int64_t told(struct intake *in, uint32_t topic, int32_t partition)
{
    const struct intake_place *p;
    int64_t commit = -1;
    while ((p = intake_next(in)))
        if (p->topic == topic && p->partition == partition)
            commit = p->commit;
    return commit;
}

static void plain_topics_are_committed_as_they_are_taken(void **state)
{
    (void)state;
    struct intake in;
    intake_init(&in, CANDIDATES);
    assert_null(intake_next(&in));
    assert_int_equal(take(&in, LABELS, 0, 7), 1);
    assert_int_equal(take(&in, LABELS, 0, 9), 1); /* markers of transactions take offsets too */
    assert_int_equal(told(&in, LABELS, 0), 10);
    assert_null(intake_next(&in)); /* told once */
    intake_done(&in);
}

static void candidates_wait_for_the_end_of_their_round(void **state)
{
    (void)state;
    struct intake in;
    intake_init(&in, CANDIDATES);
    intake_window(&in, TRAINER_WINDOW_DONE); /* the first round begins */
    for (int64_t i = 100; i < 110; i++)
        assert_int_equal(take(&in, CANDIDATES, 0, i), 1);
    assert_int_equal(told(&in, CANDIDATES, 0), -1);
    intake_window(&in, TRAINER_WINDOW_CLOSED);
    for (int64_t i = 110; i < 115; i++)
        assert_int_equal(take(&in, CANDIDATES, 0, i), 1);
    assert_int_equal(take(&in, CANDIDATES, 1, 3), 1); /* a partition of the next window alone */
    assert_int_equal(told(&in, CANDIDATES, 0), -1);
    intake_window(&in, TRAINER_WINDOW_DONE);
    const struct intake_place *p = intake_next(&in);
    assert_non_null(p);
    assert_int_equal(p->commit, 110); /* what came after the window is needed again */
    p = intake_next(&in);
    assert_non_null(p);
    assert_int_equal(p->commit, 3);
    intake_window(&in, TRAINER_WINDOW_NONE); /* nothing will be asked any more */
    assert_int_equal(told(&in, CANDIDATES, 0), 115);
    assert_int_equal(take(&in, CANDIDATES, 0, 115), 1);
    assert_int_equal(told(&in, CANDIDATES, 0), 116);
    intake_done(&in);
}

static void what_comes_again_is_known(void **state)
{
    (void)state;
    struct intake in;
    intake_init(&in, CANDIDATES);
    for (int64_t i = 0; i < 5; i++)
        assert_int_equal(take(&in, LABELS, 2, i), 1);
    assert_int_equal(told(&in, LABELS, 2), 5);
    /* The commit got lost with the assignment; the messages come again. */
    for (int64_t i = 3; i < 5; i++)
        assert_int_equal(take(&in, LABELS, 2, i), 0);
    assert_int_equal(told(&in, LABELS, 2), 5);
    assert_int_equal(take(&in, LABELS, 2, 5), 1);
    assert_int_equal(told(&in, LABELS, 2), 6);
    intake_done(&in);
}

static void many_partitions_and_refused_memory(void **state)
{
    (void)state;
    struct intake in;
    struct fis_error e;
    intake_init(&in, CANDIDATES);
    for (int32_t p = 0; p < 100; p++)
        assert_int_equal(take(&in, LABELS, p, p), 1);
    for (int32_t p = 99; p >= 0; p--)
        assert_int_equal(take(&in, LABELS, p, p), 0);
    int n = 0;
    while (intake_next(&in))
        n++;
    assert_int_equal(n, 100);
    fis_mem_refuse_after(0);
    int rc = 0;
    for (int32_t p = 100; p < 200 && rc >= 0; p++)
        rc = intake_take(&in, LABELS, p, 0, &e);
    fis_mem_refuse_after(UINT64_MAX);
    assert_int_equal(rc, -FIS_NOMEM);
    assert_int_equal(take(&in, LABELS, 5, 6), 1); /* what was there is as it was */
    intake_done(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_topics_are_committed_as_they_are_taken),
        cmocka_unit_test(candidates_wait_for_the_end_of_their_round),
        cmocka_unit_test(what_comes_again_is_known),
        cmocka_unit_test(many_partitions_and_refused_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
