/* Reports: figures worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "fis/mem.h"
#include "lab/report.h"

static int near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance;
}

static void means_and_intervals(void **state)
{
    static const double v[] = {1, 2, 4, 5};
    struct lab_stat s;
    (void)state;
    lab_stat_of(v, 4, &s);
    assert_true(near(s.mean, 3, 1e-12) && near(s.std, sqrt(10.0 / 3), 1e-12));
    /* t of 3 degrees of freedom is 3.182; the half width is t s / 2 */
    assert_true(near(s.high, 3 + 3.182 * sqrt(10.0 / 3) / 2, 1e-9));
    assert_true(near(s.low + s.high, 6, 1e-12));
    lab_stat_of(v, 1, &s);
    assert_true(s.mean == 1 && isnan(s.std) && isnan(s.low));
    lab_stat_of(v, 0, &s);
    assert_true(isnan(s.mean));
    double many[61];
    for (int i = 0; i < 61; i++)
        many[i] = i % 2;
    lab_stat_of(many, 61, &s); /* t of 60 is 2.0003 */
    assert_true(near((s.high - s.mean) / (s.std / sqrt(61)), 2.0003, 5e-4));
}

static struct lab_record record(const char *task, const char *method, enum fis_metric metric,
                                uint64_t seed, uint32_t n_validation, double accuracy, double dp,
                                double eod)
{
    struct lab_record r = {.key = {.metric = metric, .regime = LAB_SCARCE, .seed = seed}};
    snprintf(r.key.task, sizeof r.key.task, "%s", task);
    snprintf(r.key.method, sizeof r.key.method, "%s", method);
    r.result.n_validation = n_validation;
    r.result.bought = 100;
    r.result.seconds = 2;
    r.result.test.accuracy = accuracy;
    r.result.test.demographic_parity = dp;
    r.result.test.equalized_odds = eod;
    return r;
}

static const enum fis_metric metrics[] = {FIS_DEMOGRAPHIC_PARITY, FIS_EQUALIZED_ODDS};

/* Two tasks that count and one that is too small; random's runs are for both metrics. */
static uint32_t make_records(struct lab_record *r)
{
    static const struct {
        const char *task;
        uint32_t n;
    } tasks[] = {{"one", 1000}, {"two", 2000}, {"small", 999}};
    uint32_t n = 0;
    for (uint64_t seed = 1; seed <= 2; seed++)
        for (int t = 0; t < 3; t++) {
            r[n++] = record(tasks[t].task, "random", 0, seed, tasks[t].n, .80, .2, .1);
            r[n++] = record(tasks[t].task, "m", FIS_DEMOGRAPHIC_PARITY, seed, tasks[t].n,
                            seed == 1 ? .81 : .83, .1, .9);
            r[n++] = record(tasks[t].task, "m", FIS_EQUALIZED_ODDS, seed, tasks[t].n, .78, .9,
                            seed == 1 ? .02 : .14);
        }
    return n;
}

static const struct lab_cell *find(const struct lab_report *r, const char *task,
                                   enum fis_metric metric, const char *method)
{
    for (uint32_t i = 0; i < r->n_cells; i++)
        if (!strcmp(r->cells[i].task, task) && r->cells[i].metric == metric &&
            !strcmp(r->cells[i].method, method))
            return &r->cells[i];
    fail_msg("no cell %s %s", task, method);
    return NULL;
}

static void cells_and_summaries(void **state)
{
    struct lab_record records[32];
    struct lab_report r;
    struct fis_error e;
    (void)state;
    uint32_t n = make_records(records);
    assert_int_equal(lab_report_make(records, n, metrics, 2, "random", &r, &e), 0);
    assert_int_equal(r.n_cells, 12);
    assert_string_equal(r.cells[0].task, "one");
    assert_int_equal(r.cells[0].metric, FIS_DEMOGRAPHIC_PARITY);
    assert_string_equal(r.cells[0].method, "random");
    assert_string_equal(r.cells[1].method, "m");
    assert_int_equal(r.cells[2].metric, FIS_EQUALIZED_ODDS);

    const struct lab_cell *c = find(&r, "one", FIS_DEMOGRAPHIC_PARITY, "m");
    assert_int_equal(c->seeds, 2);
    assert_true(near(c->accuracy.mean, .82, 1e-12));
    assert_true(near(c->accuracy_difference.mean, .02, 1e-12));
    assert_true(near(c->violation_difference.mean, -.1, 1e-12));
    assert_true(near(c->violation_ratio, .5, 1e-12));
    assert_int_equal(c->fairer, 2);
    c = find(&r, "two", FIS_EQUALIZED_ODDS, "m");
    assert_true(near(c->violation.mean, .08, 1e-12) && near(c->violation_ratio, .8, 1e-12));
    assert_int_equal(c->fairer, 1);

    assert_int_equal(r.n_summaries, 2);
    const struct lab_summary *s = &r.summaries[1];
    assert_string_equal(s->method, "m");
    assert_int_equal(s->over[LAB_CELLS_ALL].cells,
                     4); /* two tasks, two metrics; not the small one */
    assert_true(near(s->over[LAB_CELLS_ALL].accuracy_difference, 0, 1e-12)); /* +.02 and -.02 */
    assert_true(near(s->over[LAB_CELLS_ALL].violation_ratio, sqrt(.5 * .8), 1e-12));
    assert_true(near(s->over[LAB_CELLS_ALL].cells_fairer, .75, 1e-12));
    /* by seed: (.01 - .02) / 2 and (.03 - .02) / 2 */
    assert_true(near(s->accuracy_over_seeds.mean, 0, 1e-12));
    assert_true(near(s->accuracy_over_seeds.std, sqrt(2) * .005, 1e-12));
    assert_true(near(r.summaries[0].over[LAB_CELLS_ALL].violation_ratio, 1, 1e-12));
    assert_int_equal(s->over[LAB_CELLS_OTHER].cells, 0);
    lab_report_done(&r);
}

