/*
 * A base below the network: its columns become margins, an untrained network is the base to the
 * bit, and no gradient changes what it adds.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "fis/encoder.h"
#include "fis/learner.h"
#include "fis/mem.h"

static struct fis_error e;

static struct fis_value number(double v)
{
    return (struct fis_value){.kind = FIS_VALUE_NUMBER, .number = v};
}

/* One plain column and the base's. */
static struct fis_encoder *made(enum fis_column_scale scale, uint32_t margins)
{
    static const char *const names[] = {"a", "s0", "s1", "s2"};
    struct fis_column columns[4] = {{names[0], FIS_NUMERIC, FIS_SCALE_NONE}};
    struct fis_value row[4] = {number(1), number(.2), number(.3), number(.5)};
    for (uint32_t i = 1; i <= margins; i++)
        columns[i] = (struct fis_column){names[i], FIS_NUMERIC, scale};
    struct fis_encoder *enc = fis_encoder_new(columns, 1 + margins, 10, &e);
    assert_non_null(enc);
    assert_int_equal(fis_encoder_observe(enc, row, &e), 0);
    row[1] = number(.4);
    assert_int_equal(fis_encoder_observe(enc, row, &e), 0);
    assert_int_equal(fis_encoder_finish(enc, &e), 0);
    assert_int_equal(fis_encoder_margins(enc), margins);
    assert_int_equal(fis_encoder_dimension(enc), 1 + margins);
    return enc;
}

/* The margin that a score becomes, by names and by a packed vector. */
static double margin(const struct fis_encoder *enc, double score)
{
    float x[2], packed[2], in[2] = {7, (float)score};
    struct fis_value row[2] = {number(7), number((double)in[1])};
    assert_int_equal(fis_encoder_encode(enc, row, x, NULL, &e), 0);
    assert_int_equal(fis_encoder_encode_packed(enc, in, 2, packed, &e), 0);
    assert_memory_equal(x, packed, sizeof x);
    assert_true(x[0] == 7);
    return (double)(FIS_MARGIN_SCALE * x[1]);
}

static void near(double a, double b)
{
    assert_true(fabs(a - b) <= 2e-7 * (1 + fabs(b)));
}

static void one_score(void **state)
{
    (void)state;
    struct fis_encoder *p = made(FIS_SCALE_PROBABILITY, 1), *logit = made(FIS_SCALE_LOGIT, 1);
    const double least = log(FIS_PROBABILITY_MIN / (1 - FIS_PROBABILITY_MIN));
    near(margin(p, .5), 0);
    near(margin(p, .8), log(.8 / .2));
    near(margin(p, 0), least);
    near(margin(p, -1e-7), least);
    near(margin(p, 1), -least);
    near(margin(p, 1.0000005), -least);
    assert_true(margin(logit, 1.625) == 1.625);
    near(margin(logit, 31), FIS_MARGIN_MAX);
    near(margin(logit, -1e30), -FIS_MARGIN_MAX);
    fis_encoder_free(p);
    fis_encoder_free(logit);
}

static void several_scores(void **state)
{
    (void)state;
    struct fis_encoder *p = made(FIS_SCALE_PROBABILITY, 3), *logit = made(FIS_SCALE_LOGIT, 3);
    struct fis_value row[4] = {number(1), number(0), number(.75), number(.25)};
    float x[4];
    assert_int_equal(fis_encoder_encode(p, row, x, NULL, &e), 0);
    near((double)(4 * x[1]), log(FIS_PROBABILITY_MIN / .75));
    near((double)(4 * x[2]), 0);
    near((double)(4 * x[3]), log(1 / 3.));
    row[1] = number(120);
    row[2] = number(118);
    row[3] = number(-1e9);
    assert_int_equal(fis_encoder_encode(logit, row, x, NULL, &e), 0);
    near((double)(4 * x[1]), 0);
    near((double)(4 * x[2]), -2);
    near((double)(4 * x[3]), -FIS_MARGIN_MAX);
    fis_encoder_free(p);
    fis_encoder_free(logit);
}

static void refused(const struct fis_encoder *enc, struct fis_value score, const char *text)
{
    struct fis_value row[2] = {number(7), score};
    float x[2];
    assert_int_equal(fis_encoder_encode(enc, row, x, NULL, &e), -FIS_INPUT);
    assert_string_equal(e.text, text);
}

