/* Decimal numbers: what is read, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/decimal.h"

static void numbers_are_decimal_and_nothing_else(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},   {"-1.5", -1.5}, {"+2", 2},     {".5", .5},
                {"5.", 5},  {"1e3", 1000},  {"1E-2", .01}, {"1e39", 1e39},
                {"007", 7}, {"-0", -0.0},   {"1e-400", 0}};
    static const char *const bad[] = {"",   "nan", "NaN", "inf",   "Infinity", "0x10", "1e999",
                                      "1 ", " 1",  "1,5", "1.2.3", "e5",       ".",    "-",
                                      "1e", "1e+", "12a", "--1",   "1_000",    "1e5.5"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double v = 99;
        assert_int_equal(decimal_read(good[i].text, strlen(good[i].text), &v), 0);
        assert_true(v == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double v = 99;
        if (decimal_read(bad[i], strlen(bad[i]), &v) == 0)
            fail_msg("'%s' was read as %g", bad[i], v);
        assert_true(v == 99);
    }
    double v;
    assert_int_equal(decimal_read("1\0", 2, &v), -1);
    assert_int_equal(decimal_read("123", 2, &v), 0);
    assert_true(v == 12);
}

static void whole_numbers_are_digits_up_to_a_limit(void **state)
{
    (void)state;
    uint64_t n = 5;
    assert_int_equal(decimal_whole("0", 1, 0, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(decimal_whole("18446744073709551615", 20, UINT64_MAX, &n), 0);
    assert_true(n == UINT64_MAX);
    assert_int_equal(decimal_whole("65535", 5, 65535, &n), 0);
    static const char *const bad[] = {"", "65536", "655350", "7x", "-1", "+1", " 1", "1.0"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(decimal_whole(bad[i], strlen(bad[i]), 65535, &n), -1);
    assert_int_equal(decimal_whole("18446744073709551616", 20, UINT64_MAX, &n), -1);
    assert_int_equal(decimal_whole("1", 1, 0, &n), -1);
    assert_int_equal(n, 65535);
}

static void nouns_and_verbs_agree_with_their_count(void **state)
{
    (void)state;
    char text[64];
    assert_string_equal(decimal_counted(0, "message", text), "0 messages");
    assert_string_equal(decimal_counted(1, "message", text), "1 message");
    assert_string_equal(decimal_counted(1234567, "message", text), "1,234,567 messages");
    assert_string_equal(decimal_agree(0, "waits", "wait"), "wait");
    assert_string_equal(decimal_agree(1, "waits", "wait"), "waits");
    assert_string_equal(decimal_agree(UINT64_MAX, "waits", "wait"), "wait");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_decimal_and_nothing_else),
        cmocka_unit_test(whole_numbers_are_digits_up_to_a_limit),
        cmocka_unit_test(nouns_and_verbs_agree_with_their_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
