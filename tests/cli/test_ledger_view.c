/*
 * What the ledger says: where records stand, what the budget has paid, the clock and the day.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "cli/ledger_view.h"

struct world {
    struct ledger_view v;
    struct byte_buffer b;
    struct fis_error e;
};

static int up(void **state)
{
    struct world *w = fis_calloc(1, sizeof *w);
    assert_non_null(w);
    assert_int_equal(ledger_view_init(&w->v, 1000, &w->e), 0);
    *state = w;
    return 0;
}

static int down(void **state)
{
    struct world *w = *state;
    ledger_view_done(&w->v);
    byte_buffer_done(&w->b);
    fis_free(w);
    return 0;
}

static int take(struct world *w, struct wire_bytes key, const void *value, size_t length,
                bool entries)
{
    const struct stream_message m = {
        .key = key.data, .key_length = key.length, .value = value, .value_length = length};
    return ledger_view_take(&w->v, &m, entries, &w->e);
}

static void entry(struct world *w, const char *id, enum wire_ledger_state state, int refunded)
{
    struct wire_ledger_entry entry = {.state = state, .refunded = refunded, .asked_at_ms = 5};
    assert_int_equal(fis_id_set(&entry.id, id, strlen(id)), 0);
    w->b.length = 0;
    assert_int_equal(wire_ledger_entry_encode(&entry, &w->b, &w->e), 0);
    assert_int_equal(take(w, wire_ledger_entry_key(&entry.id), w->b.data, w->b.length, true), 0);
}

static void state(struct world *w, const struct wire_trainer_state *s)
{
    w->b.length = 0;
    assert_int_equal(wire_ledger_state_encode(s, &w->b, &w->e), 0);
    assert_int_equal(take(w, wire_ledger_state_key, w->b.data, w->b.length, false), 1);
}

/* An entry with the answers of ann and bob; the newest of an id is what counts. */
static void answered(struct world *w, const char *id, enum wire_ledger_state state, uint32_t ann,
                     uint32_t bob)
{
    const struct fis_vote votes[] = {{"ann", WIRE_LABELLED, ann, 7},
                                     {"bob", WIRE_LABELLED, bob, 8}};
    struct wire_ledger_entry entry = {
        .state = state, .votes = votes, .n_votes = 2, .required = 3, .asked_at_ms = 5};
    assert_int_equal(fis_id_set(&entry.id, id, strlen(id)), 0);
    w->b.length = 0;
    assert_int_equal(wire_ledger_entry_encode(&entry, &w->b, &w->e), 0);
    assert_int_equal(take(w, wire_ledger_entry_key(&entry.id), w->b.data, w->b.length, true), 0);
}

static void how_people_agree(void **arg)
{
    struct world *w = *arg;
    struct agreement_view a;
    answered(w, "a", WIRE_REQUESTED, 1, 0);
    answered(w, "b", WIRE_REQUESTED, 1, 1);
    answered(w, "a", WIRE_TIED, 0, 0);
    answered(w, "c", WIRE_REQUESTED, 1, 0);
    assert_int_equal(take(w, (struct wire_bytes){"c", 1}, NULL, 0, true), 0);
    entry(w, "d", WIRE_ACCEPTED, 0);
    assert_int_equal(ledger_view_agreement(&w->v, &a, &w->e), 0);
    assert_int_equal(a.records, 2);
    assert_true(a.alpha == 1);
    assert_int_equal(a.n_people, 2);
    assert_string_equal(a.people[1].name, "bob");
    assert_int_equal(a.people[1].answers, 2);
    assert_true(a.people[1].share == 1);
    answered(w, "b", WIRE_TIED, 1, 0);
    assert_int_equal(ledger_view_agreement(&w->v, &a, &w->e), 0);
    assert_true(a.alpha == 0);
}

