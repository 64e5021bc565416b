/* The encoder and whole vectors: packed numbers, and lists of what is not 0. */
#include "kit/core/fitted.h"

static void packed_vectors(void **state)
{
    (void)state;
    struct fis_column two[2] = {fitted_columns[2], fitted_columns[0]};
    struct fis_error e;
    struct fis_encoder *enc = fis_encoder_new(two, 2, 10, &e);
    struct fis_value v[2] = {FITTED_NUMBER(1), FITTED_NUMBER(10)};
    assert_int_equal(fis_encoder_observe(enc, v, &e), 0);
    v[1] = FITTED_NUMBER(20);
    assert_int_equal(fis_encoder_observe(enc, v, &e), 0);
    assert_int_equal(fis_encoder_finish(enc, &e), 0);
    float x[2] = {9, 9}, in[2] = {3, 20};
    assert_int_equal(fis_encoder_encode_floats(enc, in, 2, x, &e), 0);
    assert_true(x[0] == 3.0f && x[1] == 1.0f);
    assert_int_equal(fis_encoder_encode_floats(enc, in, 1, x, &e), -FIS_INPUT);
    assert_string_equal(e.text, "1 feature, 2 expected");
    in[1] = NAN;
    assert_int_equal(fis_encoder_encode_floats(enc, in, 2, x, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "feature 1 (age)"));
    in[1] = -INFINITY;
    assert_int_equal(fis_encoder_encode_floats(enc, in, 2, x, &e), -FIS_INPUT);
    assert_true(x[0] == 3.0f && x[1] == 1.0f);
    fis_encoder_free(enc);

    enc = fitted_encoder(&e);
    float four[4] = {0};
    float wide[FITTED_D];
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
            v[i] = FITTED_NUMBER(i == 7 ? 3 : fis_rng_normal(&rng) * pow(10, i % 9 - 4) + i);
        assert_int_equal(fis_encoder_observe(enc, v, &e), 0);
    }
    assert_int_equal(fis_encoder_finish(enc, &e), 0);
    assert_int_equal(fis_encoder_dimension(enc), COLUMNS);
    for (int r = 0; r < 200; r++) {
        for (int i = 0; i < COLUMNS; i++) {
            in[i] = (float)(fis_rng_normal(&rng) * pow(10, r % 40 - 5));
            v[i] = FITTED_NUMBER(in[i]);
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

/* A list becomes the list of what the row becomes: scaled fitted_columns are in it whether they
 * were or not, and whether they lie together, at the front or behind others, or apart. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_vectors),
        cmocka_unit_test(packed_vectors_equal_values),
        cmocka_unit_test(lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
