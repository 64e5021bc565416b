/* Records in protobuf: what means the same is the same, what is broken says so. */
#include "kit/wire/binary.h"

#include <math.h>

#include "wire/protobuf_codec.h"

#define D 4
static const float expected[D] = {.5f, -1, 0, 2};

/* Four ways to write one record, the id being r1 .. r4. */
#define F1 0x00, 0x00, 0x00, 0x3f
#define F2 0x00, 0x00, 0x80, 0xbf
#define F3 0x00, 0x00, 0x00, 0x00
#define F4 0x00, 0x00, 0x00, 0x40
static const unsigned char packed[] = {0x0a, 2, 'r', '1', 0x12, 0x10, F1, F2, F3, F4};
static const unsigned char unpacked[] = {0x0a, 2, 'r', '2', 0x15, F1, 0x15, F2, 0x15, F3, 0x15, F4};
static const unsigned char mixed[] = {0x0a, 2, 'r', '3', 0x12, 8, F1, F2, 0x15, F3, 0x15, F4};
static const unsigned char pieces[] = {0x12, 4, F1, 0x12, 0x0c, F2, F3, F4, 0x0a, 2, 'r', '4'};
static const unsigned char cut[] = {0x0a, 2, 'r', '5', 0x12, 0x0f, F1, F2, F3, 0x00, 0x00, 0x00};

struct world {
    struct wire_schema schema;
    struct fis_encoder *enc;
    struct fis_arena arena;
    float x[64];
    struct wire_record record;
    struct fis_error e;
};

static int up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->schema = test_schema;
    w->enc = plain_encoder(D);
    w->arena = test_arena(1024);
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

static enum wire_decoded decode(struct world *w, const struct wire_message *m)
{
    fis_arena_reset(&w->arena);
    memset(&w->record, 0, sizeof w->record);
    for (uint32_t i = 0; i < D; i++)
        w->x[i] = 99;
    w->e.text[0] = 0;
    return wire_protobuf_record(&w->schema, w->enc, m, &w->arena, w->x, &w->record, &w->e);
}

static enum wire_decoded decode_bytes(struct world *w, const void *bytes, size_t length)
{
    struct wire_message m = message_of("key", 3, bytes, length);
    return decode(w, &m);
}

static void assert_good(struct world *w, const void *bytes, size_t length, const char *id)
{
    if (decode_bytes(w, bytes, length) != WIRE_OK)
        fail_msg("%s", w->e.text);
    assert_memory_equal(w->x, expected, sizeof expected);
    assert_id(&w->record.id, id);
    assert_int_equal(w->record.event_time_ms, 1700000000000);
}

static void assert_bad(struct world *w, const void *bytes, size_t length, const char *says)
{
    assert_int_equal(decode_bytes(w, bytes, length), WIRE_BAD);
    assert_int_equal(w->e.kind, FIS_INPUT);
    assert_says(&w->e, says);
    assert_true(w->x[0] == 99); /* nothing written */
    assert_int_equal(w->record.id.length, 0);
}

static void packed_or_not(void **state)
{
    struct world *w = *state;
    assert_good(w, packed, sizeof packed, "r1");
    assert_good(w, unpacked, sizeof unpacked, "r2");
    assert_good(w, mixed, sizeof mixed, "r3");
    assert_good(w, pieces, sizeof pieces, "r4");
    assert_bad(w, cut, sizeof cut, "field 2 (features) at byte 4: 15 bytes, not a multiple of 4");
}

static void unknown_field_and_last_id(void **state)
{
    struct world *w = *state;
    unsigned char more[sizeof packed + 5];
    memcpy(more, packed, sizeof packed);
    memcpy(more + sizeof packed, "\x9a\x06\x02hi", 5); /* field 99, two bytes */
    assert_good(w, more, sizeof more, "r1");
    unsigned char twice[sizeof packed + 4] = {0x0a, 2, 'r', '9'};
    memcpy(twice + 4, packed, sizeof packed);
    assert_good(w, twice, sizeof twice, "r1");
}

