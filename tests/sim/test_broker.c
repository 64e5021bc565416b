/* The simulated broker must itself be right: logs, read_committed, fencing, groups, compaction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "broker.h"

static struct wire_bytes text(const char *s)
{
    return (struct wire_bytes){s, strlen(s)};
}

static void begin(struct sim_world *w)
{
    sim_world_init(w, 1, NULL);
    if (setjmp(w->out))
        fail_msg("%s", w->violation);
    w->broker = sim_broker_new(w);
}

/* All that a read_committed reader has of the ledger, as one text. */
static const char *read_all(struct sim_world *w)
{
    static char out[256];
    struct sim_entry m;
    int64_t at = sim_log_start(w->broker, SIM_LEDGER, 0);
    out[0] = 0;
    while (sim_fetch(w->broker, SIM_LEDGER, 0, &at, &m) > 0)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%.*s=%.*s ", (int)m.key.length,
                 (const char *)m.key.data, (int)m.value.length,
                 m.value.data ? (const char *)m.value.data : "");
    return out;
}

static enum sim_code put(struct sim_world *w, int32_t epoch, const char *key, const char *value)
{
    return sim_txn_append(w->broker, 0, epoch, SIM_LEDGER, 0, text(key), text(value), NULL);
}

static void readers_see_what_is_committed(void **state)
{
    struct sim_world w;
    (void)state;
    begin(&w);
    int32_t epoch = sim_txn_init(w.broker, 0);
    assert_int_equal(put(&w, epoch, "a", "1"), SIM_OK);
    sim_append(w.broker, SIM_LEDGER, 0, text("b"), text("2"), NULL);
    assert_string_equal(read_all(&w), ""); /* b waits behind the open transaction */
    assert_int_equal(sim_txn_end(w.broker, 0, epoch, true), SIM_OK);
    assert_string_equal(read_all(&w), "a=1 b=2 ");
    put(&w, epoch, "a", "3");
    assert_int_equal(sim_txn_end(w.broker, 0, epoch, false), SIM_OK);
    put(&w, epoch, "a", "4");
    sim_txn_end(w.broker, 0, epoch, true);
    assert_string_equal(read_all(&w), "a=1 b=2 a=4 ");
    assert_int_equal(sim_txn_end(w.broker, 0, epoch, true), SIM_NOT_OPEN);
    sim_world_done(&w);
}

/* The end counts what an open transaction holds back; a reader does not get there before its end.
 */
static void an_open_transaction_lies_before_the_end(void **state)
{
    struct sim_world w;
    (void)state;
    begin(&w);
    sim_append(w.broker, SIM_LEDGER, 0, text("a"), text("1"), NULL);
    int32_t epoch = sim_txn_init(w.broker, SIM_FOREIGN_ID);
    sim_txn_append(w.broker, SIM_FOREIGN_ID, epoch, SIM_LEDGER, 0, text("zz"), text("1"), NULL);
    sim_append(w.broker, SIM_LEDGER, 0, text("b"), text("2"), NULL);
    assert_int_equal(sim_stable_end(w.broker, SIM_LEDGER, 0), 1);
    assert_int_equal(sim_end(w.broker, SIM_LEDGER, 0), 3);
    assert_string_equal(read_all(&w), "a=1 ");
    sim_txn_end(w.broker, SIM_FOREIGN_ID, epoch, false);
    assert_int_equal(sim_stable_end(w.broker, SIM_LEDGER, 0), 4);
    assert_int_equal(sim_end(w.broker, SIM_LEDGER, 0), 4);
    assert_string_equal(read_all(&w), "a=1 b=2 ");
    sim_world_done(&w);
}