/* A gap that random labels hardly have is in a summary of its own. */
static void material_cells(void **state)
{
    struct lab_record records[32];
    struct lab_report r;
    struct fis_error e;
    (void)state;
    uint32_t n = make_records(records);
    for (uint32_t i = 0; i < n; i++) /* of task two: .02, and .04 with a deviation of .057 */
        if (!strcmp(records[i].key.task, "two") && !strcmp(records[i].key.method, "random")) {
            records[i].result.test.demographic_parity = .02;
            records[i].result.test.equalized_odds = records[i].key.seed == 1 ? 0 : .08;
        }
    assert_int_equal(lab_report_make(records, n, metrics, 2, "random", &r, &e), 0);
    const struct lab_means *m = &r.summaries[1].over[LAB_CELLS_MATERIAL];
    assert_int_equal(m->cells, 2);
    assert_true(near(m->violation_ratio, sqrt(.5 * .8), 1e-12));
    assert_true(near(m->violation_difference, (-.1 - .02) / 2, 1e-12));
    m = &r.summaries[1].over[LAB_CELLS_OTHER];
    assert_int_equal(m->cells, 2);
    assert_true(near(m->violation_difference, (.08 + .04) / 2, 1e-12));
    lab_report_done(&r);
}

/* What publishes a point of the line has its anchor beside it; what publishes the anchor has not.
 */
static void anchors_are_methods(void **state)
{
    struct lab_record records[2] = {
        record("one", "random", FIS_DEMOGRAPHIC_PARITY, 1, 1000, .8, .2, .1),
        record("one", "m", FIS_DEMOGRAPHIC_PARITY, 1, 1000, .8, .1, .1)};
    struct lab_record *all;
    struct fis_error e;
    uint32_t n;
    (void)state;
    records[0].result.interpolation = NAN;
    records[0].result.anchor = records[0].result.test;
    records[1].result.anchor = records[1].result.test;
    records[1].result.anchor.demographic_parity = .15;
    assert_int_equal(lab_report_anchors(records, 2, &all, &n, &e), 0);
    assert_int_equal(n, 3);
    assert_string_equal(all[2].key.method, "m anchor");
    assert_true(all[2].result.test.demographic_parity == .15);
    fis_free(all);
}

static void without_a_reference(void **state)
{
    struct lab_record records[1] = {
        record("one", "m", FIS_DEMOGRAPHIC_PARITY, 1, 1000, .8, .2, .1)};
    struct lab_report r;
    struct fis_error e;
    struct byte_buffer text = {0};
    (void)state;
    assert_int_equal(lab_report_make(records, 1, metrics, 2, "random", &r, &e), 0);
    assert_int_equal(r.n_cells, 1);
    assert_true(isnan(r.cells[0].violation_ratio));
    assert_int_equal(r.summaries[0].over[LAB_CELLS_ALL].cells, 0);
    assert_int_equal(lab_report_json(&r, &text, &e), 0);
    assert_int_equal(lab_report_markdown(&r, &text, &e), 0);
    byte_buffer_done(&text);
    lab_report_done(&r);
}

static void json_is_what_is_promised(void **state)
{
    struct lab_record records[32];
    struct lab_report r;
    struct fis_error e;
    struct byte_buffer text = {0};
    (void)state;
    uint32_t n = make_records(records);
    assert_int_equal(lab_report_make(records, n, metrics, 2, "random", &r, &e), 0);
    assert_int_equal(lab_report_json(&r, &text, &e), 0);
    json_t *j = json_loadb((char *)text.data, text.length, 0, NULL);
    assert_non_null(j);
    const char *task, *metric, *method, *regime;
    double labels, mean, std, v, w, seconds, delta, ratio, fairer;
    int seeds, n_validation;
    json_t *cell = json_array_get(json_object_get(j, "cells"), 3);
    assert_int_equal(
        json_unpack(
            cell, "{s:s, s:s, s:s, s:i, s:F, s:{s:F, s:F !}, s:{s:F, s:F !}, s:s, s:i, s:F !}",
            "task", &task, "metric", &metric, "method", &method, "seeds", &seeds, "labels_bought",
            &labels, "test_accuracy", "mean", &mean, "std", &std, "violation", "mean", &v, "std",
            &w, "regime", &regime, "n_validation", &n_validation, "seconds", &seconds),
        0);
    assert_string_equal(task, "one");
    assert_string_equal(metric, "eod");
    assert_string_equal(method, "m");
    assert_string_equal(regime, "scarce");
    assert_true(seeds == 2 && labels == 100 && n_validation == 1000 && seconds == 2);
    assert_true(near(mean, .78, 1e-12) && near(std, 0, 1e-12) && near(v, .08, 1e-12));
    json_t *summary = json_object_get(json_object_get(j, "summary"), "m");
    assert_int_equal(json_unpack(summary, "{s:F, s:F, s:F}", "delta_accuracy_vs_random", &delta,
                                 "violation_ratio_vs_random", &ratio, "cells_fairer", &fairer),
                     0);
    json_t *material = json_object_get(summary, "material");
    assert_int_equal(json_integer_value(json_object_get(material, "cells")), 4);
    assert_true(near(ratio, sqrt(.4), 1e-12) && near(fairer, .75, 1e-12));
    json_decref(j);
    byte_buffer_done(&text);
    lab_report_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_and_intervals), cmocka_unit_test(cells_and_summaries),
        cmocka_unit_test(material_cells),      cmocka_unit_test(anchors_are_methods),
        cmocka_unit_test(without_a_reference), cmocka_unit_test(json_is_what_is_promised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
