/* How a session goes on after a restart, stops, and takes validation rows that changed. */
#include <string.h>
#include "kit/cmocka.h"
#include "kit/session/session_kit.h"
#include "wire/json_arena.h"

static struct session_status status(const struct kit *k)
{
    struct session_status s;
    session_status(k->session, &s);
    return s;
}

/* ---- going on ------------------------------------------------------------------------------ */
static void answer(struct kit *k, uint32_t from)
{
    for (uint32_t i = from; i < kit_requests(k); i++)
        kit_label(k, k->topic[SESSION_REQUESTS].m[i].key, i % 2 ? "yes" : "no");
}

static void a_restart_goes_on_from_the_ledger(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_lead(&k);
    kit_candidates(&k, 0, 50);
    kit_settle(&k);
    answer(&k, 0);
    kit_settle(&k);
    struct trainer_role_counts was = kit_counts(&k);
    assert_int_equal(was.labels, 4);
    assert_int_equal(was.round, 2);
    kit_restart(&k);
    kit_lead(&k);
    struct trainer_role_counts now = kit_counts(&k);
    assert_true(kit_noted(&k, "restored"));
    assert_true(kit_noted(&k, "takeover"));
    assert_int_equal(now.round, was.round);
    assert_int_equal(now.learner.bought, 4);
    assert_int_equal(now.served_version, was.served_version);
    assert_int_equal(now.selector.held, was.selector.held);
    assert_int_equal(status(&k).read, 0); /* nothing is read twice */
    assert_true(status(&k).entries > 0);
    kit_candidates(&k, 50, 50);
    kit_settle(&k);
    assert_int_equal(kit_requests(&k), 8);
    kit_close(&k);
}

/* Retention on the ledger: a request that is gone would be made again, so nothing is. */
static void a_ledger_that_lost_a_request_is_refused(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_lead(&k);
    kit_candidates(&k, 0, 50);
    kit_settle(&k);
    uint32_t n = k.topic[SESSION_LEDGER].n, at = 0;
    const char *id = k.topic[SESSION_REQUESTS].m[0].key;
    for (uint32_t i = 0; i < n; i++)
        at = strcmp(k.topic[SESSION_LEDGER].m[i].key, id) == 0 ? i + 1 : at;
    kit_forget(&k, SESSION_LEDGER, at);
    kit_restart(&k);
    kit_lead(&k);
    assert_true(k.stopped);
    assert_int_equal(k.failed, FIS_FATAL);
    assert_non_null(strstr(k.error.text, "ledger holds 3 of 4 requested records"));
    assert_int_equal(kit_requests(&k), 4);
    kit_close(&k);
}

static void a_ledger_that_lost_candidates_is_reported(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_lead(&k);
    kit_candidates(&k, 0, 40); /* the window is not full: nothing is requested yet */
    kit_settle(&k);
    kit_forget(&k, SESSION_LEDGER, k.topic[SESSION_LEDGER].n - 1); /* the state is the last */
    kit_restart(&k);
    kit_lead(&k);
    assert_true(kit_noted(&k, "ledger_cut"));
    assert_true(status(&k).running);
    assert_int_equal(kit_counts(&k).selector.held, 0);
    kit_close(&k);
}

static void a_fenced_one_stands_by(void **state)
{
    (void)state;
    struct kit k;
    struct fis_error e;
    kit_open(&k, false);
    kit_lead(&k);
    k.fenced = true;
    fis_fail(&e, FIS_FATAL, "another producer");
    session_failed(k.session, &e, k.now);
    kit_settle(&k);
    assert_true(kit_noted(&k, "fenced"));
    assert_false(k.stopped);
    assert_int_equal(status(&k).state, ELECTION_STANDBY);
    assert_int_equal(status(&k).led, 1);
    kit_lead(&k);
    assert_int_equal(status(&k).led, 2);
    assert_true(status(&k).running);
    kit_close(&k);
}

static void a_fatal_error_is_the_end(void **state)
{
    (void)state;
    struct kit k;
    struct fis_error e;
    kit_open(&k, false);
    kit_lead(&k);
    fis_fail(&e, FIS_FATAL, "no");
    session_failed(k.session, &e, k.now);
    assert_true(k.stopped);
    assert_int_equal(k.failed, FIS_FATAL);
    kit_close(&k);
}

/* ---- stopping ------------------------------------------------------------------------------ */
static void a_stop_commits_first(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_lead(&k);
    k.o.commit_ms = 1000000;
    session_adjust(k.session, &k.o.role, k.o.commit_ms);
    kit_candidates(&k, 0, 50);
    kit_settle(&k);
    kit_candidates(&k, 50, 10);
    kit_settle(&k);
    assert_true(status(&k).unsaved);
    assert_int_equal(k.committed[SESSION_CANDIDATES], 1);
    session_stop(k.session, k.now);
    kit_candidates(&k, 60, 10); /* too late */
    kit_settle(&k);
    assert_true(k.stopped);
    assert_int_equal(k.failed, FIS_OK);
    assert_int_equal(k.committed[SESSION_CANDIDATES], 2);
    kit_close(&k);
}

static void a_standby_stops_at_once(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_settle(&k);
    session_stop(k.session, k.now);
    assert_true(k.stopped);
    assert_int_equal(k.failed, FIS_OK);
    kit_close(&k);
}

/* ---- validation ---------------------------------------------------------------------------- */
static void validation_rows_may_change(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_lead(&k);
    k.validated = false;
    kit_settle(&k);
    assert_int_equal(k.groups_seen, 2);
    k.validated = false;
    k.bad_validation = true; /* one row: what was there stays in force */
    kit_settle(&k);
    assert_int_equal(k.groups_seen, 2);
    assert_non_null(strstr(k.notes, "kept as it was"));
    assert_false(k.stopped);
    kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_goes_on_from_the_ledger),
        cmocka_unit_test(a_ledger_that_lost_a_request_is_refused),
        cmocka_unit_test(a_ledger_that_lost_candidates_is_reported),
        cmocka_unit_test(a_fenced_one_stands_by),
        cmocka_unit_test(a_fatal_error_is_the_end),
        cmocka_unit_test(a_stop_commits_first),
        cmocka_unit_test(a_standby_stops_at_once),
        cmocka_unit_test(validation_rows_may_change),
    };
    wire_json_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
