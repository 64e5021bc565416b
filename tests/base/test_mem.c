/* Lists that grow: what they have stays, and a refused allocation changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fis/mem.h"

static void a_list_keeps_what_it_has(void **state)
{
    uint32_t *list = NULL;
    (void)state;
    for (uint32_t n = 0; n < 1000; n++) {
        assert_true(fis_more(&list, n, sizeof *list));
        list[n] = n;
    }
    for (uint32_t n = 0; n < 1000; n++)
        assert_int_equal(list[n], n);
    fis_free(list);
}

static void it_moves_at_powers_of_two_alone(void **state)
{
    char *list = NULL;
    uint32_t moves = 0;
    (void)state;
    for (size_t n = 0; n < 1024; n++) {
        const char *before = list;
        assert_true(fis_more(&list, n, 1));
        if (list != before) {
            assert_true(n == 0 || (n >= 8 && !(n & (n - 1))));
            moves++;
        }
    }
    assert_int_equal(moves, 8); /* at 0, 8, 16 ... 512 */
    fis_free(list);
}

static void without_memory_it_is_as_it_was(void **state)
{
    char *list = NULL;
    (void)state;
    assert_true(fis_grow(&list, 0, 3, 1));
    list[0] = 'a';
    list[1] = 'b';
    char *before = list;
    fis_mem_refuse_after(0);
    bool grown = fis_grow(&list, 2, 100, 1), more = fis_more(&list, 8, 1);
    fis_mem_refuse_after(UINT64_MAX);
    assert_false(grown);
    assert_false(more);
    assert_ptr_equal(list, before);
    assert_false(fis_grow(&list, 2, SIZE_MAX / 2, 4)); /* the size overflows */
    assert_true(fis_grow(&list, 2, 1, 1));             /* fewer */
    assert_int_equal(list[0], 'a');
    fis_free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_keeps_what_it_has),
        cmocka_unit_test(it_moves_at_powers_of_two_alone),
        cmocka_unit_test(without_memory_it_is_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