static void what_is_no_score_is_refused(void **state)
{
    (void)state;
    struct fis_encoder *enc = made(FIS_SCALE_PROBABILITY, 1);
    float x[2], in[2] = {7, 1.5f};
    refused(enc, number(87), "column s0: a probability (0 to 1) expected, 87 found");
    refused(enc, number(-.01), "column s0: a probability (0 to 1) expected, -0.01 found");
    refused(enc, number((double)NAN),
            "column s0: nan does not fit a 32-bit float (-3.402823e+38 to "
            "3.402823e+38 allowed)");
    refused(enc, (struct fis_value){.kind = FIS_VALUE_MISSING},
            "column s0: no value; every record requires the base's score");
    refused(enc, (struct fis_value){.kind = FIS_VALUE_TEXT, .text = "high", .length = 4},
            "column s0: number expected, text \"high\" found");
    assert_int_equal(fis_encoder_encode_packed(enc, in, 2, x, &e), -FIS_INPUT);
    assert_int_equal(e.code, FIS_CODE_BAD_FIELD);
    fis_encoder_free(enc);
    const struct fis_column before[] = {{"s", FIS_NUMERIC, FIS_SCALE_LOGIT},
                                        {"a", FIS_NUMERIC, FIS_SCALE_NONE}};
    assert_null(fis_encoder_new(before, 2, 10, &e));
    const struct fis_column two[] = {{"s", FIS_NUMERIC, FIS_SCALE_LOGIT},
                                     {"t", FIS_NUMERIC, FIS_SCALE_LOGIT}};
    assert_null(fis_encoder_new(two, 2, 10, &e));
}

/* A state keeps the scale, and with it the base. */
static void the_state_has_the_base(void **state)
{
    (void)state;
    struct fis_encoder *enc = made(FIS_SCALE_PROBABILITY, 1);
    struct fis_encoder_column_state s[2];
    for (uint32_t i = 0; i < 2; i++)
        fis_encoder_state(enc, i, &s[i]);
    struct fis_encoder *same = fis_encoder_from_states(s, 2, &e);
    assert_non_null(same);
    assert_true(margin(same, .3) == margin(enc, .3));
    s[1].missing_indicator = 1;
    assert_null(fis_encoder_from_states(s, 2, &e));
    fis_encoder_free(same);
    fis_encoder_free(enc);
}

enum { N = 200, D = 5 };

static struct fis_learner *learner(float *x, uint32_t margins)
{
    struct fis_rng rng;
    struct fis_learner_options o = {.folds = 1,
                                    .learning_rate = .1f,
                                    .momentum = .9f,
                                    .weight_decay = 1e-3f,
                                    .batch = 16,
                                    .seed = 3};
    assert_int_equal(fis_shape_init(&o.shape, D, (uint32_t[]){8}, 1, 2, &e), 0);
    assert_int_equal(fis_shape_set_margins(&o.shape, margins, &e), 0);
    struct fis_learner *t = fis_learner_new(&o, &e);
    assert_non_null(t);
    fis_rng_seed(&rng, 5, 0);
    for (uint32_t i = 0; i < N; i++) {
        for (uint32_t j = 0; j < D; j++)
            x[i * D + j] = (float)fis_rng_normal(&rng);
        assert_int_equal(fis_learner_add_initial(t, x + (size_t)i * D, x[i * D] > 0, &e), 0);
    }
    return t;
}

/* Untrained it is the base; trained, it corrects it and no longer is. */
static void an_untrained_network_is_the_base(void **state)
{
    (void)state;
    float x[N * D], logits[N * 2];
    struct fis_learner *t = learner(x, 1);
    const struct fis_shape *shape = fis_learner_shape(t);
    struct fis_scratch *s = fis_scratch_new(shape, N, 0);
    fis_network_forward(shape, fis_learner_anchor(t), x, N, s, logits);
    for (uint32_t i = 0; i < N; i++)
        assert_true(logits[2 * i] == 0 && logits[2 * i + 1] == 4 * x[i * D + D - 1]);
    assert_int_equal(fis_learner_warm_up(t, 300, &e), 0);
    uint32_t right = 0;
    fis_network_forward(shape, fis_learner_anchor(t), x, N, s, logits);
    for (uint32_t i = 0; i < N; i++)
        right += (logits[2 * i + 1] > logits[2 * i]) == (x[i * D] > 0);
    assert_true(right > N * 9 / 10);
    fis_scratch_free(s);
    fis_learner_free(t);
}

static void shapes_without_sense(void **state)
{
    (void)state;
    struct fis_shape s;
    assert_int_equal(fis_shape_init(&s, 3, NULL, 0, 3, &e), 0);
    assert_int_equal(fis_shape_set_margins(&s, 1, &e), -FIS_INPUT);
    assert_int_equal(fis_shape_set_margins(&s, 3, &e), -FIS_INPUT); /* no feature beside them */
    assert_int_equal(fis_shape_set_margins(&s, 0, &e), 0);
    assert_int_equal(fis_shape_init(&s, 3, NULL, 0, 2, &e), 0);
    assert_int_equal(fis_shape_set_margins(&s, 2, &e), -FIS_INPUT);
    assert_int_equal(fis_shape_set_margins(&s, 1, &e), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_score),
        cmocka_unit_test(several_scores),
        cmocka_unit_test(what_is_no_score_is_refused),
        cmocka_unit_test(the_state_has_the_base),
        cmocka_unit_test(an_untrained_network_is_the_base),
        cmocka_unit_test(shapes_without_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
