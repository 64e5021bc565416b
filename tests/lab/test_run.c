/* Runs: what is bought, kept, seen and not seen, on a small synthetic task. */

#include "kit/cmocka.h"

#include <math.h>
#include <string.h>

#include "fis/mem.h"
#include "kit/lab/small_file.h"

static struct lab_options options_of(const struct synthetic *s, enum fis_metric metric)
{
    struct lab_options o;
    lab_options_default(&s->spec, LAB_RICH, &o);
    o.metric = metric;
    return o;
}

static struct lab_method method(const char *name)
{
    struct lab_method m;
    struct fis_error e;
    if (lab_method_find(name, &m, &e) < 0)
        fail_msg("%s", e.text);
    return m;
}

static struct lab_split *split_of(const struct synthetic *s, const struct lab_options *o)
{
    struct fis_error e;
    struct lab_split *split = lab_split_new(s->task, &o->protocol, o->seed, &e);
    if (!split)
        fail_msg("%s", e.text);
    return split;
}

/* A run, and a hash of what it published and bought. */
struct outcome {
    struct lab_result result;
    uint64_t published, bought;
};

static int keep_published(void *arg, struct lab_run *r, struct fis_error *e)
{
    struct outcome *o = arg;
    struct fis_id id;
    (void)e;
    o->published = 0;
    o->bought = 0;
    for (size_t i = 0; i < r->n_params; i++) {
        fis_id_set(&id, &r->published[i], sizeof(float));
        o->published = 31 * o->published + fis_id_hash(&id, i);
    }
    for (uint32_t i = 0; i < r->n_bought; i++)
        o->bought = 31 * o->bought + r->bought[i].row;
    return 0;
}

static struct outcome run(const struct lab_split *split, const char *name,
                          const struct lab_options *o)
{
    struct outcome out = {.published = 0};
    struct lab_method m = method(name);
    struct lab_hooks hooks = {.arg = &out, .round_end = keep_published};
    struct fis_error e;
    if (lab_run(split, &m, o, &hooks, &out.result, &e) < 0)
        fail_msg("%s", e.text);
    return out;
}

static const char *const methods[] = {"base", "random",  "entropy",    "fis",        "fis+",
                                      "ekg",  "product", "random+pub", "entropy+pub"};
enum { METHODS = sizeof methods / sizeof *methods };

static void every_method_runs(void **state)
{
    static const uint32_t shapes[][2] = {{2, 2}, {3, 3}, {2, 4}, {4, 2}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct synthetic s;
        assert_int_equal(synthetic_make(&s, 4200, shapes[i][0], shapes[i][1]), 0);
        assert_int_equal(s.task->n_classes, shapes[i][0]);
        assert_int_equal(s.task->n_groups, shapes[i][1]);
        struct lab_options o = options_of(&s, i % 2 ? FIS_DEMOGRAPHIC_PARITY : FIS_EQUALIZED_ODDS);
        struct lab_split *split = split_of(&s, &o);
        assert_int_equal(split->d, 5 + 5); /* three colours, an unseen one, a missing one */
        for (int m = 0; m < METHODS; m++) {
            struct outcome a = run(split, methods[m], &o), b = run(split, methods[m], &o);
            assert_true(a.published == b.published);
            assert_true(a.result.test.accuracy > 1.0 / shapes[i][0]);
            assert_true(a.result.test.equalized_odds >= 0 && a.result.test.equalized_odds <= 1);
            assert_true(a.result.kept <= a.result.bought);
            if (m == 0)
                assert_int_equal(a.result.bought, 0);
            else if (m == 3)
                assert_in_range(a.result.kept_at_once, 1, 120); /* its rounds count these */
            else
                assert_int_equal(a.result.bought, 120);
        }
        lab_split_free(split);
        synthetic_done(&s);
    }
}

static void fis_keeps_what_was_predicted_right(void **state)
{
    struct synthetic s;
    (void)state;
    assert_int_equal(synthetic_make(&s, 4200, 2, 2), 0);
    struct lab_options o = options_of(&s, FIS_DEMOGRAPHIC_PARITY);
    o.refreshes = 1; /* the head that asks is then the one that checks */
    for (o.seed = 1; o.seed <= 3; o.seed++) {
        struct lab_split *split = split_of(&s, &o);
        struct lab_result r = run(split, "fis", &o).result;
        assert_true(r.bought > 10);
        assert_int_equal(r.kept_right, r.bought);
        assert_in_range(r.kept_at_once, 1, r.bought - 1);
        lab_split_free(split);
    }
    synthetic_done(&s);
}

