#include "core/gate_impl.h"

#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "core/gate_choice.h"
#include "core/gate_rule.h"
#include "core/interpolate.h"
#include "core/line.h"
#include "core/normal.h"
#include "core/slab.h"
#include "fis/mem.h"

/* One judgement's work. */
struct session {
    struct fis_gate *g;
    const struct fis_learner *t;
    struct gate_rows rows;
    struct judged anchor, served, pick, trial;
    struct gate_figures figures;
    struct gate_choice choice; /* with more than one point */
    const struct fis_gate_points *points;
    float *pi;               /* [n][K] calibrated probabilities of the anchor; with `line` */
    uint32_t at;             /* the pick's number */
    double change;           /* its accuracy's estimated difference from the anchor's */
    bool finite;             /* the weights of the anchor and of the ends are */
    bool found;              /* there is an admissible point that is not constant */
    bool constant_passed_by; /* an admissible point was passed by for being constant */
};

/* ---- a session ------------------------------------------------------------------------------ */

static void session_done(struct session *s)
{
    struct judged *const all[] = {&s->anchor, &s->served, &s->pick, &s->trial};
    for (size_t i = 0; i < 4; i++)
        judged_done(all[i]);
    gate_choice_done(&s->choice);
    gate_rows_done(&s->rows);
    fis_free(s->pi);
}

static bool estimable(const struct gate_rows *r, enum fis_metric metric)
{
    return smallest_cell(r, metric) > 0;
}

static int session_init(struct session *s, struct fis_gate *g, const struct fis_learner *t,
                        const struct fis_gate_points *points, struct fis_error *e)
{
    *s = (struct session){.g = g, .t = t, .points = points};
    int rc = gate_rows_init(&s->rows, t, g->o.positive, e);
    s->rows.measure = g->measure;
    s->rows.measure_arg = g->measure_arg;
    struct judged *const all[] = {&s->anchor, &s->served, &s->pick, &s->trial};
    for (size_t i = 0; rc == 0 && i < 4; i++)
        rc = judged_init(all[i], &s->rows, e);
    if (rc == 0 && points->n > 1)
        rc = gate_choice_init(&s->choice, &s->rows, points->n, g->o.metric, e);
    if (rc == 0 && g->o.line) {
        s->pi = fis_alloc((size_t)s->rows.n * fis_shape_classes(s->rows.shape), sizeof *s->pi);
        if (!s->pi)
            rc = fis_fail(e, FIS_NOMEM, "gate: no memory for %u rows", s->rows.n);
    }
    if (rc < 0)
        return rc;
    s->figures = (struct gate_figures){
        .val0 = g->val0,
        .anchor = &s->anchor.metrics,
        .strict = g->o.strict,
        .odds_estimable = {estimable(&s->rows, FIS_EQUAL_OPPORTUNITY),
                           estimable(&s->rows, FIS_EQUALIZED_ODDS)},
    };
    return 0;
}

/* A judgement before anything was measured: no number in it says 0. */
static struct fis_gate_judgement nothing(uint32_t looks)
{
    const struct fis_interval none = {NAN, NAN, NAN};
    struct fis_gate_judgement j = {.looks = looks,
                                   .change = NAN,
                                   .floor = NAN,
                                   .difference = NAN,
                                   .difference_se = NAN,
                                   .detectable = NAN,
                                   .intervals = {0, none, none, none, none, none, none}};
    fis_metrics_none(&j.pick);
    fis_metrics_none(&j.anchor);
    fis_metrics_none(&j.served);
    return j;
}

static void swap_judged(struct judged *a, struct judged *b)
{
    struct judged t = *a;
    *a = *b;
    *b = t;
}

