/* Records in protobuf: what means the same is the same, what is broken says so. */
#include "kit/wire/protobuf_world.h"

static const unsigned char unpacked[] = {0x0a, 2, 'r', '2', 0x15, F1, 0x15, F2, 0x15, F3, 0x15, F4};

static const unsigned char mixed[] = {0x0a, 2, 'r', '3', 0x12, 8, F1, F2, 0x15, F3, 0x15, F4};

static const unsigned char pieces[] = {0x12, 4, F1, 0x12, 0x0c, F2, F3, F4, 0x0a, 2, 'r', '4'};

static const unsigned char cut[] = {0x0a, 2, 'r', '5', 0x12, 0x0f, F1, F2, F3, 0x00, 0x00, 0x00};

static void packed_or_not(void **state)
{
    struct protobuf_world *w = *state;
    protobuf_assert_good(w, protobuf_packed, sizeof protobuf_packed, "r1");
    protobuf_assert_good(w, unpacked, sizeof unpacked, "r2");
    protobuf_assert_good(w, mixed, sizeof mixed, "r3");
    protobuf_assert_good(w, pieces, sizeof pieces, "r4");
    protobuf_assert_bad(w, cut, sizeof cut,
                        "field 2 (features) at byte 4: 15 bytes, not a multiple of 4");
}

static void unknown_field_and_last_id(void **state)
{
    struct protobuf_world *w = *state;
    unsigned char more[sizeof protobuf_packed + 5];
    memcpy(more, protobuf_packed, sizeof protobuf_packed);
    memcpy(more + sizeof protobuf_packed, "\x9a\x06\x02hi", 5); /* field 99, two bytes */
    protobuf_assert_good(w, more, sizeof more, "r1");
    unsigned char twice[sizeof protobuf_packed + 4] = {0x0a, 2, 'r', '9'};
    memcpy(twice + 4, protobuf_packed, sizeof protobuf_packed);
    protobuf_assert_good(w, twice, sizeof twice, "r1");
}

static void framed(void **state)
{
    struct protobuf_world *w = *state;
    unsigned char bytes[64] = {0, 0, 0, 0, 7, 0};
    memcpy(bytes + 6, protobuf_packed, sizeof protobuf_packed);
    protobuf_assert_good(w, bytes, 6 + sizeof protobuf_packed, "r1");
    /* Two indexes, 0 and 1: a message inside another, unless that is configured. */
    memcpy(bytes, (unsigned char[]){0, 0, 0, 0, 7, 4, 0, 2}, 8);
    memcpy(bytes + 8, protobuf_packed, sizeof protobuf_packed);
    protobuf_assert_bad(
        w, bytes, 8 + sizeof protobuf_packed,
        "schema id 7: the message index is 0.1, 0 is expected (records.message_index)");
    w->schema.framing = (struct wire_framing){.index = (uint32_t[]){0, 1}, .n_index = 2};
    protobuf_assert_good(w, bytes, 8 + sizeof protobuf_packed, "r1");
    protobuf_assert_bad(w, (unsigned char[]){0, 0, 0, 0, 7, 0}, 6,
                        "message index is 0, 0.1 is expected");
    w->schema.framing.kind = WIRE_FRAMING_NONE;
    protobuf_assert_bad(w, bytes, 8 + sizeof protobuf_packed,
                        "schema id 7; records.framing is none");
    protobuf_assert_good(w, protobuf_packed, sizeof protobuf_packed, "r1");
    w->schema.framing.kind = WIRE_FRAMING_CONFLUENT;
    protobuf_assert_good(w, bytes, 8 + sizeof protobuf_packed, "r1");
    protobuf_assert_bad(w, protobuf_packed, sizeof protobuf_packed, "no Confluent frame");
    w->schema.framing = (struct wire_framing){0};
    /* Without a path: the record's own bytes stand for one. */
    unsigned char pathless[5 + sizeof protobuf_packed] = {0, 0, 0, 0, 7};
    memcpy(pathless + 5, protobuf_packed, sizeof protobuf_packed);
    protobuf_assert_bad(w, pathless, sizeof pathless, "the message index is");
    protobuf_assert_bad(w, bytes, 3,
                        "Confluent frame (first byte 0): 3 bytes, at least 6 expected");
    bytes[5] = 3; /* zigzag of -2 */
    protobuf_assert_bad(w, bytes, 8 + sizeof protobuf_packed, "-2 message indexes");
    bytes[5] = 8; /* four of them, and only two left */
    protobuf_assert_bad(w, bytes, 8, "truncated");
}

static void empty_null_and_zero(void **state)
{
    struct protobuf_world *w = *state;
    struct wire_message m = message_of("key", 3, NULL, 0);
    assert_int_equal(protobuf_decode(w, &m), WIRE_TOMBSTONE);
    assert_id(&w->record.id, "key");
    protobuf_assert_bad(w, "", 0, "0 features, 4 expected");
    /* A sparse message of no bytes is the zero vector. */
    assert_int_equal(protobuf_decode_bytes(w, "\x1a\x00", 2), WIRE_OK);
    for (uint32_t i = 0; i < PROTOBUF_D; i++)
        assert_true(w->x[i] == 0);
}

