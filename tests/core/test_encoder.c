/* The feature encoder: fitting, encoding, refusals, frozen state, refused memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fis/encoder.h"
#include "fis/profile.h"
#include "fis/mem.h"
#include "fis/rng.h"

#define MISSING ((struct fis_value){.kind = FIS_VALUE_MISSING})
#define NUM(v) ((struct fis_value){.kind = FIS_VALUE_NUMBER, .number = (v)})
#define TXT(s) ((struct fis_value){.kind = FIS_VALUE_TEXT, .text = (s), .length = strlen(s)})

static const struct fis_column columns[] = {
    {.name = "age", .type = FIS_NUMERIC, .scale = FIS_SCALE_STANDARD},
    {.name = "job", .type = FIS_CATEGORICAL},
    {.name = "flag", .type = FIS_NUMERIC, .scale = FIS_SCALE_NONE},
    {.name = "hours", .type = FIS_NUMERIC, .scale = FIS_SCALE_STANDARD},
};
enum { N = 4, D = 1 + 4 + 1 + 2 }; /* hours was missing once; two jobs */

static const struct fis_value rows[][N] = {
    {{.kind = FIS_VALUE_NUMBER, .number = 30},
     {.kind = FIS_VALUE_TEXT, .text = "nurse", .length = 5},
     {.kind = FIS_VALUE_NUMBER, .number = 1},
     {.kind = FIS_VALUE_NUMBER, .number = 40}},
    {{.kind = FIS_VALUE_NUMBER, .number = 50},
     {.kind = FIS_VALUE_TEXT, .text = "clerk", .length = 5},
     {.kind = FIS_VALUE_NUMBER, .number = 0},
     {.kind = FIS_VALUE_MISSING}},
    {{.kind = FIS_VALUE_NUMBER, .number = 40},
     {.kind = FIS_VALUE_TEXT, .text = "nurse", .length = 5},
     {.kind = FIS_VALUE_MISSING},
     {.kind = FIS_VALUE_NUMBER, .number = 40}},
};

static struct fis_encoder *fitted(struct fis_error *e)
{
    struct fis_encoder *enc = fis_encoder_new(columns, N, 10, e);
    for (size_t i = 0; enc && i < sizeof rows / sizeof *rows; i++)
        if (fis_encoder_observe(enc, rows[i], e))
            goto fail;
    if (enc && fis_encoder_finish(enc, e))
        goto fail;
    return enc;
fail:
    fis_encoder_free(enc);
    return NULL;
}

static void encodes_by_its_rules(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_encoder *enc = fitted(&e);
    assert_non_null(enc);
    assert_int_equal(fis_encoder_dimension(enc), D);
    float x[D];
    uint32_t unseen = 9;

    struct fis_value a[N] = {NUM(50), TXT("nurse"), NUM(7), NUM(41)};
    assert_int_equal(fis_encoder_encode(enc, a, x, &unseen, &e), 0);
    /* ages 30, 50, 40: mean 40, deviation sqrt(200/3); hours never varied */
    float want_a[D] = {(float)(10 / sqrt(200.0 / 3)), 0, 1, 0, 0, 7, 0, 0};
    for (int i = 0; i < D; i++)
        assert_float_equal(x[i], want_a[i], 1e-6f);
    assert_int_equal(unseen, 0);

    struct fis_value b[N] = {MISSING, TXT("pilot"), MISSING, MISSING};
    assert_int_equal(fis_encoder_encode(enc, b, x, &unseen, &e), 0);
    float want_b[D] = {0, 0, 0, 1, 0, 0, 0, 1};
    assert_memory_equal(x, want_b, sizeof x);
    assert_int_equal(unseen, 1);

    struct fis_value c[N] = {NUM(1e30), MISSING, NUM(-2), NUM(-1e30)};
    assert_int_equal(fis_encoder_encode(enc, c, x, NULL, &e), 0);
    float want_c[D] = {FIS_ENCODER_CLIP, 0, 0, 0, 1, -2, -0.0f, 0};
    assert_memory_equal(x, want_c, sizeof x); /* hours never varied */
    fis_encoder_free(enc);
}