/* Rows and cells: whether this set can judge anything. */
static bool too_small(struct session *s, struct fis_gate_judgement *j)
{
    const struct fis_gate_options *o = &s->g->o;
    uint32_t n = fis_learner_validation(s->t)->n;
    j->smallest_cell = smallest_cell(&s->rows, o->metric);
    j->warn_cell = j->smallest_cell < o->warn_cell;
    if (n < o->min_rows) {
        gate_conclude(j, FIS_REJECT, FIS_GATE_FEW_ROWS,
                      "%u validation rows; at least %u are needed", n, o->min_rows);
        return true;
    }
    if (j->smallest_cell < o->min_cell) {
        gate_conclude(j, FIS_REJECT, FIS_GATE_SMALL_CELL,
                      "a cell that %s needs has %s; at least %u are needed",
                      fis_metric_name(o->metric), DECIMAL_COUNT(j->smallest_cell, "row"),
                      o->min_cell);
        return true;
    }
    return false;
}

/* Into g->point: where fold h's line is at `share`, to the bit at 0 and 1. */
static void make_point(const struct session *s, float share)
{
    const struct fis_gate_points *p = s->points;
    for (uint32_t h = 0; h < s->rows.folds; h++)
        interpolate(p->from[h], share > 0 ? p->to[h] : p->from[h], share, s->g->n_params,
                    s->g->point[h]);
}

/* z: of what was chosen in this look. Labels, networks and what is served were chosen by the looks
 * before, so accuracy's limits hold for all looks together (Bonferroni). Those of gaps, unions,
 * have room for it. */
static void enclose(const struct session *s, const struct judged *x, struct fis_half_width z,
                    struct fis_gate_judgement *j)
{
    z.accuracy = normal_upper(normal_tail(z.accuracy) / j->looks);
    fis_metrics_enclose(x->predictions, x->logits, s->rows.y, s->rows.group, s->rows.n,
                        fis_shape_classes(s->rows.shape), s->rows.n_groups, s->g->o.positive, z,
                        &j->intervals);
}

/* Below what the rows can show, and its interval reaches 0: one that does not was detected. */
static bool undetectable(const struct session *s, const struct fis_gate_judgement *j)
{
    struct fis_gate_judgement anchor = {.looks = 1};
    const enum fis_metric metric = s->g->o.metric;
    enclose(s, &s->anchor, FIS_HALF_WIDTH, &anchor);
    return fis_metrics_of(&j->anchor, metric) < j->detectable &&
           fis_interval_of(&anchor.intervals, metric)->low <= 0;
}

static void judge_anchor(struct session *s, struct fis_gate_judgement *j)
{
    const enum fis_metric metric = s->g->o.metric;
    make_point(s, 0);
    judge_point(&s->rows, s->g->point, &s->anchor);
    j->anchor = s->anchor.metrics;
    j->detectable = gate_detectable(s->t, metric, s->g->o.positive, &j->anchor);
    s->figures.undetectable = j->undetectable = undetectable(s, j);
}

/* A rejection without a pick shows the anchor's figures: that is the model which was refused. */
static int show_anchor(const struct session *s, struct fis_gate_judgement *j)
{
    j->pick = s->anchor.metrics;
    enclose(s, &s->anchor, FIS_HALF_WIDTH, j);
    return 0;
}

uint32_t fis_gate_smallest_cell(const struct fis_gate *g, const struct fis_learner *t)
{
    return gate_smallest_cell(t, g->o.metric, g->o.positive);
}

double fis_gate_detectable(const struct fis_gate *g, const struct fis_learner *t)
{
    return gate_detectable(t, g->o.metric, g->o.positive, NULL);
}

static void publish(struct fis_gate *g, uint32_t folds, float *params)
{
    for (uint32_t h = 0; h < folds; h++)
        memcpy(g->served[h], g->point[h], g->n_params * sizeof(float));
    memcpy(params, g->picked, g->n_params * sizeof(float));
    g->serves = true;
}

/* ---- the warm-up model ---------------------------------------------------------------------- */

/* Whether rows like these could ever tell the metric: odds need rows of the positive class, and
 * equalized odds rows of another one besides. A cell that is empty in one group only is a matter
 * of how many rows there are: the gate names it, round by round. */
