/* Tables, tasks and splits from CSV files. */

#include "kit/cmocka.h"

#include <unistd.h>
#include <math.h>

#include "fis/mem.h"
#include "kit/lab/small_file.h"

static char path[64];

static struct data_table *read_text(const char *text, struct fis_error *e)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    struct data_table *t = data_table_read(path, &(struct data_options){.n_columns = 0}, e);
    unlink(path);
    return t;
}

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/fisd-lab-%ld.csv", (long)getpid());
    return 0;
}

static void tasks_name_what_is_wrong(void **state)
{
    static const struct {
        const char *text, *label, *sensitive, *positive, *says;
    } bad[] = {
        {"x,s,y\n1,a,0\n", "z", "s", NULL, "no column 'z'"},
        {"x,s,y\n1,a,0\n", "y", "t", NULL, "no column 't'"},
        {"x,s,y\n1,a,0\n2,b,0\n", "y", "s", NULL, "1 value;"},
        {"x,s,y\n1,a,0\n2,b,\n3,b,1\n", "y", "s", NULL, "row 2 has none"},
        {"x,s,y\n1,a,0\n2,,1\n", "y", "s", NULL, "row 2: "},
        {"x,s,y\n1,a,0\n2,a,1\n", "y", "s", NULL, "1 group"},
        {"x,s,y\n1,a,0\n2,b,1\n", "y", "s", "2", "positive class: found '2'"},
        {"s,y\na,0\nb,1\n", "y", "s", NULL, "no column is left"},
    };
    struct fis_error e;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct data_table *t = read_text(bad[i].text, &e);
        assert_non_null(t);
        const struct lab_task_spec spec = {.name = "task",
                                           .label = bad[i].label,
                                           .positive = bad[i].positive,
                                           .sensitive = {bad[i].sensitive}};
        assert_null(lab_task_open(&spec, t, NULL, &e));
        if (!strstr(e.text, bad[i].says))
            fail_msg("%s", e.text);
        data_table_free(t);
    }
}

static void classes_groups_and_features(void **state)
{
    struct fis_error e;
    struct data_table *t =
        read_text("x,s,t,u,y\n1,b,1,q,no\n2,a,1,q,yes\n3,b,2,r,no\n4,b,1,r,maybe\n", &e);
    const struct lab_task_spec spec = {.name = "task",
                                       .label = "y",
                                       .positive = "no",
                                       .sensitive = {"s", "t"},
                                       .leave_out = "zz,u"};
    static const uint32_t y[] = {1, 2, 1, 0}, group[] = {1, 0, 2, 1};
    (void)state;
    struct lab_task *task = lab_task_open(&spec, t, NULL, &e);
    assert_non_null(task);
    assert_int_equal(task->n_classes, 3);
    assert_string_equal(task->classes[0], "maybe");
    assert_int_equal(task->positive, 1);
    assert_int_equal(task->n_groups, 3); /* a1, b1, b2: those that occur */
    assert_int_equal(task->n_features, 1);
    assert_memory_equal(task->y, y, sizeof y);
    assert_memory_equal(task->group, group, sizeof group);
    lab_task_free(task);
    data_table_free(t);
}

/* ---- splits --------------------------------------------------------------------------------- */

static void parts_are_whole_and_apart(void **state)
{
    struct synthetic s;
    struct fis_error e;
    (void)state;
    assert_int_equal(synthetic_make(&s, 3001, 2, 2), 0);
    const struct lab_protocol *p = &s.spec.protocol[0];
    struct lab_split *a = lab_split_new(s.task, p, 1, &e), *b = lab_split_new(s.task, p, 1, &e),
                     *c = lab_split_new(s.task, p, 2, &e);
    assert_non_null(a);
    assert_int_equal(a->n_validation, 750);
    assert_int_equal(a->n_test, 750);
    assert_int_equal(a->n_initial, 150);
    assert_int_equal(a->n_pool, 1351);
    uint8_t *seen = calloc(3001, 1);
    const uint32_t *const parts[] = {a->initial, a->pool, a->validation, a->test};
    const uint32_t sizes[] = {a->n_initial, a->n_pool, a->n_validation, a->n_test};
    for (int i = 0; i < 4; i++)
        for (uint32_t j = 0; j < sizes[i]; j++)
            assert_int_equal(seen[parts[i][j]]++, 0);
    free(seen);
    assert_memory_equal(a->pool, b->pool, a->n_pool * sizeof(uint32_t));
    assert_memory_equal(a->x, b->x, (size_t)3001 * a->d * sizeof(float));
    assert_memory_not_equal(a->pool, c->pool, a->n_pool * sizeof(uint32_t));
    for (uint32_t i = 0; i < a->n_test; i++) {
        assert_int_equal(a->test_y[i], s.task->y[a->test[i]]);
        assert_int_equal(a->test_group[i], s.task->group[a->test[i]]);
        assert_memory_equal(a->test_x + (size_t)i * a->d, lab_split_row(a, a->test[i]),
                            a->d * sizeof(float));
    }
    lab_split_free(a);
    lab_split_free(b);
    lab_split_free(c);
    synthetic_done(&s);
}

