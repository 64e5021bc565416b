/* A batch has the same scores, and counts the same for drift, whether its records come dense,
 * sparse or in any mixture of both; and whether the margins of trees are set in the encoder or for
 * many rows at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fis/mem.h"
#include "fis/network.h"
#include "role/scoring.h"

enum { D = 60, RECORDS = 700, ENTRIES = 9 };

/* The first `scaled` columns are standardised. */
static struct fis_encoder *encoder_of(uint32_t scaled, uint32_t margins)
{
    struct fis_encoder_column_state states[D];
    char names[D][8];
    struct fis_error e;
    for (uint32_t i = 0; i < D; i++) {
        snprintf(names[i], sizeof names[i], "f%u", i);
        states[i] = (struct fis_encoder_column_state){
            .column = {names[i], FIS_NUMERIC, i < scaled ? FIS_SCALE_STANDARD : FIS_SCALE_NONE},
            .mean = .25,
            .deviation = 1.5};
    }
    struct fis_encoder *enc = fis_encoder_over_trees(states, D, margins, &e);
    assert_non_null(enc);
    return enc;
}

static struct scoring_head *head_of(uint32_t scaled, uint32_t margins, struct fis_rng *rng)
{
    struct fis_shape shape;
    struct scoring_head *h = fis_calloc(1, sizeof *h);
    assert_int_equal(fis_shape_init(&shape, D + margins, (uint32_t[]){16}, 1, 3, NULL), 0);
    assert_int_equal(fis_shape_set_margins(&shape, margins, NULL), 0);
    size_t n = fis_shape_params(&shape);
    float *slab = fis_alloc(3 * n, sizeof *slab);
    for (size_t i = 0; i < 3 * n; i++)
        slab[i] = (float)fis_rng_normal(rng);
    const float *directions[] = {slab + n, slab + 2 * n};
    h->panel = fis_panel_new(&shape, slab, directions, FIS_DIRECTIONS);
    h->encoder = encoder_of(scaled, margins);
    h->initial = fis_profile_new(h->encoder, NULL);
    h->references = 1;
    assert_true(h->panel && h->initial);
    fis_free(slab);
    return h;
}

/* Entries at rising columns, as Record.sparse or as Record.features; huge: as large as floats are.
 */
static size_t put(struct fis_rng *rng, int sparse, int huge, unsigned char *out)
{
    float x[D] = {0}, value[ENTRIES];
    unsigned char index[ENTRIES];
    for (uint32_t i = 0; i < ENTRIES; i++) {
        index[i] = (unsigned char)(i * (D / ENTRIES) + fis_rng_below(rng, D / ENTRIES));
        value[i] = (float)fis_rng_normal(rng);
        value[i] = x[index[i]] = huge ? 3.4e38f : value[i];
    }
    if (!sparse) {
        memcpy(out, (unsigned char[]){0x12, (4 * D & 127) | 128, 4 * D >> 7}, 3);
        memcpy(out + 3, x, sizeof x);
        return 3 + sizeof x;
    }
    memcpy(out, (unsigned char[]){0x1a, 4 + 5 * ENTRIES, 0x0a, ENTRIES}, 4);
    memcpy(out + 4, index, ENTRIES);
    memcpy(out + 4 + ENTRIES, (unsigned char[]){0x12, 4 * ENTRIES}, 2);
    memcpy(out + 6 + ENTRIES, value, sizeof value);
    return 6 + ENTRIES + sizeof value;
}

struct world {
    struct scoring_batch b;
    struct scoring_options o;
    struct wire_schema schema;
    unsigned char bytes[RECORDS][4 * D + 8];
};

/* The records are the same each time; each of the `share` out of 64 is sparse, broken ones among
 * them. */
static void run(struct world *w, uint32_t share)
{
    struct fis_rng values, form;
    fis_rng_seed(&values, 5, 5);
    fis_rng_seed(&form, 6, share);
    for (uint32_t i = 0; i < RECORDS; i++) {
        size_t n = put(&values, fis_rng_below(&form, 64) < share, i % 50 == 7, w->bytes[i]);
        if (i % 50 == 3)
            n--;
        w->b.messages[i] =
            (struct wire_message){.topic = "t", .offset = i, .value = {w->bytes[i], n}};
    }
    w->b.n = RECORDS;
    scoring_run(&w->b);
    assert_int_equal(w->b.rows, RECORDS - 14);
}

/* A number that is too large for the model ends as a letter, and beside it nothing does; where all
 * columns are standardised none is. */
