/* What the checker takes for the input of a unit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "sim_check_impl.h"

#define END 14

static void begin(struct sim_world *w)
{
    sim_world_init(w, 1, NULL);
    if (setjmp(w->out))
        fail_msg("%s", w->violation);
    w->broker = sim_broker_new(w);
    sim_plan_make(w);
    sim_check_begin(w);
    for (int64_t offset = 0; offset < END; offset++)
        check_keep_label(w->check, 0, &(struct sim_entry){.offset = offset, .key = {"r009", 4}});
}

static void collect(struct sim_check *c, int64_t from, int64_t gone, int64_t first)
{
    static struct sim_unit unit;
    static struct sim_about about;
    static struct sim_label places[END];
    memset(unit.offsets, -1, sizeof unit.offsets);
    memset(&about, -1, sizeof about);
    unit.offsets[SIM_LABELS][0] = END;
    about.from[SIM_LABELS][0] = from;
    about.gone[SIM_LABELS][0] = gone;
    about.first[SIM_LABELS][0] = first;
    memset(about.cut, 0, sizeof about.cut);
    about.labels = places;
    about.n_labels = 0;
    for (int64_t at = from < 0 ? 0 : from; at < END; at++)
        if (at < gone || at >= first)
            places[about.n_labels++] = (struct sim_label){0, {.offset = at, .key = {"r009", 4}}};
    c->unit.unit = &unit;
    c->unit.about = &about;
    c->unit.n_letters = 0;
    check_collect_letters(c);
}

/* A trainer read 5 and 6; then retention deleted up to 10, and it went on there. */
static void labels_read_before_a_gap_count(void **state)
{
    struct sim_world w;
    const struct check_unit *u;
    (void)state;
    begin(&w);
    collect(w.check, 5, 7, 10);
    u = &w.check->unit;
    assert_int_equal(u->n_letters, 6);
    assert_int_equal(u->letters[0].offset, 5);
    assert_int_equal(u->letters[0].fact, 9);
    assert_int_equal(u->letters[1].offset, 6);
    assert_int_equal(u->letters[2].offset, 10);
    collect(w.check, 12, 7, 10); /* the unit after it */
    assert_int_equal(u->n_letters, 2);
    collect(w.check, -1, -1, 10); /* a new group, which begins behind what is deleted */
    assert_int_equal(u->n_letters, 4);
    sim_check_done(&w);
    sim_world_done(&w);
}

/* Labels of two partitions count in the order in which the trainer took them. */
static void labels_count_in_the_order_of_reading(void **state)
{
    struct sim_world w;
    struct sim_label places[] = {{1, {.key = {"r003", 4}}},
                                 {0, {.key = {"r009", 4}}},
                                 {0, {.offset = 1, .key = {"r009", 4}}}};
    struct sim_about about = {.labels = places, .n_labels = 3};
    struct sim_unit unit;
    (void)state;
    begin(&w);
    memset(unit.offsets, -1, sizeof unit.offsets);
    memset(about.from, -1, sizeof about.from);
    memset(about.gone, -1, sizeof about.gone);
    memset(about.first, -1, sizeof about.first);
    check_keep_label(w.check, 1, &(struct sim_entry){.key = {"r003", 4}});
    unit.offsets[SIM_LABELS][0] = 2;
    unit.offsets[SIM_LABELS][1] = 1;
    w.check->unit.unit = &unit;
    w.check->unit.about = &about;
    check_collect_letters(w.check);
    assert_int_equal(w.check->unit.n_letters, 3);
    assert_int_equal(w.check->unit.letters[0].fact, 3);
    assert_int_equal(w.check->unit.letters[1].fact, 9);
    sim_check_done(&w);
    sim_world_done(&w);
}

/* A candidate that is reported as held once more had left: it need not have been there when labels
 * were requested. */
static void what_came_back_was_not_held(void **state)
{
    struct sim_world w;
    struct wire_ledger_entry entry = {.state = WIRE_IN_HEAP};
    const struct wire_message m = {.key = {"r009", 4}};
    (void)state;
    begin(&w);
    w.check->was_held[9] = w.check->facts[9].in_heap = true;
    w.check->was_held[8] = w.check->facts[8].in_heap = true;
    check_entry(w.check, &m, &entry);
    assert_false(w.check->was_held[9]);
    assert_true(w.check->facts[9].in_heap);
    assert_true(w.check->was_held[8]);
    sim_check_done(&w);
    sim_world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(labels_read_before_a_gap_count),
                                       cmocka_unit_test(labels_count_in_the_order_of_reading),
                                       cmocka_unit_test(what_came_back_was_not_held)};
    return cmocka_run_group_tests_name("sim checker", tests, NULL, NULL);
}
