/* YAML scalars: what is written is one line in quotes, and no variable. */
#include "base/yaml.h"
#include "kit/cmocka.h"

static void put(const char *text, bool is_key, const char *want)
{
    char *found = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&found, &size);
    yaml_put(f, text, is_key);
    fclose(f);
    assert_string_equal(found, want);
    free(found);
}

static void a_scalar_is_in_quotes(void **state)
{
    (void)state;
    put("", false, "\"\"");
    put("a \"b\" \\c: # é", false, "\"a \\\"b\\\" \\\\c: # é\"");
    put("two\nlines\t\x01", false, "\"two\\x0alines\\x09\\x01\"");
    put("$1 ${HOME} $${A}", false, "\"$1 $${HOME} $$${A}\"");
    put("${HOME}", true, "\"${HOME}\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_scalar_is_in_quotes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
