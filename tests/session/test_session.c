/* A session on topics in memory: what is read when, what is committed together, and every way back.
 */
#include <string.h>

#include "fis/mem.h"
#include "kit/cmocka.h"
#include "kit/session/session_kit.h"
#include "wire/json_arena.h"

static struct session_status status(const struct kit *k)
{
    struct session_status s;
    session_status(k->session, &s);
    return s;
}

/* ---- leading ------------------------------------------------------------------------------- */
static void it_leads_and_asks(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_settle(&k);
    assert_int_equal(status(&k).state, ELECTION_STANDBY);
    assert_true(status(&k).warm);
    assert_null(session_role(k.session));
    kit_lead(&k);
    assert_int_equal(status(&k).state, ELECTION_LEAD);
    assert_true(status(&k).running);
    assert_int_equal(k.groups_seen, 1);
    assert_int_equal(k.topic[SESSION_MODELS].n > 0, 1);
    assert_false(k.readers[SESSION_READ_MEMORY].open);
    kit_candidates(&k, 0, 50);
    kit_settle(&k);
    assert_int_equal(kit_requests(&k), 4);
    assert_int_equal(k.committed[SESSION_CANDIDATES], 1);
    assert_false(status(&k).unsaved);
    kit_close(&k);
}

static void nothing_is_sent_before_others_are_fenced(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    k.hold_fence = true;
    kit_lead(&k);
    assert_int_equal(status(&k).state, ELECTION_FENCE);
    assert_int_equal(k.topic[SESSION_HEADS].n, 0);
    session_fenced_others(k.session, k.now);
    kit_settle(&k);
    assert_true(status(&k).running);
    kit_close(&k);
}

/* What another trainer committed between the election and the fence is read before it leads. */
static void it_reads_to_the_end_once_more(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_settle(&k);
    k.hold_end[SESSION_READ_MEMORY] = true;
    kit_lead(&k);
    assert_int_equal(status(&k).state, ELECTION_CATCH_UP);
    k.hold_end[SESSION_READ_MEMORY] = false;
    kit_settle(&k);
    assert_int_equal(status(&k).state, ELECTION_LEAD);
    kit_close(&k);
}

/* What an earlier trainer has left open is ended by who has fenced it, before anything is sent. */
static void what_is_left_open_is_swept_once(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    k.hold_sweep = true;
    kit_settle(&k);
    assert_int_equal(k.sweeps, 0); /* a standby has fenced nobody */
    kit_lead(&k);
    assert_int_equal(k.sweeps, 1);
    k.blocked = true; /* another one's: it is waited for */
    kit_settle(&k);
    assert_false(k.blocked);
    assert_int_equal(k.sweeps, 1);
    assert_int_equal(status(&k).state, ELECTION_CATCH_UP);
    session_swept(k.session);
    kit_settle(&k);
    assert_int_equal(status(&k).state, ELECTION_LEAD);
    kit_close(&k);
}

/* A version is no news while its unit may still be dropped. */
static void nothing_is_announced_before_it_is_committed(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    k.hold_commit = true;
    kit_lead(&k);
    assert_true(k.commit_due);
    assert_false(kit_noted(&k, "version"));
    kit_committed(&k);
    assert_true(kit_noted(&k, "version"));
    k.notes[0] = 0;
    kit_candidates(&k, 0, 50);
    kit_settle(&k);
    assert_true(k.commit_due);
    const struct fis_error e = {.kind = FIS_ABORT_TXN, .text = "given up"};
    session_failed(k.session, &e, k.now);
    kit_settle(&k);
    assert_true(kit_noted(&k, "resuming"));
    assert_false(kit_noted(&k, "asked"));
    kit_close(&k);
}

/* ---- order of reading ---------------------------------------------------------------------- */
static void a_pause_that_was_sent_before_holds(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_candidates(&k, 0, 50);
    kit_command(&k, WIRE_CONTROL_PAUSE, 0);
    kit_lead(&k);
    assert_true(kit_counts(&k).paused);
    assert_int_equal(kit_counts(&k).candidates, 50);
    assert_int_equal(kit_requests(&k), 0);
    kit_command(&k, WIRE_CONTROL_RESUME, 0);
    kit_settle(&k);
    assert_int_equal(kit_requests(&k), 4);
    kit_close(&k);
}

/* The group's places have expired, or somebody has deleted the group. */
static void commands_are_carried_out_once_without_the_groups_places(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_lead(&k);
    kit_command(&k, WIRE_CONTROL_PAUSE, 0);
    kit_command(&k, WIRE_CONTROL_RESUME, 0);
    kit_command(&k, WIRE_CONTROL_PAUSE, 0);
    kit_settle(&k);
    assert_true(kit_counts(&k).paused);
    kit_command(&k, WIRE_CONTROL_RESUME, 0);
    kit_settle(&k);
    kit_restart(&k);
    memset(k.committed, -1, sizeof k.committed);
    kit_lead(&k);
    assert_false(kit_noted(&k, "control"));
    assert_true(kit_noted(&k, "command_passed"));
    assert_false(kit_counts(&k).paused);
    kit_command(&k, WIRE_CONTROL_PAUSE, 0); /* a new one */
    kit_settle(&k);
    assert_true(kit_counts(&k).paused);
    kit_close(&k);
}