/* A place of what is lost is none any more, and is not committed. */
static void a_lost_tail_takes_places_with_it(void **state)
{
    struct sim_world w;
    (void)state;
    begin(&w);
    for (int i = 0; i < 5; i++)
        sim_append(w.broker, SIM_LABELS, 0, text("a"), text("1"), NULL);
    int32_t epoch = sim_txn_init(w.broker, 0);
    sim_txn_offset(w.broker, 0, epoch, SIM_TRAINERS, SIM_LABELS, 0, 4, 0);
    sim_lose_tail(w.broker, SIM_LABELS, 0, 3);
    assert_int_equal(sim_end(w.broker, SIM_LABELS, 0), 3);
    assert_true(sim_was_cut(w.broker, SIM_LABELS, 0, 0, 4));
    assert_false(sim_was_cut(w.broker, SIM_LABELS, 0, 0, 3));
    assert_false(sim_was_cut(w.broker, SIM_LABELS, 0, 1, 4));
    assert_int_equal(sim_txn_end(w.broker, 0, epoch, true), SIM_OK);
    assert_int_equal(sim_group_committed(w.broker, SIM_TRAINERS, SIM_LABELS, 0), -1);
    sim_txn_offset(w.broker, 0, epoch, SIM_TRAINERS, SIM_LABELS, 0, 2, 1);
    sim_txn_end(w.broker, 0, epoch, true);
    assert_int_equal(sim_group_committed(w.broker, SIM_TRAINERS, SIM_LABELS, 0), 2);
    sim_recreate(w.broker, SIM_LABELS);
    assert_int_equal(sim_end(w.broker, SIM_LABELS, 0), 0);
    assert_int_equal(sim_group_committed(w.broker, SIM_TRAINERS, SIM_LABELS, 0), -1);
    sim_world_done(&w);
}

static void a_new_instance_fences_the_old_one(void **state)
{
    struct sim_world w;
    (void)state;
    begin(&w);
    int32_t old = sim_txn_init(w.broker, 0);
    put(&w, old, "a", "1");
    sim_txn_offset(w.broker, 0, old, SIM_TRAINERS, SIM_LABELS, 0, 5, 0);
    int32_t new = sim_txn_init(w.broker, 0); /* aborts what is open */
    assert_int_equal(put(&w, old, "a", "2"), SIM_FENCED);
    assert_int_equal(sim_txn_end(w.broker, 0, old, true), SIM_FENCED);
    assert_int_equal(sim_txn_offset(w.broker, 0, old, SIM_TRAINERS, SIM_LABELS, 0, 9, 0),
                     SIM_FENCED);
    assert_string_equal(read_all(&w), "");
    assert_int_equal(sim_group_committed(w.broker, SIM_TRAINERS, SIM_LABELS, 0), -1);
    put(&w, new, "a", "3");
    sim_txn_offset(w.broker, 0, new, SIM_TRAINERS, SIM_LABELS, 0, 7, 0);
    assert_int_equal(sim_group_committed(w.broker, SIM_TRAINERS, SIM_LABELS, 0), -1);
    assert_int_equal(sim_txn_end(w.broker, 0, new, true), SIM_OK);
    assert_int_equal(sim_group_committed(w.broker, SIM_TRAINERS, SIM_LABELS, 0), 7);
    assert_string_equal(read_all(&w), "a=3 ");
    sim_world_done(&w);
}

static void an_old_transaction_is_ended(void **state)
{
    struct sim_world w;
    (void)state;
    begin(&w);
    int32_t epoch = sim_txn_init(w.broker, 0);
    put(&w, epoch, "a", "1");
    sim_append(w.broker, SIM_LEDGER, 0, text("b"), text("2"), NULL);
    w.now = w.broker->txn_timeout_ms - 1;
    sim_txn_expire(w.broker);
    assert_string_equal(read_all(&w), "");
    w.now++;
    sim_txn_expire(w.broker);
    assert_string_equal(read_all(&w), "b=2 ");
    assert_int_equal(sim_txn_end(w.broker, 0, epoch, true), SIM_FENCED);
    sim_world_done(&w);
}