/* What varies by less than its numbers tell apart is constant: 0 whatever comes, in a row of values
 * and in a vector. */
static void a_constant_column_is_zero(void **state)
{
    (void)state;
    static const struct fis_column c[] = {
        {.name = "hours", .type = FIS_NUMERIC, .scale = FIS_SCALE_STANDARD},
        {.name = "age", .type = FIS_NUMERIC, .scale = FIS_SCALE_STANDARD}};
    const struct fis_value fit[][2] = {{NUM(14.62), NUM(1e9)},
                                        {NUM(14.620000000000001), NUM(1e9 + 1)}};
    struct fis_error e;
    struct fis_encoder *enc = fis_encoder_new(c, 2, 10, &e);
    for (int i = 0; i < 2; i++)
        assert_int_equal(fis_encoder_observe(enc, fit[i], &e), 0);
    assert_int_equal(fis_encoder_finish(enc, &e), 0);
    assert_true(fis_encoder_constant(enc, 0));
    assert_false(fis_encoder_constant(enc, 1));
    const float packed[] = {15, 1e9f}, same[] = {14.62f, 1e9f};
    float x[2];
    struct fis_value other[] = {NUM(20), NUM(1e9)};
    assert_int_equal(fis_encoder_encode(enc, other, x, NULL, &e), 0);
    assert_true(x[0] == 0 && signbit(x[0]));
    assert_float_equal(x[1], -1, 1e-6);
    assert_int_equal(fis_encoder_encode_floats(enc, packed, 2, x, &e), 0);
    assert_true(x[0] == 0 && signbit(x[0]));
    assert_int_equal(fis_encoder_encode_floats(enc, same, 2, x, &e), 0);
    assert_true(x[0] == 0 && !signbit(x[0]));
    struct fis_profile *before = fis_profile_new(enc, &e), *now = fis_profile_new(enc, &e);
    for (int i = 0; i < 600; i++) {
        assert_int_equal(fis_encoder_encode_floats(enc, same, 2, x, &e), 0);
        fis_profile_add(before, x);
        assert_int_equal(fis_encoder_encode_floats(enc, packed, 2, x, &e), 0);
        fis_profile_add(now, x);
    }
    assert_true(fis_profile_psi(before, now, 0) > 1);
    assert_true(fis_profile_psi(before, now, 1) < 0.1);
    fis_profile_free(before);
    fis_profile_free(now);
    fis_encoder_free(enc);
}

/* A number and a text of one value are one category, at fitting and later. */
static void one_category_however_it_is_written(void **state)
{
    (void)state;
    static const struct fis_column job = {.name = "job", .type = FIS_CATEGORICAL};
    const struct fis_value fit[] = {TXT("1.0"), NUM(2),    TXT(" a "),
                                    TXT("007"), NUM(-0.0), NUM(2.5)};
    const struct {
        struct fis_value value;
        const char *feature;
    } cases[] = {
        {NUM(1), "job=1"},
        {TXT("1"), "job=1"},
        {TXT("1."), "job=1"},
        {TXT("2.000"), "job=2"},
        {TXT("a"), "job=a"},
        {TXT("7"), "job=(unseen)"},
        {NUM(7), "job=(unseen)"},
        {TXT("007"), "job=007"},
        {TXT("-0"), "job=0"},
        {TXT("2.5"), "job=2.5"},
        {TXT("+1"), "job=(unseen)"},
        {TXT("1e0"), "job=(unseen)"},
        {TXT("1.0.0"), "job=(unseen)"},
        {NUM(1e20), "job=(unseen)"},
    };
    struct fis_error e;
    struct fis_encoder *enc = fis_encoder_new(&job, 1, 10, &e);
    for (size_t i = 0; i < sizeof fit / sizeof *fit; i++)
        assert_int_equal(fis_encoder_observe(enc, &fit[i], &e), 0);
    assert_int_equal(fis_encoder_finish(enc, &e), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float x[16];
        char name[32];
        uint32_t at = 0;
        assert_int_equal(fis_encoder_encode(enc, &cases[i].value, x, NULL, &e), 0);
        while (x[at] == 0)
            at++;
        fis_encoder_feature_name(enc, at, name, sizeof name);
        if (strcmp(name, cases[i].feature) != 0)
            fail_msg("case %zu: %s, expected %s", i, name, cases[i].feature);
    }
    fis_encoder_free(enc);
}