static void framed(void **state)
{
    struct world *w = *state;
    unsigned char bytes[64] = {0, 0, 0, 0, 7, 0};
    memcpy(bytes + 6, packed, sizeof packed);
    assert_good(w, bytes, 6 + sizeof packed, "r1");
    /* Two indexes, 0 and 1: a message inside another, unless that is configured. */
    memcpy(bytes, (unsigned char[]){0, 0, 0, 0, 7, 4, 0, 2}, 8);
    memcpy(bytes + 8, packed, sizeof packed);
    assert_bad(w, bytes, 8 + sizeof packed,
               "schema id 7: the message index is 0.1, 0 is expected (records.message_index)");
    w->schema.framing = (struct wire_framing){.index = (uint32_t[]){0, 1}, .n_index = 2};
    assert_good(w, bytes, 8 + sizeof packed, "r1");
    assert_bad(w, (unsigned char[]){0, 0, 0, 0, 7, 0}, 6, "message index is 0, 0.1 is expected");
    w->schema.framing.kind = WIRE_FRAMING_NONE;
    assert_bad(w, bytes, 8 + sizeof packed, "schema id 7; records.framing is none");
    assert_good(w, packed, sizeof packed, "r1");
    w->schema.framing.kind = WIRE_FRAMING_CONFLUENT;
    assert_good(w, bytes, 8 + sizeof packed, "r1");
    assert_bad(w, packed, sizeof packed, "no Confluent frame");
    w->schema.framing = (struct wire_framing){0};
    /* Without a path: the record's own bytes stand for one. */
    unsigned char pathless[5 + sizeof packed] = {0, 0, 0, 0, 7};
    memcpy(pathless + 5, packed, sizeof packed);
    assert_bad(w, pathless, sizeof pathless, "the message index is");
    assert_bad(w, bytes, 3, "Confluent frame (first byte 0): 3 bytes, at least 6 expected");
    bytes[5] = 3; /* zigzag of -2 */
    assert_bad(w, bytes, 8 + sizeof packed, "-2 message indexes");
    bytes[5] = 8; /* four of them, and only two left */
    assert_bad(w, bytes, 8, "truncated");
}

static void empty_null_and_zero(void **state)
{
    struct world *w = *state;
    struct wire_message m = message_of("key", 3, NULL, 0);
    assert_int_equal(decode(w, &m), WIRE_TOMBSTONE);
    assert_id(&w->record.id, "key");
    assert_bad(w, "", 0, "0 features, 4 expected");
    /* A sparse message of no bytes is the zero vector. */
    assert_int_equal(decode_bytes(w, "\x1a\x00", 2), WIRE_OK);
    for (uint32_t i = 0; i < D; i++)
        assert_true(w->x[i] == 0);
}

static void ids_by_field_key_or_place(void **state)
{
    struct world *w = *state;
    struct wire_message m = message_of("key", 3, packed + 4, sizeof packed - 4);
    assert_int_equal(decode(w, &m), WIRE_OK);
    assert_id(&w->record.id, "key");
    m.key = (struct wire_bytes){NULL, 0};
    assert_int_equal(decode(w, &m), WIRE_OK);
    assert_id(&w->record.id, "t.records/3/42");
    m.key = (struct wire_bytes){"\xff", 1};
    assert_int_equal(decode(w, &m), WIRE_BAD);
    assert_says(&w->e, "key: the id is not UTF-8 at byte 0");
    m.key = (struct wire_bytes){"", 1};
    assert_int_equal(decode(w, &m), WIRE_BAD);
    assert_says(&w->e, "holds a NUL");
    char topic[250];
    memset(topic, 'a', 249);
    topic[249] = 0;
    m = (struct wire_message){.topic = topic,
                              .partition = INT32_MAX,
                              .offset = INT64_MAX,
                              .timestamp_ms = -1,
                              .value = {packed + 4, sizeof packed - 4}};
    assert_int_equal(decode(w, &m), WIRE_OK);
    assert_int_equal(w->record.id.length, 255);
    assert_memory_equal(w->record.id.bytes + 255 - 20, "/9223372036854775807", 20);
    assert_int_equal(w->record.event_time_ms, -1);
    unsigned char longer[4 + 256 + 18] = {0x0a, 0x80, 0x02};
    memset(longer + 3, 'i', 256);
    assert_bad(w, longer, 3 + 256, "0 features");
    memcpy(longer + 3 + 256, packed + 4, 18);
    assert_bad(w, longer, 3 + 256 + 18, "an id of 256 bytes, at most 255 allowed");
}

