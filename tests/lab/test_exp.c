/* Variants, plans, the paper's tables and the check of influence, on made-up data. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fis/mem.h"
#include "lab/exp_influence_report.h"
#include "lab/exp_paper.h"
#include "lab/exp_plan.h"
#include "lab/predictions.h"

/* ---- a task --------------------------------------------------------------------------------- */

static const struct lab_task_spec toy = {.name = "toy",
                                         .label = "y",
                                         .positive = "1",
                                         .sensitive = {"g"},
                                         .protocol = {{.test = .5,
                                                       .validation = .5,
                                                       .initial = .2,
                                                       .rounds = 3,
                                                       .labels_per_round = 40,
                                                       .warm_up_epochs = 10,
                                                       .steps_per_round = 20,
                                                       .hidden = 8,
                                                       .batch = 32,
                                                       .learning_rate = .02f,
                                                       .momentum = .9f,
                                                       .weight_decay = 5e-4f}}};

struct data {
    struct data_table *table;
    struct lab_task *task;
    struct lab_split *split;
};

/* 4,000 rows: two numbers that depend on class and group. */
static int set_up(void **state)
{
    struct data *d = fis_calloc(1, sizeof *d);
    char path[] = "/tmp/fis-exp-XXXXXX";
    struct fis_error e;
    struct fis_rng rng;
    FILE *f = fdopen(mkstemp(path), "w");
    assert_true(d && f);
    fis_rng_seed(&rng, 7, 7);
    fprintf(f, "a,b,g,y\n");
    for (int i = 0; i < 4000; i++) {
        int g = fis_rng_unit(&rng) < .4, y = fis_rng_unit(&rng) < (g ? .3 : .6);
        fprintf(f, "%.4f,%.4f,%d,%d\n", y + .5 * g + fis_rng_normal(&rng),
                g + .3 * fis_rng_normal(&rng), g, y);
    }
    fclose(f);
    d->table = data_table_read(path, &(struct data_options){.how.format = DATA_CSV}, &e);
    unlink(path);
    assert_non_null(d->table);
    d->task = lab_task_open(&toy, d->table, NULL, &e);
    assert_non_null(d->task);
    d->split = lab_split_new(d->task, &toy.protocol[LAB_RICH], 1, &e);
    assert_non_null(d->split);
    *state = d;
    return 0;
}

static int tear_down(void **state)
{
    struct data *d = *state;
    lab_split_free(d->split);
    lab_task_free(d->task);
    data_table_free(d->table);
    fis_free(d);
    return 0;
}

/* ---- variants ------------------------------------------------------------------------------- */

static struct lab_variant made(const struct data *d, const char *settings)
{
    struct lab_options base;
    struct lab_variant v;
    struct fis_error e;
    lab_options_default(&toy, LAB_RICH, &base);
    if (lab_variant_make(settings, &base, d->task, &v, &e) < 0)
        fail_msg("%s: %s", settings, e.text);
    return v;
}

static void test_settings(void **state)
{
    const struct data *d = *state;
    struct lab_variant v = made(d, "epsilon=0.01  delay=2 budget=0.5 mix=0.25 one-pass=1");
    assert_float_equal(v.options.epsilon, .01, 1e-12);
    assert_int_equal(v.options.delay, 2);
    assert_int_equal(v.options.protocol.labels_per_round, 20);
    assert_float_equal(v.options.mix, .25, 1e-7);
    assert_int_equal(v.options.one_pass, 1);
    assert_null(lab_variant_hooks(&v));
    v = made(d, "");
    assert_int_equal(v.options.protocol.labels_per_round, 40);
    v = made(d, "label-noise=0.2 correction=forward where=guide estimate=1");
    assert_float_equal(v.noise.label_noise, .2, 1e-12);
    assert_int_equal(v.noise.correction, LAB_CORRECT_FORWARD);
    assert_int_equal(v.noise.where, LAB_CORRECT_GUIDE);
    assert_int_equal(v.noise.estimate, 1);
    assert_non_null(lab_variant_hooks(&v));
    for (uint32_t i = 0; lab_variant_setting(i, NULL); i++) {
        const char *help = NULL;
        lab_variant_setting(i, &help);
        assert_non_null(help);
    }
}