static void names_its_features(void **state)
{
    (void)state;
    struct fis_encoder *enc = fitted(NULL);
    static const char *const want[D] = {"age",          "job=clerk",      "job=nurse",
                                        "job=(unseen)", "job=(missing)",  "flag",
                                        "hours",        "hours=(missing)"};
    char name[32];
    for (uint32_t i = 0; i < D; i++) {
        assert_int_equal(fis_encoder_feature_name(enc, i, name, sizeof name), strlen(want[i]));
        assert_string_equal(name, want[i]);
    }
    assert_int_equal(fis_encoder_feature_name(enc, 4, name, 4), strlen(want[4]));
    assert_string_equal(name, "job");
    for (int i = 0; i < N; i++)
        assert_int_equal(fis_encoder_find(enc, columns[i].name, strlen(columns[i].name)), i);
    assert_int_equal(fis_encoder_find(enc, "ag", 2), -1);
    assert_int_equal(fis_encoder_find(enc, "ages", 4), -1);
    assert_int_equal(fis_encoder_find(enc, "", 0), -1);
    assert_string_equal(fis_encoder_column(enc, 1)->name, "job");
    assert_int_equal(fis_encoder_columns(enc), N);
    fis_encoder_free(enc);
}

static void refuses_with_the_column_and_the_value(void **state)
{
    (void)state;
    static const char long_text[] =
        "a text that is much longer than anything an error should repeat";
    const struct {
        int column;
        struct fis_value value;
        const char *text;
    } bad[] = {
        {0, TXT("NaN"), "column age: number expected, text \"NaN\" found"},
        {0, TXT(""), "column age: number expected, text \"\" found"},
        {0, NUM(1e39), "column age: 1e+39 does not fit a 32-bit float"},
        {0, NUM(-1e39), "column age: -1e+39 does not fit"},
        {2, NUM(INFINITY), "column flag: inf does not fit"},
        {3, NUM(NAN), "column hours: nan does not fit"},
        {0, TXT(long_text), "text \"a text that is much longer than anything…\" found"},
    };
    struct fis_encoder *enc = fitted(NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fis_value v[N] = {NUM(1), TXT("nurse"), NUM(1), NUM(1)};
        float x[D], before[D];
        struct fis_error e = {0};
        memset(x, 0x55, sizeof x);
        memcpy(before, x, sizeof x);
        v[bad[i].column] = bad[i].value;
        assert_int_equal(fis_encoder_encode(enc, v, x, NULL, &e), -FIS_INPUT);
        if (!strstr(e.text, bad[i].text))
            fail_msg("got '%s', wanted '%s'", e.text, bad[i].text);
        assert_memory_equal(x, before, sizeof x);
    }
    fis_encoder_free(enc);
}

static void a_value_at_the_edge_of_float_fits(void **state)
{
    (void)state;
    struct fis_encoder *enc = fitted(NULL);
    struct fis_value v[N] = {NUM(1), TXT("nurse"), NUM((double)FLT_MAX), NUM(1)};
    float x[D];
    assert_int_equal(fis_encoder_encode(enc, v, x, NULL, NULL), 0);
    assert_true(x[5] == FLT_MAX);
    fis_encoder_free(enc);
}