static void compaction_keeps_the_newest(void **state)
{
    struct sim_world w;
    (void)state;
    begin(&w);
    int32_t epoch = sim_txn_init(w.broker, 0);
    for (int i = 0; i < 3; i++) {
        char value[2] = {(char)('1' + i), 0};
        put(&w, epoch, "a", value);
        put(&w, epoch, i ? "c" : "b", value);
        sim_txn_end(w.broker, 0, epoch, i != 1); /* the second one is aborted */
    }
    put(&w, epoch, "b", "open");
    assert_string_equal(read_all(&w), "a=1 b=1 a=3 c=3 ");
    sim_compact(w.broker, SIM_LEDGER, 0);
    assert_string_equal(read_all(&w), "b=1 a=3 c=3 "); /* b: its newest is not committed */
    sim_txn_end(w.broker, 0, epoch, true);
    sim_append(w.broker, SIM_LEDGER, 0, text("c"), (struct wire_bytes){NULL, 0}, NULL);
    sim_compact(w.broker, SIM_LEDGER, 0);
    assert_string_equal(read_all(&w), "a=3 b=open c= ");
    sim_world_done(&w);
}

static void what_was_deleted_is_out_of_range(void **state)
{
    struct sim_world w;
    struct sim_entry m;
    (void)state;
    begin(&w);
    for (int i = 0; i < 4; i++)
        sim_append(w.broker, SIM_LABELS, 0, text("a"), text("1"), NULL);
    sim_delete_before(w.broker, SIM_LABELS, 0, 2);
    int64_t at = 1;
    assert_int_equal(sim_fetch(w.broker, SIM_LABELS, 0, &at, &m), SIM_OUT_OF_RANGE);
    at = 2;
    assert_int_equal(sim_fetch(w.broker, SIM_LABELS, 0, &at, &m), 1);
    assert_int_equal(m.offset, 2);
    at = 4;
    assert_int_equal(sim_fetch(w.broker, SIM_LABELS, 0, &at, &m), 0);
    at = 5;
    assert_int_equal(sim_fetch(w.broker, SIM_LABELS, 0, &at, &m), SIM_OUT_OF_RANGE);
    sim_world_done(&w);
}

/* ---- groups -------------------------------------------------------------------------------- */

struct seat {
    uint32_t key, owned;
    int32_t generation;
};

/* As a client does: joins again when it must, gives up what it is not assigned any more. */
static enum sim_beat beat(struct sim_world *w, struct seat *s)
{
    uint32_t assigned;
    sim_group_tick(w->broker);
    enum sim_beat b = sim_group_beat(w->broker, SIM_SCORERS, s->key, &s->generation, &assigned);
    if (b == SIM_BEAT_REJOIN)
        sim_group_join(w->broker, SIM_SCORERS, s->key, s->owned);
    if (b == SIM_BEAT_ASSIGNED) {
        bool gives = s->owned & ~assigned;
        s->owned = assigned;
        if (gives)
            sim_group_join(w->broker, SIM_SCORERS, s->key, s->owned);
    }
    return b;
}

static void settle(struct sim_world *w, struct seat *seats, uint32_t n)
{
    for (int i = 0; i < 20; i++)
        for (uint32_t k = 0; k < n; k++)
            beat(w, &seats[k]);
}