static void test_wrong_settings(void **state)
{
    const struct data *d = *state;
    static const char *const wrong[] = {"epsilon",
                                        "epsilon=",
                                        "epsilon=x",
                                        "epsilon=-1",
                                        "epsilon=nan",
                                        "delay=1.5",
                                        "strategy=3",
                                        "nonsense=1",
                                        "validation=0",
                                        "validation=2",
                                        "correction=no",
                                        "where=",
                                        "=1",
                                        "epsilon=0.01 ,",
                                        "label-noise=1",
                                        "validation=0.5 label-noise=0.1",
                                        "validation=0.001"};
    struct lab_options base;
    struct lab_variant v, before;
    struct fis_error e;
    lab_options_default(&toy, LAB_RICH, &base);
    memset(&v, 0x5a, sizeof v);
    before = v;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        e.text[0] = 0;
        assert_int_equal(lab_variant_make(wrong[i], &base, d->task, &v, &e), -FIS_INPUT);
        assert_memory_equal(&v, &before, sizeof v);
        assert_non_null(strstr(e.text, "setting"));
    }
}

/* Fewer validation rows, the same test rows; and the run says so. */
static void test_validation_share(void **state)
{
    const struct data *d = *state;
    struct lab_variant v = made(d, "validation=0.6");
    struct lab_method m;
    struct lab_result r;
    struct fis_error e;
    assert_int_equal(v.options.validation_rows, 600); /* of 1,000 */
    assert_int_equal(lab_method_find("fis+", &m, &e), 0);
    assert_int_equal(lab_run(d->split, &m, &v.options, lab_variant_hooks(&v), &r, &e), 0);
    assert_int_equal(r.n_validation, 600);
    assert_int_equal(r.n_test, d->split->n_test);
    assert_int_equal(d->split->n_validation, 1000);
    assert_true(r.test.accuracy > .5);
}

/* The file of a run: its figures, and a line for every test row that gives the same accuracy. */
static void test_predictions(void **state)
{
    const struct data *d = *state;
    struct lab_variant v = made(d, "");
    char folder[] = "/tmp/fis-exp-XXXXXX", path[128], line[512];
    struct lab_method m;
    struct lab_result r;
    struct fis_error e;
    unsigned y, g, predicted, n = 0, right = 0;
    assert_non_null(mkdtemp(folder));
    const struct lab_hooks hooks = lab_predictions_hooks(folder);
    assert_int_equal(lab_method_find("random/pub", &m, &e), 0);
    assert_int_equal(lab_run(d->split, &m, &v.options, &hooks, &r, &e), 0);
    snprintf(path, sizeof path, "%s/toy.eod.random-pub.1.csv", folder);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    assert_int_equal(strncmp(line, "# {\"task\":", 10), 0);
    assert_non_null(fgets(line, sizeof line, f));
    assert_string_equal(line, "label,group,prediction\n");
    for (; fscanf(f, "%u,%u,%u\n", &y, &g, &predicted) == 3; n++)
        right += y == predicted;
    fclose(f);
    assert_int_equal(n, d->split->n_test);
    assert_true(fabs((double)right / n - r.test.accuracy) < 1e-9);
    unlink(path);
    rmdir(folder);
}

/* ---- plans ---------------------------------------------------------------------------------- */

static void test_lists(void **state)
{
    const char *at = "a; b c ;;d";
    char item[8];
    (void)state;
    assert_true(lab_list_next(&at, ';', item, sizeof item));
    assert_string_equal(item, "a");
    assert_true(lab_list_next(&at, ';', item, sizeof item));
    assert_string_equal(item, "b c");
    assert_true(lab_list_next(&at, ';', item, sizeof item));
    assert_string_equal(item, "");
    assert_true(lab_list_next(&at, ';', item, sizeof item));
    assert_string_equal(item, "d");
    assert_false(lab_list_next(&at, ';', item, sizeof item));
    assert_true(lab_list_has("x,y", "y"));
    assert_false(lab_list_has("x,yy", "y"));
    assert_true(lab_list_has(NULL, "y"));
}

static uint32_t jobs_of(const struct lab_experiment *x, const struct lab_task *task, uint32_t seeds)
{
    const enum fis_metric metrics[] = {FIS_EQUALIZED_ODDS};
    const struct lab_plan_request q = {.tasks = &task,
                                       .n_tasks = 1,
                                       .metrics = metrics,
                                       .n_metrics = 1,
                                       .first_seed = 1,
                                       .seeds = seeds};
    struct lab_plan plan = {0};
    struct fis_error e;
    struct lab_batch *b = lab_batch_new(&e);
    assert_non_null(b);
    if (lab_plan_make(x, &q, &plan, b, &e) < 0)
        fail_msg("%s: %s", x->name, e.text);
    uint32_t n = lab_batch_jobs(b);
    lab_batch_free(b);
    lab_plan_done(&plan);
    return n;
}

