#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/chacha.h"

/* RFC 8439, 2.3.2. */
static void block_of_the_rfc(void **state)
{
    (void)state;
    static const unsigned char want[CHACHA_BLOCK] = {
        0x10, 0xf1, 0xe7, 0xe4, 0xd1, 0x3b, 0x59, 0x15, 0x50, 0x0f, 0xdd, 0x1f, 0xa3,
        0x20, 0x71, 0xc4, 0xc7, 0xd1, 0xf4, 0xc7, 0x33, 0xc0, 0x68, 0x03, 0x04, 0x22,
        0xaa, 0x9a, 0xc3, 0xd4, 0x6c, 0x4e, 0xd2, 0x82, 0x64, 0x46, 0x07, 0x9f, 0xaa,
        0x09, 0x14, 0xc2, 0xd7, 0x05, 0xd9, 0x8b, 0x02, 0xa2, 0xb5, 0x12, 0x9c, 0xd1,
        0xde, 0x16, 0x4e, 0xb9, 0xcb, 0xd0, 0x83, 0xe8, 0xa2, 0x50, 0x3c, 0x4e};
    const uint32_t input[4] = {1, 0x09000000, 0x4a000000, 0};
    unsigned char key[CHACHA_KEY], got[CHACHA_BLOCK];
    for (int i = 0; i < CHACHA_KEY; i++)
        key[i] = (unsigned char)i;
    chacha_block(key, input, got);
    assert_memory_equal(got, want, sizeof want);
}

static void absorbing_tells_inputs_apart(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
    } in[] = {{"", 0},
              {"\0", 1},
              {"\0\0", 2},
              {"0123456789abcdef", 15},
              {"0123456789abcdef", 16},
              {"0123456789abcdef\0", 17}};
    unsigned char key[6][CHACHA_KEY] = {{0}};
    for (int i = 0; i < 6; i++) {
        chacha_absorb(key[i], in[i].bytes, in[i].length);
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(key[i], key[j], CHACHA_KEY);
    }
}

static void normal_numbers(void **state)
{
    (void)state;
    enum { N = 200000 };
    unsigned char key[CHACHA_KEY] = {7};
    struct chacha_normal a, b;
    double sum = 0, square = 0, fourth = 0, both = 0, next = 0, last = 0;
    chacha_normal_init(&a, key, 0);
    chacha_normal_init(&b, key, 1);
    for (int i = 0; i < N; i++) {
        double x = chacha_normal(&a), y = chacha_normal(&b);
        sum += x;
        square += x * x;
        fourth += x * x * x * x;
        both += x * y;
        next += x * last;
        last = x;
    }
    /* Five deviations of each. */
    assert_true(fabs(sum / N) < 5 / sqrt(N));
    assert_true(fabs(square / N - 1) < 5 * sqrt(2.0 / N));
    assert_true(fabs(fourth / N - 3) < 5 * sqrt(96.0 / N));
    assert_true(fabs(both / N) < 5 / sqrt(N));
    assert_true(fabs(next / N) < 5 / sqrt(N));
    chacha_normal_init(&b, key, 0);
    chacha_normal_init(&a, key, 0);
    for (int i = 0; i < 100; i++)
        assert_true(chacha_normal(&a) == chacha_normal(&b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_of_the_rfc),
        cmocka_unit_test(absorbing_tells_inputs_apart),
        cmocka_unit_test(normal_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
