/*
 * The method works on real data, and a broken one is noticed: two tasks, two seeds, equalized odds,
 * scarce labels, against bands; then the same with faults planted, each of which must leave them.
 *
 * Data are fetched on first use (66 MB) into $FISD_CACHE, else build/cache.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/line.h"
#include "fis/mem.h"
#include "lab/batch.h"
#include "lab/run.h"

enum { TASKS = 2, SEEDS = 2 };

static const char *const names[TASKS] = {"adult-sex", "celeba-big-nose"};

/* ---- what the gate promises ----------------------------------------------------------------- */

enum { FOLDS = 3, POINTS = 16 };

/* A publication that looks on: `pub`, with its lines made here, and the gate's promise held against
 * what the lines do on the rows that did not guide them. arg of the hooks: struct watch. */
struct watch {
    bool reverse;  /* a fault: the line leads the other way */
    bool own;      /* a fault: the rows of a fold are judged on the line that they guided */
    double broken; /* the largest difference between promise and truth, over runs */
    float *to[2][FOLDS + 1]; /* where lines are at 1: honest ones, and those that are judged */
};

/* From the anchor, guided by the rows of fold h (`of`), or by the others; h = FOLDS: by all. */
static float *line(struct lab_run *r, uint32_t h, bool of, bool reverse)
{
    const struct fis_rows *v = fis_learner_validation(r->learner);
    const float *anchor = fis_learner_end(r->learner);
    uint32_t *index = fis_alloc(v->n, sizeof *index), n = 0;
    float *to = fis_alloc(r->n_params, sizeof *to);
    struct line_unlabelled u = {.x = {NULL, v->x}, .n = {0, v->n}};
    struct fis_error e;
    assert_true(index && to);
    for (uint32_t i = 0; i < v->n; i++)
        if (h == FOLDS || (fis_learner_fold_of(r->learner)[i] == h) == of)
            index[n++] = i;
    const struct line_guide guide = {v, index, n};
    assert_int_equal(line_step(&r->shape, anchor, &guide, &u, r->o->metric,
                               r->split->task->positive, r->split->task->n_groups, to, &e),
                     0);
    for (size_t i = 0; i < r->n_params; i++)
        to[i] = reverse ? anchor[i] - to[i] : anchor[i] + to[i];
    fis_free(index);
    return to;
}

/* Every row on the line that the other folds guided. */
static void honest(struct lab_run *r, float *const *to, double a, struct fis_metrics *out)
{
    const struct lab_split *s = r->split;
    const float *anchor = fis_learner_end(r->learner);
    const size_t row = r->classes * sizeof(float);
    float *point = fis_alloc(r->n_params, sizeof *point);
    float *all = fis_alloc(s->n_validation, row), *one = fis_alloc(s->n_validation, row);
    assert_true(point && all && one);
    for (uint32_t h = 0; h < FOLDS; h++) {
        for (size_t i = 0; i < r->n_params; i++)
            point[i] = anchor[i] + (float)a * (to[h][i] - anchor[i]);
        lab_forward(r, point, fis_learner_validation(r->learner)->x, s->n_validation, one);
        for (uint32_t i = 0; i < s->n_validation; i++)
            if (fis_learner_fold_of(r->learner)[i] == h)
                memcpy(all + (size_t)i * r->classes, one + (size_t)i * r->classes, row);
    }
    fis_predict(all, s->n_validation, r->classes, r->predictions);
    fis_metrics_eval(r->predictions, NULL, s->validation_y, s->validation_group, NULL,
                     s->n_validation, r->classes, s->task->n_groups, s->task->positive, out);
    fis_free(point);
    fis_free(all);
    fis_free(one);
}

static int publish(struct lab_run *r, int last, float *params, struct fis_error *e)
{
    struct watch *w = r->hooks->arg;
    const float *anchor = fis_learner_end(r->learner);
    struct fis_gate_points p = {.publish_from = anchor};
    struct fis_gate_judgement j;
    struct fis_metrics truth;
    (void)last;
    for (uint32_t h = 0; h <= FOLDS; h++) {
        w->to[0][h] = line(r, h, false, w->reverse);
        w->to[1][h] = line(r, h, w->own, w->reverse);
    }
    for (uint32_t h = 0; h < FOLDS; h++) {
        p.from[h] = anchor;
        p.to[h] = w->to[1][h];
    }
    p.publish_to = w->to[1][FOLDS];
    for (p.n = 0; p.n < POINTS; p.n++)
        p.share[p.n] = (float)p.n / 10;
    assert_int_equal(fis_gate_judge_points(r->gate, r->learner, &p, &j, params, e), 0);
    assert_int_equal(j.verdict, FIS_PUBLISH); /* the anchor is always admissible */
    honest(r, w->to[0], j.interpolation, &truth);
    w->broken = fmax(w->broken, fabs(truth.accuracy - j.pick.accuracy));
    w->broken = fmax(w->broken, fabs(truth.equalized_odds - j.pick.equalized_odds));
    for (uint32_t h = 0; h <= FOLDS; h++) {
        fis_free(w->to[0][h]);
        fis_free(w->to[1][h]);
    }
    return 0;
}

