/*
 * Do the gate's intervals hold the truth on real data, of the point that it chose on the same rows?
 *
 * Cells: a task, a metric, a network and a random set of 500 to 1,500 validation rows. The gate
 * judges the line and picks a point; the truth is what the version that it gives out does on all
 * rows that neither it nor the network has seen. Data are fetched as for test_exp_bands.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fis/defaults.h"
#include "fis/gate.h"
#include "fis/mem.h"
#include "lab/batch.h"

enum { TASKS = 3, CELLS = 240, A_NETWORK = 12, LEAST = 500, MOST = 1500 };
enum { ACCURACY, DP, EOP, EOD, RISK, METRICS };
static const char *const names[METRICS] = {"accuracy", "dp", "eop", "eod", "risk"};
static const char *const tasks[TASKS] = {"adult-sex", "adult-race", "compas"};

struct count {
    uint32_t held[METRICS], outside, chosen, cells;
    double width[METRICS], plain[METRICS];
};

/* A network on a few thousand labels; what is left is validation and test. */
struct bench {
    struct lab_split *split;
    struct fis_learner *learner;
    uint32_t *order, n; /* rows of the task that are left */
};

static struct bench bench_open(const struct lab_task *task, uint64_t seed)
{
    struct lab_protocol p = task->spec->protocol[LAB_SCARCE];
    struct bench b = {0};
    struct fis_error e;
    p.initial = 1500. / (.4 * task->n);
    p.test = .6;
    assert_non_null(b.split = lab_split_new(task, &p, seed, &e));
    struct fis_learner_options o = {.folds = FIS_MAX_FOLDS,
                                    .learning_rate = .01f,
                                    .momentum = .9f,
                                    .batch = 128,
                                    .fresh_steps = 400,
                                    .seed = seed};
    assert_int_equal(fis_shape_init(&o.shape, b.split->d, &(uint32_t){FIS_DEFAULT_HIDDEN}, 1,
                                    task->n_classes, &e),
                     0);
    assert_non_null(b.learner = fis_learner_new(&o, &e));
    for (uint32_t i = 0; i < b.split->n_initial; i++) {
        const uint32_t row = b.split->initial[i];
        assert_int_equal(
            fis_learner_add_initial(b.learner, lab_split_row(b.split, row), task->y[row], &e), 0);
    }
    b.n = b.split->n_validation + b.split->n_test;
    assert_non_null(b.order = fis_alloc(b.n, sizeof *b.order));
    memcpy(b.order, b.split->validation, b.split->n_validation * sizeof *b.order);
    memcpy(b.order + b.split->n_validation, b.split->test, b.split->n_test * sizeof *b.order);
    return b;
}

static void bench_close(struct bench *b)
{
    fis_learner_free(b->learner);
    lab_split_free(b->split);
    fis_free(b->order);
}

static struct fis_rows gather(const struct bench *b, uint32_t from, uint32_t n)
{
    const struct lab_task *t = b->split->task;
    const uint32_t d = b->split->d;
    float *x = fis_alloc((size_t)n * d, sizeof *x);
    uint32_t *y = fis_alloc(n, sizeof *y), *g = fis_alloc(n, sizeof *g);
    assert_true(x && y && g);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t row = b->order[from + i];
        memcpy(x + (size_t)i * d, lab_split_row(b->split, row), d * sizeof *x);
        y[i] = t->y[row];
        g[i] = t->group[row];
    }
    return (struct fis_rows){n, d, x, y, g};
}

static void rows_free(struct fis_rows *r)
{
    fis_free((void *)(uintptr_t)r->x);
    fis_free((void *)(uintptr_t)r->y);
    fis_free((void *)(uintptr_t)r->group);
}

static void truth(const struct bench *b, uint32_t from, const float *params, struct fis_metrics *m)
{
    struct fis_rows rows = gather(b, from, b->n - from);
    const struct fis_shape *shape = fis_learner_shape(b->learner);
    const uint32_t k = fis_shape_classes(shape);
    struct fis_scratch *s = fis_scratch_new(shape, 256, 0);
    float *logits = fis_alloc((size_t)rows.n * k, sizeof *logits);
    uint32_t *predicted = fis_alloc(rows.n, sizeof *predicted);
    assert_true(s && logits && predicted);
    for (uint32_t i = 0; i < rows.n; i += 256)
        fis_network_forward(shape, params, rows.x + (size_t)i * rows.d,
                            rows.n - i < 256 ? rows.n - i : 256, s, logits + (size_t)i * k);
    fis_predict(logits, rows.n, k, predicted);
    fis_metrics_eval(predicted, logits, rows.y, rows.group, NULL, rows.n, k,
                     fis_learner_groups(b->learner), b->split->task->positive, m);
    fis_scratch_free(s);
    fis_free(logits);
    fis_free(predicted);
    rows_free(&rows);
}

