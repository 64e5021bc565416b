#include <math.h>
#include "kit/cmocka.h"

#include "fis/mem.h"
#include "lab/noise.h"
#include "kit/lab/small_task.h"

static struct small_task task;
static struct fis_error e;

static int is_near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance;
}

static struct lab_result run(const char *method, const struct lab_options *o,
                             const struct lab_hooks *hooks)
{
    struct lab_method m;
    struct lab_result result;
    if (lab_method_find(method, &m, &e) < 0 || lab_run(&task.split, &m, o, hooks, &result, &e) < 0)
        fail_msg("%s", e.text);
    return result;
}

static void no_noise_changes_nothing(void **state)
{
    struct lab_noise_options n;
    (void)state;
    small_task_make(&task, 2, 2, 20);
    const struct lab_options o = small_options(&task, FIS_EQUALIZED_ODDS);
    lab_noise_default(&n);
    const struct lab_hooks hooks = lab_noise_hooks(&n);
    struct lab_result a = run("fis+", &o, NULL), b = run("fis+", &o, &hooks);
    assert_true(small_same(&a, &b));
    n.label_noise = .3;
    b = run("fis+", &o, &hooks);
    assert_false(small_same(&a, &b));
}

struct seen {
    struct lab_hooks inner;
    double labels, groups; /* shares that are not as they were */
    int own_panel;
    double val0;
};

static int begun(void *arg, struct lab_run *r, struct fis_error *error)
{
    struct seen *s = arg;
    int rc = s->inner.begun(s->inner.arg, r, error);
    const struct fis_rows *v = fis_learner_validation(r->learner);
    for (uint32_t i = 0; i < v->n; i++) {
        s->labels += (v->y[i] != task.split.validation_y[i]) / (double)v->n;
        s->groups += (v->group[i] != task.split.validation_group[i]) / (double)v->n;
    }
    return rc;
}

static int refreshed(void *arg, struct lab_run *r, struct fis_error *error)
{
    struct seen *s = arg;
    int rc = s->inner.refreshed(s->inner.arg, r, error);
    s->own_panel = r->panel != fis_learner_panel(r->learner);
    s->val0 = r->gate ? fis_gate_val0(r->gate) : NAN;
    return rc;
}

static void ended(void *arg, struct lab_run *r)
{
    struct seen *s = arg;
    s->inner.ended(s->inner.arg, r);
    assert_null(r->hook_state);
}

static struct lab_result look(const struct lab_options *o, const struct lab_noise_options *n,
                              struct seen *s)
{
    *s = (struct seen){.inner = lab_noise_hooks(n)};
    const struct lab_hooks hooks = {
        .arg = s, .begun = begun, .refreshed = refreshed, .ended = ended};
    return run("fis+", o, &hooks);
}

static void noise_is_as_much_as_was_asked_for(void **state)
{
    struct lab_noise_options n;
    struct seen s;
    (void)state;
    small_task_make(&task, 3, 3, 21);
    const struct lab_options o = small_options(&task, FIS_DEMOGRAPHIC_PARITY);
    lab_noise_default(&n);
    n.label_noise = .3;
    n.group_noise = .15;
    (void)look(&o, &n, &s);
    assert_true(is_near(s.labels, .3, .05));
    assert_true(is_near(s.groups, .15, .04));
    assert_int_equal(s.own_panel, 0);
    n.label_noise = n.group_noise = 0;
    n.direction_noise = 10;
    (void)look(&o, &n, &s);
    assert_int_equal(s.own_panel, 1);
    assert_true(s.labels <= 0 && s.groups <= 0);
}

/* Labels that are wrong by 30 % make every model look worse; a corrected gate knows better. */
static void a_corrected_gate_is_not_deceived(void **state)
{
    struct lab_noise_options n;
    struct seen clean, noisy, known, estimated, guide;
    (void)state;
    small_task_make(&task, 2, 2, 22);
    const struct lab_options o = small_options(&task, FIS_DEMOGRAPHIC_PARITY);
    lab_noise_default(&n);
    (void)look(&o, &n, &clean);
    n.label_noise = .3;
    (void)look(&o, &n, &noisy);
    n.correction = LAB_CORRECT_FORWARD;
    (void)look(&o, &n, &known);
    n.estimate = true;
    (void)look(&o, &n, &estimated);
    n.where = LAB_CORRECT_GUIDE;
    (void)look(&o, &n, &guide);
    assert_true(clean.val0 - noisy.val0 > .08);
    assert_true(is_near(known.val0, clean.val0, .05));
    assert_true(is_near(estimated.val0, clean.val0, .05));
    assert_true(is_near(guide.val0, noisy.val0, 1e-12));
}

