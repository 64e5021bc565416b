/* The ledger's two kinds of messages. */
#include "protobuf_testing.h"

#include <math.h>

#include "wire/ledger.h"

struct world {
    struct fis_arena arena;
    struct wire_buffer out;
    struct wire_ledger_item item;
    struct fis_error e;
    const char *key;
    size_t key_length;
};

static int up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->arena = test_arena(16384);
    *state = w;
    return 0;
}

static int down(void **state)
{
    struct world *w = *state;
    fis_free(w->arena.base);
    wire_buffer_done(&w->out);
    free(w);
    return 0;
}

static enum wire_decoded decode(struct world *w, struct wire_bytes key, const void *bytes,
                                size_t length)
{
    struct wire_message m = message_of(key.data, key.length, bytes, length);
    fis_arena_reset(&w->arena);
    memset(&w->item, 0, sizeof w->item);
    w->e.text[0] = 0;
    return wire_ledger_decode(&m, &w->arena, &w->item, &w->e);
}

static void entries(void **state)
{
    struct world *w = *state;
    struct fis_rng rng;
    fis_rng_seed(&rng, 1, 0);
    for (uint32_t i = 0; i < 600; i++) {
        float x[50] = {0};
        struct wire_ledger_entry in = {.state = (enum wire_ledger_state)(1 + i % 6),
                                       .class_index = fis_rng_below(&rng, 3),
                                       .criterion = i % 2,
                                       .round = i,
                                       .x = x,
                                       .d = i % 50,
                                       .encoding = (enum wire_encoding)(i % 4),
                                       .record = {"\0\1", i % 4 ? i % 3 : 0}};
        for (uint32_t k = fis_rng_below(&rng, 50); k < 50; k++)
            x[k] = random_float(&rng);
        assert_int_equal(fis_id_set(&in.id, "abcd", 1 + i % 4), 0);
        w->out.length = 0;
        assert_int_equal(wire_ledger_entry_encode(&in, &w->out, &w->e), 0);
        if (decode(w, wire_ledger_entry_key(&in.id), w->out.data, w->out.length) != WIRE_OK)
            fail_msg("%u: %s", i, w->e.text);
        const struct wire_ledger_entry *got = &w->item.entry;
        assert_int_equal(w->item.kind, WIRE_LEDGER_ENTRY);
        assert_int_equal(fis_id_compare(&got->id, &in.id), 0);
        assert_int_equal(got->state, in.state);
        assert_int_equal(got->class_index, in.class_index);
        assert_int_equal(got->criterion, in.criterion);
        assert_int_equal(got->round, in.round);
        assert_int_equal(got->encoding, in.encoding);
        assert_int_equal(got->d, in.d);
        if (in.d)
            assert_memory_equal(got->x, x, in.d * sizeof *x);
        assert_int_equal(got->record.length, in.record.length);
        assert_memory_equal(got->record.data, in.record.data, in.record.length);
    }
}

static void state_of_the_trainer(void **state)
{
    struct world *w = *state;
    struct wire_trainer_state in = {.round = 4,
                                    .window_records = 1000000000000,
                                    .head_version = 8,
                                    .model_version = 7,
                                    .served_version = 6,
                                    .val0 = .8125,
                                    .served_accuracy = .75,
                                    .trained = 32,
                                    .looks = 5};
    assert_int_equal(wire_ledger_state_key.length, 1);
    assert_int_equal(*(const char *)wire_ledger_state_key.data, 0);
    assert_int_equal(wire_ledger_state_encode(&in, &w->out, &w->e), 0);
    assert_int_equal(decode(w, wire_ledger_state_key, w->out.data, w->out.length), WIRE_OK);
    assert_int_equal(w->item.kind, WIRE_LEDGER_STATE);
    const struct wire_trainer_state *got = &w->item.state;
    assert_int_equal(got->round, 4);
    assert_int_equal(got->window_records, 1000000000000);
    assert_int_equal(got->head_version, 8);
    assert_int_equal(got->model_version, 7);
    assert_int_equal(got->served_version, 6);
    assert_true(got->val0 == .8125);
    assert_true(got->served_accuracy == .75 && got->trained == 32);
    assert_int_equal(got->looks, 5);
    /* Not known yet: it is left out, never sent as NaN. */
    in = (struct wire_trainer_state){
        .val0 = (double)NAN, .served_accuracy = (double)NAN, .trained = (double)NAN};
    w->out.length = 0;
    assert_int_equal(wire_ledger_state_encode(&in, &w->out, &w->e), 0);
    assert_int_equal(w->out.length, 0);
    assert_int_equal(decode(w, wire_ledger_state_key, "", 0), WIRE_OK);
    assert_true(isnan(w->item.state.val0) && isnan(w->item.state.trained));
}

