/*
 * Names that are nearly the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/likeness.h"

static void edits(void **state)
{
    (void)state;
    assert_int_equal(likeness_edits("granted", "granted"), 0);
    assert_int_equal(likeness_edits("grnated", "granted"), 1);
    assert_int_equal(likeness_edits("", "abc"), 3);
    assert_int_equal(likeness_edits("kitten", "sitting"), 3);
    assert_int_equal(likeness_edits("default.payment", "default-payment"), 1);
    assert_true(likeness_edits("gender", "sex") >= likeness_limit("sex"));
    char at_most[LIKENESS_MAX + 1], more[LIKENESS_MAX + 2];
    memset(at_most, 'a', sizeof at_most);
    at_most[LIKENESS_MAX] = 0;
    memset(more, 'a', sizeof more);
    more[LIKENESS_MAX + 1] = 0;
    assert_int_equal(likeness_edits(at_most, at_most), 0);
    assert_true(likeness_edits(at_most, more) == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(edits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
