/* Raw records, ids and UTF-8. */
#include "kit/wire/binary.h"

#include "wire/raw.h"
#include "base/utf8.h"

struct world {
    struct fis_encoder *enc;
    struct fis_arena arena;
    float x[4];
    struct wire_record record;
    struct fis_error e;
};

static int up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->enc = plain_encoder(4);
    w->arena = test_arena(256);
    *state = w;
    return 0;
}

static int down(void **state)
{
    struct world *w = *state;
    fis_encoder_free(w->enc);
    fis_free(w->arena.base);
    free(w);
    return 0;
}

static enum wire_decoded decode(struct world *w, const void *key, const void *bytes, size_t length)
{
    struct wire_message m = message_of(key, key ? strlen(key) : 0, bytes, length);
    fis_arena_reset(&w->arena);
    memset(&w->record, 0, sizeof w->record);
    memset(w->x, 0, sizeof w->x);
    w->e.text[0] = 0;
    return wire_raw_record(&test_schema, w->enc, &m, &w->arena, w->x, &w->record, &w->e);
}

/* .5, -1, 0, 2 */
static const unsigned char good[] = {0, 0, 0, 0x3f, 0, 0, 0x80, 0xbf, 0, 0, 0, 0, 0, 0, 0, 0x40};

static void four_floats(void **state)
{
    struct world *w = *state;
    assert_int_equal(decode(w, "k", good, 16), WIRE_OK);
    assert_true(w->x[0] == .5f && w->x[1] == -1 && w->x[2] == 0 && w->x[3] == 2);
    assert_id(&w->record.id, "k");
    assert_int_equal(w->record.event_time_ms, 1700000000000);
    unsigned char shifted[17]; /* at any address */
    memcpy(shifted + 1, good, 16);
    assert_int_equal(decode(w, NULL, shifted + 1, 16), WIRE_OK);
    assert_true(w->x[3] == 2);
    assert_id(&w->record.id, "t.records/3/42");
    assert_int_equal(decode(w, "k", NULL, 0), WIRE_TOMBSTONE);
    assert_id(&w->record.id, "k");
}

static void wrong_sizes(void **state)
{
    struct world *w = *state;
    static const unsigned char bytes[5000];
    for (size_t n = 0; n < 40; n++) {
        char says[64];
        snprintf(says, sizeof says, "%zu bytes, 16 expected (4 float32)", n);
        if (n == 16)
            continue;
        assert_int_equal(decode(w, "k", bytes, n), WIRE_BAD);
        assert_int_equal(w->e.kind, FIS_INPUT);
        assert_says(&w->e, says);
    }
    assert_int_equal(decode(w, "k", bytes, 5000), WIRE_BAD);
    assert_says(&w->e, "5000 bytes, at most 4096 allowed");
    /* Numbers go from the message into features, without a stop in the arena. */
    w->arena.size = 0;
    assert_int_equal(decode(w, "k", good, 16),
                     __BYTE_ORDER == __LITTLE_ENDIAN ? WIRE_OK : WIRE_BAD);
}

/* The index of the number that is not finite; nothing is written. */
static void not_finite(void **state)
{
    struct world *w = *state;
    const unsigned char bad[][4] = {{0, 0, 0xc0, 0x7f}, {0, 0, 0x80, 0x7f}, {0, 0, 0x80, 0xff}};
    for (size_t i = 0; i < 12; i++) {
        unsigned char bytes[16];
        char says[32];
        memcpy(bytes, good, 16);
        memcpy(bytes + i % 4 * 4, bad[i / 4], 4);
        snprintf(says, sizeof says, "feature %zu", i % 4);
        assert_int_equal(decode(w, "k", bytes, 16), WIRE_BAD);
        assert_says(&w->e, says);
        assert_true(w->x[3] == 0);
        assert_int_equal(w->record.id.length, 0);
    }
}

