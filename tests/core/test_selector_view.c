/* What can be seen of the heaps is what would be asked for, in that order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "fis/selector.h"

#define N 40u

static struct fis_selector *filled(const struct fis_acquisition *algorithm, uint32_t n)
{
    struct fis_error e;
    struct fis_selector_options o = {
        .criteria = {.acquisition = algorithm}, .d = 1, .labels_per_round = N, .heap = N};
    struct fis_selector *s = fis_selector_new(&o, &e);
    assert_non_null(s);
    for (uint32_t i = 0; i < n; i++) {
        char name[16];
        float x = (float)i;
        /* Ties, so that the id decides; the two criteria disagree. */
        struct fis_candidate c = {.x = &x, .scores = {(float)(i * 7 % 20), -(float)i}};
        int length = snprintf(name, sizeof name, "r%02u", i);
        fis_id_set(&c.id, name, (size_t)length);
        assert_int_equal(fis_selector_offer(s, &c, &e), 1);
    }
    return s;
}

static void best_is_asked_first(void **state)
{
    struct fis_selector *s = filled(&fis_acquisition_entropy, N);
    struct fis_candidate best[N], c;
    uint32_t criterion;
    (void)state;
    assert_int_equal(fis_selector_best(s, 0, best, N), N);
    for (uint32_t i = 0; i < N; i++) {
        assert_true(i == 0 || best[i].scores[0] <= best[i - 1].scores[0]);
        struct fis_candidate first;
        assert_int_equal(fis_selector_best(s, 0, &first, 1), 1);
        assert_int_equal(fis_selector_ask(s, &c, &criterion), 1);
        assert_int_equal(fis_id_compare(&first.id, &c.id), 0);
        assert_int_equal(fis_id_compare(&best[i].id, &c.id), 0);
    }
    assert_int_equal(fis_selector_best(s, 0, best, N), 0);
    fis_selector_free(s);
}

static void each_criterion_has_its_own(void **state)
{
    struct fis_selector *s = filled(&fis_acquisition_fis_plus, N);
    struct fis_candidate a[5], b[5];
    (void)state;
    assert_int_equal(fis_selector_best(s, 0, a, 5), 5);
    assert_int_equal(fis_selector_best(s, 1, b, 5), 5);
    assert_true(a[0].scores[0] == 19.0f);
    for (uint32_t i = 0; i < 5; i++)
        assert_true(b[i].x[0] == (float)i);
    assert_int_equal(fis_selector_best(s, 2, a, 5), 0);
    assert_int_equal(fis_selector_best(s, 0, a, 0), 0);
    fis_selector_free(s);
}

static void of_few_all_are_shown(void **state)
{
    struct fis_selector *s = filled(&fis_acquisition_entropy, 3);
    struct fis_candidate best[10];
    (void)state;
    assert_int_equal(fis_selector_best(s, 0, best, 10), 3);
    fis_selector_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_is_asked_first),
        cmocka_unit_test(each_criterion_has_its_own),
        cmocka_unit_test(of_few_all_are_shown),
    };
    return cmocka_run_group_tests_name("selector_view", tests, NULL, NULL);
}
