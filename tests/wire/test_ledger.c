/* The ledger's kinds of messages. */
#include "kit/wire/binary.h"

#include <math.h>

#include "wire/chunk.h"
#include "wire/ledger.h"

struct world {
    struct codec c;
    struct wire_ledger_item item;
    const char *key;
    size_t key_length;
    unsigned sum;
};

static int up(void **state)
{
    return codec_up(state, sizeof(struct world), 16384);
}

static enum wire_decoded decode(struct world *w, struct wire_bytes key, const void *bytes,
                                size_t length)
{
    struct wire_message m = message_of(key.data, key.length, bytes, length);
    fis_arena_reset(&w->c.arena);
    memset(&w->item, 0, sizeof w->item);
    w->c.e.text[0] = 0;
    return wire_ledger_decode(&m, &w->c.arena, &w->item, &w->c.e);
}

static void entries(void **state)
{
    struct world *w = *state;
    struct fis_rng rng;
    fis_rng_seed(&rng, 1, 0);
    for (uint32_t i = 0; i < 600; i++) {
        float x[50] = {0};
        struct wire_ledger_entry in = {.state = (enum wire_ledger_state)(1 + i % 8),
                                       .class_index = fis_rng_below(&rng, 3),
                                       .criterion = i % 2,
                                       .round = i,
                                       .x = x,
                                       .d = i % 50,
                                       .encoding = (enum wire_encoding)(i % 4),
                                       .record = {"\0\1", i % 4 ? i % 3 : 0}};
        struct fis_vote votes[3] = {{"ann", WIRE_LABELLED, 2, 1700000000000},
                                    {NULL, WIRE_SKIPPED, 0, 0},
                                    {"bob", WIRE_UNSURE, 0, 5}};
        in.asked_at_ms = (uint64_t)i << 40;
        in.refunded = i % 2;
        in.votes = votes;
        in.n_votes = i % 4;
        for (uint32_t k = fis_rng_below(&rng, 50); k < 50; k++)
            x[k] = random_float(&rng);
        assert_int_equal(fis_id_set(&in.id, "abcd", 1 + i % 4), 0);
        w->c.out.length = 0;
        assert_int_equal(wire_ledger_entry_encode(&in, &w->c.out, &w->c.e), 0);
        if (decode(w, wire_ledger_entry_key(&in.id), w->c.out.data, w->c.out.length) != WIRE_OK)
            fail_msg("%u: %s", i, w->c.e.text);
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
        assert_true(got->asked_at_ms == in.asked_at_ms && got->refunded == in.refunded);
        assert_int_equal(got->n_votes, in.n_votes);
        for (uint32_t k = 0; k < in.n_votes; k++) {
            assert_string_equal(got->votes[k].annotator,
                                votes[k].annotator ? votes[k].annotator : "");
            assert_int_equal(got->votes[k].status, votes[k].status);
            assert_int_equal(got->votes[k].class_index, votes[k].class_index);
            assert_int_equal(got->votes[k].at_ms, votes[k].at_ms);
        }
    }
}

static void votes_that_cannot_be(void **state)
{
    struct world *w = *state;
    char name[WIRE_ANNOTATOR + 2];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    struct fis_vote many[WIRE_VOTES + 1] = {{name, WIRE_LABELLED, 0, 0}};
    struct wire_ledger_entry in = {.state = WIRE_REQUESTED, .votes = many, .n_votes = 1};
    assert_int_equal(wire_ledger_entry_encode(&in, &w->c.out, &w->c.e), -FIS_INPUT);
    assert_says(&w->c.e, "annotator: a name of 256 bytes");
    many[0] = (struct fis_vote){"ann", WIRE_SKIPPED, 1, 0};
    assert_int_equal(wire_ledger_entry_encode(&in, &w->c.out, &w->c.e), -FIS_INPUT);
    assert_says(&w->c.e, "a vote without an answer, and with class 1");
    many[0].class_index = 0;
    in.n_votes = WIRE_VOTES + 1;
    assert_int_equal(wire_ledger_entry_encode(&in, &w->c.out, &w->c.e), -FIS_INPUT);
    assert_says(&w->c.e, "100 votes, at most 99 allowed");
    assert_int_equal(w->c.out.length, 0);
    in.n_votes = WIRE_VOTES;
    assert_int_equal(wire_ledger_entry_encode(&in, &w->c.out, &w->c.e), 0);
    struct wire_bytes key = {"k", 1};
    assert_int_equal(decode(w, key, w->c.out.data, w->c.out.length), WIRE_OK);
    assert_int_equal(w->item.entry.n_votes, WIRE_VOTES);
    assert_int_equal(decode(w, key, "\x08\x02\x52\x04\x10\x01\x18\x01", 8), WIRE_BAD);
    assert_says(&w->c.e, "a vote without an answer");
    assert_int_equal(decode(w, key, "\x08\x02\x52\x02\x10\x03", 6), WIRE_BAD);
    assert_says(&w->c.e, "field 2 (status) at byte 4: 3 is not known");
}