static void strategies_agree_on_two_classes(void **state)
{
    (void)state;
    for (uint32_t classes = 2; classes <= 3; classes++) {
        struct synthetic s;
        uint32_t different = 0;
        assert_int_equal(synthetic_make(&s, 4200, classes, 2), 0);
        struct lab_options o = options_of(&s, FIS_EQUALIZED_ODDS);
        for (o.seed = 1; o.seed <= 3; o.seed++) {
            struct lab_split *split = split_of(&s, &o);
            o.strategy = 1;
            struct outcome one = run(split, "fis", &o);
            o.strategy = 2;
            struct outcome two = run(split, "fis", &o);
            different += one.bought != two.bought || one.published != two.published;
            lab_split_free(split);
        }
        if (classes == 2)
            assert_int_equal(different, 0);
        else /* so that the agreement is not for want of a difference */
            assert_int_not_equal(different, 0);
        synthetic_done(&s);
    }
}

/* The groups of all rows but the validation ones, dealt out again. */
static void shuffle_groups(struct lab_task *t, const struct lab_split *split)
{
    uint8_t *validates = calloc(t->n, 1);
    uint32_t *rows = calloc(t->n, sizeof *rows), *dealt = calloc(t->n, sizeof *dealt), n = 0;
    struct fis_rng rng;
    fis_rng_seed(&rng, 5, 5);
    for (uint32_t i = 0; i < split->n_validation; i++)
        validates[split->validation[i]] = 1;
    for (uint32_t i = 0; i < t->n; i++)
        if (!validates[i]) {
            rows[n] = i;
            dealt[n++] = t->group[i];
        }
    fis_rng_shuffle(&rng, dealt, n);
    for (uint32_t i = 0; i < n; i++)
        t->group[rows[i]] = dealt[i];
    free(validates);
    free(rows);
    free(dealt);
}

static void only_validation_groups_matter(void **state)
{
    struct synthetic s;
    struct outcome before[METHODS];
    (void)state;
    assert_int_equal(synthetic_make(&s, 4200, 2, 2), 0);
    struct lab_options o = options_of(&s, FIS_DEMOGRAPHIC_PARITY);
    struct lab_split *split = split_of(&s, &o);
    for (int m = 0; m < METHODS; m++)
        before[m] = run(split, methods[m], &o);
    shuffle_groups(s.task, split);
    lab_split_free(split);
    split = split_of(&s, &o);
    for (int m = 0; m < METHODS; m++) {
        struct outcome after = run(split, methods[m], &o);
        assert_true(after.published == before[m].published);
        assert_true(after.bought == before[m].bought);
        /* while what is measured with the groups is another thing */
        assert_true(after.result.test.demographic_parity !=
                    before[m].result.test.demographic_parity);
    }
    /* And the validation groups do matter. */
    for (uint32_t i = 0; i < split->n_validation; i++)
        split->validation_group[i] = i % 2;
    assert_true(run(split, "fis+", &o).published != before[4].published);
    lab_split_free(split);
    synthetic_done(&s);
}

static void metric_free_methods_do_not_see_the_metric(void **state)
{
    struct synthetic s;
    (void)state;
    assert_int_equal(synthetic_make(&s, 4200, 2, 2), 0);
    struct lab_options o = options_of(&s, FIS_DEMOGRAPHIC_PARITY);
    struct lab_split *split = split_of(&s, &o);
    uint32_t free_ones = 0, different = 0;
    for (int i = 0; i < METHODS; i++) {
        struct lab_method m = method(methods[i]);
        o.metric = FIS_DEMOGRAPHIC_PARITY;
        struct outcome a = run(split, methods[i], &o);
        o.metric = FIS_RISK_DISPARITY;
        struct outcome b = run(split, methods[i], &o);
        if (lab_method_metric_free(&m)) {
            free_ones++;
            assert_true(a.published == b.published);
        } else
            different += a.published != b.published;
    }
    assert_int_equal(free_ones, 3);
    assert_true(different >= 4);
    lab_split_free(split);
    synthetic_done(&s);
}

static void late_labels_come_late(void **state)
{
    struct synthetic s;
    (void)state;
    assert_int_equal(synthetic_make(&s, 4200, 2, 2), 0);
    struct lab_options o = options_of(&s, FIS_EQUALIZED_ODDS);
    struct lab_split *split = split_of(&s, &o);
    uint32_t bought[4];
    for (o.delay = 0; o.delay < 4; o.delay++)
        bought[o.delay] = run(split, "fis+", &o).result.bought;
    assert_int_equal(bought[0], 3 * 40);
    assert_true(bought[1] < bought[0] && bought[2] < bought[1] && bought[3] <= bought[2]);
    assert_true(bought[3] > 0); /* a round does not end without a label */
    lab_split_free(split);
    synthetic_done(&s);
}

