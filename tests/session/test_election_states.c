/* Leadership: who leads when, what is asked for, and that every way down leads back to following.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fis/rng.h"
#include "session/election.h"

struct world {
    struct election l;
    uint64_t now;
    char log[4096]; /* wishes, and events of notes in brackets */
    bool stopped, failed;
    char why[FIS_ERROR_TEXT];
    int follows, leaves; /* may not overlap */
};

static void say(struct world *w, const char *what)
{
    size_t n = strlen(w->log);
    snprintf(w->log + n, sizeof w->log - n, "%s%s", n ? " " : "", what);
}

static void follow(void *ctx)
{
    struct world *w = ctx;
    w->follows++;
    say(w, "follow");
}
static void fence(void *ctx)
{
    say(ctx, "fence");
}
static void catch_up(void *ctx)
{
    say(ctx, "catch_up");
}
static void lead(void *ctx)
{
    say(ctx, "lead");
}
static void drain(void *ctx)
{
    say(ctx, "drain");
}
static void leave(void *ctx)
{
    struct world *w = ctx;
    w->leaves++;
    say(w, "leave");
}
static void stopped(void *ctx, const struct fis_error *failed)
{
    struct world *w = ctx;
    assert_false(w->stopped); /* once */
    w->stopped = true;
    w->failed = failed != NULL;
    if (failed)
        snprintf(w->why, sizeof w->why, "%s", failed->text);
    say(w, failed ? "failed" : "stopped");
}
static void note(void *ctx, bool bad, const char *event, const char *text)
{
    char line[64];
    assert_non_null(text);
    (void)bad;
    snprintf(line, sizeof line, "[%s]", event);
    say(ctx, line);
}

static void open_world(struct world *w)
{
    memset(w, 0, sizeof *w);
    struct election_out out = {w, follow, fence, catch_up, lead, drain, leave, stopped, note};
    election_init(&w->l, &out);
    election_start(&w->l, w->now);
}

/* What was asked for since the last look. */
#define DECIDED(w, text)                                                                           \
    do {                                                                                           \
        assert_string_equal((w)->log, text);                                                       \
        (w)->log[0] = 0;                                                                           \
    } while (0)

static void to_lead(struct world *w)
{
    election_place(&w->l, true, false, w->now);
    election_fenced_others(&w->l, w->now);
    election_caught_up(&w->l, w->now);
    election_running(&w->l, true, w->now);
    assert_int_equal(w->l.state, ELECTION_LEAD);
    w->log[0] = 0;
}

static void fail_with(struct world *w, enum fis_error_kind kind, bool fenced)
{
    struct fis_error e = {0};
    fis_fail(&e, kind, "because");
    election_failed(&w->l, &e, fenced, w->now);
}

static void one_alone_leads(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    DECIDED(&w, "follow");
    election_start(&w.l, w.now); /* once */
    DECIDED(&w, "");
    election_warm(&w.l, 0, 0, w.now);
    election_place(&w.l, true, false, w.now += 100);
    DECIDED(&w, "[standby] [leader] fence");
    election_caught_up(&w.l, w.now); /* of the follower; not asked for yet */
    DECIDED(&w, "");
    election_fenced_others(&w.l, w.now += 50);
    DECIDED(&w, "catch_up");
    election_place(&w.l, true, false, w.now); /* once more */
    election_caught_up(&w.l, w.now += 50);
    DECIDED(&w, "lead");
    election_running(&w.l, false, w.now);
    election_running(&w.l, false, w.now);
    DECIDED(&w, "[leader]");
    election_stop(&w.l, w.now);
    election_stop(&w.l, w.now);
    DECIDED(&w, "drain");
    election_place(&w.l, false, false, w.now); /* leaving the group, too late to matter */
    election_committed(&w.l, w.now);
    DECIDED(&w, "stopped");
    assert_true(w.stopped && !w.failed);
}

static void a_standby_waits_and_takes_over(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    election_place(&w.l, false, false, w.now);
    election_place(&w.l, false, false, w.now);
    election_warm(&w.l, 3, 100, w.now);
    election_warm(&w.l, 3, 100, w.now);
    DECIDED(&w, "follow [standby] [standby]");
    election_tick(&w.l, w.now += 10 * ELECTION_PATIENCE_MS); /* reported: whom it waits for */
    DECIDED(&w, "");
    election_place(&w.l, true, false, w.now);
    election_fenced_others(&w.l, w.now);
    election_caught_up(&w.l, w.now);
    election_running(&w.l, true, w.now);
    DECIDED(&w, "[leader] fence catch_up lead [takeover]");
}

static void waiting_for_the_dead_is_reported_once(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    election_tick(&w.l, w.now += ELECTION_PATIENCE_MS - 1);
    DECIDED(&w, "follow");
    election_tick(&w.l, w.now += 1);
    election_tick(&w.l, w.now += ELECTION_PATIENCE_MS);
    DECIDED(&w, "[standby]");
    election_place(&w.l, false, false, w.now); /* it was no dead one that had it */
    election_place(&w.l, false, false, w.now);
    DECIDED(&w, "[standby]");
}

