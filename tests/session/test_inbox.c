/* Inbox: how far the input was taken, what is committed of it, and what came before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fis/mem.h"
#include "session/inbox.h"

static int take(struct inbox *in, enum session_topic topic, int32_t partition, int64_t offset)
{
    struct fis_error e;
    return inbox_take(in, topic, partition, offset, &e);
}

/* What is given out for a place, or -1. */
static int64_t given(struct inbox *in, enum session_topic topic, int32_t partition)
{
    uint32_t n;
    const struct session_place *p = inbox_changed(in, &n);
    int64_t next = -1;
    for (uint32_t i = 0; i < n; i++)
        if (p[i].topic == topic && p[i].partition == partition)
            next = p[i].next;
    return next;
}

static void what_is_taken_is_given_out_once(void **state)
{
    (void)state;
    struct inbox in = {0};
    assert_false(inbox_has_changed(&in));
    assert_int_equal(take(&in, SESSION_LABELS, 0, 7), 1);
    assert_int_equal(take(&in, SESSION_LABELS, 0, 9),
                     1); /* markers of transactions take offsets too */
    assert_int_equal(take(&in, SESSION_CANDIDATES, 0, 0), 1);
    assert_int_equal(given(&in, SESSION_LABELS, 0), 10);
    assert_false(inbox_has_changed(&in));
    assert_int_equal(take(&in, SESSION_LABELS, 1, 3), 1);
    assert_int_equal(given(&in, SESSION_LABELS, 0), -1); /* it has not moved */
    inbox_done(&in);
}

static void what_comes_again_is_known(void **state)
{
    (void)state;
    struct inbox in = {0};
    for (int64_t i = 0; i < 5; i++)
        assert_int_equal(take(&in, SESSION_LABELS, 2, i), 1);
    assert_int_equal(given(&in, SESSION_LABELS, 2), 5);
    for (int64_t i = 3; i < 5; i++)
        assert_int_equal(take(&in, SESSION_LABELS, 2, i), 0);
    assert_false(inbox_has_changed(&in));
    assert_int_equal(take(&in, SESSION_LABELS, 2, 5), 1);
    assert_int_equal(given(&in, SESSION_LABELS, 2), 6);
    inbox_done(&in);
}

static void a_partition_may_go_on_elsewhere(void **state)
{
    (void)state;
    struct inbox in = {0};
    struct fis_error e;
    for (int64_t i = 100; i < 105; i++)
        assert_int_equal(take(&in, SESSION_LABELS, 0, i), 1);
    assert_int_equal(given(&in, SESSION_LABELS, 0), 105);
    assert_int_equal(inbox_move(&in, SESSION_LABELS, 0, 0, &e),
                     0); /* another topic of the same name */
    assert_int_equal(take(&in, SESSION_LABELS, 0, 0), 1);
    assert_int_equal(given(&in, SESSION_LABELS, 0), 1);
    /* A message that must wait is put back: it is not committed, and comes as a new one. */
    assert_int_equal(take(&in, SESSION_LABELS, 0, 1), 1);
    assert_int_equal(inbox_move(&in, SESSION_LABELS, 0, 1, &e), 0);
    assert_false(inbox_has_changed(&in));
    assert_int_equal(take(&in, SESSION_LABELS, 0, 1), 1);
    assert_int_equal(inbox_move(&in, SESSION_CANDIDATES, 0, 40, &e),
                     0); /* of which nothing was taken */
    assert_int_equal(given(&in, SESSION_CANDIDATES, 0), 40);
    inbox_done(&in);
}

static void all_is_given_out_again_on_demand(void **state)
{
    (void)state;
    struct inbox in = {0};
    for (int32_t p = 0; p < 10; p++)
        assert_int_equal(take(&in, SESSION_LABELS, p, p), 1);
    assert_int_equal(given(&in, SESSION_LABELS, 9), 10);
    inbox_again(&in);
    uint32_t n;
    const struct session_place *p = inbox_changed(&in, &n);
    assert_int_equal(n, 10);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(p[i].next, p[i].partition + 1);
    inbox_done(&in);
}

static void many_partitions_and_refused_memory(void **state)
{
    (void)state;
    struct inbox in = {0};
    struct fis_error e;
    for (int32_t p = 0; p < 100; p++)
        assert_int_equal(take(&in, SESSION_LABELS, p, p), 1);
    for (int32_t p = 99; p >= 0; p--)
        assert_int_equal(take(&in, SESSION_LABELS, p, p), 0);
    fis_mem_refuse_after(0);
    int rc = 0;
    for (int32_t p = 100; p < 200 && rc >= 0; p++)
        rc = inbox_take(&in, SESSION_LABELS, p, 0, &e);
    fis_mem_refuse_after(UINT64_MAX);
    assert_int_equal(rc, -FIS_NOMEM);
    assert_int_equal(take(&in, SESSION_LABELS, 5, 6), 1); /* what was there is as it was */
    inbox_done(&in);
}

/* The group's place went with the topic: the same number is committed again. */
static void a_restart_is_committed_again(void **state)
{
    (void)state;
    struct inbox in = {0};
    struct fis_error e;
    uint32_t n;
    assert_int_equal(inbox_take(&in, SESSION_LABELS, 0, 0, &e), 1);
    (void)inbox_changed(&in, &n);
    assert_int_equal(n, 1);
    assert_int_equal(inbox_restart(&in, SESSION_LABELS, 0, 0, &e), 0);
    assert_int_equal(inbox_take(&in, SESSION_LABELS, 0, 0, &e), 1);
    assert_true(inbox_has_changed(&in));
    const struct session_place *p = inbox_changed(&in, &n);
    assert_int_equal(n, 1);
    assert_int_equal(p->next, 1);
    inbox_done(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_is_committed_again),
        cmocka_unit_test(what_is_taken_is_given_out_once),
        cmocka_unit_test(what_comes_again_is_known),
        cmocka_unit_test(a_partition_may_go_on_elsewhere),
        cmocka_unit_test(all_is_given_out_again_on_demand),
        cmocka_unit_test(many_partitions_and_refused_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
