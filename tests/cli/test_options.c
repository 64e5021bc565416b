/*
 * Options of commands: what is taken, what is refused, and where arguments end up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

static void counts(void **state)
{
    (void)state;
    uint64_t n = 7;
    assert_int_equal(cli_count("12", &n), 0);
    assert_int_equal(n, 12);
    assert_int_equal(cli_count("18446744073709551609", &n), 0);
    static const char *const bad[] = {
        "", "0", "-1", "+1", "1.5", "1e3", " 1", "1 ", "0x10", "12abc", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        n = 7;
        assert_int_equal(cli_count(bad[i], &n), -1);
        assert_int_equal(n, 7);
    }
}

static void rates(void **state)
{
    (void)state;
    double r = 0;
    assert_int_equal(cli_rate("1500", &r), 0);
    assert_true(r == 1500);
    assert_int_equal(cli_rate("0.5/s", &r), 0);
    assert_true(r == .5);
    static const char *const bad[] = {"",    "/s",   "0",   "-3",   "nan",
                                      "inf", "1e10", "5/m", "5 /s", "s"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(cli_rate(bad[i], &r), -1);
    assert_true(r == .5);
}

static void durations(void **state)
{
    (void)state;
    uint64_t ms = 0;
    static const struct {
        const char *text;
        double unit;
        uint64_t ms;
    } good[] = {{"5", 1e3, 5000}, {"5", 1, 5},        {"0.25", 1e3, 250}, {"250ms", 1e3, 250},
                {"2s", 1, 2000},  {"1.5m", 1, 90000}, {"1h", 1, 3600000}, {"0", 1e3, 0}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(cli_duration(good[i].text, good[i].unit, &ms), 0);
        assert_int_equal(ms, good[i].ms);
    }
    static const char *const bad[] = {"", "s", "-1", "1d", "1.2.3", "1 s", "1e3", "9999999999h"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(cli_duration(bad[i], 1, &ms), -1);
}

struct values {
    bool flag;
    const char *name;
    uint64_t limit, wait_ms;
    double rate;
};
static const struct command_option table[] = {
    {"flag", 'f', CLI_FLAG, offsetof(struct values, flag), NULL, "a flag"},
    {"name", 0, CLI_TEXT, offsetof(struct values, name), "NAME", "a name"},
    {"limit", 'n', CLI_COUNT, offsetof(struct values, limit), "N", "a limit"},
    {"wait", 'w', CLI_SECONDS, offsetof(struct values, wait_ms), "SECONDS", "a time"},
    {"rate", 'r', CLI_RATE, offsetof(struct values, rate), "N", "a rate"},
    {.name = NULL},
};
static const struct cli_command command = {
    .name = "try", .arguments = "FILE", .summary = "s", .text = "t", .options = table};

#define PARSE(...)                                                                                 \
    char *argv[] = {__VA_ARGS__, NULL};                                                            \
    int argc = (int)(sizeof argv / sizeof *argv) - 1, first = 0;                                   \
    struct cli c = {.config_path = "fisd.yaml"};                                                   \
    struct values v = {0};                                                                         \
    enum cli_parsed parsed = cli_parse(&c, &command, argc, argv, &v, &first)

static void options_stand_anywhere(void **state)
{
    (void)state;
    PARSE("try", "--rate=10/s", "a.csv", "-fn", "3", "-c", "x.yaml", "--wait", "2", "b.csv",
          "--name", "", "--bootstrap=h:1");
    /* An empty text is refused, so the parse stops there. */
    assert_int_equal(parsed, CLI_WRONG);
    assert_true(v.flag && v.limit == 3 && v.rate == 10 && v.wait_ms == 2000);
}

static void arguments_come_last(void **state)
{
    (void)state;
    PARSE("try", "a.csv", "-f", "--bootstrap=h:1", "b.csv", "-c", "x.yaml", "--", "-n");
    assert_int_equal(parsed, CLI_GO);
    assert_int_equal(argc - first, 3);
    assert_string_equal(argv[first], "a.csv");
    assert_string_equal(argv[first + 1], "b.csv");
    assert_string_equal(argv[first + 2], "-n");
    assert_string_equal(c.config_path, "x.yaml");
    assert_string_equal(c.bootstrap, "h:1");
    assert_true(v.flag && !v.limit);
}

static void wrong_ones_are_refused(void **state)
{
    (void)state;
    {
        PARSE("try", "--nothing");
        assert_int_equal(parsed, CLI_WRONG);
        assert_int_equal(cli_parsed_exit(parsed), CLI_USAGE);
    }
    {
        PARSE("try", "--limit", "0");
        assert_int_equal(parsed, CLI_WRONG);
    }
    {
        PARSE("try", "-n");
        assert_int_equal(parsed, CLI_WRONG);
    }
    {
        PARSE("try", "--flag=1");
        assert_int_equal(parsed, CLI_WRONG);
    }
}

static void leading_options_end_at_the_command(void **state)
{
    (void)state;
    char *argv[] = {"fisctl", "-c", "x.yaml", "--bootstrap=h:1", "replay", "-n", "5", NULL};
    struct cli c = {0};
    struct cli_leading leading = {0};
    int first = 0;
    assert_int_equal(cli_parse_leading(&c, 7, argv, &leading, &first), CLI_GO);
    assert_string_equal(argv[first], "replay");
    assert_string_equal(c.config_path, "x.yaml");
    assert_string_equal(c.bootstrap, "h:1");
    assert_false(leading.version);
}

static char *help_text(void)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    cli_help(&command, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void help_fits_a_terminal(void **state)
{
    (void)state;
    char *text = help_text();
    for (const struct command_option *o = table; o->name; o++)
        assert_non_null(strstr(text, o->name));
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
        assert_true(end - line < 80);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(rates),
        cmocka_unit_test(durations),
        cmocka_unit_test(options_stand_anywhere),
        cmocka_unit_test(arguments_come_last),
        cmocka_unit_test(wrong_ones_are_refused),
        cmocka_unit_test(leading_options_end_at_the_command),
        cmocka_unit_test(help_fits_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
