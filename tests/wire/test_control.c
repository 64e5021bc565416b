/* The operator's commands. */
#include "kit/wire/binary.h"

#include "wire/protobuf_codec.h"

struct world {
    struct codec c;
    struct wire_control control;
};

static int up(void **state)
{
    return codec_up(state, sizeof(struct world), 4096);
}

static enum wire_decoded decode(struct world *w, const char *key, const void *bytes, size_t length)
{
    struct wire_message m = message_of(key, key ? strlen(key) : 0, bytes, length);
    fis_arena_reset(&w->c.arena);
    w->c.e.text[0] = 0;
    return wire_control_decode(&m, &w->c.arena, &w->control, &w->c.e);
}

static struct wire_control command(enum wire_control_kind kind)
{
    struct wire_control c = {.kind = kind, .by = "ann", .reason = "because", .at_ms = 1700};
    assert_int_equal(fis_id_set(&c.command, "host/1/2", 8), 0);
    if (kind == WIRE_CONTROL_CANCEL || kind == WIRE_CONTROL_FORGET)
        assert_int_equal(fis_id_set(&c.record, "r\nx", 3), 0);
    if (kind == WIRE_CONTROL_PROMOTE)
        c.version = 7;
    return c;
}

static void round_trip(void **state)
{
    struct world *w = *state;
    for (int k = WIRE_CONTROL_PAUSE; k <= WIRE_CONTROL_LAST; k++) {
        struct wire_control in = command((enum wire_control_kind)k);
        w->c.out.length = 0;
        if (wire_control_encode(&in, &w->c.out, &w->c.e) ||
            decode(w, "host/1/2", w->c.out.data, w->c.out.length) != WIRE_OK)
            fail_msg("%s: %s", wire_control_name(in.kind), w->c.e.text);
        assert_int_equal(w->control.kind, k);
        assert_id(&w->control.command, "host/1/2");
        assert_int_equal(fis_id_compare(&w->control.record, &in.record), 0);
        assert_int_equal(w->control.version, in.version);
        assert_string_equal(w->control.by, "ann");
        assert_string_equal(w->control.reason, "because");
        assert_int_equal(w->control.at_ms, 1700);
    }
    assert_string_equal(wire_control_name(WIRE_CONTROL_PAUSE), "pause");
    assert_string_equal(wire_control_name(WIRE_CONTROL_PROMOTE), "promote");
    assert_string_equal(wire_control_name((enum wire_control_kind)(WIRE_CONTROL_LAST + 1)),
                        "unknown");
}

static void texts_are_cut_to_whole_characters(void **state)
{
    struct world *w = *state;
    struct wire_control in = command(WIRE_CONTROL_PIN);
    char text[400];
    memset(text, 'n', sizeof text);
    memcpy(text + 254, "\xc3\xa9", 3);
    in.by = text;
    in.reason = NULL;
    assert_int_equal(wire_control_encode(&in, &w->c.out, &w->c.e), 0);
    assert_int_equal(decode(w, "k", w->c.out.data, w->c.out.length), WIRE_OK);
    assert_int_equal(strlen(w->control.by), 254);
    assert_string_equal(w->control.reason, "");
}

static void assert_refused(struct world *w, const struct wire_control *c, const char *says)
{
    assert_int_equal(wire_control_encode(c, &w->c.out, &w->c.e), -FIS_INPUT);
    assert_says(&w->c.e, says);
    assert_int_equal(w->c.out.length, 0);
}

static void commands_that_cannot_be(void **state)
{
    struct world *w = *state;
    struct wire_control c = command(WIRE_CONTROL_CANCEL);
    c.record.length = 0;
    assert_refused(w, &c, "cancel without a record");
    c = command(WIRE_CONTROL_CANCEL);
    c.kind = WIRE_CONTROL_PAUSE;
    assert_refused(w, &c, "pause with a record");
    c = command(WIRE_CONTROL_PROMOTE);
    c.version = 0;
    assert_refused(w, &c, "promote without a version");
    c = command(WIRE_CONTROL_UNPIN);
    c.version = 1;
    assert_refused(w, &c, "unpin with a version");
    c = command(WIRE_CONTROL_RESUME);
    c.at_ms = -1;
    assert_refused(w, &c, "at_ms -1: before 1970");
    c.kind = (enum wire_control_kind)0;
    assert_refused(w, &c, "no command 0");
    c = command(WIRE_CONTROL_RESUME);
    c.command.bytes[2] = 0;
    assert_refused(w, &c, "a command's id is a text");
}

static void refused_when_read(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *key, *bytes, *says;
        size_t length;
    } bad[] = {
        {"k", "", "no command 0", 0},
        {"k", "\x08\x0b", "field 1 (kind) at byte 0: 11 is not known", 2},
        {NULL, "\x08\x01", "no id", 2},
        {"k", "\x08\x03", "cancel without a record", 2},
        {"k", "\x08\x03\x12\x01\xff", "not UTF-8", 5},
        {"k", "\x08\x01\x12\x01r", "pause with a record", 5},
        {"k", "\x08\x07", "promote without a version", 2},
        {"k", "\x08\x04\x18\x01", "pin with a version", 4},
        {"k", "\x08\x01\x22\x01\xff", "field 4 (by) at byte 2: not UTF-8", 5},
        {"k", "\x08\x01\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "at_ms -1", 13},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(decode(w, bad[i].key, bad[i].bytes, bad[i].length), WIRE_BAD);
        assert_int_equal(w->c.e.kind, FIS_INPUT);
        assert_says(&w->c.e, bad[i].says);
    }
    assert_int_equal(decode(w, "k", NULL, 0), WIRE_TOMBSTONE);
    assert_int_equal(decode(w, "k", "\x08\x06", 2), WIRE_OK); /* to the one served before */
    struct wire_message m = message_of("a\0b", 3, "\x08\x01", 2);
    assert_int_equal(wire_control_decode(&m, &w->c.arena, &w->control, &w->c.e), WIRE_BAD);
    assert_says(&w->c.e, "the id holds a NUL");
}

static void try_control(void *arg, const unsigned char *bytes, size_t length)
{
    struct world *w = arg;
    if (decode(w, "k", bytes, length) == WIRE_BAD)
        assert_true(w->c.e.text[0] && w->c.e.kind == FIS_INPUT);
    else
        assert_true(w->control.kind >= WIRE_CONTROL_PAUSE && w->control.kind <= WIRE_CONTROL_LAST &&
                    w->control.by && w->control.reason);
}

static void spoiled(void **state)
{
    struct world *w = *state;
    for (int k = WIRE_CONTROL_PAUSE; k <= WIRE_CONTROL_LAST; k++) {
        struct wire_control in = command((enum wire_control_kind)k);
        w->c.out.length = 0;
        assert_int_equal(wire_control_encode(&in, &w->c.out, &w->c.e), 0);
        spoil(w->c.out.data, w->c.out.length, 3000, try_control, w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(round_trip, up, codec_down),
        cmocka_unit_test_setup_teardown(texts_are_cut_to_whole_characters, up, codec_down),
        cmocka_unit_test_setup_teardown(commands_that_cannot_be, up, codec_down),
        cmocka_unit_test_setup_teardown(refused_when_read, up, codec_down),
        cmocka_unit_test_setup_teardown(spoiled, up, codec_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
