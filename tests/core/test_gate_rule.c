#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "core/gate_rule.h"

static struct fis_gate_options options(void)
{
    return (struct fis_gate_options){
        .positive = 1, .epsilon = .02, .rule = FIS_GATE_RULE_FAIRER, .standard_errors = 1};
}
struct planted {
    struct fis_gate_options o;
    struct fis_metrics pick, anchor, served;
    struct gate_figures f;
    double change;
};

static struct fis_metrics metrics(double accuracy, double violation)
{
    return (struct fis_metrics){.accuracy = accuracy,
                                .balanced_accuracy = .7,
                                .demographic_parity = violation,
                                .equal_opportunity = violation,
                                .equalized_odds = violation,
                                .equalized_odds_max = violation,
                                .risk_disparity = violation,
                                .n = 1000,
                                .n_groups = 2,
                                .classes = 2,
                                .predicted_classes = 2};
}

static void plant(struct planted *p, enum fis_metric metric, enum fis_gate_rule rule)
{
    p->o = options();
    p->o.metric = metric;
    p->o.rule = rule;
    p->o.line = true;
    p->change = 0;
    p->pick = metrics(.84, .05);
    p->anchor = metrics(.84, .10);
    p->served = metrics(.84, .10);
    p->f = (struct gate_figures){.val0 = .84,
                                 .anchor = &p->anchor,
                                 .served = &p->served,
                                 .difference = .05,
                                 .difference_se = .01,
                                 .gain_se = .002,
                                 .odds_estimable = {1, 1}};
}

static enum fis_verdict verdict(const struct planted *p, enum fis_gate_reason *reason)
{
    if (!gate_admissible(&p->o, &p->f, &p->pick, false, p->change)) {
        *reason = FIS_GATE_BELOW_FLOOR;
        return FIS_REJECT;
    }
    return gate_decide(&p->o, &p->f, &p->pick, reason);
}

static void a_nan_in_any_metric_rejects(void **state)
{
    (void)state;
    struct planted p;
    enum fis_gate_reason reason;
    double *const scalars[] = {
        &p.pick.accuracy,
        &p.pick.balanced_accuracy,
        &p.pick.demographic_parity,
        &p.pick.equal_opportunity,
        &p.pick.equalized_odds,
        &p.pick.equalized_odds_max,
        &p.pick.risk_disparity,
        &p.anchor.accuracy,
        &p.anchor.balanced_accuracy,
        &p.anchor.equalized_odds,
        &p.anchor.demographic_parity,
        &p.anchor.equal_opportunity,
        &p.anchor.risk_disparity,
        &p.anchor.equalized_odds_max,
        &p.change,
        &p.served.accuracy,
        &p.served.balanced_accuracy,
        &p.served.equalized_odds,
        &p.served.equal_opportunity,
        &p.served.demographic_parity,
        &p.served.risk_disparity,
        &p.served.equalized_odds_max,
        &p.f.difference,
        &p.f.difference_se,
    };
    const size_t n = sizeof scalars / sizeof *scalars, own = 15; /* own: not of what is served */
    for (int m = FIS_DEMOGRAPHIC_PARITY; m <= FIS_RISK_DISPARITY; m++)
        for (int rule = FIS_GATE_RULE_FAIRER; rule <= FIS_GATE_RULE_ALWAYS; rule++)
            for (size_t i = 0; i < (rule == FIS_GATE_RULE_FAIRER ? n : own); i++) {
                plant(&p, (enum fis_metric)m, (enum fis_gate_rule)rule);
                assert_int_equal(verdict(&p, &reason), FIS_PUBLISH);
                *scalars[i] = NAN;
                assert_int_equal(verdict(&p, &reason), FIS_REJECT);
                assert_int_not_equal(reason, FIS_GATE_NOT_FAIRER);
            }
}

static void odds_do_not_count_where_rows_cannot_tell(void **state)
{
    (void)state;
    struct planted p;
    enum fis_gate_reason reason;
    plant(&p, FIS_DEMOGRAPHIC_PARITY, FIS_GATE_RULE_FAIRER);
    p.f.odds_estimable[0] = p.f.odds_estimable[1] = 0;
    p.pick.equal_opportunity = p.pick.equalized_odds = p.pick.equalized_odds_max = NAN;
    assert_int_equal(verdict(&p, &reason), FIS_PUBLISH);
    p.o.metric = FIS_EQUALIZED_ODDS;
    assert_int_equal(verdict(&p, &reason), FIS_REJECT);
}