static void check_huge(const struct world *w, uint32_t scaled)
{
    for (uint32_t i = 0; i < RECORDS; i++) {
        int huge = i % 50 == 7 && scaled < D;
        assert_int_equal(w->b.status[i], huge || i % 50 == 3 ? WIRE_BAD : WIRE_OK);
        if (huge)
            assert_int_equal(w->b.errors[i].code, FIS_CODE_NOT_FINITE);
    }
}

static const char *const classes[] = {"a", "b", "c"};

static void open_world(struct world *w, struct scoring_head *head)
{
    struct fis_error e;
    w->schema = (struct wire_schema){.classes = classes, .n_classes = 3, .max_bytes = 4096};
    w->o = (struct scoring_options){.schema = &w->schema,
                                    .encoding = WIRE_PROTOBUF,
                                    .criteria = {.acquisition = &fis_acquisition_fis_plus},
                                    .capacity = RECORDS};
    assert_int_equal(scoring_batch_init(&w->b, &w->o, &e), 0);
    assert_int_equal(scoring_batch_prepare(&w->b, head, NULL, &e), 0);
}

static void forms(uint32_t scaled)
{
    static struct world w;
    static const uint32_t shares[] = {64, 63, 32, 1};
    float scores[RECORDS * FIS_MAX_CRITERIA], x[D];
    struct fis_rng rng;
    fis_rng_seed(&rng, 4, 4);
    struct scoring_head *head = head_of(scaled, 0, &rng);
    open_world(&w, head);
    uint32_t counts[1000], n;
    run(&w, 0);
    size_t size = w.b.rows * sizeof *scores * FIS_MAX_CRITERIA;
    memcpy(scores, w.b.scores, size);
    memcpy(x, scoring_candidate(&w.b, 77).x, sizeof x);
    const uint32_t *counted = fis_profile_counts(w.b.sample, &n);
    assert_true(n <= 1000 && fis_profile_rows(w.b.sample) > 20);
    memcpy(counts, counted, n * sizeof *counts);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        run(&w, shares[i]);
        check_huge(&w, scaled);
        assert_memory_equal(w.b.scores, scores, size);
        assert_memory_equal(scoring_candidate(&w.b, 77).x, x, sizeof x);
        assert_memory_equal(fis_profile_counts(w.b.sample, &n), counts, n * sizeof *counts);
    }
    scoring_batch_done(&w.b);
    scoring_head_unref(head);
}

static void any_form(void **state)
{
    (void)state;
    forms(0);
    forms(5);
    forms(D);
}

enum { TREES = 12, DEPTH = 3, TESTS = TREES * 7, LEAVES = TREES * 8 };

static struct fis_trees *some_trees(struct fis_rng *rng)
{
    const struct fis_trees_shape s = {.d = D, .margins = 3, .n = TREES, .depth = DEPTH};
    uint32_t feature[TESTS];
    float threshold[TESTS], leaf[LEAVES];
    for (uint32_t i = 0; i < TESTS; i++) {
        feature[i] = fis_rng_below(rng, D);
        threshold[i] = .1f * (float)fis_rng_normal(rng);
    }
    for (uint32_t i = 0; i < LEAVES; i++)
        leaf[i] = (float)fis_rng_normal(rng);
    struct fis_trees *t = fis_trees_new(&s, feature, threshold, leaf, NULL);
    assert_non_null(t);
    return t;
}

static void margins_of_trees(void **state)
{
    static struct world w;
    float scores[RECORDS * FIS_MAX_CRITERIA], x[D + 3];
    struct fis_rng rng;
    (void)state;
    fis_rng_seed(&rng, 7, 4);
    struct scoring_head *head = head_of(0, 3, &rng);
    struct fis_trees *trees = some_trees(&rng);
    assert_int_equal(fis_encoder_set_trees(head->encoder, trees, NULL), 0);
    fis_trees_unref(trees);
    open_world(&w, head);
    run(&w, 32);
    size_t size = w.b.rows * sizeof *scores * FIS_MAX_CRITERIA;
    memcpy(scores, w.b.scores, size);
    memcpy(x, scoring_candidate(&w.b, 77).x, sizeof x);
    assert_true(x[D] < 0 || x[D + 1] < 0 || x[D + 2] < 0);

    head->trees = fis_encoder_take_trees(head->encoder);
    run(&w, 32);
    assert_memory_equal(w.b.scores, scores, size);
    assert_memory_equal(scoring_candidate(&w.b, 77).x, x, sizeof x);
    scoring_batch_done(&w.b);
    scoring_head_unref(head);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_form),
        cmocka_unit_test(margins_of_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