static void ids_by_field_key_or_place(void **state)
{
    struct protobuf_world *w = *state;
    struct wire_message m = message_of("key", 3, protobuf_packed + 4, sizeof protobuf_packed - 4);
    assert_int_equal(protobuf_decode(w, &m), WIRE_OK);
    assert_id(&w->record.id, "key");
    m.key = (struct wire_bytes){NULL, 0};
    assert_int_equal(protobuf_decode(w, &m), WIRE_OK);
    assert_id(&w->record.id, "t.records/3/42");
    m.key = (struct wire_bytes){"\xff", 1};
    assert_int_equal(protobuf_decode(w, &m), WIRE_BAD);
    assert_says(&w->e, "key: the id is not UTF-8 at byte 0");
    m.key = (struct wire_bytes){"", 1};
    assert_int_equal(protobuf_decode(w, &m), WIRE_BAD);
    assert_says(&w->e, "holds a NUL");
    char topic[250];
    memset(topic, 'a', 249);
    topic[249] = 0;
    m = (struct wire_message){.topic = topic,
                              .partition = INT32_MAX,
                              .offset = INT64_MAX,
                              .timestamp_ms = -1,
                              .value = {protobuf_packed + 4, sizeof protobuf_packed - 4}};
    assert_int_equal(protobuf_decode(w, &m), WIRE_OK);
    assert_int_equal(w->record.id.length, 255);
    assert_memory_equal(w->record.id.bytes + 255 - 20, "/9223372036854775807", 20);
    assert_int_equal(w->record.event_time_ms, -1);
    unsigned char longer[4 + 256 + 18] = {0x0a, 0x80, 0x02};
    memset(longer + 3, 'i', 256);
    protobuf_assert_bad(w, longer, 3 + 256, "0 features");
    memcpy(longer + 3 + 256, protobuf_packed + 4, 18);
    protobuf_assert_bad(w, longer, 3 + 256 + 18, "an id of 256 bytes, at most 255 allowed");
}

static void not_finite(void **state)
{
    struct protobuf_world *w = *state;
    const unsigned char bad[][4] = {{0, 0, 0xc0, 0x7f}, {0, 0, 0x80, 0x7f}, {0, 0, 0x80, 0xff}};
    for (size_t i = 0; i < 3; i++) {
        unsigned char bytes[sizeof protobuf_packed];
        memcpy(bytes, protobuf_packed, sizeof protobuf_packed);
        memcpy(bytes + 6 + 8, bad[i], 4);
        protobuf_assert_bad(w, bytes, sizeof bytes, "feature 2");
    }
}