static void tombstones_and_refusals(void **state)
{
    struct world *w = *state;
    struct wire_bytes key = {"k", 1}, none = {NULL, 0};
    assert_int_equal(decode(w, key, NULL, 0), WIRE_TOMBSTONE);
    assert_int_equal(w->item.kind, WIRE_LEDGER_ENTRY);
    assert_id(&w->item.entry.id, "k");
    assert_int_equal(decode(w, wire_ledger_state_key, NULL, 0), WIRE_TOMBSTONE);
    assert_int_equal(w->item.kind, WIRE_LEDGER_STATE);
    assert_int_equal(decode(w, none, "\x08\x01", 2), WIRE_BAD);
    assert_says(&w->e, "no id");
    assert_int_equal(decode(w, key, "", 0), WIRE_BAD);
    assert_says(&w->e, "without a state");
    assert_int_equal(decode(w, key, "\x08\x09", 2), WIRE_BAD);
    assert_says(&w->e, "field 1 (state) at byte 0: 9 is not known");
    assert_int_equal(decode(w, key, "\x08\x02\x3a\x01x", 5), WIRE_BAD);
    assert_says(&w->e, "encoding is not given");
    struct wire_ledger_entry wrong = {0};
    assert_int_equal(wire_ledger_entry_encode(&wrong, &w->out, &w->e), -FIS_INPUT);
    assert_says(&w->e, "no state 0");
}

static void try_item(void *arg, const unsigned char *bytes, size_t length)
{
    struct world *w = arg;
    if (decode(w, (struct wire_bytes){w->key, w->key_length}, bytes, length) == WIRE_BAD)
        assert_true(w->e.text[0] && w->e.class == FIS_INPUT);
    else
        assert_int_equal(w->item.kind, *w->key ? WIRE_LEDGER_ENTRY : WIRE_LEDGER_STATE);
}

static void spoiled(void **state)
{
    struct world *w = *state;
    const float x[6] = {0, 0, 1, 0, 2, 0};
    struct wire_ledger_entry entry = {.state = WIRE_ACCEPTED,
                                      .class_index = 1,
                                      .round = 300,
                                      .x = x,
                                      .d = 6,
                                      .encoding = WIRE_JSON,
                                      .record = {"{}", 2}};
    assert_int_equal(wire_ledger_entry_encode(&entry, &w->out, &w->e), 0);
    w->key = "k";
    w->key_length = 1;
    spoil(w->out.data, w->out.length, 10000, try_item, w);
    struct wire_trainer_state s = {1, 2, 3, 4, 5, .5, .5, 7, 6};
    w->out.length = 0;
    assert_int_equal(wire_ledger_state_encode(&s, &w->out, &w->e), 0);
    w->key = "";
    spoil(w->out.data, w->out.length, 10000, try_item, w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(entries, up, down),
        cmocka_unit_test_setup_teardown(state_of_the_trainer, up, down),
        cmocka_unit_test_setup_teardown(tombstones_and_refusals, up, down),
        cmocka_unit_test_setup_teardown(spoiled, up, down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