/* How wide the interval of two rates' difference, or of accuracy, would be in a book. */
static void count_cell(const struct fis_gate_judgement *j, const struct fis_metrics *real,
                       struct count *c)
{
    const struct fis_metrics *m = &j->pick;
    const struct fis_metrics_intervals *all = &j->intervals;
    const double at[] = {m->accuracy, m->demographic_parity, m->equal_opportunity,
                         m->equalized_odds, m->risk_disparity};
    const double true_value[] = {real->accuracy, real->demographic_parity, real->equal_opportunity,
                                 real->equalized_odds, real->risk_disparity};
    const struct fis_interval in[] = {all->accuracy, all->demographic_parity,
                                      all->equal_opportunity, all->equalized_odds,
                                      all->risk_disparity};
    for (int i = 0; i < METRICS; i++) {
        c->held[i] += in[i].low <= true_value[i] && true_value[i] <= in[i].high;
        c->outside += !(in[i].low <= at[i] && at[i] <= in[i].high);
        c->width[i] += in[i].high - in[i].low;
        c->plain[i] += 2 * FIS_INTERVAL_Z * in[i].se;
    }
    c->chosen += j->interpolation > 0;
    c->cells++;
}

static void judge(struct bench *b, enum fis_metric metric, uint64_t seed, struct count *c)
{
    struct fis_gate_options o = {.metric = metric,
                                 .positive = b->split->task->positive,
                                 .epsilon = FIS_DEFAULT_EPSILON,
                                 .line = true,
                                 .min_rows = 1,
                                 .min_cell = 1,
                                 .rule = FIS_GATE_RULE_ALWAYS,
                                 .resamples = 2,
                                 .seed = seed};
    struct fis_error e;
    struct fis_rng rng;
    struct fis_gate_judgement j;
    struct fis_metrics real;
    fis_rng_seed(&rng, seed, 0);
    fis_rng_shuffle(&rng, b->order, b->n);
    const uint32_t n = LEAST + fis_rng_below(&rng, MOST - LEAST + 1);
    struct fis_rows rows = gather(b, 0, n);
    assert_int_equal(fis_learner_set_validation(b->learner, &rows, b->split->task->n_groups, &e),
                     0);
    rows_free(&rows);
    assert_int_equal(fis_learner_retrain(b->learner, 1, &e), 0);
    struct fis_gate *g = fis_gate_new(&o, fis_learner_shape(b->learner), &e);
    float *params = fis_alloc(fis_shape_params(fis_learner_shape(b->learner)), sizeof *params);
    assert_true(g && params);
    assert_int_equal(fis_gate_first(g, b->learner, &j, params, &e), 0);
    assert_int_equal(fis_gate_judge(g, b->learner, &j, params, &e), 0);
    if (j.pick.n > 0 && fis_gate_picked(g)) {
        truth(b, n, fis_gate_picked(g), &real);
        count_cell(&j, &real, c);
    }
    fis_gate_free(g);
    fis_free(params);
}

static void hold_the_truth(void **state)
{
    const struct lab_tasks *t = *state;
    struct count c = {0};
    struct bench b = {0};
    for (uint32_t i = 0; i < CELLS; i++) {
        if (i % A_NETWORK == 0) {
            bench_close(&b);
            b = bench_open(t->tasks[i / A_NETWORK % TASKS], i + 1);
        }
        judge(&b, (enum fis_metric)(FIS_DEMOGRAPHIC_PARITY + i % 4), i, &c);
    }
    bench_close(&b);
    print_message("%u cells, %u with a point beyond the anchor\n", c.cells, c.chosen);
    for (int i = 0; i < METRICS; i++)
        print_message("%-9s %.1f %% hold the true value; mean width %.4f, plain %.4f: x %.2f\n",
                      names[i], 100. * c.held[i] / c.cells, c.width[i] / c.cells,
                      c.plain[i] / c.cells, c.width[i] / c.plain[i]);
    assert_true(c.cells >= 200 && c.chosen > c.cells / 3);
    assert_int_equal(c.outside, 0);
    for (int i = 0; i < METRICS; i++)
        assert_true(c.held[i] >= .93 * c.cells);
}

static int load(void **state)
{
    static struct lab_tasks loaded;
    const struct lab_task_spec *specs[TASKS];
    const char *cache = getenv("FISD_CACHE");
    struct fis_error e;
    for (int i = 0; i < TASKS; i++)
        assert_non_null(specs[i] = lab_task_find(tasks[i], &e));
    if (lab_tasks_load(specs, TASKS, &(struct lab_places){.cache = cache && *cache ? cache : "build/cache"}, &loaded, &e) < 0)
        fail_msg("%s", e.text);
    *state = &loaded;
    return 0;
}

static int unload(void **state)
{
    lab_tasks_done(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hold_the_truth)};
    return cmocka_run_group_tests_name("lab/coverage", tests, load, unload);
}
