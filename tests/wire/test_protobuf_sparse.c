/* Protobuf records whose features are sparse: places and values, lists, spoilt entries. */
#include "kit/wire/protobuf_world.h"

static void sparse(void **state)
{
    struct protobuf_world *w = *state;
    /* indexes 3 (packed) and 0, 1 (one by one), values in two pieces. */
    const unsigned char good[] = {0x0a, 2,    'r', '6',  0x1a, 23, 0x0a, 1, 3,  0x08,
                                  0,    0x08, 1,   0x12, 4,    F4, 0x12, 8, F1, F2};
    assert_int_equal(sizeof good, 6 + 23);
    protobuf_assert_good(w, good, sizeof good, "r6");
    /* The same message in two parts is merged. */
    const unsigned char parts[] = {0x1a, 9, 0x0a, 1,    3, 0x12, 4,  F4,   0x1a, 14,  0x0a,
                                   2,    0, 1,    0x12, 8, F1,   F2, 0x0a, 2,    'r', '7'};
    protobuf_assert_good(w, parts, sizeof parts, "r7");
    const unsigned char twice[] = {0x1a, 14, 0x0a, 2, 1, 1, 0x12, 8, F1, F2};
    protobuf_assert_bad(w, twice, sizeof twice, "sparse: index 1 twice");
    const unsigned char outside[] = {0x1a, 9, 0x0a, 1, 4, 0x12, 4, F1};
    protobuf_assert_bad(w, outside, sizeof outside, "sparse: index 4, 0..3 allowed");
    const unsigned char uneven[] = {0x1a, 10, 0x0a, 2, 1, 2, 0x12, 4, F1};
    protobuf_assert_bad(w, uneven, sizeof uneven, "sparse: 2 indexes for 1 value");
    const unsigned char many[] = {0x1a, 29, 0x0a, 5, 0, 1, 2, 3, 0, 0x12, 20, F1, F1, F1, F1, F1};
    protobuf_assert_bad(w, many, sizeof many, "sparse: 5 entries, at most 4 expected");
    const unsigned char both[] = {0x12, 4, F1, 0x1a, 0};
    protobuf_assert_bad(w, both, sizeof both, "features and sparse: one of them expected");
    const unsigned char huge[] = {0x1a, 7, 0x0a, 5, 0xff, 0xff, 0xff, 0xff, 0x1f};
    protobuf_assert_bad(w, huge, sizeof huge, "does not fit 32 bits");
}

#define BYTES(name, ...) static const unsigned char name[] = {__VA_ARGS__}

/* The common form of sparse values is decoded apart; whatever is not quite of that form, or is
 * followed by more, means what it meant. */
static void sparse_common_form(void **state)
{
    struct protobuf_world *w = *state;
    BYTES(rising, 0x1a, 19, 0x0a, 3, 0, 1, 3, 0x12, 12, F1, F2, F4);
    BYTES(long_varints, 0x1a, 22, 0x0a, 6, 0x80, 0, 0x81, 0, 0x83, 0, 0x12, 12, F1, F2, F4);
    BYTES(falling, 0x1a, 19, 0x0a, 3, 3, 1, 0, 0x12, 12, F4, F2, F1);
    BYTES(values_first, 0x1a, 19, 0x12, 12, F1, F2, F4, 0x0a, 3, 0, 1, 3);
    BYTES(two, 0x1a, 14, 0x0a, 2, 0, 1, 0x12, 8, F1, F2, 0x1a, 9, 0x0a, 1, 3, 0x12, 4, F4);
    BYTES(two_and_dense, 0x1a, 14, 0x0a, 2, 0, 1, 0x12, 8, F1, F2, 0x12, 16, F1, F2, F3, F4);
    BYTES(again, 0x1a, 9, 0x0a, 1, 1, 0x12, 4, F1, 0x1a, 9, 0x0a, 1, 1, 0x12, 4, F1);
    BYTES(too_far, 0x1a, 9, 0x0a, 1, 4, 0x12, 4, F1);
    BYTES(too_few, 0x1a, 10, 0x0a, 2, 0, 1, 0x12, 4, F1);
    protobuf_assert_good(w, rising, sizeof rising, "key");
    protobuf_assert_good(w, long_varints, sizeof long_varints, "key");
    protobuf_assert_good(w, falling, sizeof falling, "key");
    protobuf_assert_good(w, values_first, sizeof values_first, "key");
    protobuf_assert_good(w, two, sizeof two, "key");
    protobuf_assert_bad(w, two_and_dense, sizeof two_and_dense,
                        "features and sparse: one of them expected");
    protobuf_assert_bad(w, again, sizeof again, "sparse: index 1 twice");
    protobuf_assert_bad(w, too_far, sizeof too_far, "sparse: index 4, 0..3 allowed");
    protobuf_assert_bad(w, too_few, sizeof too_few, "sparse: 2 indexes for 1 value");
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
    struct protobuf_world *w = *state;
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
    struct protobuf_world *w = *state;
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
    struct protobuf_world *w = *state;
    BYTES(falling, 0x1a, 19, 0x0a, 3, 3, 1, 0, 0x12, 12, F4, F2, F1);
    BYTES(two, 0x1a, 14, 0x0a, 2, 0, 1, 0x12, 8, F1, F2, 0x1a, 9, 0x0a, 1, 3, 0x12, 4, F4);
    BYTES(infinite, 0x1a, 9, 0x0a, 1, 1, 0x12, 4, 0, 0, 0x80, 0x7f);
    uint32_t index[PROTOBUF_D];
    float value[PROTOBUF_D];
    const struct {
        const unsigned char *bytes;
        size_t length;
        enum wire_decoded decoded;
    } cases[] = {{protobuf_packed, sizeof protobuf_packed, WIRE_OK},
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
            assert_memory_equal(w->x, protobuf_expected, sizeof protobuf_expected);
        else
            assert_says(&w->e, "feature 1");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sparse, protobuf_world_up, protobuf_world_down),
        cmocka_unit_test_setup_teardown(sparse_common_form, protobuf_world_up, protobuf_world_down),
        cmocka_unit_test_setup_teardown(lists, protobuf_world_up, protobuf_world_down),
        cmocka_unit_test_setup_teardown(one_spoilt_entry, protobuf_world_up, protobuf_world_down),
        cmocka_unit_test_setup_teardown(no_lists, protobuf_world_up, protobuf_world_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