static void a_path_changes_nothing(void **state)
{
    struct synthetic s;
    (void)state;
    assert_int_equal(synthetic_make(&s, 4200, 2, 2), 0);
    struct lab_options o = options_of(&s, FIS_EQUALIZED_ODDS);
    struct lab_split *split = split_of(&s, &o);
    for (int i = 0; i < METHODS; i++) {
        o.path = 0;
        struct outcome without = run(split, methods[i], &o);
        o.path = true;
        struct outcome with = run(split, methods[i], &o);
        assert_true(with.published == without.published);
        assert_int_equal(without.result.n_path, 0);
        assert_int_equal(with.result.n_path, 3);
        const struct lab_point *end = &with.result.path[2];
        assert_int_equal(end->labels, with.result.bought);
        assert_true(end->accuracy == with.result.test.accuracy);
        assert_true(end->violation == with.result.test.equalized_odds);
    }
    lab_split_free(split);
    synthetic_done(&s);
}

static void few_validation_rows_leave_the_anchor(void **state)
{
    struct synthetic s;
    (void)state;
    assert_int_equal(synthetic_make(&s, 4200, 2, 2), 0);
    struct lab_options o = options_of(&s, FIS_EQUALIZED_ODDS);
    o.protocol.validation = .2; /* 420 rows */
    struct lab_split *split = split_of(&s, &o);
    struct lab_result r = run(split, "fis+", &o).result;
    assert_int_equal(r.rounds_rejected, 1);
    assert_true(isnan(r.interpolation));
    assert_true(r.test.accuracy == r.anchor.accuracy);
    lab_split_free(split);
    synthetic_done(&s);
}

static void unknown_methods_are_refused(void **state)
{
    struct lab_method m;
    struct fis_error e;
    static const char *const bad[] = {"", "fis++", "random/", "/pub", "random/fis+", "Random"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(lab_method_find(bad[i], &m, &e), -FIS_INPUT);
        assert_non_null(strstr(e.text, "random+pub"));
    }
    assert_int_equal(lab_method_find("ekg/plain", &m, &e), 0);
    assert_string_equal(m.acquisition->name, "ekg");
    assert_string_equal(m.publication->name, "plain");
    for (uint32_t i = 0; lab_method_named(i, NULL); i++)
        assert_int_equal(lab_method_find(lab_method_named(i, NULL), &m, &e), 0);
}

/* ---- errors --------------------------------------------------------------------------------- */

static int refuse(struct fis_error *e)
{
    return fis_fail(e, FIS_INPUT, "the hook says no");
}

static int refuse_run(void *arg, struct lab_run *r, struct fis_error *e)
{
    (void)arg;
    (void)r;
    return refuse(e);
}

static int refuse_version(void *arg, struct lab_run *r, const struct wire_model *v,
                          struct fis_error *e)
{
    (void)arg;
    (void)r;
    (void)v;
    return refuse(e);
}

/* Before the warm-up, in a job, in the gate's job, and where the role cannot return an error. */
static void an_error_of_a_hook_ends_the_run(void **state)
{
    const struct lab_hooks all[] = {{.begun = refuse_run},
                                    {.refreshed = refuse_run},
                                    {.round_end = refuse_run},
                                    {.version = refuse_version}};
    struct synthetic s;
    (void)state;
    assert_int_equal(synthetic_make(&s, 3000, 2, 2), 0);
    struct lab_options o = options_of(&s, FIS_EQUALIZED_ODDS);
    struct lab_split *split = split_of(&s, &o);
    struct lab_method m = method("fis+");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct lab_result result;
        struct fis_error e;
        assert_int_equal(lab_run(split, &m, &o, &all[i], &result, &e), -FIS_INPUT);
        assert_non_null(strstr(e.text, "the hook says no"));
    }
    lab_split_free(split);
    synthetic_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_runs),
        cmocka_unit_test(fis_keeps_what_was_predicted_right),
        cmocka_unit_test(strategies_agree_on_two_classes),
        cmocka_unit_test(only_validation_groups_matter),
        cmocka_unit_test(metric_free_methods_do_not_see_the_metric),
        cmocka_unit_test(late_labels_come_late),
        cmocka_unit_test(a_path_changes_nothing),
        cmocka_unit_test(few_validation_rows_leave_the_anchor),
        cmocka_unit_test(unknown_methods_are_refused),
        cmocka_unit_test(an_error_of_a_hook_ends_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
