/* Distributions of columns, and the population stability index between two. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fis/profile.h"
#include "fis/rng.h"

#define D 8 /* age, age=(missing), job: a b (unseen) (missing), plain, hours */

static const struct fis_column columns[] = {
    {"age", FIS_NUMERIC, FIS_SCALE_STANDARD},
    {"job", FIS_CATEGORICAL, FIS_SCALE_STANDARD},
    {"plain", FIS_NUMERIC, FIS_SCALE_NONE},
    {"hours", FIS_NUMERIC, FIS_SCALE_STANDARD},
};

static struct fis_value number(double x)
{
    return (struct fis_value){.kind = FIS_VALUE_NUMBER, .number = x};
}
static struct fis_value word(const char *s)
{
    return (struct fis_value){.kind = FIS_VALUE_TEXT, .text = s, .length = strlen(s)};
}
static struct fis_value missing(void)
{
    return (struct fis_value){.kind = FIS_VALUE_MISSING};
}

struct world {
    struct fis_encoder *encoder;
    struct fis_profile *p, *q;
    struct fis_error e;
};

static int up(void **state)
{
    struct world *w = test_calloc(1, sizeof *w);
    w->encoder = fis_encoder_new(columns, 4, 10, &w->e);
    assert_non_null(w->encoder);
    /* age: mean 40, deviation 10; hours the same; job of two kinds. */
    for (int i = 0; i < 2; i++) {
        struct fis_value v[] = {number(i ? 30 : 50), word(i ? "a" : "b"), number(i),
                                number(i ? 30 : 50)};
        assert_int_equal(fis_encoder_observe(w->encoder, v, &w->e), 0);
    }
    struct fis_value v[] = {missing(), word("a"), number(0), number(40)};
    assert_int_equal(fis_encoder_observe(w->encoder, v, &w->e), 0);
    assert_int_equal(fis_encoder_finish(w->encoder, &w->e), 0);
    assert_int_equal(fis_encoder_dimension(w->encoder), D);
    w->p = fis_profile_new(w->encoder, &w->e);
    w->q = fis_profile_new(w->encoder, &w->e);
    assert_non_null(w->p);
    assert_non_null(w->q);
    *state = w;
    return 0;
}

static int down(void **state)
{
    struct world *w = *state;
    fis_profile_free(w->p);
    fis_profile_free(w->q);
    fis_encoder_free(w->encoder);
    test_free(w);
    return 0;
}

static void add(struct world *w, struct fis_profile *p, struct fis_value age, struct fis_value job,
                double hours)
{
    struct fis_value v[] = {age, job, number(0), number(hours)};
    float x[D];
    assert_int_equal(fis_encoder_encode(w->encoder, v, x, NULL, &w->e), 0);
    fis_profile_add(p, x);
}

static void counts_by_bin(void **state)
{
    struct world *w = *state;
    struct fis_encoder_column_state age;
    fis_encoder_state(w->encoder, 0, &age);
    assert_true(age.missing_indicator);
    const double z[] = {-3, -1.5, -0.7, -0.2, 0.2, 0.7, 1.5, 3};
    for (int i = 0; i < 8; i++)
        add(w, w->p, number(age.mean + z[i] * age.deviation), word("a"), 40);
    add(w, w->p, missing(), word("z"), 40);
    add(w, w->p, missing(), missing(), 40);
    uint32_t n;
    const uint32_t *c = fis_profile_counts(w->p, &n);
    assert_int_equal(n, 9 + 4 + 8 + 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(c[i], 1);
    assert_int_equal(c[8], 2);
    const uint32_t jobs[] = {8, 0, 1, 1};
    assert_memory_equal(c + 9, jobs, sizeof jobs);
    assert_int_equal(fis_profile_rows(w->p), 10);
}

/* Worked out by hand: shares of a category of 50 and 50 against 80 and 20. */
static void index_is_the_formulas(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 100; i++) {
        add(w, w->p, number(40), word(i < 50 ? "a" : "b"), 40);
        add(w, w->q, number(40), word(i < 80 ? "a" : "b"), 40);
    }
    double a = 50.5 / 101, b = 80.5 / 101, c = 20.5 / 101;
    double want = (b - a) * log(b / a) + (c - a) * log(c / a) - (2 - 1) * (1.0 / 100 + 1.0 / 100);
    assert_true(fabs(fis_profile_psi(w->p, w->q, 1) - want) < 1e-12);
    assert_true(want > 0.25);
    assert_true(fis_profile_psi(w->p, w->q, 0) == 0.0);
    assert_true(fis_profile_psi(w->p, w->p, 1) == 0.0);
}