static void sparse(void **state)
{
    struct world *w = *state;
    /* indexes 3 (packed) and 0, 1 (one by one), values in two pieces. */
    const unsigned char good[] = {0x0a, 2,    'r', '6',  0x1a, 23, 0x0a, 1, 3,  0x08,
                                  0,    0x08, 1,   0x12, 4,    F4, 0x12, 8, F1, F2};
    assert_int_equal(sizeof good, 6 + 23);
    assert_good(w, good, sizeof good, "r6");
    /* The same message in two parts is merged. */
    const unsigned char parts[] = {0x1a, 9, 0x0a, 1,    3, 0x12, 4,  F4,   0x1a, 14,  0x0a,
                                   2,    0, 1,    0x12, 8, F1,   F2, 0x0a, 2,    'r', '7'};
    assert_good(w, parts, sizeof parts, "r7");
    const unsigned char twice[] = {0x1a, 14, 0x0a, 2, 1, 1, 0x12, 8, F1, F2};
    assert_bad(w, twice, sizeof twice, "sparse: index 1 twice");
    const unsigned char outside[] = {0x1a, 9, 0x0a, 1, 4, 0x12, 4, F1};
    assert_bad(w, outside, sizeof outside, "sparse: index 4, 0..3 allowed");
    const unsigned char uneven[] = {0x1a, 10, 0x0a, 2, 1, 2, 0x12, 4, F1};
    assert_bad(w, uneven, sizeof uneven, "sparse: 2 indexes for 1 values");
    const unsigned char many[] = {0x1a, 29, 0x0a, 5, 0, 1, 2, 3, 0, 0x12, 20, F1, F1, F1, F1, F1};
    assert_bad(w, many, sizeof many, "sparse: 5 entries, at most 4 expected");
    const unsigned char both[] = {0x12, 4, F1, 0x1a, 0};
    assert_bad(w, both, sizeof both, "features and sparse: one of them expected");
    const unsigned char huge[] = {0x1a, 7, 0x0a, 5, 0xff, 0xff, 0xff, 0xff, 0x1f};
    assert_bad(w, huge, sizeof huge, "does not fit 32 bits");
}

#define BYTES(name, ...) static const unsigned char name[] = {__VA_ARGS__}

/* The common form of sparse values is decoded apart; whatever is not quite of that form, or is
 * followed by more, means what it meant. */
static void sparse_common_form(void **state)
{
    struct world *w = *state;
    BYTES(rising, 0x1a, 19, 0x0a, 3, 0, 1, 3, 0x12, 12, F1, F2, F4);
    BYTES(long_varints, 0x1a, 22, 0x0a, 6, 0x80, 0, 0x81, 0, 0x83, 0, 0x12, 12, F1, F2, F4);
    BYTES(falling, 0x1a, 19, 0x0a, 3, 3, 1, 0, 0x12, 12, F4, F2, F1);
    BYTES(values_first, 0x1a, 19, 0x12, 12, F1, F2, F4, 0x0a, 3, 0, 1, 3);
    BYTES(two, 0x1a, 14, 0x0a, 2, 0, 1, 0x12, 8, F1, F2, 0x1a, 9, 0x0a, 1, 3, 0x12, 4, F4);
    BYTES(two_and_dense, 0x1a, 14, 0x0a, 2, 0, 1, 0x12, 8, F1, F2, 0x12, 16, F1, F2, F3, F4);
    BYTES(again, 0x1a, 9, 0x0a, 1, 1, 0x12, 4, F1, 0x1a, 9, 0x0a, 1, 1, 0x12, 4, F1);
    BYTES(too_far, 0x1a, 9, 0x0a, 1, 4, 0x12, 4, F1);
    BYTES(too_few, 0x1a, 10, 0x0a, 2, 0, 1, 0x12, 4, F1);
    assert_good(w, rising, sizeof rising, "key");
    assert_good(w, long_varints, sizeof long_varints, "key");
    assert_good(w, falling, sizeof falling, "key");
    assert_good(w, values_first, sizeof values_first, "key");
    assert_good(w, two, sizeof two, "key");
    assert_bad(w, two_and_dense, sizeof two_and_dense, "features and sparse: one of them expected");
    assert_bad(w, again, sizeof again, "sparse: index 1 twice");
    assert_bad(w, too_far, sizeof too_far, "sparse: index 4, 0..3 allowed");
    assert_bad(w, too_few, sizeof too_few, "sparse: 2 indexes for 1 values");
}

static size_t put_varint(unsigned char *p, size_t v)
{
    size_t n = 0;
    for (; v > 127; v >>= 7)
        p[n++] = (unsigned char)(v | 128);
    p[n++] = (unsigned char)v;
    return n;
}