static void every_correction_runs_and_is_repeatable(void **state)
{
    static const char *const methods[] = {"fis+", "fis"};
    struct lab_noise_options n;
    (void)state;
    small_task_make(&task, 3, 3, 23);
    struct lab_options o = small_options(&task, FIS_EQUALIZED_ODDS);
    o.protocol.rounds = 2;
    for (int c = LAB_CORRECT_FORWARD; c < LAB_CORRECTIONS; c++)
        for (int where = LAB_CORRECT_GUIDE; where <= LAB_CORRECT_GUIDE_AND_GATE; where++)
            for (int i = 0; i < 2 * 2; i++) {
                lab_noise_default(&n);
                n.label_noise = n.group_noise = .2;
                n.correction = (enum lab_correction)c;
                n.where = (enum lab_correct_where)where;
                n.estimate = i % 2;
                const struct lab_hooks hooks = lab_noise_hooks(&n);
                struct lab_result a = run(methods[i / 2], &o, &hooks);
                assert_true(isfinite(a.test.equalized_odds));
                if (where != LAB_CORRECT_GUIDE_AND_GATE)
                    continue;
                struct lab_result b = run(methods[i / 2], &o, &hooks);
                assert_true(small_same(&a, &b));
            }
}

static void names_are_found_and_others_refused(void **state)
{
    enum lab_correction c;
    enum lab_correct_where w;
    static const char *const corrections[] = {"none", "forward", "trim", "both"};
    static const char *const places[] = {"guide", "gate", "both"};
    (void)state;
    for (int i = 0; i < LAB_CORRECTIONS; i++) {
        assert_int_equal(lab_correction_find(corrections[i], &c, &e), 0);
        assert_int_equal(c, i);
    }
    for (int i = LAB_CORRECT_GUIDE; i <= LAB_CORRECT_GUIDE_AND_GATE; i++) {
        assert_int_equal(lab_correct_where_find(places[i - LAB_CORRECT_GUIDE], &w, &e), 0);
        assert_int_equal(w, i);
    }
    assert_int_equal(lab_correction_find("backward", &c, &e), -FIS_INPUT);
    assert_non_null(strstr(e.text, "'backward', allowed are none, forward, trim, both"));
    assert_int_equal(lab_correct_where_find("", &w, &e), -FIS_INPUT);
}

static void every_refused_allocation_is_survived(void **state)
{
    struct lab_noise_options n;
    struct lab_method m;
    struct lab_result result;
    (void)state;
    small_task_make(&task, 2, 2, 24);
    struct lab_options o = small_options(&task, FIS_DEMOGRAPHIC_PARITY);
    o.protocol.rounds = 1;
    o.protocol.steps_per_round = 8;
    lab_noise_default(&n);
    n.label_noise = n.group_noise = .1;
    n.direction_noise = 1;
    n.correction = LAB_CORRECT_BOTH;
    n.estimate = true;
    const struct lab_hooks hooks = lab_noise_hooks(&n);
    assert_int_equal(lab_method_find("fis+", &m, &e), 0);
    int rc = -1;
    for (uint64_t i = 0; rc < 0 && i < 3000; i += 1 + i / 12) {
        fis_mem_refuse_after(i);
        rc = lab_run(&task.split, &m, &o, &hooks, &result, &e);
        fis_mem_refuse_after(UINT64_MAX);
        assert_true(rc == 0 || rc == -FIS_NOMEM);
    }
    assert_int_equal(rc, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_noise_changes_nothing),
        cmocka_unit_test(noise_is_as_much_as_was_asked_for),
        cmocka_unit_test(a_corrected_gate_is_not_deceived),
        cmocka_unit_test(every_correction_runs_and_is_repeatable),
        cmocka_unit_test(names_are_found_and_others_refused),
        cmocka_unit_test(every_refused_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