/* ---- runs ----------------------------------------------------------------------------------- */

struct data {
    struct lab_tasks tasks;
    struct lab_split *splits[TASKS][SEEDS];
    struct fis_metrics random[TASKS]; /* means over seeds: accuracy, equalized odds */
};

struct outcome {
    double points; /* accuracy against random, mean */
    double ratio;  /* violation against random, geometric mean over tasks */
    double broken;
};

static struct fis_metrics mean_of(const struct data *d, int task, const struct lab_method *m,
                                  const struct lab_hooks *hooks)
{
    struct fis_metrics mean = {.accuracy = 0};
    for (int s = 0; s < SEEDS; s++) {
        struct lab_options o;
        struct lab_result r;
        struct fis_error e;
        lab_options_default(d->tasks.tasks[task]->spec, LAB_SCARCE, &o);
        o.seed = (uint64_t)s + 1;
        if (lab_run(d->splits[task][s], m, &o, hooks, &r, &e) < 0)
            fail_msg("%s", e.text);
        mean.accuracy += r.test.accuracy / SEEDS;
        mean.equalized_odds += r.test.equalized_odds / SEEDS;
    }
    return mean;
}

/* fis+ with what a fault changes of it. */
static struct outcome run_fis(const struct data *d, const char *name, struct watch *w,
                              const struct lab_hooks *hooks)
{
    struct lab_method m;
    struct outcome out = {0, 1, 0};
    struct fis_error e;
    assert_int_equal(lab_method_find("fis+", &m, &e), 0);
    struct lab_publication p = *m.publication;
    p.publish = publish;
    m.publication = &p;
    for (int t = 0; t < TASKS; t++) {
        struct fis_metrics f = mean_of(d, t, &m, hooks);
        out.points += 100 * (f.accuracy - d->random[t].accuracy) / TASKS;
        out.ratio *= pow(f.equalized_odds / d->random[t].equalized_odds, 1.0 / TASKS);
    }
    out.broken = w->broken;
    print_message("  %-22s %+.2f points, violation x %.2f, promise off by %.4f\n", name, out.points,
                  out.ratio, out.broken);
    return out;
}

static int set_up(void **state)
{
    struct data *d = fis_calloc(1, sizeof *d);
    const struct lab_task_spec *specs[TASKS];
    const char *cache = getenv("FISD_CACHE");
    struct lab_method random;
    struct fis_error e;
    assert_non_null(d);
    for (int t = 0; t < TASKS; t++)
        assert_non_null(specs[t] = lab_task_find(names[t], &e));
    if (lab_tasks_load(specs, TASKS, &(struct lab_places){.cache = cache && *cache ? cache : "build/cache"}, &d->tasks, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(lab_method_find("random", &random, &e), 0);
    for (int t = 0; t < TASKS; t++) {
        for (uint64_t s = 0; s < SEEDS; s++) {
            d->splits[t][s] =
                lab_split_new(d->tasks.tasks[t], &specs[t]->protocol[LAB_SCARCE], s + 1, &e);
            assert_non_null(d->splits[t][s]);
        }
        d->random[t] = mean_of(d, t, &random, NULL);
    }
    *state = d;
    return 0;
}

static int tear_down(void **state)
{
    struct data *d = *state;
    for (int t = 0; t < TASKS; t++)
        for (int s = 0; s < SEEDS; s++)
            lab_split_free(d->splits[t][s]);
    lab_tasks_done(&d->tasks);
    fis_free(d);
    return 0;
}

/* ---- bands ---------------------------------------------------------------------------------- */

/* Seen: fis+ -.06 points, violation x .54. A gate on the wrong rows hardly shows in test figures of so few runs: it
 * chooses one number alone. It shows in what it promises, where two rows of difference in rounding
 * are .001. */
static bool within(const struct outcome *o)
{
    return o->points >= -.6 && o->ratio <= .75 && o->broken < .004;
}

static void test_method(void **state)
{
    struct watch w = {.broken = 0};
    const struct lab_hooks hooks = {.arg = &w};
    struct outcome o = run_fis(*state, "fis+", &w, &hooks);
    assert_true(within(&o));
}

static void test_sign_error(void **state)
{
    struct watch w = {.reverse = true};
    const struct lab_hooks hooks = {.arg = &w};
    struct outcome o = run_fis(*state, "the line reversed", &w, &hooks);
    assert_false(within(&o));
    assert_true(o.ratio > .75);
}

static void test_gate_on_guide(void **state)
{
    struct watch w = {.own = true};
    const struct lab_hooks hooks = {.arg = &w};
    struct outcome o = run_fis(*state, "gate on guide rows", &w, &hooks);
    assert_false(within(&o));
    assert_true(o.broken > .004);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_method),
        cmocka_unit_test(test_sign_error),
        cmocka_unit_test(test_gate_on_guide),
    };
    return cmocka_run_group_tests_name("bands", tests, set_up, tear_down);
}
