/* Every cell: what a request becomes, or that it must not happen. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "core/request_table.h"

/* Columns: offer, evict, report, recall, ask, accept, set aside, expire, skip, cancel, tie, forget.
 * A number is a state; -1 must not happen. */
#define N FIS_NONE
#define X (-1)
#define ENDS FIS_ACCEPTED, FIS_SET_ASIDE
static const int expected[FIS_REQUEST_STATES][REQUEST_EVENTS] = {
    [FIS_NONE] = {FIS_HELD_NEW, X, X, FIS_HELD, FIS_OPEN, X, X, X, X, X, X, X},
    [FIS_HELD_NEW] = {X, N, FIS_HELD, X, FIS_OPEN, X, X, X, X, X, X, N},
    [FIS_HELD_AGAIN] = {X, FIS_GONE, FIS_HELD, X, FIS_OPEN, X, X, X, X, X, X, N},
    [FIS_HELD] = {X, FIS_GONE, X, X, FIS_OPEN, X, X, X, X, X, X, N},
    [FIS_GONE] = {FIS_HELD_AGAIN, X, N, FIS_HELD, FIS_OPEN, X, X, X, X, X, X, N},
    [FIS_OPEN] = {X, X, X, X, X, ENDS, FIS_EXPIRED, FIS_SKIPPED, FIS_CANCELLED, FIS_TIED, N},
    [FIS_ACCEPTED] = {X, X, X, X, X, X, X, X, X, X, X, N},
    [FIS_SET_ASIDE] = {X, X, X, X, X, X, X, X, X, X, X, N},
    [FIS_EXPIRED] = {X, X, X, X, X, ENDS, X, X, X, X, N},
    [FIS_SKIPPED] = {X, X, X, X, X, ENDS, X, X, X, X, N},
    [FIS_CANCELLED] = {X, X, X, X, X, ENDS, X, X, X, X, N},
    [FIS_TIED] = {X, X, X, X, X, ENDS, X, X, X, X, N},
};

static bool aborts(enum fis_request_state s, enum request_event e)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGABRT, SIG_DFL);
        if (!freopen("/dev/null", "w", stderr))
            _exit(2);
        (void)request_next(s, e);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void every_cell_is_as_stated(void **state)
{
    (void)state;
    for (int s = 0; s < FIS_REQUEST_STATES; s++)
        for (int e = 0; e < REQUEST_EVENTS; e++) {
            int want = expected[s][e];
            assert_int_equal(request_may((enum fis_request_state)s, (enum request_event)e),
                             want >= 0);
            if (want >= 0)
                assert_int_equal(request_next((enum fis_request_state)s, (enum request_event)e),
                                 want);
            else
                assert_true(aborts((enum fis_request_state)s, (enum request_event)e));
        }
}

static void traits_follow_the_kind_of_state(void **state)
{
    (void)state;
    for (enum fis_request_state s = FIS_NONE; s < FIS_REQUEST_STATES; s++) {
        const struct request_traits *t = request_traits(s);
        bool changed = s == FIS_HELD_NEW || s == FIS_HELD_AGAIN || s == FIS_GONE;
        assert_int_equal(t->count == COUNT_HELD, fis_is_held(s));
        assert_int_equal(t->count == COUNT_OPEN, s == FIS_OPEN);
        assert_int_equal(t->count == COUNT_ANSWERED, fis_is_answered(s));
        assert_int_equal(t->count == COUNT_GIVEN_UP, fis_is_given_up(s));
        assert_int_equal(t->list == LIST_OPEN, s == FIS_OPEN);
        assert_int_equal(t->list == LIST_CHANGED, changed);
        assert_int_equal(t->needs == NEEDS_PAYLOAD, fis_is_held(s) || s == FIS_OPEN);
        assert_int_equal(t->needs == NEEDS_FEATURES, fis_is_given_up(s));
        assert_int_equal(t->place, s == FIS_OPEN || fis_is_answered(s));
        assert_true(strlen(fis_request_state_name(s)) > 0);
    }
}

static void an_event_leads_to_its_state(void **state)
{
    (void)state;
    for (enum fis_request_state s = FIS_OPEN; s <= FIS_TIED; s++)
        assert_int_equal(request_next(s == FIS_OPEN ? FIS_NONE : FIS_OPEN, request_event_to(s)), s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_is_as_stated),
        cmocka_unit_test(traits_follow_the_kind_of_state),
        cmocka_unit_test(an_event_leads_to_its_state),
    };
    return cmocka_run_group_tests_name("request table", tests, NULL, NULL);
}