/* Every table of an experiment makes jobs: its methods and settings are there. */
static void test_experiments(void **state)
{
    const struct data *d = *state;
    const struct lab_experiment *const others[] = {&lab_exp_noise, &lab_exp_delay, &lab_exp_stream,
                                                   &lab_exp_paper};
    struct fis_error e;
    for (uint32_t i = 0; lab_ablation(i); i++) {
        assert_ptr_equal(lab_ablation_find(lab_ablation(i)->name, &e), lab_ablation(i));
        assert_true(jobs_of(lab_ablation(i), d->task, 1) > 1);
    }
    assert_null(lab_ablation_find("nothing", &e));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(jobs_of(others[i], d->task, 1) > 1);
    assert_int_equal(jobs_of(&lab_exp_delay, d->task, 2), 2 * 4 * 3);
    assert_int_equal(jobs_of(&lab_exp_stream, d->task, 1), 4 * 2);
}

/* Strategies I and II are the same for two classes; results do not depend on the threads. */
static void test_runs(void **state)
{
    const struct data *d = *state;
    const struct lab_task *task = d->task;
    const enum fis_metric metrics[] = {FIS_EQUALIZED_ODDS};
    const struct lab_plan_request q = {.tasks = &task,
                                       .n_tasks = 1,
                                       .metrics = metrics,
                                       .n_metrics = 1,
                                       .first_seed = 3,
                                       .seeds = 2};
    for (uint32_t threads = 1; threads < 3; threads++) {
        struct lab_plan plan = {0};
        struct fis_error e;
        struct lab_batch *b = lab_batch_new(&e);
        uint32_t n;
        assert_int_equal(lab_plan_make(lab_ablation_find("strategy", &e), &q, &plan, b, &e), 0);
        assert_int_equal(lab_batch_start(b, threads, &e), 0);
        assert_int_equal(lab_batch_join(b, &e), 0);
        const struct lab_record *r = lab_batch_records(b, &n);
        assert_int_equal(n, 2 * 3); /* strategy=1, strategy=2, random */
        assert_string_equal(r[0].key.variant, "strategy=1");
        assert_string_equal(r[1].key.variant, "strategy=2");
        assert_memory_equal(&r[0].result.test, &r[1].result.test, sizeof r[0].result.test);
        static struct fis_metrics first;
        if (threads == 1)
            first = r[3].result.test;
        assert_memory_equal(&r[3].result.test, &first, sizeof first);
        lab_batch_free(b);
        lab_plan_done(&plan);
    }
}

/* ---- the paper ------------------------------------------------------------------------------ */

static void test_paper(void **state)
{
    uint32_t n;
    const struct lab_paper_row *rows = lab_paper_rows(&n);
    (void)state;
    assert_int_equal(n, 6 * 6 + 4 * 3 + 2 * 4 + 4 * 3); /* main, validation size, Random+Val */
    for (uint32_t i = 0; i < n; i++) {
        const struct lab_paper_value *v[] = {&rows[i].dp, &rows[i].eop, &rows[i].eod};
        for (int j = 0; j < 3; j++) {
            assert_true(v[j]->accuracy > .5 && v[j]->accuracy < 1);
            assert_true(v[j]->violation > 0 && v[j]->violation < .5);
            assert_int_equal(isnan(v[j]->accuracy_std), rows[i].table != LAB_PAPER_MAIN);
        }
    }
    const struct lab_paper_value *v =
        lab_paper_find(LAB_PAPER_MAIN, "compas", "fis", 1, FIS_EQUALIZED_ODDS);
    assert_float_equal(v->accuracy, .698, 1e-12);
    assert_float_equal(v->violation_std, .030, 1e-12);
    v = lab_paper_find(LAB_PAPER_VALIDATION_SIZE, "celeba-big-nose", "fis", .2,
                       FIS_EQUAL_OPPORTUNITY);
    assert_float_equal(v->violation, .300, 1e-12);
    assert_null(lab_paper_find(LAB_PAPER_MAIN, "adult-sex", "fis", 1, FIS_EQUALIZED_ODDS));
}

