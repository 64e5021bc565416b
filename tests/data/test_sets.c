/* What is noticed of two sets of examples that are each right by themselves. */

#include "kit/cmocka.h"

#include "data/sets.h"

static const char *const classes[] = {"no", "yes"};
static const struct wire_schema schema = {.classes = classes, .n_classes = 2};

enum { N = 400, D = 2 };
struct set {
    float x[N * D];
    uint32_t labels[N], groups[N];
    struct fis_id ids[N];
    struct data_examples e;
};

/* Rows that differ by their features, in two groups of both classes. */
static void make(struct set *s, char prefix, uint32_t n, float from)
{
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < n; i++) {
        char id[16];
        int length = snprintf(id, sizeof id, "%c%u", prefix, i);
        assert_int_equal(fis_id_set(&s->ids[i], id, (size_t)length), 0);
        s->x[i * D] = from + (float)i;
        s->labels[i] = i % 2;
        s->groups[i] = i / 2 % 2;
    }
    s->e = (struct data_examples){.n = n,
                                  .d = D,
                                  .x = s->x,
                                  .labels = s->labels,
                                  .groups = s->groups,
                                  .ids = s->ids,
                                  .names.n = 2};
}

static char noted[2000];

static void note(void *ctx, bool fault, const char *text)
{
    (void)ctx;
    assert_false(fault);
    strcat(noted, text);
    strcat(noted, "\n");
}

static struct set a, b;

/* The notes of these sets hold all of `expected`; NULL: there is none. */
static void says(enum fis_metric metric, const char *expected)
{
    const struct data_sets s = {.initial = a.e.n ? &a.e : NULL,
                                .validation = b.e.n ? &b.e : NULL,
                                .initial_name = "i.csv",
                                .validation_name = "v.csv",
                                .schema = &schema,
                                .metric = metric,
                                .positive = 1,
                                .min_rows = 200,
                                .min_cell = 30};
    struct fis_error e;
    noted[0] = 0;
    assert_int_equal(data_sets_look(&s, note, NULL, &e), 0);
    if (expected ? !strstr(noted, expected) : *noted)
        fail_msg("'%s', expected '%s'", noted, expected ? expected : "nothing");
}

static void nothing_is_wrong(void **state)
{
    (void)state;
    make(&a, 'i', 300, 0);
    make(&b, 'v', 300, 1000);
    says(FIS_EQUALIZED_ODDS, NULL);
    a.e.n = 0;
    says(FIS_DEMOGRAPHIC_PARITY, NULL);
    make(&a, 'i', 300, 0);
    b.e.n = 0;
    says(FIS_DEMOGRAPHIC_PARITY, NULL);
}

static void classes_and_cells(void **state)
{
    (void)state;
    make(&a, 'i', 300, 0);
    make(&b, 'v', 300, 1000);
    for (int i = 0; i < 300; i++)
        a.labels[i] = 1;
    says(FIS_DEMOGRAPHIC_PARITY, "i.csv: no row of class \"no\"\n");
    make(&b, 'v', 199, 1000);
    says(FIS_DEMOGRAPHIC_PARITY, "v.csv: 199 rows, and below 200 (gate.min_rows)");
    make(&a, 'i', 300, 0);
    make(&b, 'v', 300, 1000);
    for (int i = 0, left = 20; i < 300; i++)
        if (b.groups[i] == 1 && b.labels[i] == 0 && left-- <= 0)
            b.labels[i] = 1;
    says(FIS_EQUALIZED_ODDS, "smallest group that equalized_odds compares has 20 rows");
    says(FIS_EQUAL_OPPORTUNITY, NULL);
    says(FIS_DEMOGRAPHIC_PARITY, NULL);
}

static void rows_in_both(void **state)
{
    (void)state;
    make(&a, 'i', 300, 0);
    make(&b, 'v', 300, 290);
    b.labels[0] = 1 - b.labels[0];
    says(FIS_DEMOGRAPHIC_PARITY, "v.csv: 9 of 300 rows have features and label of a row of i.csv");
    make(&b, 'i', 300, 1000);
    says(FIS_DEMOGRAPHIC_PARITY, "v.csv: 300 rows with the id of a row of i.csv");
    /* Few different rows: they are equal by chance. */
    make(&b, 'v', 300, 0);
    for (int i = 0; i < 300; i++)
        a.x[i * D] = b.x[i * D] = (float)(i / 2 % 4);
    says(FIS_DEMOGRAPHIC_PARITY, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_wrong),
        cmocka_unit_test(classes_and_cells),
        cmocka_unit_test(rows_in_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
