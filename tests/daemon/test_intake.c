/* Intake: how far the input was taken, what is committed of it, and what came before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/trainer/intake.h"
#include "fis/mem.h"

enum { CANDIDATES, LABELS };

static int take(struct intake *in, uint32_t topic, int32_t partition, int64_t offset)
{
    struct fis_error e;
    return intake_take(in, topic, partition, offset, &e);
}

/* What is told for a place, or -1; everything else that is told is passed over. */
static int64_t told(struct intake *in, uint32_t topic, int32_t partition)
{
    const struct intake_place *p;
    int64_t next = -1;
    while ((p = intake_next(in)))
        if (p->topic == topic && p->partition == partition)
            next = p->next;
    return next;
}

static void what_is_taken_is_told_once(void **state)
{
    (void)state;
    struct intake in;
    intake_init(&in);
    assert_null(intake_next(&in));
    assert_int_equal(take(&in, LABELS, 0, 7), 1);
    assert_int_equal(take(&in, LABELS, 0, 9), 1); /* markers of transactions take offsets too */
    assert_int_equal(take(&in, CANDIDATES, 0, 0), 1);
    assert_int_equal(told(&in, LABELS, 0), 10);
    assert_null(intake_next(&in));
    assert_int_equal(take(&in, LABELS, 1, 3), 1);
    assert_int_equal(told(&in, LABELS, 0), -1); /* it has not moved */
    intake_done(&in);
}

static void what_comes_again_is_known(void **state)
{
    (void)state;
    struct intake in;
    intake_init(&in);
    for (int64_t i = 0; i < 5; i++)
        assert_int_equal(take(&in, LABELS, 2, i), 1);
    assert_int_equal(told(&in, LABELS, 2), 5);
    for (int64_t i = 3; i < 5; i++)
        assert_int_equal(take(&in, LABELS, 2, i), 0);
    assert_null(intake_next(&in));
    assert_int_equal(take(&in, LABELS, 2, 5), 1);
    assert_int_equal(told(&in, LABELS, 2), 6);
    intake_done(&in);
}

static void a_partition_may_go_on_elsewhere(void **state)
{
    (void)state;
    struct intake in;
    struct fis_error e;
    intake_init(&in);
    for (int64_t i = 100; i < 105; i++)
        assert_int_equal(take(&in, LABELS, 0, i), 1);
    assert_int_equal(told(&in, LABELS, 0), 105);
    assert_int_equal(intake_move(&in, LABELS, 0, 0, &e), 0); /* another topic of the same name */
    assert_int_equal(take(&in, LABELS, 0, 0), 1);
    assert_int_equal(told(&in, LABELS, 0), 1);
    /* A message that must wait is put back: it is not committed, and comes as a new one. */
    assert_int_equal(take(&in, LABELS, 0, 1), 1);
    assert_int_equal(intake_move(&in, LABELS, 0, 1, &e), 0);
    assert_null(intake_next(&in));
    assert_int_equal(take(&in, LABELS, 0, 1), 1);
    assert_int_equal(intake_move(&in, CANDIDATES, 0, 40, &e), 0); /* of which nothing was taken */
    assert_int_equal(told(&in, CANDIDATES, 0), 40);
    intake_done(&in);
}

static void all_is_told_again_on_demand(void **state)
{
    (void)state;
    struct intake in;
    intake_init(&in);
    for (int32_t p = 0; p < 10; p++)
        assert_int_equal(take(&in, LABELS, p, p), 1);
    while (intake_next(&in))
        ;
    intake_again(&in);
    int n = 0;
    for (const struct intake_place *p; (p = intake_next(&in)); n++)
        assert_int_equal(p->next, p->partition + 1);
    assert_int_equal(n, 10);
    intake_done(&in);
}

static void many_partitions_and_refused_memory(void **state)
{
    (void)state;
    struct intake in;
    struct fis_error e;
    intake_init(&in);
    for (int32_t p = 0; p < 100; p++)
        assert_int_equal(take(&in, LABELS, p, p), 1);
    for (int32_t p = 99; p >= 0; p--)
        assert_int_equal(take(&in, LABELS, p, p), 0);
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
        cmocka_unit_test(what_is_taken_is_told_once),
        cmocka_unit_test(what_comes_again_is_known),
        cmocka_unit_test(a_partition_may_go_on_elsewhere),
        cmocka_unit_test(all_is_told_again_on_demand),
        cmocka_unit_test(many_partitions_and_refused_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