/* The paper's number stands beside ours, and what was not run is shown too. */
static void test_compare(void **state)
{
    struct lab_record r = {.key = {.task = "compas",
                                   .method = "fis",
                                   .metric = FIS_DEMOGRAPHIC_PARITY,
                                   .regime = LAB_RICH,
                                   .seed = 1}};
    const enum fis_metric metric = FIS_DEMOGRAPHIC_PARITY;
    struct lab_report report;
    struct lab_paper_line *lines;
    struct byte_buffer text = {0};
    struct fis_error e;
    uint32_t n;
    (void)state;
    r.result.test = (struct fis_metrics){.accuracy = .6, .demographic_parity = .1};
    assert_int_equal(lab_report_make(&r, 1, &metric, 1, "random", &report, &e), 0);
    assert_int_equal(lab_paper_compare(LAB_PAPER_MAIN, &report, &lines, &n, &e), 0);
    assert_int_equal(n, 6);
    assert_float_equal(lines[0].accuracy.mean, .6, 1e-12);
    assert_float_equal(lines[0].paper->accuracy, .690, 1e-12);
    assert_int_equal(lines[1].accuracy.n, 0);
    fis_free(lines);
    assert_int_equal(lab_paper_markdown(&report, &text, &e), 0);
    assert_int_equal(byte_buffer_append(&text, "", 1, &e), 0);
    assert_non_null(strstr((const char *)text.data, "| compas | dp | fis | 0.690 ± 0.002 / 0.299"));
    assert_non_null(strstr((const char *)text.data, "-0.090 / -0.199"));
    assert_non_null(strstr((const char *)text.data, "no target"));
    byte_buffer_done(&text);
    lab_report_done(&report);
}

/* ---- influence ------------------------------------------------------------------------------ */

static void test_spearman(void **state)
{
    const double a[] = {1, 2, 3, 4, 5}, b[] = {1, 8, 27, 64, 125}, c[] = {9, 7, 5, 3, 1},
                 flat[] = {2, 2, 2, 2, 2}, ties[] = {1, 2, 2, 3, 4}, d[] = {1, 3, 2, 4, 5};
    (void)state;
    assert_float_equal(lab_spearman(a, b, 5), 1, 1e-12);
    assert_float_equal(lab_spearman(a, c, 5), -1, 1e-12);
    assert_true(isnan(lab_spearman(a, flat, 5)));
    assert_true(isnan(lab_spearman(a, b, 1)));
    assert_float_equal(lab_spearman(a, ties, 5), .974679434, 1e-8);
    assert_float_equal(lab_spearman(a, d, 5), .9, 1e-12);
}

/* With a small step the estimate is the truth. */
static void test_influence(void **state)
{
    const struct data *d = *state;
    struct lab_influence_options o;
    struct lab_influence in;
    struct fis_error e;
    lab_influence_default(&toy, LAB_RICH, &o);
    o.run.protocol.learning_rate = .001f; /* small */
    o.run.protocol.warm_up_epochs = 100;
    o.examples = 60;
    o.retrained = 20;
    assert_int_equal(lab_influence_check(d->split, &o, &in, &e), 0);
    assert_int_equal(in.n, 60);
    assert_int_equal(in.n_retrained, 20);
    assert_true(in.step.fairness > .99);
    assert_true(in.step.accuracy > .95);
    assert_true(in.retrain.fairness > .2);
    assert_true(isnan(in.points[20].retrain.accuracy) && !isnan(in.points[19].retrain.accuracy));
    for (uint32_t i = 0; i < in.n; i++) {
        const struct lab_influence_point *p = &in.points[i];
        assert_float_equal(p->estimate.fairness, p->step.fairness,
                           (float)(.1 * fabs(p->estimate.fairness) + 1e-6));
    }
    struct lab_influence_record r = {.task = "toy", .metric = FIS_EQUALIZED_ODDS, .result = in};
    struct lab_influence_cell *cells;
    struct byte_buffer text = {0};
    uint32_t n;
    assert_int_equal(lab_influence_cells(&r, 1, &cells, &n, &e), 0);
    assert_int_equal(n, 1);
    assert_int_equal(lab_influence_markdown(cells, n, &text, &e), 0);
    assert_int_equal(lab_influence_json(cells, n, &text, &e), 0);
    byte_buffer_done(&text);
    fis_free(cells);
    lab_influence_done(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_wrong_settings),
        cmocka_unit_test(test_predictions),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_validation_share),
        cmocka_unit_test(test_experiments),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_paper),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_spearman),
        cmocka_unit_test(test_influence),
    };
    return cmocka_run_group_tests_name("experiments", tests, set_up, tear_down);
}
