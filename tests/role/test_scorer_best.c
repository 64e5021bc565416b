/* What the scorer's heaps hold, held to a list that is sorted again for each record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fis/rng.h"
#include "role/scorer_impl.h"

#define IDS 300u

struct seen {
    struct fis_id id;
    uint64_t features; /* 0: not looked at */
    float score;
    int came;
};

static int better(const void *a, const void *b)
{
    const struct seen *x = *(struct seen *const *)a, *y = *(struct seen *const *)b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return fis_id_compare(&x->id, &y->id);
}

/* The best `heap` of what came, of equal features the best alone; how many there are. */
static uint32_t best_of(struct seen *all, uint32_t heap, struct seen **best)
{
    uint32_t n = 0, distinct = 0;
    for (uint32_t i = 0; i < IDS; i++)
        if (all[i].came)
            best[n++] = &all[i];
    qsort(best, n, sizeof *best, better);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        while (k < distinct && (!best[i]->features || best[k]->features != best[i]->features))
            k++;
        if (k == distinct)
            best[distinct++] = best[i];
    }
    return distinct < heap ? distinct : heap;
}

static int is_among(struct seen **best, uint32_t n, const struct seen *one)
{
    for (uint32_t i = 0; i < n; i++)
        if (best[i] == one)
            return 1;
    return 0;
}

static void holds_the_best_once_each(uint32_t heap, uint32_t kinds, uint64_t seed)
{
    struct scorer m = {.o = {.criteria = {.acquisition = &fis_acquisition_ekg}}};
    struct wire_selection selection = {.heap = heap, .distinct = kinds > 0};
    struct seen all[IDS], *best[IDS];
    struct fis_rng rng;
    struct fis_error e;
    fis_rng_seed(&rng, seed, 0);
    assert_int_equal(scorer_best_begin(&m, &selection, &e), 0);
    for (uint32_t i = 0; i < IDS; i++) {
        char text[FIS_ID_MAX + 1];
        int long_one = i % 7 == 3 ? 20 + (int)i * 3 / 4 : 1; /* most are short */
        int n = snprintf(text, sizeof text, "r%0*u", long_one, i);
        assert_int_equal(fis_id_set(&all[i].id, text, (size_t)n), 0);
        all[i].features = kinds ? 1 + fis_rng_below(&rng, kinds) : 0;
        /* Ties are many; equal features have equal scores, but for criteria that look at the id. */
        all[i].score =
            kinds && seed % 2 ? (float)(all[i].features % 60) : (float)fis_rng_below(&rng, 60);
        all[i].came = 0;
    }
    for (int step = 0; step < 3000; step++) {
        struct seen *one = &all[fis_rng_below(&rng, IDS)];
        float scores[FIS_MAX_CRITERIA] = {one->score, FIS_NOT_A_CANDIDATE};
        int again = one->came;
        one->came = 1;
        uint32_t n = best_of(all, heap, best);
        int admitted = scorer_best_admit(&m, scores, &one->id, one->features);
        /* The last of a full heap is no better than itself, when it comes again. */
        if (!again || n < heap || best[n - 1] != one)
            assert_int_equal(admitted, is_among(best, n, one));
        assert_int_equal(m.heaps[0].count, n);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t k = 0;
            while (k < n && fis_id_compare(m.heaps[0].items[k].id, &best[i]->id) != 0)
                k++;
            assert_true(k < n);
        }
        if (step == 2000) { /* a new head, of a trainer with another heap */
            selection.heap = heap = seed % 3 ? heap / 2 + 1 : 2 * heap < IDS ? 2 * heap : IDS;
            assert_int_equal(scorer_best_begin(&m, &selection, &e), 0);
            for (uint32_t i = 0; i < IDS; i++)
                all[i].came = 0;
        }
    }
    scorer_best_done(&m);
}

static void the_best_are_held(void **state)
{
    (void)state;
    holds_the_best_once_each(1, 0, 1);
    holds_the_best_once_each(7, 0, 2);
    holds_the_best_once_each(8, 0, 3);
    holds_the_best_once_each(100, 0, 4);
    holds_the_best_once_each(IDS, 0, 5);
}

static void equal_features_have_one_place(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 5; seed++) {
        holds_the_best_once_each(1, 40, seed);
        holds_the_best_once_each(8, 5, seed); /* never full */
        holds_the_best_once_each(8, 40, seed);
        holds_the_best_once_each(100, 150, seed);
        holds_the_best_once_each(IDS, 150, seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_best_are_held),
                                       cmocka_unit_test(equal_features_have_one_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
