/*
 * Pacing in virtual time: the rate is kept, unread records stay within what the embedded broker
 * holds, and a wait for the scorers is not made up for by a burst.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/pace.h"

/* A broker and scorers that read `speed` records a second from `from_ms` on. */
struct world {
    struct pace pace;
    int64_t now_ms;
    double speed;
    int64_t from_ms;
    double read;
    uint64_t size, most_unread;
};

static void step(struct world *w)
{
    w->now_ms++;
    if (w->now_ms > w->from_ms && w->read < (double)w->pace.sent)
        w->read += w->speed / 1000;
    if (w->read > (double)w->pace.sent)
        w->read = (double)w->pace.sent;
    if (pace_ask(&w->pace, w->now_ms))
        pace_lag(&w->pace, w->pace.sent - (uint64_t)w->read, w->pace.sent, w->now_ms);
    while (pace_allowed(&w->pace, w->now_ms) && w->pace.sent < 1000000)
        pace_sent(&w->pace, w->size);
    uint64_t unread = w->pace.sent - (uint64_t)w->read;
    if (unread > w->most_unread)
        w->most_unread = unread;
}

static void run(struct world *w, int64_t ms)
{
    for (int64_t until = w->now_ms + ms; w->now_ms < until;)
        step(w);
}

static void the_rate_is_kept(void **state)
{
    (void)state;
    struct world w = {.size = 300, .now_ms = 5000};
    pace_init(&w.pace, 1200, 0, w.now_ms);
    run(&w, 10000);
    assert_in_range(w.pace.sent, 11990, 12010);
    assert_false(pace_ask(&w.pace, w.now_ms));
    int wait = pace_wait_ms(&w.pace, w.now_ms);
    assert_in_range(wait, 1, 2);
}

static void without_limits_all_may_go(void **state)
{
    (void)state;
    struct pace p;
    pace_init(&p, 0, 0, 0);
    assert_true(pace_allowed(&p, 0) > 1000000);
}

static void unread_records_are_bounded(void **state)
{
    (void)state;
    struct world w = {.size = 300, .speed = 1000};
    pace_init(&w.pace, 0, 3, 0);
    run(&w, 20000);
    assert_true(w.most_unread <= 3 * PACE_RECORDS);
    /* The scorers are never idle for want of records. */
    assert_true(w.read > 19000);
}

static void unread_bytes_are_bounded(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {100, 5000, 100000, 900000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct world w = {.size = sizes[i], .speed = 50};
        pace_init(&w.pace, 0, 8, 0);
        run(&w, 10000);
        uint64_t bytes = w.most_unread * w.size;
        assert_true(w.pace.sent > 8);
        assert_true(bytes <= PACE_TOTAL);
    }
}

static void nothing_is_sent_to_scorers_that_do_not_read(void **state)
{
    (void)state;
    struct world w = {.size = 300, .speed = 1000, .from_ms = 60000};
    pace_init(&w.pace, 5000, 1, 0);
    run(&w, 60000);
    assert_int_equal(w.pace.sent, PACE_RECORDS);
    assert_int_equal(pace_allowed(&w.pace, w.now_ms), 0);
}

static void a_wait_is_not_made_up_for(void **state)
{
    (void)state;
    struct world w = {.size = 300, .speed = 100000, .from_ms = 30000};
    pace_init(&w.pace, 1000, 1, 0);
    run(&w, 30000);
    uint64_t before = w.pace.sent;
    run(&w, 3000);
    assert_true(w.pace.sent - before <= 3 * 1000 + 1100);
    assert_true(w.pace.sent - before >= 2500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_is_kept),
        cmocka_unit_test(without_limits_all_may_go),
        cmocka_unit_test(unread_records_are_bounded),
        cmocka_unit_test(unread_bytes_are_bounded),
        cmocka_unit_test(nothing_is_sent_to_scorers_that_do_not_read),
        cmocka_unit_test(a_wait_is_not_made_up_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