static bool can_ever_be_estimated(const struct session *s)
{
    enum fis_metric metric = s->g->o.metric;
    const struct fis_rows *rows = fis_learner_validation(s->t);
    uint32_t positive = 0;
    for (uint32_t i = 0; i < rows->n; i++)
        positive += rows->y[i] == s->g->o.positive;
    if (metric == FIS_EQUAL_OPPORTUNITY || metric == FIS_EQUALIZED_ODDS)
        return positive > 0 && (metric == FIS_EQUAL_OPPORTUNITY || positive < rows->n);
    return true;
}

static void note_first(const struct session *s, struct fis_gate_judgement *j)
{
    const struct fis_gate_options *o = &s->g->o;
    const char *note = "";
    if (fis_learner_validation(s->t)->n < o->min_rows)
        note = "; too few validation rows to judge what follows";
    else if (j->smallest_cell == 0)
        note = "; the metric cannot be estimated: a cell that it needs has no rows";
    else if (j->smallest_cell < o->min_cell)
        note = "; a cell is too small to judge what follows";
    if (j->pick.predicted_classes == 1)
        note = "; it predicts one class only";
    gate_conclude(j, FIS_PUBLISH, FIS_GATE_FIRST,
                  "the %s; accuracy %.4f, balanced %.4f, %s %s, smallest cell %s%s",
                  fis_learner_shape(s->t)->margins ? "base model" : "warm-up model",
                  j->pick.accuracy, j->pick.balanced_accuracy, fis_metric_name(o->metric),
                  gate_shown(fis_metrics_of(&j->pick, o->metric)).text,
                  DECIMAL_COUNT(j->smallest_cell, "row"), note);
}

static int first_in(struct session *s, struct fis_gate_judgement *j, struct fis_error *e)
{
    const struct fis_gate_options *o = &s->g->o;
    const struct fis_metrics *m = &s->anchor.metrics;
    judge_anchor(s, j);
    j->smallest_cell = smallest_cell(&s->rows, o->metric);
    j->warn_cell = j->smallest_cell < o->warn_cell;
    if (!isfinite(s->anchor.loss) || !isfinite(m->accuracy) ||
        !slab_finite(s->points->publish_from, s->g->n_params))
        return fis_fail(e, FIS_INPUT,
                        "warm-up: validation loss %g, accuracy %g: not finite; a smaller learning "
                        "rate or scaled features are needed",
                        s->anchor.loss, m->accuracy);
    if (!can_ever_be_estimated(s))
        return fis_fail(e, FIS_INPUT,
                        "validation: %s cannot be estimated: no row has the positive class, or all "
                        "rows have it",
                        fis_metric_name(o->metric));
    j->pick = *m;
    j->floor = fis_gate_floor(o, m->accuracy, 0);
    return show_anchor(s, j);
}

int fis_gate_first(struct fis_gate *g, const struct fis_learner *t, struct fis_gate_judgement *j,
                   float *params, struct fis_error *e)
{
    struct session s;
    struct fis_gate_judgement out = nothing(g->looks + 1);
    const struct fis_gate_points p = gate_end_alone(t);
    int rc = session_init(&s, g, t, &p, e);
    if (rc == 0)
        rc = first_in(&s, &out, e);
    if (rc == 0) {
        note_first(&s, &out);
        g->val0 = out.pick.accuracy;
        g->looks = out.looks;
        memcpy(g->picked, p.publish_from, g->n_params * sizeof(float));
        publish(g, s.rows.folds, params);
        g->has_picked = true;
        *j = out;
    }
    session_done(&s);
    return rc;
}

/* ---- every round ---------------------------------------------------------------------------- */

/* The accuracy's difference from the anchor, by the anchor's calibrated probabilities: where two
 * points differ a label is nearly a coin toss, and tells several times less. */
static double change_of(const struct session *s, const struct judged *x)
{
    return s->pi ? likely_difference(&s->rows, x, &s->anchor, s->pi) : (double)NAN;
}

/* Other rows of the same kind might have made it admissible. */
static bool within_reach(const struct session *s, const struct judged *x, double change)
{
    return !(change + 2 * accuracy_se(&s->rows, x, &s->anchor) < -s->g->o.epsilon);
}

/* The pick is the admissible point with the least violation, and of equal ones the first, which is
 * the nearest to the anchor. */