/* Sparse values of those columns of `x` [d] that are not 0, in the common form. */
static size_t put_sparse(const float *x, uint32_t d, unsigned char *out)
{
    unsigned char inside[5000], values[2400];
    size_t n = 0, indexes = 0, at = 3;
    for (uint32_t u = 0; u < d; u++)
        if (x[u] != 0) {
            indexes += put_varint(out + indexes, u);
            memcpy(values + 4 * n++, &x[u], 4); /* as this machine has them: little-endian */
        }
    inside[0] = 0x0a;
    at = 1 + put_varint(inside + 1, indexes);
    memcpy(inside + at, out, indexes);
    at += indexes;
    inside[at++] = 0x12;
    at += put_varint(inside + at, 4 * n);
    memcpy(inside + at, values, 4 * n);
    at += 4 * n;
    out[0] = 0x1a;
    size_t head = 1 + put_varint(out + 1, at);
    memcpy(out + head, inside, at);
    return head + at;
}

/* What comes as a list is what comes dense: each number of entries, narrow and wide. */
static void lists(void **state)
{
    struct world *w = *state;
    enum { MOST = 400 };
    static const uint32_t widths[] = {4, 100, 128, 129, MOST};
    uint32_t index[MOST];
    float x[MOST], dense[MOST], value[MOST];
    unsigned char bytes[5000];
    struct fis_arena arena = test_arena(16384);
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++)
        for (uint32_t n = 1, d = widths[k]; n <= d; n += 1 + n / 16) {
            struct fis_encoder *enc = plain_encoder(d);
            for (uint32_t u = 0; u < d; u++)
                x[u] = u * 7919 % d < n ? (float)u - .5f : 0;
            struct wire_message m = message_of("key", 3, bytes, put_sparse(x, d, bytes));
            struct wire_list list = {0, index, value};
            fis_arena_reset(&arena);
            assert_int_equal(
                wire_protobuf_record(&test_schema, enc, &m, &arena, dense, &w->record, &w->e), 0);
            assert_memory_equal(dense, x, d * sizeof *x);
            fis_arena_reset(&arena);
            dense[0] = 99;
            assert_int_equal(wire_protobuf_record_or_list(&test_schema, enc, &m, &arena, dense,
                                                          &list, &w->record, &w->e),
                             0);
            assert_true(list.n > 0 && list.n <= d && dense[0] == 99);
            for (uint32_t i = 0, u = 0; u < d; u++)
                if (x[u] != 0) {
                    assert_true(i < list.n && index[i] == u && value[i] == x[u]);
                    i++;
                }
            fis_encoder_free(enc);
        }
    fis_free(arena.base);
}

/* One entry that is not as it should be is seen, wherever in the list it stands. */
static void one_spoilt_entry(void **state)
{
    struct world *w = *state;
    enum { WIDE = 60 };
    struct fis_encoder *enc = plain_encoder(WIDE);
    struct fis_arena arena = test_arena(16384);
    uint32_t index[WIDE];
    float x[WIDE] = {0}, dense[WIDE], value[WIDE];
    unsigned char bytes[5000], good[5000];
    for (uint32_t n = 1; n <= 40; n++) { /* columns 1, 2, … n */
        x[n] = (float)n;
        size_t length = put_sparse(x, WIDE, good), at = length - 4 * n - n - 2;
        at -= 4 * n > 127; /* where the indexes begin */
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t fault = 0; fault < 4; fault++) {
                struct wire_list list = {0, index, value};
                struct wire_message m = message_of("key", 3, bytes, length);
                memcpy(bytes, good, length);
                assert_int_equal(bytes[at + i], i + 1);
                if (fault == 1 && i > 0)
                    bytes[at + i] = bytes[at + i - 1];
                else if (fault == 2)
                    bytes[at + i] |= 128;
                else if (fault == 3)
                    memcpy(bytes + length - 4 * (n - i), "\0\0\x80\x7f", 4);
                int spoilt = fault > 1 || (fault == 1 && i > 0);
                fis_arena_reset(&arena);
                assert_int_equal(wire_protobuf_record_or_list(&test_schema, enc, &m, &arena, dense,
                                                              &list, &w->record, &w->e),
                                 spoilt ? WIRE_BAD : WIRE_OK);
                assert_true(spoilt || list.n == n);
            }
    }
    fis_free(arena.base);
    fis_encoder_free(enc);
}