static void state_of_the_trainer(void **state)
{
    struct world *w = *state;
    static const struct wire_counted counted[] = {{0, 12345678901234}, {7, 0}, {2, 1}};
    struct wire_trainer_state in = {.round = 4,
                                    .window_records = 1000000000000,
                                    .head_version = 8,
                                    .model_version = 7,
                                    .served_version = 6,
                                    .val0 = .8125,
                                    .served_accuracy = .75,
                                    .trained = 32,
                                    .looks = 5,
                                    .phase = WIRE_PHASE_LABEL,
                                    .clock_ms = 1ull << 50,
                                    .wall_ms = 1700000000000,
                                    .paused = 1,
                                    .pinned = 1,
                                    .failures = 3,
                                    .day = 19676,
                                    .day_asked = 17,
                                    .day_began_ms = 1ull << 41,
                                    .checkpoint = 9,
                                    .counted = counted,
                                    .n_counted = 3,
                                    .control_id = "host/1/2",
                                    .control_text = "version 4: unknown",
                                    .control_ok = 1,
                                    .requested = 41,
                                    .state_number = 77,
                                    .privacy = {.refreshes = 12,
                                                .tag = UINT64_MAX,
                                                .rho = .25,
                                                .noise = 8,
                                                .clip = 1,
                                                .delta = 1e-5,
                                                .epsilon = 3}};
    assert_int_equal(wire_ledger_state_key.length, 1);
    assert_int_equal(*(const char *)wire_ledger_state_key.data, 0);
    assert_int_equal(wire_ledger_state_encode(&in, &w->c.out, &w->c.e), 0);
    assert_int_equal(decode(w, wire_ledger_state_key, w->c.out.data, w->c.out.length), WIRE_OK);
    assert_int_equal(w->item.kind, WIRE_LEDGER_STATE);
    const struct wire_trainer_state *got = &w->item.state;
    assert_true(got->round == 4 && got->window_records == 1000000000000);
    assert_true(got->head_version == 8 && got->model_version == 7 && got->served_version == 6);
    assert_true(got->val0 == .8125 && got->served_accuracy == .75 && got->trained == 32);
    assert_true(got->looks == 5 && got->phase == WIRE_PHASE_LABEL && got->checkpoint == 9);
    assert_true(got->clock_ms == in.clock_ms && got->wall_ms == in.wall_ms);
    assert_true(got->paused == 1 && got->pinned == 1 && got->failures == 3);
    assert_true(got->day == in.day && got->day_asked == 17 && got->day_began_ms == 1ull << 41);
    assert_int_equal(got->n_counted, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(got->counted[i].partition, counted[i].partition);
        assert_int_equal(got->counted[i].next, counted[i].next);
    }
    assert_string_equal(got->control_id, in.control_id);
    assert_string_equal(got->control_text, in.control_text);
    assert_int_equal(got->control_ok, 1);
    assert_int_equal(got->requested, 41);
    assert_int_equal(got->state_number, 77);
    assert_memory_equal(&got->privacy, &in.privacy, sizeof in.privacy);
}

