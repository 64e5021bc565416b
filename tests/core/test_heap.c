#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fis/heap.h"
#include "fis/mem.h"
#include "fis/rng.h"

#define N 300u

static struct fis_heap_item item[N];
static struct fis_id id[N];

/* Few distinct scores, so that ids decide often. */
static void make_items(uint64_t seed)
{
    struct fis_rng rng;
    fis_rng_seed(&rng, seed, 0);
    for (uint32_t i = 0; i < N; i++) {
        char name[16];
        int n = snprintf(name, sizeof name, "r%u", (i * 7919u) % N);
        assert_int_equal(fis_id_set(&id[i], name, (size_t)n), 0);
        item[i] = (struct fis_heap_item){(float)fis_rng_below(&rng, 20) - 10.0f, i, &id[i]};
    }
}

static int by_rank(const void *a, const void *b)
{
    return fis_heap_compare(a, b);
}

static int by_slot(const void *a, const void *b)
{
    const struct fis_heap_item *x = a, *y = b;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

static void assert_holds_best(struct fis_heap *h, const struct fis_heap_item *sorted, uint32_t n)
{
    assert_int_equal(h->count, n);
    struct fis_heap_item held[N], want[N];
    memcpy(held, h->items, n * sizeof *held);
    memcpy(want, sorted, n * sizeof *want);
    qsort(held, n, sizeof *held, by_slot);
    qsort(want, n, sizeof *want, by_slot);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(held[i].slot, want[i].slot);
}

static void keeps_the_best_in_any_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct fis_heap h;
        struct fis_heap_item sorted[N], gone;
        struct fis_rng rng;
        uint32_t order[N], capacity = 1 + (uint32_t)seed * 11;
        make_items(seed);
        memcpy(sorted, item, sizeof sorted);
        qsort(sorted, N, sizeof *sorted, by_rank);
        for (uint32_t i = 0; i < N; i++)
            order[i] = i;
        fis_rng_seed(&rng, seed, 1);
        fis_rng_shuffle(&rng, order, N);
        assert_int_equal(fis_heap_init(&h, capacity, NULL), 0);
        for (uint32_t i = 0; i < N; i++)
            (void)fis_heap_offer(&h, item[order[i]], &gone);
        assert_holds_best(&h, sorted, capacity);
        assert_int_equal(h.items[fis_heap_best(&h)].slot, sorted[0].slot);
        fis_heap_done(&h);
    }
}

static void eviction_names_the_worst(void **state)
{
    (void)state;
    struct fis_heap h;
    struct fis_heap_item gone = {0};
    make_items(3);
    item[0].score = 1;
    item[1].score = 2;
    item[2].score = 3;
    assert_int_equal(fis_heap_init(&h, 2, NULL), 0);
    assert_int_equal(fis_heap_offer(&h, item[0], &gone), FIS_HEAP_ADDED);
    assert_int_equal(fis_heap_offer(&h, item[2], &gone), FIS_HEAP_ADDED);
    assert_int_equal(fis_heap_offer(&h, item[1], &gone), FIS_HEAP_REPLACED);
    assert_int_equal(gone.slot, 0);
    assert_int_equal(fis_heap_offer(&h, item[0], &gone), FIS_HEAP_REFUSED);
    fis_heap_done(&h);
}

static void nan_is_refused(void **state)
{
    (void)state;
    struct fis_heap h;
    struct fis_heap_item gone;
    make_items(4);
    assert_int_equal(fis_heap_init(&h, 2, NULL), 0);
    item[0].score = NAN;
    assert_int_equal(fis_heap_admits(&h, NAN, &id[0]), 0);
    assert_int_equal(fis_heap_offer(&h, item[0], &gone), FIS_HEAP_REFUSED);
    assert_int_equal(h.count, 0);
    assert_int_equal(fis_heap_best(&h), -1);
    fis_heap_done(&h);
}

static void smaller_id_wins_a_tie(void **state)
{
    (void)state;
    struct fis_heap h;
    struct fis_heap_item gone, a, b;
    struct fis_id ida, idb;
    assert_int_equal(fis_id_set(&ida, "a", 1), 0);
    assert_int_equal(fis_id_set(&idb, "b", 1), 0);
    a = (struct fis_heap_item){0.0f, 0, &ida};
    b = (struct fis_heap_item){-0.0f, 1, &idb};
    assert_int_equal(fis_heap_init(&h, 1, NULL), 0);
    assert_int_equal(fis_heap_offer(&h, b, &gone), FIS_HEAP_ADDED);
    assert_int_equal(fis_heap_offer(&h, a, &gone), FIS_HEAP_REPLACED);
    assert_int_equal(fis_heap_offer(&h, b, &gone), FIS_HEAP_REFUSED);
    fis_heap_done(&h);
}

static void removal_keeps_the_order(void **state)
{
    (void)state;
    struct fis_heap h;
    struct fis_heap_item gone;
    make_items(5);
    assert_int_equal(fis_heap_init(&h, N, NULL), 0);
    for (uint32_t i = 0; i < N; i++)
        (void)fis_heap_offer(&h, item[i], &gone);
    for (uint32_t i = 0; i < N / 2; i++)
        fis_heap_remove(&h, (i * 37) % h.count);
    struct fis_heap_item last = h.items[fis_heap_best(&h)];
    while (h.count) {
        int best = fis_heap_best(&h);
        assert_true(fis_heap_compare(&last, &h.items[best]) <= 0);
        last = h.items[best];
        fis_heap_remove(&h, (uint32_t)best);
    }
    fis_heap_remove(&h, 0); /* nothing there: nothing happens */
    assert_int_equal(h.count, 0);
    fis_heap_done(&h);
}

static void refuses_no_capacity_and_no_memory(void **state)
{
    (void)state;
    struct fis_heap h;
    struct fis_error e;
    assert_int_equal(fis_heap_init(&h, 0, &e), -FIS_INPUT);
    fis_mem_refuse_after(0);
    assert_int_equal(fis_heap_init(&h, 4, &e), -FIS_NOMEM);
    fis_mem_refuse_after(UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_best_in_any_order),
        cmocka_unit_test(eviction_names_the_worst),
        cmocka_unit_test(nan_is_refused),
        cmocka_unit_test(smaller_id_wins_a_tie),
        cmocka_unit_test(removal_keeps_the_order),
        cmocka_unit_test(refuses_no_capacity_and_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