/* Numbers are standardised by the initial rows, not by others. */
static void the_encoder_sees_initial_rows_alone(void **state)
{
    struct synthetic s;
    struct fis_error e;
    double mean = 0, square = 0, all = 0;
    (void)state;
    assert_int_equal(synthetic_make(&s, 3000, 2, 2), 0);
    struct lab_split *a = lab_split_new(s.task, &s.spec.protocol[0], 1, &e);
    assert_non_null(a);
    for (uint32_t i = 0; i < a->n_initial; i++) {
        double v = (double)lab_split_row(a, a->initial[i])[0];
        mean += v / a->n_initial;
        square += v * v / a->n_initial;
    }
    for (uint32_t i = 0; i < s.task->n; i++)
        all += (double)lab_split_row(a, i)[0] / s.task->n;
    assert_true(fabs(mean) < 1e-5 && fabs(square - 1) < 1e-4);
    assert_true(fabs(all) > 1e-4);
    lab_split_free(a);
    /* one-hot features as well, when that is asked for */
    struct lab_protocol p = s.spec.protocol[0];
    for (int k = 0; k < 2; k++) {
        p.standardise = k;
        a = lab_split_new(s.task, &p, 1, &e);
        assert_non_null(a);
        mean = square = 0;
        for (uint32_t i = 0; i < a->n_initial; i++) {
            double v = (double)lab_split_row(a, a->initial[i])[5]; /* colour=blue */
            mean += v / a->n_initial;
            square += v * v / a->n_initial;
        }
        assert_true(p.standardise ? fabs(mean) < 1e-5 && fabs(square - 1) < 1e-4
                                  : fabs(mean - square) < 1e-6);
        lab_split_free(a);
    }
    synthetic_done(&s);
}

static void balance_evens_cells(void **state)
{
    struct synthetic s;
    struct fis_error e;
    uint32_t cells[4] = {0};
    (void)state;
    assert_int_equal(synthetic_make(&s, 3000, 2, 2), 0);
    struct lab_protocol p = s.spec.protocol[0];
    struct lab_split *plain = lab_split_new(s.task, &p, 1, &e);
    p.balance = true;
    struct lab_split *a = lab_split_new(s.task, &p, 1, &e);
    assert_non_null(plain);
    assert_non_null(a);
    assert_int_equal(a->n_initial, plain->n_initial);
    assert_memory_equal(a->test, plain->test, a->n_test * sizeof(uint32_t));
    for (uint32_t i = 0; i < a->n_pool + a->n_initial; i++) {
        uint32_t row = i < a->n_pool ? a->pool[i] : a->initial[i - a->n_pool];
        cells[2 * s.task->group[row] + s.task->y[row]]++;
    }
    for (int i = 0; i < 4; i++)
        assert_in_range(cells[i], 374, 376);
    lab_split_free(a);
    lab_split_free(plain);
    synthetic_done(&s);
}

static void built_in_tasks_make_sense(void **state)
{
    uint32_t n;
    const struct lab_task_spec *specs = lab_task_specs(&n);
    struct fis_error e;
    (void)state;
    assert_int_equal(n, 18);
    for (uint32_t i = 0; i < n; i++) {
        const struct lab_protocol *rich = &specs[i].protocol[LAB_RICH],
                                  *scarce = &specs[i].protocol[LAB_SCARCE];
        assert_ptr_equal(lab_task_find(specs[i].name, &e), &specs[i]);
        assert_int_equal(rich->labels_per_round, 4 * scarce->labels_per_round);
        assert_true(fabs(rich->initial - 4 * scarce->initial) < 1e-12);
        assert_int_equal(scarce->warm_up_epochs,
                         4 * rich->warm_up_epochs < 60 ? 4 * rich->warm_up_epochs : 60);
    }
    for (n = 0; lab_tasks_all[n]; n++)
        assert_non_null(lab_task_find(lab_tasks_all[n], &e));
    assert_int_equal(n, 7);
    assert_null(lab_task_find("adult", &e));
    assert_non_null(strstr(e.text, "celeba-big-nose-young"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_name_what_is_wrong),
        cmocka_unit_test(classes_groups_and_features),
        cmocka_unit_test(parts_are_whole_and_apart),
        cmocka_unit_test(the_encoder_sees_initial_rows_alone),
        cmocka_unit_test(balance_evens_cells),
        cmocka_unit_test(built_in_tasks_make_sense),
    };
    return cmocka_run_group_tests(tests, make_path, NULL);
}