static void pick_point(struct session *s)
{
    const struct fis_gate_options *o = &s->g->o;
    double least = INFINITY;
    for (uint32_t i = 0; i < s->points->n; i++) {
        make_point(s, s->points->share[i]);
        judge_point(&s->rows, s->g->point, &s->trial);
        const struct fis_metrics *m = &s->trial.metrics;
        double change = change_of(s, &s->trial);
        if (s->choice.predicted && within_reach(s, &s->trial, change))
            gate_choice_take(&s->choice, &s->trial);
        if (!gate_metrics_finite(o, &s->figures, m) ||
            !gate_admissible(o, &s->figures, m, i == 0, change))
            continue;
        if (m->predicted_classes < 2) {
            s->constant_passed_by = true;
            continue;
        }
        if (fis_metrics_of(m, o->metric) < least) {
            least = fis_metrics_of(m, o->metric);
            s->at = i;
            s->change = change;
            s->found = true;
            swap_judged(&s->pick, &s->trial);
        }
    }
}

static bool ends_finite(const struct session *s)
{
    const struct fis_gate_points *p = s->points;
    size_t n = s->g->n_params;
    bool finite = slab_finite(p->publish_from, n) && (p->n == 1 || slab_finite(p->publish_to, n));
    for (uint32_t h = 0; h < s->rows.folds; h++)
        finite = finite && slab_finite(p->from[h], n) && (p->n == 1 || slab_finite(p->to[h], n));
    return finite;
}

static int compare_with_served(struct session *s, struct fis_gate_judgement *j, struct fis_error *e)
{
    const struct fis_gate_options *o = &s->g->o;
    struct fis_rng rng;
    fis_rng_seed(&rng, o->seed, j->looks);
    if (s->g->serves) {
        if (s->g->served_x)
            gate_rows_take(&s->rows, s->g->served_x);
        judge_point(&s->rows, s->g->served, &s->served);
        gate_rows_take(&s->rows, fis_learner_validation(s->t)->x);
        j->served = s->served.metrics;
        s->figures.served = &s->served.metrics;
        int rc = paired_difference(&s->rows, &s->served, &s->pick, o->metric, o->resamples, &rng,
                                   &j->difference, &j->difference_se, e);
        if (rc < 0)
            return rc;
        s->figures.difference = j->difference;
        s->figures.difference_se = j->difference_se;
        s->figures.gain = s->pick.metrics.accuracy - s->served.metrics.accuracy;
        s->figures.gain_se = accuracy_se(&s->rows, &s->pick, &s->served);
        j->floor = gate_floor(o, &s->figures);
    }
    enclose(s, &s->pick, gate_choice_width(&s->choice, o->metric, o->seed), j);
    return 0;
}

static void explain(const struct session *s, struct fis_gate_judgement *j, enum fis_verdict verdict,
                    enum fis_gate_reason reason)
{
    const struct fis_gate_options *o = &s->g->o;
    const double served = j->served.n ? fis_metrics_of(&j->served, o->metric) : NAN;
    gate_conclude(
        j, verdict, reason,
        "%s %s against %s served (difference %s, standard error %s), accuracy %s (served %s, "
        "anchor %s, change %s, floor %s), interpolation %.3g",
        fis_metric_name(o->metric), gate_shown(fis_metrics_of(&j->pick, o->metric)).text,
        gate_shown(served).text, gate_shown(j->difference).text, gate_shown(j->difference_se).text,
        gate_shown(j->pick.accuracy).text, gate_shown(j->served.accuracy).text,
        gate_shown(j->anchor.accuracy).text, gate_shown(j->change).text, gate_shown(j->floor).text,
        j->interpolation);
}

static int calibrate(struct session *s, struct fis_error *e)
{
    const size_t logits = (size_t)s->rows.n * fis_shape_classes(s->rows.shape);
    float *added = NULL;
    if (!s->pi)
        return 0;
    if (s->points->n > 1) {
        make_point(s, 1);
        judge_point(&s->rows, s->g->point, &s->trial);
        added = s->trial.logits;
        for (size_t i = 0; i < logits; i++)
            added[i] -= s->anchor.logits[i];
    }
    return line_calibrate(s->anchor.logits, added, s->rows.y, s->rows.group, s->rows.n,
                          fis_shape_classes(s->rows.shape), s->rows.n_groups, s->pi, e);
}

