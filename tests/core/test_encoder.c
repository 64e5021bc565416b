/* The feature encoder: fitting, encoding, refusals, frozen state, refused memory. */
#include "kit/core/fitted.h"

#define MISSING ((struct fis_value){.kind = FIS_VALUE_MISSING})

#define TXT(s) ((struct fis_value){.kind = FIS_VALUE_TEXT, .text = (s), .length = strlen(s)})

static void encodes_by_its_rules(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_encoder *enc = fitted_encoder(&e);
    assert_non_null(enc);
    assert_int_equal(fis_encoder_dimension(enc), FITTED_D);
    float x[FITTED_D];
    uint32_t unseen = 9;

    struct fis_value a[FITTED_COLUMNS] = {FITTED_NUMBER(50), TXT("nurse"), FITTED_NUMBER(7),
                                          FITTED_NUMBER(41)};
    assert_int_equal(fis_encoder_encode(enc, a, x, &unseen, &e), 0);
    /* ages 30, 50, 40: mean 40, deviation sqrt(200/3); hours never varied */
    float want_a[FITTED_D] = {(float)(10 / sqrt(200.0 / 3)), 0, 1, 0, 0, 7, 0, 0};
    for (int i = 0; i < FITTED_D; i++)
        assert_float_equal(x[i], want_a[i], 1e-6f);
    assert_int_equal(unseen, 0);

    struct fis_value b[FITTED_COLUMNS] = {MISSING, TXT("pilot"), MISSING, MISSING};
    assert_int_equal(fis_encoder_encode(enc, b, x, &unseen, &e), 0);
    float want_b[FITTED_D] = {0, 0, 0, 1, 0, 0, 0, 1};
    assert_memory_equal(x, want_b, sizeof x);
    assert_int_equal(unseen, 1);

    struct fis_value c[FITTED_COLUMNS] = {FITTED_NUMBER(1e30), MISSING, FITTED_NUMBER(-2),
                                          FITTED_NUMBER(-1e30)};
    assert_int_equal(fis_encoder_encode(enc, c, x, NULL, &e), 0);
    float want_c[FITTED_D] = {FIS_ENCODER_CLIP, 0, 0, 0, 1, -2, -0.0f, 0};
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
    const struct fis_value fit[][2] = {{FITTED_NUMBER(14.62), FITTED_NUMBER(1e9)},
                                       {FITTED_NUMBER(14.620000000000001), FITTED_NUMBER(1e9 + 1)}};
    struct fis_error e;
    struct fis_encoder *enc = fis_encoder_new(c, 2, 10, &e);
    for (int i = 0; i < 2; i++)
        assert_int_equal(fis_encoder_observe(enc, fit[i], &e), 0);
    assert_int_equal(fis_encoder_finish(enc, &e), 0);
    assert_true(fis_encoder_constant(enc, 0));
    assert_false(fis_encoder_constant(enc, 1));
    const float packed[] = {15, 1e9f}, same[] = {14.62f, 1e9f};
    float x[2];
    struct fis_value other[] = {FITTED_NUMBER(20), FITTED_NUMBER(1e9)};
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
    const struct fis_value fit[] = {TXT("1.0"), FITTED_NUMBER(2),    TXT(" a "),
                                    TXT("007"), FITTED_NUMBER(-0.0), FITTED_NUMBER(2.5)};
    const struct {
        struct fis_value value;
        const char *feature;
    } cases[] = {
        {FITTED_NUMBER(1), "job=1"},
        {TXT("1"), "job=1"},
        {TXT("1."), "job=1"},
        {TXT("2.000"), "job=2"},
        {TXT("a"), "job=a"},
        {TXT("7"), "job=(unseen)"},
        {FITTED_NUMBER(7), "job=(unseen)"},
        {TXT("007"), "job=007"},
        {TXT("-0"), "job=0"},
        {TXT("2.5"), "job=2.5"},
        {TXT("+1"), "job=(unseen)"},
        {TXT("1e0"), "job=(unseen)"},
        {TXT("1.0.0"), "job=(unseen)"},
        {FITTED_NUMBER(1e20), "job=(unseen)"},
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
    struct fis_encoder *enc = fitted_encoder(NULL);
    static const char *const want[FITTED_D] = {"age",          "job=clerk",      "job=nurse",
                                               "job=(unseen)", "job=(missing)",  "flag",
                                               "hours",        "hours=(missing)"};
    char name[32];
    for (uint32_t i = 0; i < FITTED_D; i++) {
        assert_int_equal(fis_encoder_feature_name(enc, i, name, sizeof name), strlen(want[i]));
        assert_string_equal(name, want[i]);
    }
    assert_int_equal(fis_encoder_feature_name(enc, 4, name, 4), strlen(want[4]));
    assert_string_equal(name, "job");
    for (int i = 0; i < FITTED_COLUMNS; i++)
        assert_int_equal(
            fis_encoder_find(enc, fitted_columns[i].name, strlen(fitted_columns[i].name)), i);
    assert_int_equal(fis_encoder_find(enc, "ag", 2), -1);
    assert_int_equal(fis_encoder_find(enc, "ages", 4), -1);
    assert_int_equal(fis_encoder_find(enc, "", 0), -1);
    assert_string_equal(fis_encoder_column(enc, 1)->name, "job");
    assert_int_equal(fis_encoder_columns(enc), FITTED_COLUMNS);
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
        {0, FITTED_NUMBER(1e39), "column age: 1e+39 does not fit a 32-bit float"},
        {0, FITTED_NUMBER(-1e39), "column age: -1e+39 does not fit"},
        {2, FITTED_NUMBER(INFINITY), "column flag: inf does not fit"},
        {3, FITTED_NUMBER(NAN), "column hours: nan does not fit"},
        {0, TXT(long_text), "text \"a text that is much longer than anything…\" found"},
    };
    struct fis_encoder *enc = fitted_encoder(NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fis_value v[FITTED_COLUMNS] = {FITTED_NUMBER(1), TXT("nurse"), FITTED_NUMBER(1),
                                              FITTED_NUMBER(1)};
        float x[FITTED_D], before[FITTED_D];
        struct fis_error e = {0};
        memset(x, 0x55, sizeof x);
        memcpy(before, x, sizeof x);
        v[bad[i].column] = bad[i].value;
        assert_int_equal(fis_encoder_encode(enc, v, x, NULL, &e), -FIS_INPUT);
        if (!strstr(e.text, bad[i].text))
            fail_msg("got '%s', expected '%s'", e.text, bad[i].text);
        assert_memory_equal(x, before, sizeof x);
    }
    fis_encoder_free(enc);
}

