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

#include "fis/loss.h"
#include "fis/mem.h"
#include "lab/batch.h"
#include "lab/run.h"

enum { TASKS = 2, SEEDS = 2 };

static const char *const names[TASKS] = {"adult-sex", "celeba-big-nose"};

/* ---- faults --------------------------------------------------------------------------------- */

/* The surrogate of the run, for losses that are wrong. */
struct fault {
    struct fis_surrogate surrogate;
    uint32_t n_groups;
};

static int true_losses(const struct fault *f, const float *logits, const uint32_t *labels,
                       const uint32_t *groups, uint32_t n, uint32_t classes, double *ce,
                       float *d_acc, double *phi, float *d_fair, struct fis_error *e)
{
    *ce = fis_cross_entropy(logits, labels, NULL, n, classes, d_acc);
    return fis_surrogate_eval(&f->surrogate, logits, labels, groups, n, classes, f->n_groups, phi,
                              d_fair, e);
}

/* A sign error in G_fair. */
static int flipped(void *arg, const float *logits, const uint32_t *labels, const uint32_t *groups,
                   const uint32_t *source, uint32_t n, uint32_t classes, double *ce, float *d_acc,
                   double *phi, float *d_fair, struct fis_error *e)
{
    (void)source;
    int rc = true_losses(arg, logits, labels, groups, n, classes, ce, d_acc, phi, d_fair, e);
    for (size_t i = 0; i < (size_t)n * classes; i++)
        d_fair[i] = -d_fair[i];
    return rc;
}

/* Directions of 0: every influence is 0, and the check keeps all. */
static int nothing(void *arg, const float *logits, const uint32_t *labels, const uint32_t *groups,
                   const uint32_t *source, uint32_t n, uint32_t classes, double *ce, float *d_acc,
                   double *phi, float *d_fair, struct fis_error *e)
{
    (void)source;
    int rc = true_losses(arg, logits, labels, groups, n, classes, ce, d_acc, phi, d_fair, e);
    memset(d_acc, 0, (size_t)n * classes * sizeof *d_acc);
    memset(d_fair, 0, (size_t)n * classes * sizeof *d_fair);
    return rc;
}

/* ---- what the gate promises ----------------------------------------------------------------- */

/* A publication that looks on: `pub`, with the gate's promise held against what the copies do on
 * the rows that did not guide them. arg of the hooks: struct watch. */
struct watch {
    fis_losses_fn *losses; /* a fault, or NULL */
    int swap;              /* a fault: rows are judged by the copy that they guided */
    struct fault fault;
    struct fis_panel *panel; /* of score_truly */
    double broken;           /* the largest difference between promise and truth, over runs */
};

static struct watch *watch_of(struct lab_run *r)
{
    return r->hooks->arg;
}

/* Logits of the validation rows at anchor + a (end - anchor). */
static float *logits_at(struct lab_run *r, const float *end, double a)
{
    const float *anchor = fis_learner_end_anchor(r->learner);
    const struct lab_split *s = r->split;
    float *point = fis_alloc(r->n_params, sizeof *point);
    float *logits = fis_alloc((size_t)s->n_validation * r->classes, sizeof *logits);
    assert_true(point && logits);
    for (size_t i = 0; i < r->n_params; i++)
        point[i] = anchor[i] + (float)a * (end[i] - anchor[i]);
    lab_forward(r, point, s->validation_x, s->n_validation, logits);
    fis_free(point);
    return logits;
}

/* Every row by the copy that was guided by the other half. */
static void honest(struct lab_run *r, double a, struct fis_metrics *out)
{
    const struct lab_split *s = r->split;
    const uint8_t *fold = fis_learner_fold_of(r->learner);
    float *by[2] = {logits_at(r, fis_learner_end_boosted(r->learner, 0), a),
                    logits_at(r, fis_learner_end_boosted(r->learner, 1), a)};
    for (uint32_t i = 0; i < s->n_validation; i++)
        if (fold[i] == 0)
            memcpy(by[0] + (size_t)i * r->classes, by[1] + (size_t)i * r->classes,
                   r->classes * sizeof(float));
    fis_predict(by[0], s->n_validation, r->classes, r->predictions);
    fis_metrics_eval(r->predictions, NULL, s->validation_y, s->validation_group, NULL,
                     s->n_validation, r->classes, s->task->n_groups, s->task->positive, out);
    fis_free(by[0]);
    fis_free(by[1]);
}

