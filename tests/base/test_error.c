/* Texts of errors: one line of UTF-8, whatever was put into them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fis/error.h"

static void nothing_but_text(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"a\nb\x1b[0m\x7f", "a?b?[0m?"},
        {"n\xc3\xbcrse \xe2\x80\xa6 \xf0\x9f\x98\x80",
         "n\xc3\xbcrse \xe2\x80\xa6 \xf0\x9f\x98\x80"},
        {"cut \xf0\x9f\x98", "cut ???"},
        {"\xff\xc3z", "??z"},
        {"\xc2\x9b"
         "31m\xc2\xa0",
         "??31m\xc2\xa0"}, /* CSI in one character */
        {"\xed\xa0\x80\n", "????"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fis_error e = {0};
        assert_int_equal(fis_fail(&e, FIS_INPUT, "%s", cases[i].in), -FIS_INPUT);
        assert_int_equal(e.kind, FIS_INPUT);
        assert_string_equal(e.text, cases[i].out);
    }
}

/* Texts are cut to what fits, and never within a character. */
static void cut_to_fit(void **state)
{
    struct fis_error e = {0};
    char text[2 * FIS_ERROR_TEXT + 1];
    (void)state;
    for (size_t front = 0; front < 4; front++) {
        memset(text, 'x', front);
        for (size_t at = front; at + 3 < sizeof text; at += 3)
            memcpy(text + at, "\xe2\x82\xac", 4);
        assert_int_equal(fis_fail(&e, FIS_RETRY, "%s", text), -FIS_RETRY);
        assert_int_equal(strlen(e.text), FIS_ERROR_TEXT - 1);
        assert_memory_equal(e.text, text, FIS_ERROR_TEXT - 4);
        for (size_t at = FIS_ERROR_TEXT - 1; (unsigned char)e.text[at - 1] != 0xac; at--)
            assert_int_equal(e.text[at - 1], '?');
        assert_int_equal(fis_error_prefix(&e, "here"), -FIS_RETRY);
        assert_memory_equal(e.text, "here: ", 6);
    }
}

/* The code says why in one word; a failure of another kind has none, and a prefix keeps it. */
static void codes_are_words(void **state)
{
    struct fis_error e;
    (void)state;
    assert_int_equal(fis_refuse(&e, FIS_CODE_TOO_LONG, "%d bytes", 7), -FIS_INPUT);
    assert_int_equal(e.kind, FIS_INPUT);
    assert_string_equal(e.text, "7 bytes");
    assert_int_equal(fis_error_prefix(&e, "here"), -FIS_INPUT);
    assert_int_equal(e.code, FIS_CODE_TOO_LONG);
    assert_int_equal(fis_fail(&e, FIS_INPUT, "another"), -FIS_INPUT);
    assert_int_equal(e.code, FIS_CODE_OTHER);
    for (int i = 0; i < FIS_ERROR_CODES; i++)
        for (int k = 0; k <= i; k++)
            assert_int_equal(strcmp(fis_error_code_name((enum fis_error_code)i),
                                    fis_error_code_name((enum fis_error_code)k)) == 0,
                             i == k);
    assert_string_equal(fis_error_code_name(FIS_ERROR_CODES), "other");
}

static void no_error_requested(void **state)
{
    (void)state;
    assert_int_equal(fis_fail(NULL, FIS_NOMEM, "%d", 1), -FIS_NOMEM);
    assert_true(fis_error_prefix(NULL, "here") < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_but_text),
        cmocka_unit_test(cut_to_fit),
        cmocka_unit_test(codes_are_words),
        cmocka_unit_test(no_error_requested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