static int judge_in(struct session *s, struct fis_gate_judgement *j, struct fis_error *e)
{
    const struct fis_gate_options *o = &s->g->o;
    if (!(s->finite = ends_finite(s))) {
        gate_conclude(j, FIS_REJECT, FIS_GATE_NOT_FINITE, "the weights are not finite");
        return 0;
    }
    judge_anchor(s, j);
    if (too_small(s, j))
        return show_anchor(s, j);
    if (!isfinite(s->anchor.loss) || !gate_metrics_finite(o, &s->figures, &s->anchor.metrics)) {
        gate_conclude(j, FIS_REJECT, FIS_GATE_NOT_FINITE, "validation loss %s, accuracy %s, %s %s",
                      gate_shown(s->anchor.loss).text, gate_shown(j->anchor.accuracy).text,
                      fis_metric_name(o->metric),
                      gate_shown(fis_metrics_of(&j->anchor, o->metric)).text);
        return 0;
    }
    int rc = calibrate(s, e);
    if (rc < 0)
        return rc;
    pick_point(s);
    if (!o->line)
        j->floor = gate_floor(o, &s->figures);
    if (!s->found) {
        gate_conclude(
            j, FIS_REJECT, s->constant_passed_by ? FIS_GATE_CONSTANT : FIS_GATE_BELOW_FLOOR,
            s->constant_passed_by ? "one class only is predicted at accuracy %s; the floor is %s"
                                  : "the anchor's accuracy is %s; the floor is %s",
            gate_shown(j->anchor.accuracy).text, gate_shown(j->floor).text);
        return show_anchor(s, j);
    }
    j->pick = s->pick.metrics;
    j->interpolation = (double)s->points->share[s->at];
    j->change = s->change;
    if ((rc = compare_with_served(s, j, e)) < 0)
        return rc;
    enum fis_gate_reason reason;
    enum fis_verdict verdict = gate_decide(o, &s->figures, &s->pick.metrics, &reason);
    if (verdict == FIS_PUBLISH && s->g->held) {
        verdict = FIS_REJECT;
        reason = FIS_GATE_PINNED;
    }
    explain(s, j, verdict, reason);
    return 0;
}

/* Keeps the pick's points, or the anchor without a pick. */
static void keep_pick(struct session *s)
{
    struct fis_gate *g = s->g;
    const struct fis_gate_points *p = s->points;
    const float share = s->found ? p->share[s->at] : 0;
    g->has_picked = true;
    make_point(s, share);
    interpolate(p->publish_from, share > 0 ? p->publish_to : p->publish_from, share, g->n_params,
                g->picked);
}

int fis_gate_judge_points(struct fis_gate *g, const struct fis_learner *t,
                          const struct fis_gate_points *p, struct fis_gate_judgement *j,
                          float *params, struct fis_error *e)
{
    struct session s;
    struct fis_gate_judgement out = nothing(g->looks + 1);
    int rc = session_init(&s, g, t, p, e);
    if (rc == 0)
        rc = judge_in(&s, &out, e);
    if (rc == 0) {
        g->looks = out.looks;
        g->has_picked = false;
        if (out.anchor.n && s.finite)
            keep_pick(&s);
        if (out.verdict == FIS_PUBLISH)
            publish(g, s.rows.folds, params);
        *j = out;
    }
    session_done(&s);
    return rc;
}

int fis_gate_judge(struct fis_gate *g, const struct fis_learner *t, struct fis_gate_judgement *j,
                   float *params, struct fis_error *e)
{
    struct fis_gate_points p = gate_end_alone(t);
    int rc = g->o.line ? gate_line_points(g, t, &p, e) : 0;
    return rc < 0 ? rc : fis_gate_judge_points(g, t, &p, j, params, e);
}