/* A list is offered for what is in order alone; the rest comes as it always came. */
static void no_lists(void **state)
{
    struct world *w = *state;
    BYTES(falling, 0x1a, 19, 0x0a, 3, 3, 1, 0, 0x12, 12, F4, F2, F1);
    BYTES(two, 0x1a, 14, 0x0a, 2, 0, 1, 0x12, 8, F1, F2, 0x1a, 9, 0x0a, 1, 3, 0x12, 4, F4);
    BYTES(infinite, 0x1a, 9, 0x0a, 1, 1, 0x12, 4, 0, 0, 0x80, 0x7f);
    uint32_t index[D];
    float value[D];
    const struct {
        const unsigned char *bytes;
        size_t length;
        enum wire_decoded decoded;
    } cases[] = {{packed, sizeof packed, WIRE_OK},
                 {falling, sizeof falling, WIRE_OK},
                 {two, sizeof two, WIRE_OK},
                 {infinite, sizeof infinite, WIRE_BAD}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire_message m = message_of("key", 3, cases[i].bytes, cases[i].length);
        struct wire_list list = {0, index, value};
        fis_arena_reset(&w->arena);
        w->x[0] = 99;
        assert_int_equal(wire_protobuf_record_or_list(&test_schema, w->enc, &m, &w->arena, w->x,
                                                      &list, &w->record, &w->e),
                         cases[i].decoded);
        assert_true(list.n == WIRE_NO_LIST);
        if (cases[i].decoded == WIRE_OK)
            assert_memory_equal(w->x, expected, sizeof expected);
        else
            assert_says(&w->e, "feature 1");
    }
}

static void not_finite(void **state)
{
    struct world *w = *state;
    const unsigned char bad[][4] = {{0, 0, 0xc0, 0x7f}, {0, 0, 0x80, 0x7f}, {0, 0, 0x80, 0xff}};
    for (size_t i = 0; i < 3; i++) {
        unsigned char bytes[sizeof packed];
        memcpy(bytes, packed, sizeof packed);
        memcpy(bytes + 6 + 8, bad[i], 4);
        assert_bad(w, bytes, sizeof bytes, "feature 2");
    }
}

static void broken(void **state)
{
    struct world *w = *state;
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
        assert_bad(w, cases[i].bytes, cases[i].length, cases[i].says);
    static unsigned char large[5000];
    assert_bad(w, large, sizeof large, "a record of 5000 bytes, at most 4096 allowed");
    w->arena.size = 32;
    assert_int_equal(decode_bytes(w, "\x1a\x00", 2), WIRE_BAD);
    assert_says(&w->e, "takes more than 32 bytes");
    assert_int_equal(w->e.kind, FIS_INPUT);
}

/* Random messages: protobuf-c must read the same from them. */
static void same_as_protobuf_c(void **state)
{
    struct world *w = *state;
    struct fis_rng rng;
    fis_rng_seed(&rng, 7, 0);
    for (uint32_t round = 0; round < 2000; round++) {
        unsigned char bytes[256];
        size_t n = 0;
        uint32_t left = D;
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
        assert_int_equal(r->n_features, D);
        if (decode_bytes(w, bytes, n) != WIRE_OK)
            fail_msg("round %u: %s", round, w->e.text);
        assert_memory_equal(w->x, r->features, sizeof expected);
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
    struct world *w = arg;
    enum wire_decoded d = decode_bytes(w, bytes, length);
    Fis__V1__Record *r = fis__v1__record__unpack(NULL, length, bytes);
    if (d == WIRE_BAD)
        assert_true(w->e.text[0] && w->e.kind == FIS_INPUT);
    else if (length && bytes[0])
        assert_non_null(r);
    if (d == WIRE_OK)
        for (uint32_t i = 0; i < D; i++)
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
    struct world *w = *state;
    uint64_t before = fis_mem_count();
    for (int i = 0; i < 100; i++) {
        assert_int_equal(decode_bytes(w, mixed, sizeof mixed), WIRE_OK);
        assert_int_equal(decode_bytes(w, cut, sizeof cut), WIRE_BAD);
    }
    assert_int_equal(fis_mem_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packed_or_not, up, down),
        cmocka_unit_test_setup_teardown(unknown_field_and_last_id, up, down),
        cmocka_unit_test_setup_teardown(framed, up, down),
        cmocka_unit_test_setup_teardown(empty_null_and_zero, up, down),
        cmocka_unit_test_setup_teardown(ids_by_field_key_or_place, up, down),
        cmocka_unit_test_setup_teardown(sparse, up, down),
        cmocka_unit_test_setup_teardown(sparse_common_form, up, down),
        cmocka_unit_test_setup_teardown(lists, up, down),
        cmocka_unit_test_setup_teardown(one_spoilt_entry, up, down),
        cmocka_unit_test_setup_teardown(no_lists, up, down),
        cmocka_unit_test_setup_teardown(not_finite, up, down),
        cmocka_unit_test_setup_teardown(broken, up, down),
        cmocka_unit_test_setup_teardown(same_as_protobuf_c, up, down),
        cmocka_unit_test_setup_teardown(spoiled, up, down),
        cmocka_unit_test_setup_teardown(no_allocation, up, down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
