/*
 * What a person sees, and what a person types.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/screen.h"

static void numbers(void **state)
{
    (void)state;
    char n[DECIMAL_GROUPED], c[64], r[16], t[32];
    assert_string_equal(decimal_grouped(0, n), "0");
    assert_string_equal(decimal_grouped(999, n), "999");
    assert_string_equal(decimal_grouped(1000, n), "1,000");
    assert_string_equal(decimal_grouped(UINT64_MAX, n), "18,446,744,073,709,551,615");
    assert_string_equal(decimal_counted(1, "row", c), "1 row");
    assert_string_equal(decimal_counted(1001, "row", c), "1,001 rows");
    assert_string_equal(screen_rate(.8314, r), ".831");
    assert_string_equal(screen_rate(1, r), "1.000");
    assert_string_equal(screen_rate(-.05, r), "-0.050");
    assert_string_equal(screen_rate((double)NAN, r), "n/e");
    assert_string_equal(screen_time(1769860800123, t), "2026-01-31T12:00:00.123Z");
}

static void text_is_made_harmless(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } texts[] = {{"plain \xc3\xa9", "plain \xc3\xa9"},
                 {"\x1b[31mred\x07", "?[31mred?"},
                 {"a\nb\tc\x7f", "a?b?c?"},
                 {"\xc2\x9b"
                  "31m",
                  "??31m"},
                 {"\xff\xfe ok \xe2\x82", "?? ok ??"},
                 {"\xe2\x82\xac", "\xe2\x82\xac"},
                 {"", ""}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[64];
        strcpy(text, texts[i].in);
        screen_clean(text);
        assert_string_equal(text, texts[i].out);
    }
    assert_int_equal(screen_width("\xc3\xa9\xe2\x82\xac!"), 3);
    assert_int_equal(screen_cut("\xc3\xa9\xe2\x82\xac!", 2), 5);
    assert_int_equal(screen_cut("ab", 10), 2);
}

static char *printed(struct screen_table *t)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    assert_int_equal(screen_table_print(t, out), 0);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void tables_line_up(void **state)
{
    (void)state;
    static const char *const heads[] = {"name", ">number", "state"};
    struct screen_table t;
    screen_table_init(&t, heads, 3);
    screen_table_row(&t);
    screen_table_cell(&t, 0, "caf\xc3\xa9s");
    screen_table_cell(&t, 1, "%d", 5);
    screen_table_cell(&t, 2, "ok");
    screen_table_row(&t);
    screen_table_cell(&t, 0, "b");
    screen_table_cell(&t, 1, "%d", 12345678);
    char *text = printed(&t);
    assert_string_equal(text, "name     number  state\n"
                              "caf\xc3\xa9s         5  ok\n"
                              "b      12345678\n");
    free(text);
}

static void long_tables_and_cells(void **state)
{
    (void)state;
    static const char *const heads[] = {"a", "b"};
    struct screen_table t;
    char wide[400];
    memset(wide, 'x', sizeof wide);
    wide[sizeof wide - 1] = 0;
    screen_table_init(&t, heads, 2);
    for (int i = 0; i < 100; i++) {
        screen_table_row(&t);
        screen_table_cell(&t, 0, "%d", i);
        screen_table_cell(&t, 1, "%s", i == 50 ? wide : "y");
        screen_table_cell(&t, 9, "no such column");
    }
    char *text = printed(&t);
    assert_non_null(strstr(text, "\n99  y\n"));
    int lines = 0;
    for (const char *p = text; (p = strchr(p, '\n')); p++)
        lines++;
    assert_int_equal(lines, 101);
    free(text);
}

#define ANSWER(a, line, expected, index)                                                           \
    do {                                                                                           \
        uint32_t k = 99;                                                                           \
        assert_int_equal(ask_read(&(a), line, &k), expected);                                      \
        assert_int_equal(k, index);                                                                \
    } while (0)

static void answers_of_a_person(void **state)
{
    (void)state;
    static const char *const classes[] = {"<=50K", ">50K"};
    struct ask a;
    ask_init(&a, classes, 2);
    ANSWER(a, "1", ASK_CLASS, 0);
    ANSWER(a, " 2 \r\n", ASK_CLASS, 1);
    ANSWER(a, ">50K", ASK_CLASS, 1);
    ANSWER(a, "s", ASK_SKIP, 99);
    ANSWER(a, "u", ASK_UNSURE, 99);
    ANSWER(a, "q", ASK_QUIT, 99);
    static const char *const bad[] = {"",    "  ",   "0", "3",  ">50k", "-1",
                                      "1 2", "skip", "S", ":s", "02x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ANSWER(a, bad[i], ASK_AGAIN, 99);
}

/* A class named "0", "1" or "s" is meant when its name is typed. */
static void names_before_numbers_and_keys(void **state)
{
    (void)state;
    static const char *const digits[] = {"0", "1"};
    static const char *const letters[] = {"s", "m", "l"};
    struct ask a;
    ask_init(&a, digits, 2);
    ANSWER(a, "0", ASK_CLASS, 0);
    ANSWER(a, "1", ASK_CLASS, 1);
    ANSWER(a, "2", ASK_AGAIN, 99);
    ANSWER(a, "s", ASK_SKIP, 99);
    ask_init(&a, letters, 3);
    ANSWER(a, "s", ASK_CLASS, 0);
    ANSWER(a, "3", ASK_CLASS, 2);
    ANSWER(a, ":s", ASK_SKIP, 99);
    ANSWER(a, "u", ASK_AGAIN, 99);
    ANSWER(a, ":q", ASK_QUIT, 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(text_is_made_harmless),
        cmocka_unit_test(tables_line_up),
        cmocka_unit_test(long_tables_and_cells),
        cmocka_unit_test(answers_of_a_person),
        cmocka_unit_test(names_before_numbers_and_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