static void fitting_refuses(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_column twice[2] = {columns[0], columns[0]};
    assert_null(fis_encoder_new(twice, 2, 10, &e));
    assert_string_equal(e.text, "column age: named twice");
    assert_null(fis_encoder_new(columns, 0, 10, &e));
    struct fis_column nameless = {.name = "", .type = FIS_NUMERIC, .scale = FIS_SCALE_NONE};
    assert_null(fis_encoder_new(&nameless, 1, 10, &e));
    struct fis_column typeless = {.name = "a"};
    assert_null(fis_encoder_new(&typeless, 1, 10, &e));

    struct fis_encoder *enc = fis_encoder_new(&columns[1], 1, 2, &e);
    assert_int_equal(fis_encoder_finish(enc, &e), -FIS_INPUT);
    assert_string_equal(e.text, "no row to fit the columns on");
    struct fis_value v = TXT("b");
    assert_int_equal(fis_encoder_observe(enc, &v, &e), 0);
    v = TXT("a");
    assert_int_equal(fis_encoder_observe(enc, &v, &e), 0);
    v = TXT("c");
    assert_int_equal(fis_encoder_observe(enc, &v, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "column job: more than 2 categories"));
    v = (struct fis_value){.kind = FIS_VALUE_TEXT, .text = "a\0b", .length = 3};
    assert_int_equal(fis_encoder_observe(enc, &v, &e), -FIS_INPUT);
    assert_int_equal(fis_encoder_finish(enc, &e), 0);
    assert_int_equal(fis_encoder_dimension(enc), 4);
    fis_encoder_free(enc);
    fis_encoder_free(NULL);
}

static void packed_vectors(void **state)
{
    (void)state;
    struct fis_column two[2] = {columns[2], columns[0]};
    struct fis_error e;
    struct fis_encoder *enc = fis_encoder_new(two, 2, 10, &e);
    struct fis_value v[2] = {NUM(1), NUM(10)};
    assert_int_equal(fis_encoder_observe(enc, v, &e), 0);
    v[1] = NUM(20);
    assert_int_equal(fis_encoder_observe(enc, v, &e), 0);
    assert_int_equal(fis_encoder_finish(enc, &e), 0);
    float x[2] = {9, 9}, in[2] = {3, 20};
    assert_int_equal(fis_encoder_encode_floats(enc, in, 2, x, &e), 0);
    assert_true(x[0] == 3.0f && x[1] == 1.0f);
    assert_int_equal(fis_encoder_encode_floats(enc, in, 1, x, &e), -FIS_INPUT);
    assert_string_equal(e.text, "1 features, 2 expected");
    in[1] = NAN;
    assert_int_equal(fis_encoder_encode_floats(enc, in, 2, x, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "feature 1 (age)"));
    in[1] = -INFINITY;
    assert_int_equal(fis_encoder_encode_floats(enc, in, 2, x, &e), -FIS_INPUT);
    assert_true(x[0] == 3.0f && x[1] == 1.0f);
    fis_encoder_free(enc);

    enc = fitted(&e);
    float four[4] = {0};
    float wide[D];
    assert_int_equal(fis_encoder_encode_floats(enc, four, 4, wide, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "column job is categorical"));
    fis_encoder_free(enc);
}

/* Both ways to encode a number give the same bits: what was trained on one way is scored on the
 * other. */