static void utf8(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length, valid;
    } cases[] = {
        {"", 0, 0},
        {"a\0b", 3, 3},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z", 10, 10},
        {"a\x80", 2, 1},            /* a continuation alone */
        {"\xc0\xaf", 2, 0},         /* overlong, 2 bytes */
        {"\xe0\x9f\xbf", 3, 0},     /* overlong, 3 */
        {"\xe0\xa0\x80", 3, 3},     /* the least of 3 */
        {"\xf0\x8f\xbf\xbf", 4, 0}, /* overlong, 4 */
        {"\xf0\x90\x80\x80", 4, 4}, /* the least of 4 */
        {"\xed\xa0\x80", 3, 0},     /* surrogate */
        {"\xed\x9f\xbf", 3, 3},     /* the last before them */
        {"\xf4\x8f\xbf\xbf", 4, 4}, /* U+10FFFF */
        {"\xf4\x90\x80\x80", 4, 0}, /* above */
        {"\xf5\x80\x80\x80", 4, 0}, /* far above */
        {"ok\xe2\x82", 4, 2},       /* cut off */
        {"\xe2\x28\xa1", 3, 0},     /* a bad second byte */
        {"\xf0\x9f\x98\x28", 4, 0}, /* a bad fourth byte */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (utf8_prefix(cases[i].bytes, cases[i].length) != cases[i].valid)
            fail_msg("case %zu: %zu", i, utf8_prefix(cases[i].bytes, cases[i].length));
}

/* A NUL or a byte that is not ASCII is seen wherever it stands; ids of each length come whole. */
static void plain_text(void **state)
{
    struct world *w = *state;
    char text[32] = {0};
    static const float numbers[4] = {0};
    for (size_t n = 0; n < 30; n++) {
        assert_true(utf8_plain(text, n));
        for (size_t i = 0; i < n; i++) {
            char was = text[i];
            text[i] = 0;
            assert_false(utf8_plain(text, n));
            text[i] = (char)0x80;
            assert_false(utf8_plain(text, n));
            text[i] = was;
        }
        if (n) {
            assert_int_equal(decode(w, text, numbers, sizeof numbers), WIRE_OK);
            assert_id(&w->record.id, text);
        }
        text[n] = (char)(n % 3 == 0 ? 0x7f : n % 3 == 1 ? 1 : 'a' + (int)n);
    }
}

static void buffers(void **state)
{
    (void)state;
    struct byte_buffer b = {0};
    struct fis_error e = {0};
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(byte_buffer_append(&b, &i, sizeof i, &e), 0);
    for (uint32_t i = 0; i < 1000; i++)
        assert_memory_equal(b.data + i * sizeof i, &i, sizeof i);
    fis_mem_refuse_after(0);
    assert_int_equal(byte_buffer_reserve(&b, 1 << 20, &e), -FIS_NOMEM);
    fis_mem_refuse_after(UINT64_MAX);
    assert_int_equal(b.length, 4000);
    assert_int_equal(byte_buffer_reserve(&b, SIZE_MAX - 10, &e), -FIS_NOMEM);
    byte_buffer_done(&b);
    byte_buffer_done(&b);
}

static void classes(void **state)
{
    (void)state;
    assert_int_equal(wire_schema_class(&test_schema, "no", 2), 0);
    assert_int_equal(wire_schema_class(&test_schema, "yesterday", 3), 1);
    assert_int_equal(wire_schema_class(&test_schema, "yesterday", 9), -1);
    assert_int_equal(wire_schema_class(&test_schema, "", 0), -1);
    assert_string_equal(wire_encoding_name(WIRE_RAW), "raw");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(four_floats, up, down),
        cmocka_unit_test_setup_teardown(wrong_sizes, up, down),
        cmocka_unit_test_setup_teardown(not_finite, up, down),
        cmocka_unit_test(utf8),
        cmocka_unit_test_setup_teardown(plain_text, up, down),
        cmocka_unit_test(buffers),
        cmocka_unit_test(classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
