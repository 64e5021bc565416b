/* What is printed of the configuration: templates, the effective one, the reference. */
#include "kit/config/config_text.h"

/* Takes the '#' from what is to be filled in. */
static char *filled_in(void)
{
    char *text = config_text_printed(config_write_defaults);
    for (char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char *s = line + strspn(line, " ");
        if (s[0] == '#' && s[1] != ' ')
            memmove(s, s + 1, strlen(s));
    }
    return text;
}

static void test_print_config(void **state)
{
    (void)state;
    char *text = filled_in();
    struct config filled = config_text_load("p.yaml", text);
    struct config least =
        config_text_load("p.yaml", "pipeline: credit\nclasses: [\"no\", \"yes\"]\n"
                                   "columns: [{name: age}, {name: job, type: categorical}]\n"
                                   "initial: {file: initial.csv}\n"
                                   "validation: {file: validation.csv, sensitive: [sex]}\n");
    char *a = config_text_effective(&filled), *b = config_text_effective(&least);
    assert_string_equal(a, b);
    for (const struct option *o = config_options; o->key; o++)
        assert_non_null(strstr(text, config_leaf(o->key)));
    free(a);
    free(b);
    free(text);
    config_done(&filled);
    config_done(&least);
}

static void test_untouched_print_config_says_what_is_missing(void **state)
{
    (void)state;
    char *text = config_text_printed(config_write_defaults);
    struct config cfg;
    struct config_problems problems;
    struct fis_error e;
    assert_int_equal(config_load_text("p.yaml", text, strlen(text), &cfg, &problems, &e),
                     -FIS_INPUT);
    assert_int_equal(problems.count, 6);
    free(text);
}

static void test_effective_reads_back(void **state)
{
    (void)state;
    struct config c =
        config_text_load("p.yaml", CONFIG_TEXT_LEAST
                         "kafka: {bootstrap.servers: 'a\"\\b'}\ntraining: {mix: 0.1, "
                         "learning_rate: 0.30000000000000004}\n"
                         "runtime: {commit_interval: 1500ms}\nrecords: {max_bytes: 70}\n");
    char *first = config_text_effective(&c);
    struct config again = config_text_load("p.yaml", first);
    char *second = config_text_effective(&again);
    assert_string_equal(first, second);
    assert_non_null(strstr(first, "commit_interval: 1500ms\n"));
    assert_non_null(strstr(first, "learning_rate: 0.30000000000000004\n"));
    assert_false(again.training.learning_rate < c.training.learning_rate ||
                 again.training.learning_rate > c.training.learning_rate);
    free(first);
    free(second);
    config_done(&c);
    config_done(&again);
}

static void test_markdown(void **state)
{
    (void)state;
    char *text = config_text_printed(config_write_markdown), cell[80];
    size_t rows = 0;
    for (const struct option *o = config_options; o->key; o++, rows++) {
        snprintf(cell, sizeof cell, "| `%s` | ", o->key);
        assert_non_null(strstr(text, cell));
    }
    const struct option *const lists[] = {config_column_options, config_show_options};
    for (size_t k = 0; k < 2; k++)
        for (const struct option *o = lists[k]; o->key; o++, rows++) {
            snprintf(cell, sizeof cell, "| `%s` | ", o->key);
            assert_non_null(strstr(text, cell));
        }
    for (const char *s = text; (s = strchr(s, '\n')); s++)
        rows--;
    assert_int_equal((int)rows, -2);
    free(text);
}

static void test_choice_names(void **state)
{
    (void)state;
    assert_string_equal(config_choice("selection.algorithm", CONFIG_ENTROPY), "entropy");
    assert_string_equal(config_choice("fairness.metric", CONFIG_RISK_DISPARITY), "risk_disparity");
    assert_string_equal(config_choice("training.publication", CONFIG_MIXED), "mixed");
    assert_string_equal(config_choice("log.level", CONFIG_ERROR), "error");
    assert_null(config_choice("selection.algorithm", 6));
    assert_null(config_choice("selection.algorithm", -1));
    assert_null(config_choice("pipeline", 0));
}

static void test_table_fits(void **state)
{
    (void)state;
    size_t n = 0;
    while (config_options[n].key)
        n++;
    assert_true(n < OPTIONS_MAX);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(config_options[i].key, config_options[k].key);
            assert_int_not_equal(config_options[i].offset, config_options[k].offset);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print_config),
        cmocka_unit_test(test_untouched_print_config_says_what_is_missing),
        cmocka_unit_test(test_effective_reads_back),
        cmocka_unit_test(test_markdown),
        cmocka_unit_test(test_choice_names),
        cmocka_unit_test(test_table_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