static void input_waits_for_the_end_of_control(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    k.hold_end[SESSION_READ_COMMANDS] = true;
    kit_candidates(&k, 0, 50);
    kit_lead(&k);
    assert_true(status(&k).running);
    for (int i = 0; i < 20; i++)
        kit_settle(&k);
    assert_int_equal(status(&k).read, 0);
    assert_true(kit_noted(&k, "waiting"));
    k.hold_end[SESSION_READ_COMMANDS] = false;
    kit_settle(&k);
    assert_int_equal(kit_requests(&k), 4);
    kit_close(&k);
}

static void a_command_waits_for_its_version_and_holds_up_the_rest(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_lead(&k);
    k.hold_end[SESSION_READ_VERSIONS] = true;
    kit_command(&k, WIRE_CONTROL_PROMOTE, 7);
    kit_command(&k, WIRE_CONTROL_PAUSE, 0);
    kit_candidates(&k, 0, 50);
    kit_settle(&k);
    assert_true(status(&k).waiting);
    assert_true(k.readers[SESSION_READ_VERSIONS].open);
    assert_int_equal(status(&k).read, 0);
    assert_int_equal(k.committed[SESSION_CONTROL], 0); /* it will come again after a stop */
    k.hold_end[SESSION_READ_VERSIONS] = false;
    kit_settle(&k);
    assert_false(k.readers[SESSION_READ_VERSIONS].open);
    assert_true(kit_counts(&k).paused);
    assert_int_equal(k.committed[SESSION_CONTROL], 2);
    assert_int_equal(kit_counts(&k).served_version, 1); /* 7 is not there */
    kit_close(&k);
}

static void what_comes_again_is_taken_once(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_lead(&k);
    kit_candidates(&k, 0, 20);
    kit_settle(&k);
    uint64_t read = status(&k).read;
    k.readers[SESSION_READ_INPUT].at[0] = 0;
    kit_settle(&k);
    assert_int_equal(status(&k).read, read);
    assert_int_equal(kit_counts(&k).candidates, 20);
    kit_close(&k);
}

static void what_cannot_be_used_is_a_dead_letter(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_lead(&k);
    kit_append(&k, SESSION_CANDIDATES, "s", "\xff\xff", 2);
    kit_append(&k, SESSION_LABELS, "r1", "{", 1);
    kit_append(&k, SESSION_LABELS, "r1", NULL, 0);
    kit_append(&k, SESSION_CONTROL, "c", "\xff", 1);
    kit_label(&k, "nobody", "yes");
    kit_settle(&k);
    assert_int_equal(k.topic[KIT_DEAD].n, 5);
    struct session_status s = status(&k);
    assert_int_equal(s.read, 5);
    assert_int_equal(s.refused[SESSION_BAD_LABELS][FIS_CODE_NO_VALUE], 1);
    assert_int_equal(s.refused[SESSION_BAD_LABELS][FIS_CODE_NOT_ASKED], 1);
    assert_int_equal(s.refused[SESSION_BAD_OFFERS][FIS_CODE_MALFORMED], 1);
    assert_int_equal(s.refused[SESSION_BAD_COMMANDS][FIS_CODE_MALFORMED], 1);
    assert_int_equal(k.committed[SESSION_LABELS], 3);
    kit_close(&k);
}

/* Two pipelines may be given one topic: what one scores is nothing to the other. */
static void candidates_of_another_pipeline_are_refused(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_lead(&k);
    kit_candidates(&k, 0, 10);
    const struct kit_topic *t = &k.topic[SESSION_CANDIDATES];
    size_t length = t->m[t->n - 1].value_length;
    char *copy = fis_memdup(t->m[t->n - 1].value, length);
    kit_append(&k, SESSION_CANDIDATES, "other", copy, length);
    kit_append(&k, SESSION_CANDIDATES, "", copy, length); /* without a name, as once */
    kit_settle(&k);
    assert_int_equal(k.topic[KIT_DEAD].n, 1);
    assert_int_equal(status(&k).refused[SESSION_BAD_OFFERS][FIS_CODE_BAD_FIELD], 1);
    assert_int_equal(kit_counts(&k).candidates, 20);
    assert_int_equal(kit_counts(&k).records, 10);
    fis_free(copy);
    kit_close(&k);
}

static void what_is_lost_is_reported(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_lead(&k);
    kit_candidates(&k, 0, 50);
    kit_settle(&k);
    assert_int_equal(kit_counts(&k).selector.open, 4);
    k.readers[SESSION_READ_INPUT].at[1] = 0;
    kit_label(&k, "r1", "yes");
    kit_label(&k, "r2", "yes");
    kit_forget(&k, SESSION_LABELS, 2);
    kit_settle(&k);
    assert_true(kit_noted(&k, "offsets_lost"));
    assert_int_equal(kit_counts(&k).expired, 4); /* answers were among what is gone */
    assert_int_equal(k.committed[SESSION_LABELS], 2);
    kit_close(&k);
}