static void a_value_at_the_edge_of_float_fits(void **state)
{
    (void)state;
    struct fis_encoder *enc = fitted_encoder(NULL);
    struct fis_value v[FITTED_COLUMNS] = {FITTED_NUMBER(1), TXT("nurse"),
                                          FITTED_NUMBER((double)FLT_MAX), FITTED_NUMBER(1)};
    float x[FITTED_D];
    assert_int_equal(fis_encoder_encode(enc, v, x, NULL, NULL), 0);
    assert_true(x[5] == FLT_MAX);
    fis_encoder_free(enc);
}

static void fitting_refuses(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_column twice[2] = {fitted_columns[0], fitted_columns[0]};
    assert_null(fis_encoder_new(twice, 2, 10, &e));
    assert_string_equal(e.text, "column age: named twice");
    assert_null(fis_encoder_new(fitted_columns, 0, 10, &e));
    struct fis_column nameless = {.name = "", .type = FIS_NUMERIC, .scale = FIS_SCALE_NONE};
    assert_null(fis_encoder_new(&nameless, 1, 10, &e));
    struct fis_column typeless = {.name = "a"};
    assert_null(fis_encoder_new(&typeless, 1, 10, &e));

    struct fis_encoder *enc = fis_encoder_new(&fitted_columns[1], 1, 2, &e);
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

static struct fis_encoder *copy(const struct fis_encoder *enc, struct fis_error *e)
{
    struct fis_encoder_column_state s[FITTED_COLUMNS];
    for (uint32_t i = 0; i < FITTED_COLUMNS; i++)
        fis_encoder_state(enc, i, &s[i]);
    return fis_encoder_from_states(s, FITTED_COLUMNS, e);
}

static void the_frozen_state_makes_the_same_encoder(void **state)
{
    (void)state;
    struct fis_error e;
    struct fis_encoder *enc = fitted_encoder(&e), *twin = copy(enc, &e);
    assert_non_null(twin);
    assert_int_equal(fis_encoder_dimension(twin), FITTED_D);
    const struct fis_value v[][FITTED_COLUMNS] = {
        {FITTED_NUMBER(33.3), TXT("clerk"), FITTED_NUMBER(2), MISSING},
        {MISSING, TXT("none"), MISSING, FITTED_NUMBER(12)}};
    for (int i = 0; i < 2; i++) {
        float x[FITTED_D], y[FITTED_D];
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
    const struct fis_encoder_column_state good = {.column = fitted_columns[0], .deviation = 1},
                                          job = {.column = fitted_columns[1]};
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
    struct fis_encoder *enc = fitted_encoder(NULL);
    float x[FITTED_D];
    uint64_t before = fis_mem_count();
    for (int i = 0; i < 1000; i++)
        assert_int_equal(fis_encoder_encode(enc, fitted_rows[i % 3], x, NULL, NULL), 0);
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
        struct fis_encoder *enc = fitted_encoder(&e), *twin = enc ? copy(enc, &e) : NULL;
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
        cmocka_unit_test(the_frozen_state_makes_the_same_encoder),
        cmocka_unit_test(refuses_states_that_make_no_sense),
        cmocka_unit_test(encoding_allocates_nothing),
        cmocka_unit_test(survives_refused_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