static void packed_vectors_equal_values(void **state)
{
    (void)state;
    enum { COLUMNS = 37 };
    struct fis_column many[COLUMNS];
    struct fis_value v[COLUMNS];
    char names[COLUMNS][16];
    float in[COLUMNS], x[COLUMNS], twin[COLUMNS];
    struct fis_error e;
    struct fis_rng rng;
    fis_rng_seed(&rng, 5, 2);
    for (int i = 0; i < COLUMNS; i++) {
        snprintf(names[i], sizeof names[i], "f%d", i);
        many[i] = (struct fis_column){.name = names[i],
                                      .type = FIS_NUMERIC,
                                      .scale = i % 5 ? FIS_SCALE_STANDARD : FIS_SCALE_NONE};
    }
    struct fis_encoder *enc = fis_encoder_new(many, COLUMNS, 10, &e);
    assert_non_null(enc);
    for (int r = 0; r < 20; r++) {
        for (int i = 0; i < COLUMNS; i++)
            v[i] = NUM(i == 7 ? 3 : fis_rng_normal(&rng) * pow(10, i % 9 - 4) + i);
        assert_int_equal(fis_encoder_observe(enc, v, &e), 0);
    }
    assert_int_equal(fis_encoder_finish(enc, &e), 0);
    assert_int_equal(fis_encoder_dimension(enc), COLUMNS);
    for (int r = 0; r < 200; r++) {
        for (int i = 0; i < COLUMNS; i++) {
            in[i] = (float)(fis_rng_normal(&rng) * pow(10, r % 40 - 5));
            v[i] = NUM(in[i]);
        }
        assert_int_equal(fis_encoder_encode_floats(enc, in, COLUMNS, x, &e), 0);
        assert_int_equal(fis_encoder_encode(enc, v, twin, NULL, &e), 0);
        assert_memory_equal(x, twin, sizeof x);
    }
    fis_encoder_free(enc);
}

enum { LISTED = 40 };

static void check_lists(const struct fis_encoder *enc, uint32_t few, struct fis_rng *rng)
{
    float in[LISTED], x[LISTED], value[LISTED];
    uint32_t index[LISTED], n = 0;
    struct fis_error e;
    for (uint32_t i = 0; i < LISTED; i++) {
        in[i] = fis_rng_below(rng, 200) < few ? (float)fis_rng_normal(rng) * 40 : 0;
        if (in[i] != 0) {
            index[n] = i;
            value[n++] = in[i];
        }
    }
    assert_int_equal(fis_encoder_encode_floats(enc, in, LISTED, x, &e), 0);
    n = fis_encoder_encode_list(enc, index, value, n);
    for (uint32_t i = 0, k = 0; i < LISTED; i++) {
        int there = k < n && index[k] == i;
        assert_true(there ? value[k] == x[i] : x[i] == 0);
        k += (uint32_t)there;
        assert_true(i + 1 < LISTED || k == n);
    }
}

/* A list becomes the list of what the row becomes: scaled columns are in it whether they were or
 * not, and whether they lie together, at the front or behind others, or apart. */
static void lists(void **state)
{
    (void)state;
    static const struct {
        uint32_t first, step;
    } places[] = {{0, 1}, {2, 1}, {0, 27}};
    struct fis_encoder_column_state s[LISTED];
    char names[LISTED][4];
    struct fis_error e;
    struct fis_rng rng;
    fis_rng_seed(&rng, 6, 2);
    for (uint32_t scaled = 0; scaled <= LISTED; scaled++)
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            for (uint32_t i = 0; i < LISTED; i++) {
                snprintf(names[i], sizeof names[i], "f%u", i);
                uint32_t nth = (i + LISTED - places[p].first) * places[p].step % LISTED;
                s[i] = (struct fis_encoder_column_state){
                    .column = {names[i], FIS_NUMERIC,
                               nth < scaled ? FIS_SCALE_STANDARD : FIS_SCALE_NONE},
                    .mean = i,
                    .deviation = 1 + i % 3};
            }
            struct fis_encoder *enc = fis_encoder_from_states(s, LISTED, &e);
            assert_non_null(enc);
            assert_int_equal(fis_encoder_lists(enc), scaled <= LISTED / 8);
            for (uint32_t few = 0; few < 201; few++)
                check_lists(enc, few, &rng);
            fis_encoder_free(enc);
        }
}

static struct fis_encoder *copy(const struct fis_encoder *enc, struct fis_error *e)
{
    struct fis_encoder_column_state s[N];
    for (uint32_t i = 0; i < N; i++)
        fis_encoder_state(enc, i, &s[i]);
    return fis_encoder_from_states(s, N, e);
}