static void broken(void **state)
{
    struct protobuf_world *w = *state;
    static const struct {
        const char *bytes;
        size_t length;
        const char *says;
    } cases[] = {
        {"\x12\x10\x00\x00\x00\x3f", 6, "truncated: field 2 at byte 0 needs 16 bytes, 4 left"},
        {"\x08\x01", 2, "field 1 (id) at byte 0: wire type 0, 2 expected"},
        {"\x10\x01", 2, "field 2 (features) at byte 0: wire type 0, 5 expected"},
        {"\x0b", 1, "field 1 at byte 0 has wire type 3"},
        {"\x28", 1, "truncated: the varint at byte 1 has no end"},
        {"\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11, "longer than 10 bytes or 64 bits"},
        {"\x07", 1, "no field has the number 0"},
        {"\xff\xff\xff\xff\x7f", 5, "no field has the number"},
        {"\x22\x05\x0a\x01k\x12\x01", 7, "field 4 (attributes) at byte 0: truncated: field 2"},
        {"\x22\x06\x0a\x01k\x12\x01\xc0", 8,
         "field 4 (attributes) at byte 0: field 2 (value) at byte 5: not UTF-8"},
        {"{\"age\":3}", 9, "wire type 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        protobuf_assert_bad(w, cases[i].bytes, cases[i].length, cases[i].says);
    static unsigned char large[5000];
    protobuf_assert_bad(w, large, sizeof large, "a record of 5000 bytes, at most 4096 allowed");
    w->arena.size = 32;
    assert_int_equal(protobuf_decode_bytes(w, "\x1a\x00", 2), WIRE_BAD);
    assert_says(&w->e, "takes more than 32 bytes");
    assert_int_equal(w->e.kind, FIS_INPUT);
}

/* Random messages: protobuf-c must read the same from them. */
static void same_as_protobuf_c(void **state)
{
    struct protobuf_world *w = *state;
    struct fis_rng rng;
    fis_rng_seed(&rng, 7, 0);
    for (uint32_t round = 0; round < 2000; round++) {
        unsigned char bytes[256];
        size_t n = 0;
        uint32_t left = PROTOBUF_D;
        while (left || fis_rng_below(&rng, 2)) {
            uint32_t what = fis_rng_below(&rng, 6), take = left ? 1 + fis_rng_below(&rng, left) : 0;
            if (n > 180)
                what = left ? 1 : 5;
            if (what == 0) { /* id */
                memcpy(bytes + n, (unsigned char[]){0x0a, 1, (unsigned char)('a' + round % 26)}, 3);
                n += 3;
            } else if (what == 1 && left) { /* packed */
                bytes[n++] = 0x12;
                bytes[n++] = (unsigned char)(4 * take);
                for (uint32_t i = 0; i < take; i++, n += 4)
                    memcpy(bytes + n, (float[]){random_float(&rng)}, 4);
                left -= take;
            } else if (what == 2 && left) { /* one */
                bytes[n++] = 0x15;
                memcpy(bytes + n, (float[]){random_float(&rng)}, 4);
                n += 4;
                left--;
            } else if (what == 3) { /* unknown */
                memcpy(bytes + n, "\x9a\x06\x01z", 4);
                n += 4;
            } else if (what == 4) { /* time */
                memcpy(bytes + n, "\x28\x96\x01", 3);
                n += 3;
            } else if (n > 180) {
                break;
            }
        }
        Fis__V1__Record *r = fis__v1__record__unpack(NULL, n, bytes);
        assert_non_null(r);
        assert_int_equal(r->n_features, PROTOBUF_D);
        if (protobuf_decode_bytes(w, bytes, n) != WIRE_OK)
            fail_msg("round %u: %s", round, w->e.text);
        assert_memory_equal(w->x, r->features, sizeof protobuf_expected);
        if (r->id.len)
            assert_memory_equal(w->record.id.bytes, r->id.data, r->id.len);
        else
            assert_id(&w->record.id, "key");
        if (r->event_time_ms)
            assert_int_equal(w->record.event_time_ms, r->event_time_ms);
        fis__v1__record__free_unpacked(r, NULL);
    }
}

/* What protobuf-c refuses is refused; nothing crashes and every refusal has a reason. */
static void try_record(void *arg, const unsigned char *bytes, size_t length)
{
    struct protobuf_world *w = arg;
    enum wire_decoded d = protobuf_decode_bytes(w, bytes, length);
    Fis__V1__Record *r = fis__v1__record__unpack(NULL, length, bytes);
    if (d == WIRE_BAD)
        assert_true(w->e.text[0] && w->e.kind == FIS_INPUT);
    else if (length && bytes[0])
        assert_non_null(r);
    if (d == WIRE_OK)
        for (uint32_t i = 0; i < PROTOBUF_D; i++)
            assert_true(isfinite(w->x[i]));
    if (r)
        fis__v1__record__free_unpacked(r, NULL);
}

static void spoiled(void **state)
{
    const unsigned char sparse_one[] = {0x0a, 2,    'r',  '6',  0x1a, 23,   0x0a, 1,   3,    0x08,
                                        0,    0x08, 1,    0x12, 4,    F4,   0x12, 8,   F1,   F2,
                                        0x22, 6,    0x0a, 1,    'k',  0x12, 1,    'v', 0x28, 1};
    spoil(pieces, sizeof pieces, 10000, try_record, *state);
    spoil(sparse_one, sizeof sparse_one, 10000, try_record, *state);
}

static void no_allocation(void **state)
{
    struct protobuf_world *w = *state;
    uint64_t before = fis_mem_count();
    for (int i = 0; i < 100; i++) {
        assert_int_equal(protobuf_decode_bytes(w, mixed, sizeof mixed), WIRE_OK);
        assert_int_equal(protobuf_decode_bytes(w, cut, sizeof cut), WIRE_BAD);
    }
    assert_int_equal(fis_mem_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packed_or_not, protobuf_world_up, protobuf_world_down),
        cmocka_unit_test_setup_teardown(unknown_field_and_last_id, protobuf_world_up,
                                        protobuf_world_down),
        cmocka_unit_test_setup_teardown(framed, protobuf_world_up, protobuf_world_down),
        cmocka_unit_test_setup_teardown(empty_null_and_zero, protobuf_world_up,
                                        protobuf_world_down),
        cmocka_unit_test_setup_teardown(ids_by_field_key_or_place, protobuf_world_up,
                                        protobuf_world_down),
        cmocka_unit_test_setup_teardown(not_finite, protobuf_world_up, protobuf_world_down),
        cmocka_unit_test_setup_teardown(broken, protobuf_world_up, protobuf_world_down),
        cmocka_unit_test_setup_teardown(same_as_protobuf_c, protobuf_world_up, protobuf_world_down),
        cmocka_unit_test_setup_teardown(spoiled, protobuf_world_up, protobuf_world_down),
        cmocka_unit_test_setup_teardown(no_allocation, protobuf_world_up, protobuf_world_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