static void chance_is_no_drift_and_a_shift_is(void **state)
{
    struct world *w = *state;
    struct fis_rng r;
    double sum = 0;
    fis_rng_seed(&r, 7, 0);
    for (int trial = 0; trial < 50; trial++) {
        fis_profile_clear(w->p);
        fis_profile_clear(w->q);
        for (int i = 0; i < 500; i++) {
            add(w, w->p, number(40), word("a"), 40 + 10 * fis_rng_normal(&r));
            add(w, w->q, number(40), word("a"), 40 + 10 * fis_rng_normal(&r));
        }
        double psi = fis_profile_psi(w->p, w->q, 3);
        assert_true(psi < 0.1);
        sum += psi;
    }
    assert_true(sum / 50 < 0.02);
    fis_profile_clear(w->q);
    for (int i = 0; i < 500; i++)
        add(w, w->q, number(40), word("a"), 48 + 10 * fis_rng_normal(&r));
    assert_true(fis_profile_psi(w->p, w->q, 3) > 0.25);
}

static void old_rows_weigh_less(void **state)
{
    struct world *w = *state;
    struct fis_profile *sum = fis_profile_new(w->encoder, &w->e);
    struct fis_error e;
    assert_non_null(sum);
    for (int i = 0; i < 33; i++)
        add(w, w->p, number(i % 3 ? 30 : 50), word(i % 2 ? "a" : "b"), i % 5 * 10);
    for (int i = 0; i < 20; i++) {
        fis_profile_merge(sum, w->p, 200);
        assert_true(fis_profile_rows(sum) <= 200);
    }
    /* Whatever was halved, every column counts the same rows: what load asks for. */
    uint32_t n;
    const uint32_t *counts = fis_profile_counts(sum, &n);
    assert_int_equal(fis_profile_load(w->q, counts, n, &e), 0);
    assert_int_equal(fis_profile_rows(w->q), fis_profile_rows(sum));
    assert_true(fis_profile_rows(sum) > 90);
    assert_true(fis_profile_psi(w->p, w->q, 1) < 0.05);
    fis_profile_free(sum);
}

static void loads_what_fits(void **state)
{
    struct world *w = *state;
    struct fis_error e;
    uint32_t counts[9 + 4 + 8 + 8] = {[0] = 3, [9] = 3, [13] = 3, [21] = 2};
    assert_int_equal(fis_profile_load(w->p, counts, 28, &e), -FIS_INPUT);
    assert_string_equal(e.text, "distribution: 28 counts, 29 expected");
    assert_int_equal(fis_profile_load(w->p, counts, 29, &e), -FIS_INPUT);
    assert_string_equal(e.text, "distribution: column 3 counts 2 rows, the first 3");
    assert_int_equal(fis_profile_rows(w->p), 0);
    counts[22] = 1;
    assert_int_equal(fis_profile_load(w->p, counts, 29, &e), 0);
    assert_int_equal(fis_profile_rows(w->p), 3);
    counts[0] = UINT32_MAX;
    counts[1] = UINT32_MAX;
    assert_int_equal(fis_profile_load(w->p, counts, 29, &e), -FIS_INPUT);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
    const struct CMUnitTest tests[] = {
        T(counts_by_bin),       T(index_is_the_formulas), T(chance_is_no_drift_and_a_shift_is),
        T(old_rows_weigh_less), T(loads_what_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
