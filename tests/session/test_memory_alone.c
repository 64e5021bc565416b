/* The memory and what is put on topics, each by itself. */
#include "kit/session/machine.h"

/* ---- memory alone ---------------------------------------------------------------------------- */
static void one_message(struct memory *m, enum memory_topic t, struct wire_bytes key,
                        struct wire_bytes value, int expected, const char *says)
{
    struct fis_error e;
    struct wire_message msg = {
        .topic = machine_topic_names[t], .offset = 7, .key = key, .value = value};
    int rc = memory_take(m, t, &msg, &e);
    assert_int_equal(rc, expected);
    if (says && !strstr(e.text, says))
        fail_msg("%s", e.text);
}

static void nothing_yet(void **state)
{
    (void)state;
    struct fis_error e;
    struct memory *m = memory_new(machine_topic_names, 65536, &e);
    assert_int_equal(memory_conclude(m, &e), 0);
    assert_false(memory_found(m));
    assert_null(memory_state(m));
    assert_null(memory_head(m));
    assert_null(memory_served(m));
    assert_false(memory_has_checkpoint(m));
    assert_int_equal(memory_entries(m), 0);
    assert_int_equal(memory_bytes(m), 0);
    memory_free(m);
    memory_free(NULL);
}

static void what_cannot_be_read_is_named(void **state)
{
    (void)state;
    struct fis_error e;
    struct memory *m = memory_new(machine_topic_names, 65536, &e);
    struct wire_bytes junk = {"\xff\xff\xff", 3}, key = {"k", 1}, none = {0};
    one_message(m, MEMORY_LEDGER, none, junk, -FIS_INPUT, "t.ledger partition 0 offset 7");
    one_message(m, MEMORY_HEADS, key, junk, -FIS_INPUT, "t.heads partition 0 offset 7 key 'k'");
    one_message(m, MEMORY_MODELS, key, junk, -FIS_INPUT, "t.models partition 0 offset 7");
    one_message(m, MEMORY_LEDGER, (struct wire_bytes){"\0checkpoint/0", 13}, junk, -FIS_INPUT,
                "t.ledger");
    one_message(m, MEMORY_HEADS, key, none, 0, NULL); /* null values are nothing new */
    one_message(m, MEMORY_MODELS, key, none, 0, NULL);
    one_message(m, MEMORY_LEDGER, key, none, 0, NULL);
    one_message(m, MEMORY_LEDGER, wire_ledger_state_key, junk, -FIS_INPUT, "key '?'");
    one_message(m, MEMORY_LEDGER, key, junk, -FIS_INPUT, "t.ledger");
    one_message(m, MEMORY_LEDGER, key, (struct wire_bytes){"1", 1}, -FIS_INPUT,
                "key 'k': truncated: field 6");
    assert_int_equal(memory_conclude(m, &e), 0); /* as if none of them were there */
    assert_int_equal(memory_bytes(m), 0);
    memory_free(m);
}

static void tombstones_and_newer_values_replace(void **state)
{
    (void)state;
    struct fis_error e;
    struct memory *m = memory_new(machine_topic_names, 65536, &e);
    struct wire_bytes a = {"a", 1}, b = {"b", 1}, v = {"\x08\x05", 2}, none = {0};
    one_message(m, MEMORY_LEDGER, a, v, 0, NULL);
    one_message(m, MEMORY_LEDGER, b, v, 0, NULL);
    one_message(m, MEMORY_LEDGER, a, v, 0, NULL);
    assert_int_equal(memory_entries(m), 2);
    assert_int_equal(memory_bytes(m), 6);
    one_message(m, MEMORY_LEDGER, a, none, 0, NULL);
    one_message(m, MEMORY_LEDGER, a, none, 0, NULL);
    assert_int_equal(memory_entries(m), 1);
    assert_int_equal(memory_bytes(m), 3);
    memory_free(m);
}

/* ---- trainer_wire alone ---------------------------------------------------------------------- */
static int refuse_second(void *arg, enum trainer_topic t, struct wire_bytes key,
                         struct wire_bytes value, struct fis_error *e)
{
    int *puts = arg;
    (void)t;
    (void)key;
    (void)value;
    return ++*puts == 2 ? fis_fail(e, FIS_ABORT_TXN, "no more") : 0;
}

static void nothing_is_put_after_a_failure(void **state)
{
    (void)state;
    int puts = 0;
    struct trainer_wire wire;
    struct trainer_out out;
    struct fis_error e;
    struct fis_id id;
    struct trainer_wire_options w = {.schema = &small_schema,
                                     .columns = small_columns,
                                     .n_columns = SMALL_D,
                                     .labels = WIRE_JSON,
                                     .put = refuse_second,
                                     .arg = &puts};
    assert_int_equal(trainer_wire_init(&wire, &w, &e), 0);
    trainer_wire_out(&wire, &out);
    fis_id_set(&id, "r1", 2);
    for (int i = 0; i < 5; i++)
        out.unheld(out.ctx, &id);
    out.note(out.ctx, "event", "text"); /* nobody listens */
    assert_int_equal(puts, 2);
    assert_true(trainer_wire_failed(&wire, &e));
    assert_int_equal(e.kind, FIS_ABORT_TXN);
    assert_string_equal(e.text, "no more");
    trainer_wire_done(&wire);
}

static void what_cannot_be_encoded_is_a_failure(void **state)
{
    (void)state;
    static struct machine m;
    struct trainer_out out;
    struct fis_error e;
    struct trainer_wire_options w = {.schema = &small_schema,
                                     .columns = small_columns,
                                     .n_columns = SMALL_D,
                                     .labels = WIRE_JSON,
                                     .put = machine_put,
                                     .arg = &m};
    memset(&m, 0, sizeof m);
    assert_int_equal(trainer_wire_init(&m.wire, &w, &e), 0);
    trainer_wire_out(&m.wire, &out);
    struct wire_ledger_entry entry = {.state = (enum wire_ledger_state)99};
    fis_id_set(&entry.id, "r1", 2);
    out.ledger(out.ctx, &entry);
    assert_true(trainer_wire_failed(&m.wire, &e));
    assert_int_equal(m.topic[TRAINER_LEDGER].n, 0);
    trainer_wire_done(&m.wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_yet),
        cmocka_unit_test(what_cannot_be_read_is_named),
        cmocka_unit_test(tombstones_and_newer_values_replace),
        cmocka_unit_test(nothing_is_put_after_a_failure),
        cmocka_unit_test(what_cannot_be_encoded_is_a_failure),
    };
    wire_json_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