static void where_records_stand(void **arg)
{
    struct world *w = *arg;
    entry(w, "a", WIRE_IN_HEAP, 0);
    entry(w, "b", WIRE_IN_HEAP, 0);
    assert_int_equal(w->v.count[WIRE_IN_HEAP], 2);
    assert_int_equal(w->v.charged, 0);
    entry(w, "a", WIRE_REQUESTED, 0);
    assert_int_equal(w->v.charged, 1);
    assert_int_equal(take(w, (struct wire_bytes){"b", 1}, NULL, 0, true), 0);
    assert_int_equal(w->v.count[WIRE_IN_HEAP], 0);
    assert_int_equal(take(w, (struct wire_bytes){"b", 1}, NULL, 0, true), 0);
    entry(w, "a", WIRE_EXPIRED, 1);
    assert_int_equal(w->v.charged, 0);
    assert_int_equal(w->v.count[WIRE_REQUESTED], 0);
    entry(w, "a", WIRE_ACCEPTED, 0); /* late, and used */
    assert_int_equal(w->v.charged, 1);
    entry(w, "c", WIRE_EXPIRED, 0);
    entry(w, "d", WIRE_TIED, 0);
    entry(w, "e", WIRE_SKIPPED_BY_PERSON, 1);
    assert_int_equal(w->v.charged, 3);
    assert_int_equal(w->v.count[WIRE_ACCEPTED], 1);
    assert_int_equal(w->v.count[WIRE_EXPIRED], 1);
    /* A record that went and came again. */
    entry(w, "b", WIRE_REQUESTED, 0);
    assert_int_equal(w->v.count[WIRE_REQUESTED], 1);
    assert_int_equal(w->v.bad, 0);
    assert_int_equal(take(w, (struct wire_bytes){"b", 1}, "\xff", 1, true), 0);
    assert_int_equal(w->v.bad, 1);
    assert_int_equal(w->v.count[WIRE_REQUESTED], 1);
}

static void many_records(void **arg)
{
    struct world *w = *arg;
    for (uint32_t i = 0; i < 5000; i++) {
        char id[16];
        snprintf(id, sizeof id, "%u", i % 2500);
        entry(w, id, i < 2500 ? WIRE_REQUESTED : WIRE_SET_ASIDE, 0);
    }
    assert_int_equal(w->v.count[WIRE_REQUESTED], 0);
    assert_int_equal(w->v.count[WIRE_SET_ASIDE], 2500);
    assert_int_equal(w->v.charged, 2500);
    assert_int_equal(w->v.n, 2500);
}

static void the_last_command(void **arg)
{
    struct world *w = *arg;
    struct wire_trainer_state s = {.phase = WIRE_PHASE_LABEL,
                                   .control_id = "host/1",
                                   .control_text = "pinned",
                                   .control_ok = 1,
                                   .pinned = 1};
    assert_false(w->v.found);
    state(w, &s);
    assert_true(w->v.found && w->v.state.pinned);
    memset(w->v.arena.base, 'x', w->v.arena.size); /* nothing of it is kept there */
    assert_string_equal(w->v.state.control_id, "host/1");
    assert_string_equal(w->v.state.control_text, "pinned");
    assert_int_equal(take(w, wire_ledger_state_key, NULL, 0, true), 0);
    assert_true(w->v.found);
    /* A piece of a checkpoint is nobody's business here. */
    assert_int_equal(take(w, (struct wire_bytes){"\0checkpoint/0", 13}, "x", 1, true), 0);
    assert_int_equal(w->v.bad, 0);
}

static void clock_and_day(void **arg)
{
    struct world *w = *arg;
    const int64_t day = 86400000;
    struct wire_trainer_state s = {.phase = WIRE_PHASE_LABEL,
                                   .clock_ms = 5000,
                                   .wall_ms = 10 * day + 1000,
                                   .day = 10,
                                   .day_asked = 7,
                                   .day_began_ms = 4000};
    state(w, &s);
    assert_int_equal(ledger_view_clock(&w->v, 10 * day + 3000), 7000);
    assert_int_equal(ledger_view_clock(&w->v, 9 * day), 5000); /* never back */
    assert_int_equal(ledger_view_today(&w->v, 10 * day + 3000), 7);
    assert_int_equal(ledger_view_today(&w->v, 9 * day), 7); /* a clock set back gives nothing */
    assert_int_equal(ledger_view_today(&w->v, 11 * day), 0);
    assert_int_equal(ledger_view_renewed_at(&w->v, 10 * day + 3000), 11 * day);
    s.day = 20; /* the clock was far ahead: then 24 hours count */
    state(w, &s);
    assert_int_equal(ledger_view_today(&w->v, 11 * day - 1000), 7);
    assert_int_equal(ledger_view_today(&w->v, 11 * day), 0);
    assert_int_equal(ledger_view_renewed_at(&w->v, 10 * day + 3000), 11 * day);
    assert_int_equal(ledger_view_renewed_at(&w->v, 11 * day), 11 * day);
    s.day = INT64_MIN; /* no day yet */
    state(w, &s);
    assert_int_equal(ledger_view_today(&w->v, 10 * day + 3000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(where_records_stand, up, down),
        cmocka_unit_test_setup_teardown(how_people_agree, up, down),
        cmocka_unit_test_setup_teardown(many_records, up, down),
        cmocka_unit_test_setup_teardown(the_last_command, up, down),
        cmocka_unit_test_setup_teardown(clock_and_day, up, down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