static int publish(struct lab_run *r, int last, float *params, struct fis_error *e)
{
    struct watch *w = watch_of(r);
    struct fis_gate_points p;
    struct fis_gate_judgement j;
    struct fis_metrics truth;
    (void)last;
    fis_gate_points_of(r->learner, &p);
    for (uint32_t i = 0; w->swap && i < p.n_ends; i++) {
        const float *end = p.end[i][0];
        p.end[i][0] = p.end[i][1];
        p.end[i][1] = end;
    }
    int rc = fis_gate_judge_points(r->gate, r->learner, &p, &j, params, e);
    assert_int_equal(rc, 0);
    if (j.verdict != FIS_PUBLISH) { /* a fault brought all points below the floor */
        assert_int_equal(j.reason, FIS_GATE_BELOW_FLOOR);
        memcpy(params, p.anchor, r->n_params * sizeof *params);
        return 0;
    }
    honest(r, j.interpolation, &truth);
    w->broken = fmax(w->broken, fabs(truth.accuracy - j.pick.accuracy));
    w->broken = fmax(w->broken, fabs(truth.equalized_odds - j.pick.equalized_odds));
    return 0;
}

/* Hook: a run begins. */
static int plant(void *arg, struct lab_run *r, struct fis_error *e)
{
    struct watch *w = arg;
    (void)e;
    w->fault = (struct fault){r->directions->surrogate, r->split->task->n_groups};
    r->directions->losses = w->losses;
    r->directions->losses_arg = &w->fault;
    return 0;
}

/* Hook: records are scored as ever, by the true directions, whatever the check has. */
static int score_truly(void *arg, struct lab_run *r, struct fis_error *e)
{
    struct watch *w = arg;
    struct fis_direction_options o = *r->directions;
    float *g = fis_alloc(2 * r->n_params, sizeof *g);
    const float *const directions[] = {g, g + r->n_params};
    double phi;
    assert_non_null(g);
    o.losses = NULL;
    assert_int_equal(fis_directions(&r->shape, fis_learner_anchor(r->learner),
                                    fis_learner_validation(r->learner), NULL, 0, &o, g,
                                    g + r->n_params, &phi, e),
                     0);
    fis_panel_unref(w->panel); /* that of the refresh before */
    w->panel = r->panel = fis_panel_new(&r->shape, fis_learner_anchor(r->learner), directions, 2);
    assert_non_null(r->panel);
    fis_free(g);
    return 0;
}

/* ---- runs ----------------------------------------------------------------------------------- */

struct data {
    struct lab_tasks tasks;
    struct lab_split *splits[TASKS][SEEDS];
    struct lab_figures random[TASKS]; /* means over seeds: accuracy, equalized odds */
};

struct outcome {
    double points; /* accuracy against random, mean */
    double ratio;  /* violation against random, geometric mean over tasks */
    double broken;
};

static struct lab_figures mean_of(const struct data *d, int task, const struct lab_method *m,
                                  const struct lab_hooks *hooks)
{
    struct lab_figures mean = {.accuracy = 0};
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
        struct lab_figures f = mean_of(d, t, &m, hooks);
        out.points += 100 * (f.accuracy - d->random[t].accuracy) / TASKS;
        out.ratio *= pow(f.equalized_odds / d->random[t].equalized_odds, 1.0 / TASKS);
    }
    out.broken = w->broken;
    fis_panel_unref(w->panel);
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
    if (lab_tasks_load(specs, TASKS, cache && *cache ? cache : "build/cache", &d->tasks, &e) < 0)
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

/* Seen: fis+ +.47 points, x .51; the sign error x 1.03, no check x 1.01. A gate on the wrong rows
 * hardly shows in test figures of so few runs (x .56: it chooses one number alone); it shows in
 * what it promises, off by .027, where two rows of difference in rounding are .001. */
static int within(const struct outcome *o)
{
    return o->points >= -.3 && o->ratio <= .75 && o->broken < .004;
}

static void test_method(void **state)
{
    struct watch w = {.losses = NULL};
    const struct lab_hooks hooks = {.arg = &w};
    struct outcome o = run_fis(*state, "fis+", &w, &hooks);
    assert_true(within(&o));
}

static void test_sign_error(void **state)
{
    struct watch w = {.losses = flipped};
    const struct lab_hooks hooks = {.arg = &w, .begun = plant};
    struct outcome o = run_fis(*state, "sign of G_fair wrong", &w, &hooks);
    assert_false(within(&o));
    assert_true(o.ratio > .75);
}

static void test_no_check(void **state)
{
    struct watch w = {.losses = nothing};
    const struct lab_hooks hooks = {.arg = &w, .begun = plant, .refreshed = score_truly};
    struct outcome o = run_fis(*state, "no check of labels", &w, &hooks);
    assert_false(within(&o));
    assert_true(o.ratio > .75);
}

static void test_gate_on_guide(void **state)
{
    struct watch w = {.swap = 1};
    const struct lab_hooks hooks = {.arg = &w};
    struct outcome o = run_fis(*state, "gate on the guide half", &w, &hooks);
    assert_false(within(&o));
    assert_true(o.broken > .004);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_method),
        cmocka_unit_test(test_sign_error),
        cmocka_unit_test(test_no_check),
        cmocka_unit_test(test_gate_on_guide),
    };
    return cmocka_run_group_tests_name("bands", tests, set_up, tear_down);
}