static void a_state_of_nothing(void **state)
{
    struct world *w = *state;
    /* What is not known is left out, never sent as NaN. */
    struct wire_trainer_state in = {.val0 = (double)NAN,
                                    .served_accuracy = (double)NAN,
                                    .trained = (double)NAN,
                                    .phase = WIRE_PHASE_COLLECT};
    assert_int_equal(wire_ledger_state_encode(&in, &w->c.out, &w->c.e), 0);
    assert_int_equal(w->c.out.length, 2);
    assert_int_equal(decode(w, wire_ledger_state_key, w->c.out.data, 2), WIRE_OK);
    assert_true(isnan(w->item.state.val0) && isnan(w->item.state.trained));
    assert_string_equal(w->item.state.control_id, "");
    assert_string_equal(w->item.state.control_text, "");
    assert_int_equal(w->item.state.n_counted, 0);
    /* A text that was cut within a character must not make the ledger unreadable. */
    char text[600];
    memset(text, 'n', sizeof text);
    memcpy(text + 498, "\xe2\x82\xac", 4);
    in.control_text = text;
    assert_int_equal(wire_ledger_state_encode(&in, &w->c.out, &w->c.e), 0);
    w->c.out.length = 0;
    assert_int_equal(wire_ledger_state_encode(&in, &w->c.out, &w->c.e), 0);
    assert_int_equal(decode(w, wire_ledger_state_key, w->c.out.data, w->c.out.length), WIRE_OK);
    assert_int_equal(strlen(w->item.state.control_text), 498);
}

static void states_that_cannot_be(void **state)
{
    struct world *w = *state;
    struct wire_counted counted[] = {{5, 1}, {3, 2}, {5, 3}};
    struct wire_trainer_state in = {.counted = counted, .n_counted = 3};
    assert_int_equal(wire_ledger_state_encode(&in, &w->c.out, &w->c.e), -FIS_INPUT);
    assert_says(&w->c.e, "no phase 0");
    in.phase = WIRE_PHASE_DONE;
    assert_int_equal(wire_ledger_state_encode(&in, &w->c.out, &w->c.e), -FIS_INPUT);
    assert_says(&w->c.e, "counted: partition 5 twice");
    counted[2].partition = -3;
    assert_int_equal(wire_ledger_state_encode(&in, &w->c.out, &w->c.e), -FIS_INPUT);
    assert_says(&w->c.e, "counted: partition -3");
    counted[2] = (struct wire_counted){4, -1};
    assert_int_equal(wire_ledger_state_encode(&in, &w->c.out, &w->c.e), -FIS_INPUT);
    assert_says(&w->c.e, "counted: partition 4 up to offset -1");
    assert_int_equal(w->c.out.length, 0);
    struct wire_bytes key = wire_ledger_state_key;
    assert_int_equal(decode(w, key, "", 0), WIRE_BAD);
    assert_says(&w->c.e, "trainer state: no phase");
    assert_int_equal(decode(w, key, "\x40\x04", 2), WIRE_BAD);
    assert_says(&w->c.e, "field 8 (phase) at byte 0: 4 is not known");
    assert_int_equal(decode(w, key, "\x40\x01\x92\x01\x00\x92\x01\x02\x10\x05", 10), WIRE_BAD);
    assert_says(&w->c.e, "counted: partition 0 twice");
}

static void a_checkpoint_goes_in_chunks(void **state)
{
    struct world *w = *state;
    struct wire_checkpoint in = {.format = 1, .version = 12, .gate = {"\0gate", 5}}, out;
    struct wire_assembler *a = wire_assembler_new(WIRE_ASSEMBLE_NEWEST, 1, 0);
    struct byte_buffer chunk = {0}, key = {0};
    struct wire_chunks chunks;
    struct wire_bytes payload = {0};
    uint64_t version = 0;
    char learner[1000];
    for (size_t i = 0; i < sizeof learner; i++)
        learner[i] = (char)i;
    in.learner = (struct wire_bytes){learner, sizeof learner};
    assert_non_null(a);
    assert_int_equal(wire_checkpoint_encode(&in, &w->c.out, &w->c.e), 0);
    payload = (struct wire_bytes){w->c.out.data, w->c.out.length};
    assert_int_equal(wire_chunks_start(&chunks, 12, payload, 300, &w->c.e), 0);
    for (uint32_t i = 0; wire_chunks_next(&chunks, &chunk, &w->c.e) > 0; i++) {
        key.length = 0;
        assert_int_equal(wire_checkpoint_key(i, &key, &w->c.e), 0);
        assert_int_equal(
            decode(w, (struct wire_bytes){key.data, key.length}, chunk.data, chunk.length),
            WIRE_OK);
        assert_int_equal(w->item.kind, WIRE_LEDGER_CHECKPOINT);
        int rc = wire_assembler_feed(a, w->item.chunk, &payload, &version, &w->c.e);
        assert_int_equal(rc, i == 3);
        chunk.length = 0;
    }
    assert_int_equal(version, 12);
    assert_memory_equal(key.data, "\0checkpoint/3", 13);
    assert_int_equal(key.length, 13);
    assert_int_equal(wire_checkpoint_decode(payload, &out, &w->c.e), 0);
    assert_true(out.format == 1 && out.version == 12);
    assert_int_equal(out.learner.length, sizeof learner);
    assert_memory_equal(out.learner.data, learner, sizeof learner);
    assert_int_equal(out.gate.length, 5);
    assert_memory_equal(out.gate.data, "\0gate", 5);
    assert_int_equal(decode(w, (struct wire_bytes){key.data, key.length}, NULL, 0), WIRE_TOMBSTONE);
    assert_int_equal(w->item.kind, WIRE_LEDGER_CHECKPOINT);
    wire_assembler_free(a);
    byte_buffer_done(&chunk);
    byte_buffer_done(&key);
}