static void partitions_move_when_given_up(void **state)
{
    struct sim_world w;
    struct seat seats[2] = {{1, 0, -1}, {2, 0, -1}};
    (void)state;
    begin(&w);
    w.broker->partitions[SIM_RECORDS] = 4;
    sim_group_join(w.broker, SIM_SCORERS, 1, 0);
    settle(&w, seats, 1);
    assert_int_equal(seats[0].owned, 0xf);
    assert_int_equal(sim_group_commit(w.broker, SIM_SCORERS, 1, seats[0].generation, 0, 10),
                     SIM_OK);
    sim_group_join(w.broker, SIM_SCORERS, 2, 0);
    for (int i = 0; i < 20; i++)
        for (int k = 0; k < 2; k++) {
            beat(&w, &seats[k]);
            assert_int_equal(seats[0].owned & seats[1].owned, 0); /* never two owners */
        }
    assert_int_equal(seats[0].owned | seats[1].owned, 0xf);
    assert_int_equal(__builtin_popcount(seats[0].owned), 2);
    assert_int_equal(sim_group_commit(w.broker, SIM_SCORERS, 1, 1, 0, 11), SIM_OLD_GENERATION);
    assert_int_equal(sim_group_committed(w.broker, SIM_SCORERS, SIM_RECORDS, 0), 10);
    sim_world_done(&w);
}

static void a_silent_member_loses_its_place(void **state)
{
    struct sim_world w;
    struct seat seats[2] = {{1, 0, -1}, {2, 0, -1}};
    (void)state;
    begin(&w);
    w.broker->partitions[SIM_RECORDS] = 4;
    sim_group_join(w.broker, SIM_SCORERS, 1, 0);
    sim_group_join(w.broker, SIM_SCORERS, 2, 0);
    settle(&w, seats, 2);
    int32_t generation = seats[0].generation;
    for (int i = 0; i < 20; i++) { /* the first one is suspended */
        w.now += 1000;
        beat(&w, &seats[1]);
    }
    assert_int_equal(seats[1].owned, 0xf);
    assert_int_equal(sim_group_commit(w.broker, SIM_SCORERS, 1, generation, 0, 1),
                     SIM_UNKNOWN_MEMBER);
    assert_int_equal(beat(&w, &seats[0]), SIM_BEAT_UNKNOWN);
    sim_group_leave(w.broker, SIM_SCORERS, 2);
    seats[0] = (struct seat){3, 0, -1};
    sim_group_join(w.broker, SIM_SCORERS, 3, 0);
    settle(&w, seats, 1);
    assert_int_equal(seats[0].owned, 0xf);
    sim_world_done(&w);
}

/* ---- events -------------------------------------------------------------------------------- */

static char order[16];
static void letter(struct sim_world *w, void *arg)
{
    (void)w;
    strncat(order, arg, 1);
}

static void events_keep_their_order(void **state)
{
    struct sim_world w;
    (void)state;
    begin(&w);
    order[0] = 0;
    w.life[0].alive = w.life[1].alive = true;
    w.life[1].suspended_until = 50;
    w.broker_down_until = 40;
    sim_send_at(&w, 10, 0, letter, "a"); /* wait for the broker, in their order */
    sim_send_at(&w, 20, 0, letter, "b");
    sim_send_at(&w, 40, 0, letter, "c");
    sim_at(&w, 5, 1, letter, "d"); /* suspended */
    sim_at(&w, 5, 0, letter, "e");
    sim_at(&w, 30, 0, letter, "x"); /* dies before */
    while (sim_step(&w, 25))
        ;
    assert_string_equal(order, "e");
    w.life[0].life++;
    sim_cut(&w, 0, 100);
    while (sim_step(&w, 1000))
        ;
    assert_string_equal(order, "eabcd");
    assert_int_equal(w.now, 1000);
    sim_world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_transaction_lies_before_the_end),
        cmocka_unit_test(a_lost_tail_takes_places_with_it),
        cmocka_unit_test(readers_see_what_is_committed),
        cmocka_unit_test(a_new_instance_fences_the_old_one),
        cmocka_unit_test(an_old_transaction_is_ended),
        cmocka_unit_test(compaction_keeps_the_newest),
        cmocka_unit_test(what_was_deleted_is_out_of_range),
        cmocka_unit_test(partitions_move_when_given_up),
        cmocka_unit_test(a_silent_member_loses_its_place),
        cmocka_unit_test(events_keep_their_order),
    };
    return cmocka_run_group_tests_name("sim broker", tests, NULL, NULL);
}