static void the_rule_is_the_table(void **state)
{
    (void)state;
    struct planted p;
    enum fis_gate_reason reason;
    plant(&p, FIS_EQUALIZED_ODDS, FIS_GATE_RULE_FAIRER);
    assert_int_equal(verdict(&p, &reason), FIS_PUBLISH);
    assert_int_equal(reason, FIS_GATE_FAIRER);
    p.f.difference_se = .06; /* not more than a standard error */
    assert_int_equal(verdict(&p, &reason), FIS_REJECT);
    assert_int_equal(reason, FIS_GATE_NOT_FAIRER);
    p.served.accuracy = .81; /* under the newest anchor - epsilon */
    assert_int_equal(verdict(&p, &reason), FIS_PUBLISH);
    assert_int_equal(reason, FIS_GATE_SERVED_AGED);
    p.change = -.03;
    assert_int_equal(verdict(&p, &reason), FIS_REJECT);
    assert_int_equal(reason, FIS_GATE_BELOW_FLOOR);
    plant(&p, FIS_EQUALIZED_ODDS, FIS_GATE_RULE_FAIRER);
    p.pick.accuracy = .8155; /* within epsilon and two standard errors of what is served */
    assert_int_equal(verdict(&p, &reason), FIS_REJECT);
    p.pick.accuracy = .8165;
    assert_int_equal(verdict(&p, &reason), FIS_PUBLISH);
    p.f.difference = -.005; /* not fairer, but not less fair by a standard error either */
    assert_int_equal(verdict(&p, &reason), FIS_REJECT);
    assert_int_equal(reason, FIS_GATE_NOT_FAIRER);
    p.f.gain = .003;
    assert_int_equal(verdict(&p, &reason), FIS_PUBLISH);
    assert_int_equal(reason, FIS_GATE_MORE_ACCURATE);
    p.f.gain = .0019;
    assert_int_equal(verdict(&p, &reason), FIS_REJECT);
    p.f.gain = .003;
    p.f.difference = -.0101;
    assert_int_equal(verdict(&p, &reason), FIS_REJECT);
    plant(&p, FIS_EQUALIZED_ODDS, FIS_GATE_RULE_FAIRER);
    p.f.difference = p.f.difference_se = 0; /* exactly alike is not fairer */
    assert_int_equal(verdict(&p, &reason), FIS_REJECT);
}

static void without_a_line_the_floor_is_val0(void **state)
{
    (void)state;
    struct planted p;
    plant(&p, FIS_EQUALIZED_ODDS, FIS_GATE_RULE_FAIRER);
    p.f.val0 = .86 + 1e-9;
    assert_true(gate_admissible(&p.o, &p.f, &p.pick, true, NAN)); /* VAL_0 is nothing to a line */
    p.o.line = false;
    assert_false(gate_admissible(&p.o, &p.f, &p.pick, true, 0));
    p.f.val0 = .86 - 1e-9;
    assert_true(gate_admissible(&p.o, &p.f, &p.pick, true, NAN));
    p.f.val0 = NAN;
    assert_false(gate_admissible(&p.o, &p.f, &p.pick, true, 0));
    p.o.epsilon = 0;
    p.f.val0 = p.pick.accuracy;
    assert_true(gate_admissible(&p.o, &p.f, &p.pick, true, 0));
    p.f.strict = 1; /* Algorithm 1: VAL_t > VAL_0 - epsilon */
    assert_false(gate_admissible(&p.o, &p.f, &p.pick, true, 0));
}

static void a_point_may_change_accuracy_by_epsilon(void **state)
{
    (void)state;
    struct planted p;
    plant(&p, FIS_EQUALIZED_ODDS, FIS_GATE_RULE_FAIRER);
    assert_true(gate_admissible(&p.o, &p.f, &p.pick, false, -.02));
    assert_false(gate_admissible(&p.o, &p.f, &p.pick, false, -.0201));
    assert_false(gate_admissible(&p.o, &p.f, &p.pick, false, NAN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nan_in_any_metric_rejects),
        cmocka_unit_test(odds_do_not_count_where_rows_cannot_tell),
        cmocka_unit_test(the_rule_is_the_table),
        cmocka_unit_test(without_a_line_the_floor_is_val0),
        cmocka_unit_test(a_point_may_change_accuracy_by_epsilon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