static void a_scan_begins_again_when_candidates_are_lost(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, true);
    kit_lead(&k);
    assert_int_equal(k.ends_asked, 1);
    uint64_t scan = kit_counts(&k).scan;
    assert_true(scan > 0);
    kit_candidates(&k, 0, 50);
    kit_forget(&k, SESSION_CANDIDATES, 1);
    kit_settle(&k);
    assert_int_equal(k.ends_asked, 2);
    assert_true(kit_counts(&k).scan > scan);
    kit_candidates(&k, 0, 50);
    kit_settle(&k);
    assert_int_equal(kit_requests(&k), 4);
    kit_close(&k);
}

/* ---- units --------------------------------------------------------------------------------- */
static void nothing_is_handed_over_or_sent_during_a_commit(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_lead(&k);
    k.hold_commit = true;
    kit_candidates(&k, 0, 20);
    kit_settle(&k);
    assert_true(status(&k).committing);
    kit_candidates(&k, 20, 30);
    kit_settle(&k);
    assert_int_equal(kit_counts(&k).candidates, 20);
    assert_false(k.sent_in_commit);
    k.hold_commit = false;
    kit_committed(&k);
    kit_settle(&k);
    assert_int_equal(kit_requests(&k), 4);
    assert_false(k.sent_in_commit);
    kit_close(&k);
}

static void half_a_unit_is_never_committed(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    kit_lead(&k);
    uint32_t commits = k.commits, heads = k.topic[SESSION_HEADS].n;
    k.refuse_send = true;
    kit_candidates(&k, 0, 50);
    k.hold_leave = true;
    kit_settle(&k);
    assert_int_equal(k.leaves, 1);
    assert_int_equal(k.commits, commits);
    assert_int_equal(k.committed[SESSION_CANDIDATES], -1);
    assert_true(kit_noted(&k, "resuming"));
    k.refuse_send = k.hold_leave = false;
    kit_left(&k);
    kit_lead(&k); /* joins again, and does it again */
    assert_int_equal(k.joins, 2);
    assert_int_equal(kit_requests(&k), 4);
    assert_true(k.topic[SESSION_HEADS].n > heads);
    kit_close(&k);
}

/* ---- jobs ---------------------------------------------------------------------------------- */
static void during_a_job_the_role_is_left_alone(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    k.hold_job = true;
    kit_lead(&k);
    assert_true(status(&k).busy && status(&k).on_worker);
    kit_candidates(&k, 0, 20);
    kit_command(&k, WIRE_CONTROL_PAUSE, 0);
    kit_settle(&k);
    assert_int_equal(status(&k).read, 0);
    k.hold_job = false;
    kit_job(&k);
    kit_settle(&k);
    assert_int_equal(status(&k).read, 2);
    kit_close(&k);
}

static void it_leaves_when_the_job_is_done(void **state)
{
    (void)state;
    struct kit k;
    kit_open(&k, false);
    k.hold_job = true;
    kit_lead(&k);
    session_seat(k.session, false, true, k.now);
    kit_settle(&k);
    assert_int_equal(status(&k).state, ELECTION_LEAVING);
    assert_int_equal(k.leaves, 0); /* the job has the role */
    k.hold_job = false;
    kit_job(&k);
    kit_settle(&k);
    assert_int_equal(k.leaves, 1);
    assert_int_equal(status(&k).state, ELECTION_STANDBY);
    assert_int_equal(k.joins, 2);
    kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_leads_and_asks),
        cmocka_unit_test(nothing_is_sent_before_others_are_fenced),
        cmocka_unit_test(it_reads_to_the_end_once_more),
        cmocka_unit_test(what_is_left_open_is_swept_once),
        cmocka_unit_test(nothing_is_announced_before_it_is_committed),
        cmocka_unit_test(a_pause_that_was_sent_before_holds),
        cmocka_unit_test(commands_are_carried_out_once_without_the_groups_places),
        cmocka_unit_test(input_waits_for_the_end_of_control),
        cmocka_unit_test(a_command_waits_for_its_version_and_holds_up_the_rest),
        cmocka_unit_test(what_comes_again_is_taken_once),
        cmocka_unit_test(what_cannot_be_used_is_a_dead_letter),
        cmocka_unit_test(candidates_of_another_pipeline_are_refused),
        cmocka_unit_test(what_is_lost_is_reported),
        cmocka_unit_test(a_scan_begins_again_when_candidates_are_lost),
        cmocka_unit_test(nothing_is_handed_over_or_sent_during_a_commit),
        cmocka_unit_test(half_a_unit_is_never_committed),
        cmocka_unit_test(during_a_job_the_role_is_left_alone),
        cmocka_unit_test(it_leaves_when_the_job_is_done),
    };
    wire_json_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