static void the_frozen_state_makes_the_same_encoder(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_encoder *enc = fitted(&e), *twin = copy(enc, &e);
    assert_non_null(twin);
    assert_int_equal(fis_encoder_dimension(twin), D);
    const struct fis_value v[][N] = {{NUM(33.3), TXT("clerk"), NUM(2), MISSING},
                                     {MISSING, TXT("none"), MISSING, NUM(12)}};
    for (int i = 0; i < 2; i++) {
        float x[D], y[D];
        assert_int_equal(fis_encoder_encode(enc, v[i], x, NULL, &e), 0);
        assert_int_equal(fis_encoder_encode(twin, v[i], y, NULL, &e), 0);
        assert_memory_equal(x, y, sizeof x);
    }
    fis_encoder_free(twin);
    fis_encoder_free(enc);
}

static void refuses_states_that_make_no_sense(void **state)
{
    (void)state;
    static const char *const unsorted[] = {"b", "a"}, *const same[] = {"a", "a"};
    const struct fis_encoder_column_state good = {.column = columns[0], .deviation = 1},
                                          job = {.column = columns[1]};
    struct fis_encoder_column_state s;
    struct fis_error e;
    s = good, s.deviation = 0;
    assert_null(fis_encoder_from_states(&s, 1, &e));
    s = good, s.mean = NAN;
    assert_null(fis_encoder_from_states(&s, 1, &e));
    s = good, s.n_categories = 2, s.categories = same;
    assert_null(fis_encoder_from_states(&s, 1, &e));
    s = job, s.missing_indicator = 1;
    assert_null(fis_encoder_from_states(&s, 1, &e));
    s = job, s.n_categories = 2, s.categories = unsorted;
    assert_null(fis_encoder_from_states(&s, 1, &e));
    assert_int_equal(e.kind, FIS_INPUT);
    s.categories = same;
    assert_null(fis_encoder_from_states(&s, 1, &e));
    assert_null(fis_encoder_from_states(&s, 0, &e));
}

static void encoding_allocates_nothing(void **state)
{
    (void)state;
    struct fis_encoder *enc = fitted(NULL);
    float x[D];
    uint64_t before = fis_mem_count();
    for (int i = 0; i < 1000; i++)
        assert_int_equal(fis_encoder_encode(enc, rows[i % 3], x, NULL, NULL), 0);
    assert_int_equal(fis_mem_count(), before);
    fis_encoder_free(enc);
}

/* Every allocation refused in turn: an error of class NOMEM, and no leak (address sanitizer). */
static void survives_refused_memory(void **state)
{
    (void)state;
    int refused = 0;
    for (uint64_t n = 0;; n++) {
        struct fis_error e = {0};
        fis_mem_refuse_after(n);
        struct fis_encoder *enc = fitted(&e), *twin = enc ? copy(enc, &e) : NULL;
        fis_mem_refuse_after(UINT64_MAX);
        fis_encoder_free(enc);
        fis_encoder_free(twin);
        if (twin)
            break;
        assert_int_equal(e.kind, FIS_NOMEM);
        refused++;
        assert_true(n < 1000);
    }
    assert_true(refused > 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes_by_its_rules),
        cmocka_unit_test(one_category_however_it_is_written),
        cmocka_unit_test(a_constant_column_is_zero),
        cmocka_unit_test(names_its_features),
        cmocka_unit_test(refuses_with_the_column_and_the_value),
        cmocka_unit_test(a_value_at_the_edge_of_float_fits),
        cmocka_unit_test(fitting_refuses),
        cmocka_unit_test(packed_vectors),
        cmocka_unit_test(packed_vectors_equal_values),
        cmocka_unit_test(lists),
        cmocka_unit_test(the_frozen_state_makes_the_same_encoder),
        cmocka_unit_test(refuses_states_that_make_no_sense),
        cmocka_unit_test(encoding_allocates_nothing),
        cmocka_unit_test(survives_refused_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