static void try_checkpoint(void *arg, const unsigned char *bytes, size_t length)
{
    struct world *w = arg;
    struct wire_checkpoint c;
    w->c.e.text[0] = 0;
    if (wire_checkpoint_decode((struct wire_bytes){bytes, length}, &c, &w->c.e)) {
        assert_says(&w->c.e, "checkpoint: ");
        return;
    }
    assert_true(c.format && c.learner.length + c.gate.length <= length);
    for (size_t i = 0; i < c.learner.length; i++) /* it is there */
        w->sum += ((const unsigned char *)c.learner.data)[i];
}

static void checkpoints_that_cannot_be(void **state)
{
    struct world *w = *state;
    struct wire_checkpoint c = {.learner = {"l", 1}};
    assert_int_equal(wire_checkpoint_encode(&c, &w->c.out, &w->c.e), -FIS_INPUT);
    assert_says(&w->c.e, "checkpoint: no format");
    assert_int_equal(wire_checkpoint_decode((struct wire_bytes){"", 0}, &c, NULL), -FIS_INPUT);
    assert_int_equal(wire_checkpoint_decode((struct wire_bytes){"\x0d", 1}, &c, &w->c.e),
                     -FIS_INPUT);
    assert_says(&w->c.e, "checkpoint: ");
    c = (struct wire_checkpoint){1, 700, {"learner", 7}, {"gate", 4}};
    assert_int_equal(wire_checkpoint_encode(&c, &w->c.out, &w->c.e), 0);
    spoil(w->c.out.data, w->c.out.length, 10000, try_checkpoint, w);
    assert_int_equal(decode(w, (struct wire_bytes){"\0checkpoint", 11}, "\x08\x02", 2), WIRE_BAD);
    assert_says(&w->c.e, "holds a NUL");
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
    assert_says(&w->c.e, "no id");
    assert_int_equal(decode(w, key, "", 0), WIRE_BAD);
    assert_says(&w->c.e, "without a state");
    assert_int_equal(decode(w, key, "\x08\x09", 2), WIRE_BAD);
    assert_says(&w->c.e, "field 1 (state) at byte 0: 9 is not known");
    assert_int_equal(decode(w, key, "\x08\x02\x3a\x01x", 5), WIRE_BAD);
    assert_says(&w->c.e, "encoding is not given");
    struct wire_ledger_entry wrong = {0};
    assert_int_equal(wire_ledger_entry_encode(&wrong, &w->c.out, &w->c.e), -FIS_INPUT);
    assert_says(&w->c.e, "no state 0");
}

static void try_item(void *arg, const unsigned char *bytes, size_t length)
{
    struct world *w = arg;
    if (decode(w, (struct wire_bytes){w->key, w->key_length}, bytes, length) == WIRE_BAD)
        assert_true(w->c.e.text[0] && w->c.e.kind == FIS_INPUT);
    else
        assert_int_equal(w->item.kind, *w->key ? WIRE_LEDGER_ENTRY : WIRE_LEDGER_STATE);
}

