#include "kit/wire/heads.h"

struct fis_encoder *mixed_encoder(void)
{
    static const char *const jobs[] = {"clerk", "driver", "n\xc3\xbcrse"};
    const struct fis_encoder_column_state states[] = {
        {.column = {"age", FIS_NUMERIC, FIS_SCALE_STANDARD},
         .mean = 38.5,
         .deviation = 9.25,
         .missing_indicator = 1},
        {.column = {"score", FIS_NUMERIC, FIS_SCALE_NONE}, .mean = 0, .deviation = 1},
        {.column = {"job", FIS_CATEGORICAL, FIS_SCALE_NONE},
         .deviation = 1,
         .n_categories = 3,
         .categories = jobs},
    };
    struct fis_error e = {0};
    struct fis_encoder *enc = fis_encoder_from_states(states, 3, &e);
    if (!enc)
        fail_msg("%s", e.text);
    assert_int_equal(fis_encoder_dimension(enc), MIXED_D);
    return enc;
}

void assert_same_encoder(const struct fis_encoder *a, const struct fis_encoder *b)
{
    assert_int_equal(fis_encoder_columns(a), fis_encoder_columns(b));
    assert_int_equal(fis_encoder_dimension(a), fis_encoder_dimension(b));
    for (uint32_t i = 0; i < fis_encoder_columns(a); i++) {
        struct fis_encoder_column_state s, t;
        fis_encoder_state(a, i, &s);
        fis_encoder_state(b, i, &t);
        assert_string_equal(s.column.name, t.column.name);
        assert_int_equal(s.column.type, t.column.type);
        if (s.column.type == FIS_NUMERIC) {
            assert_int_equal(s.column.scale, t.column.scale);
            assert_true(s.mean == t.mean && s.deviation == t.deviation);
        }
        assert_int_equal(s.missing_indicator, t.missing_indicator);
        assert_int_equal(s.n_categories, t.n_categories);
        for (uint32_t k = 0; k < s.n_categories; k++)
            assert_string_equal(s.categories[k], t.categories[k]);
    }
}

float *random_slab(const struct fis_shape *shape, uint64_t seed)
{
    size_t n = fis_shape_params(shape);
    float *x = fis_alloc(n, sizeof *x);
    struct fis_rng rng;
    assert_non_null(x);
    fis_rng_seed(&rng, seed, 0);
    for (size_t i = 0; i < n; i++)
        x[i] = random_float(&rng);
    return x;
}

void assert_same_shape(const struct fis_shape *a, const struct fis_shape *b)
{
    assert_int_equal(a->n_layers, b->n_layers);
    for (uint32_t l = 0; l <= a->n_layers; l++)
        assert_int_equal(a->width[l], b->width[l]);
}