static void a_lost_place_begins_again(void **state)
{
    (void)state;
    struct world w;
    for (int lost = 0; lost < 2; lost++)
        for (int at = 0; at < 3; at++) {
            open_world(&w);
            election_place(&w.l, true, false, w.now);
            if (at > 0)
                election_fenced_others(&w.l, w.now);
            if (at > 1)
                election_caught_up(&w.l, w.now);
            w.log[0] = 0;
            election_place(&w.l, false, lost, w.now);
            DECIDED(&w, "[stepped_down] leave");
            /* What is still under way comes to an end, and means nothing any more. */
            election_fenced_others(&w.l, w.now);
            election_caught_up(&w.l, w.now);
            election_running(&w.l, true, w.now);
            election_place(&w.l, true, false, w.now);
            fail_with(&w, FIS_FATAL, true);
            DECIDED(&w, "");
            election_left(&w.l, w.now);
            DECIDED(&w, "follow");
            assert_int_equal(w.l.state, ELECTION_STANDBY);
        }
}

static void losing_the_place_again_and_again_is_no_failure(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    for (int i = 0; i < 10 * ELECTION_FAILURES_MAX; i++) {
        to_lead(&w);
        election_place(&w.l, false, true, w.now);
        election_left(&w.l, w.now);
    }
    assert_false(w.stopped);
}

static void fenced_and_lost_units_begin_again_a_few_times(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    for (int i = 0; i < ELECTION_FAILURES_MAX; i++) {
        to_lead(&w);
        fail_with(&w, i % 2 ? FIS_ABORT_TXN : FIS_FATAL, i % 2 == 0);
        DECIDED(&w, i % 2 ? "[resuming] leave" : "[fenced] leave");
        election_left(&w.l, w.now += 1000);
    }
    w.now += ELECTION_FAILURES_MS; /* long ago: forgotten */
    for (int i = 0; i < ELECTION_FAILURES_MAX; i++) {
        to_lead(&w);
        fail_with(&w, FIS_ABORT_TXN, false);
        election_left(&w.l, w.now);
    }
    assert_false(w.stopped);
    to_lead(&w);
    fail_with(&w, FIS_ABORT_TXN, true);
    DECIDED(&w, "failed");
    assert_string_equal(w.why, "6 times within 120 s, at last: another trainer with the same "
                               "transactional id has taken over: because");
}

static void other_failures_are_the_end(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    fail_with(&w, FIS_FATAL, false);
    fail_with(&w, FIS_FATAL, false);
    DECIDED(&w, "follow failed");
    election_stop(&w.l, w.now);
    DECIDED(&w, "");
    open_world(&w);
    to_lead(&w);
    election_stop(&w.l, w.now);
    fail_with(&w, FIS_ABORT_TXN, false); /* the last commit failed: the exit status says so */
    DECIDED(&w, "drain failed");
}

static void stop_in_every_state(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    election_stop(&w.l, w.now);
    DECIDED(&w, "follow stopped");
    open_world(&w);
    election_place(&w.l, true, false, w.now);
    election_stop(&w.l, w.now);
    DECIDED(&w, "follow [leader] fence stopped");
    open_world(&w);
    to_lead(&w);
    election_place(&w.l, false, true, w.now);
    election_stop(&w.l, w.now);
    election_left(&w.l, w.now);
    DECIDED(&w, "[stepped_down] leave stopped");
}

/* Any events in any order: it follows again after each leave, asks for one thing at a time, and
 * ends once. */
static void any_order_of_events(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct fis_rng rng;
        struct world w;
        fis_rng_seed(&rng, seed, 0);
        open_world(&w);
        for (int i = 0; i < 200; i++) {
            enum election_state before = w.l.state;
            w.log[0] = 0;
            w.now += fis_rng_below(&rng, 5000);
            switch (fis_rng_below(&rng, 10)) {
            case 0:
            case 1:
                election_place(&w.l, true, false, w.now);
                break;
            case 2:
                election_place(&w.l, false, fis_rng_below(&rng, 2), w.now);
                break;
            case 3:
                election_fenced_others(&w.l, w.now);
                break;
            case 4:
                election_caught_up(&w.l, w.now);
                break;
            case 5:
                election_running(&w.l, true, w.now);
                break;
            case 6:
                fail_with(&w, FIS_ABORT_TXN, fis_rng_below(&rng, 2));
                break;
            case 7:
                election_left(&w.l, w.now);
                break;
            case 8:
                election_tick(&w.l, w.now);
                break;
            case 9:
                if (fis_rng_below(&rng, 20) == 0)
                    election_stop(&w.l, w.now);
                break;
            }
            assert_true(w.follows == w.leaves || w.follows == w.leaves + 1);
            if (before == ELECTION_STOPPED)
                DECIDED(&w, "");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_alone_leads),
        cmocka_unit_test(a_standby_waits_and_takes_over),
        cmocka_unit_test(waiting_for_the_dead_is_reported_once),
        cmocka_unit_test(a_lost_place_begins_again),
        cmocka_unit_test(losing_the_place_again_and_again_is_no_failure),
        cmocka_unit_test(fenced_and_lost_units_begin_again_a_few_times),
        cmocka_unit_test(other_failures_are_the_end),
        cmocka_unit_test(stop_in_every_state),
        cmocka_unit_test(any_order_of_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