static void spoiled(void **state)
{
    struct world *w = *state;
    const float x[6] = {0, 0, 1, 0, 2, 0};
    const struct fis_vote votes[] = {{"ann", WIRE_LABELLED, 1, 9}, {"bob", WIRE_SKIPPED, 0, 8}};
    const struct wire_counted counted[] = {{0, 5}, {1, 300}};
    struct wire_ledger_entry entry = {.state = WIRE_ACCEPTED,
                                      .class_index = 1,
                                      .round = 300,
                                      .x = x,
                                      .d = 6,
                                      .encoding = WIRE_JSON,
                                      .record = {"{}", 2},
                                      .asked_at_ms = 77,
                                      .votes = votes,
                                      .n_votes = 2};
    assert_int_equal(wire_ledger_entry_encode(&entry, &w->c.out, &w->c.e), 0);
    w->key = "k";
    w->key_length = 1;
    spoil(w->c.out.data, w->c.out.length, 10000, try_item, w);
    struct wire_trainer_state s = {.round = 1,
                                   .window_records = 2,
                                   .val0 = .5,
                                   .phase = WIRE_PHASE_COLLECT,
                                   .wall_ms = 1700000000000,
                                   .counted = counted,
                                   .n_counted = 2,
                                   .control_id = "a/1",
                                   .control_text = "pinned"};
    w->c.out.length = 0;
    assert_int_equal(wire_ledger_state_encode(&s, &w->c.out, &w->c.e), 0);
    w->key = "";
    spoil(w->c.out.data, w->c.out.length, 10000, try_item, w);
}

/* The mark is known to who has the id, and to nobody else; its key is no id. */
static void forgotten(void **state)
{
    struct world *w = *state;
    struct wire_forgotten f = {.salt = {"host/1", 6}, .charged = true, .at_ms = 5}, other;
    struct wire_ledger_item item;
    struct byte_buffer key = {0};
    struct fis_id id, near;
    assert_int_equal(fis_id_set(&id, "person-1", 8) | fis_id_set(&near, "person-2", 8), 0);
    wire_forgotten_mark(f.salt, &id, f.mark);
    wire_forgotten_mark(f.salt, &near, other.mark);
    assert_memory_not_equal(f.mark, other.mark, WIRE_MARK);
    wire_forgotten_mark((struct wire_bytes){"host/2", 6}, &id, other.mark);
    assert_memory_not_equal(f.mark, other.mark, WIRE_MARK);
    assert_int_equal(wire_forgotten_key(&f, &key, &w->c.e), 0);
    assert_int_equal(wire_forgotten_encode(&f, &w->c.out, &w->c.e), 0);
    struct wire_message m = {.key = {key.data, key.length},
                             .value = {w->c.out.data, w->c.out.length}};
    assert_int_equal(wire_ledger_decode(&m, &w->c.arena, &item, &w->c.e), WIRE_OK);
    assert_int_equal(item.kind, WIRE_LEDGER_FORGOTTEN);
    assert_memory_equal(item.forgotten.mark, f.mark, WIRE_MARK);
    assert_true(item.forgotten.charged && item.forgotten.at_ms == 5);
    assert_memory_equal(item.forgotten.salt.data, "host/1", 6);
    m.key.length--;
    assert_int_equal(wire_ledger_decode(&m, &w->c.arena, &item, &w->c.e), WIRE_BAD);
    m.key.length++;
    m.value = (struct wire_bytes){NULL, 0};
    assert_int_equal(wire_ledger_decode(&m, &w->c.arena, &item, &w->c.e), WIRE_TOMBSTONE);
    m.value = (struct wire_bytes){"", 0}; /* without a salt */
    assert_int_equal(wire_ledger_decode(&m, &w->c.arena, &item, &w->c.e), WIRE_BAD);
    byte_buffer_done(&key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(entries, up, codec_down),
        cmocka_unit_test_setup_teardown(votes_that_cannot_be, up, codec_down),
        cmocka_unit_test_setup_teardown(state_of_the_trainer, up, codec_down),
        cmocka_unit_test_setup_teardown(a_state_of_nothing, up, codec_down),
        cmocka_unit_test_setup_teardown(states_that_cannot_be, up, codec_down),
        cmocka_unit_test_setup_teardown(a_checkpoint_goes_in_chunks, up, codec_down),
        cmocka_unit_test_setup_teardown(checkpoints_that_cannot_be, up, codec_down),
        cmocka_unit_test_setup_teardown(tombstones_and_refusals, up, codec_down),
        cmocka_unit_test_setup_teardown(forgotten, up, codec_down),
        cmocka_unit_test_setup_teardown(spoiled, up, codec_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
