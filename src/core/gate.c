#include "core/gate_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/gate_rule.h"
#include "core/interpolate.h"
#include "core/slab.h"
#include "fis/mem.h"

#define STEPS 10 /* a = 0, 1/STEPS, … 1 */

/* One judgement's work. */
struct session {
    struct fis_gate *g;
    const struct fis_learner *t;
    struct gate_rows rows;
    struct judged anchor, served, pick, trial;
    struct gate_figures figures;
    const struct fis_gate_points *points;
    float *point[2];         /* the trial's slabs */
    uint32_t at;             /* the pick's number */
    bool finite;             /* the weights of the anchor and of the ends are */
    bool found;              /* there is an admissible point that is not constant */
    bool constant_passed_by; /* an admissible point was passed by for being constant */
};

/* A number for people: what could not be measured says so. */
struct shown {
    char text[24];
};
static struct shown shown(double value)
{
    struct shown s = {"not estimable"};
    if (isfinite(value))
        snprintf(s.text, sizeof s.text, "%.4f", value);
    return s;
}

/* ---- a session ------------------------------------------------------------------------------ */

static void session_done(struct session *s)
{
    struct judged *const all[] = {&s->anchor, &s->served, &s->pick, &s->trial};
    for (size_t i = 0; i < 4; i++)
        judged_done(all[i]);
    gate_rows_done(&s->rows);
    fis_free(s->point[0]);
    fis_free(s->point[1]);
}

static bool estimable(const struct gate_rows *r, enum fis_metric metric)
{
    return smallest_cell(r, metric) > 0;
}

static int session_init(struct session *s, struct fis_gate *g, const struct fis_learner *t,
                        struct fis_error *e)
{
    *s = (struct session){.g = g, .t = t};
    int rc = gate_rows_init(&s->rows, t, g->o.positive, e);
    s->rows.measure = g->measure;
    s->rows.measure_arg = g->measure_arg;
    struct judged *const all[] = {&s->anchor, &s->served, &s->pick, &s->trial};
    for (size_t i = 0; rc == 0 && i < 4; i++)
        rc = judged_init(all[i], &s->rows, e);
    for (int h = 0; rc == 0 && h < 2; h++)
        if (!(s->point[h] = fis_alloc(g->n_params, sizeof(float))))
            rc = fis_fail(e, FIS_NOMEM, "gate: no memory for a point");
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
                                   .floor = NAN,
                                   .difference = NAN,
                                   .difference_se = NAN,
                                   .intervals = {0, none, none, none, none, none}};
    fis_metrics_none(&j.pick);
    fis_metrics_none(&j.anchor);
    fis_metrics_none(&j.served);
    return j;
}

static FIS_PRINTF(4, 5) void conclude(struct fis_gate_judgement *j, enum fis_verdict verdict,
                                      enum fis_gate_reason reason, const char *format, ...)
{
    char numbers[FIS_ERROR_TEXT - 64];
    va_list ap;
    va_start(ap, format);
    vsnprintf(numbers, sizeof numbers, format, ap);
    va_end(ap);
    j->verdict = verdict;
    j->reason = reason;
    snprintf(j->text, sizeof j->text, "%s: %s: %s",
             verdict == FIS_PUBLISH ? "published" : "rejected", fis_gate_reason_name(reason),
             numbers);
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
        conclude(j, FIS_REJECT, FIS_GATE_FEW_ROWS, "%u validation rows; at least %u are needed", n,
                 o->min_rows);
        return true;
    }
    if (j->smallest_cell < o->min_cell) {
        conclude(j, FIS_REJECT, FIS_GATE_SMALL_CELL,
                 "a cell that %s needs has %u rows; at least %u are needed",
                 fis_metric_name(o->metric), j->smallest_cell, o->min_cell);
        return true;
    }
    return false;
}

static void judge_anchor(struct session *s, const float *params, struct fis_gate_judgement *j)
{
    const float *const both[2] = {params, params};
    judge_point(&s->rows, both, &s->anchor);
    j->anchor = s->anchor.metrics;
}

static int intervals_of(const struct session *s, const struct judged *x, struct fis_rng *rng,
                        struct fis_gate_judgement *j, struct fis_error *e)
{
    return fis_metrics_bootstrap(x->predictions, x->logits, s->rows.y, s->rows.group, s->rows.n,
                                 fis_shape_classes(s->rows.shape), s->rows.n_groups,
                                 s->g->o.positive, s->g->o.resamples, rng, &j->intervals, e);
}

/* A rejection without a pick shows the anchor's figures: that is the model which was refused. */
static int show_anchor(const struct session *s, struct fis_gate_judgement *j, struct fis_error *e)
{
    struct fis_rng rng;
    fis_rng_seed(&rng, s->g->o.seed, j->looks);
    j->pick = s->anchor.metrics;
    return intervals_of(s, &s->anchor, &rng, j, e);
}

uint32_t fis_gate_smallest_cell(const struct fis_gate *g, const struct fis_learner *t)
{
    return gate_smallest_cell(t, g->o.metric, g->o.positive);
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
    conclude(j, FIS_PUBLISH, FIS_GATE_FIRST,
             "the warm-up model; accuracy %.4f, balanced %.4f, %s %s, smallest cell %u rows%s",
             j->pick.accuracy, j->pick.balanced_accuracy, fis_metric_name(o->metric),
             shown(fis_metrics_of(&j->pick, o->metric)).text, j->smallest_cell, note);
}

static int first_in(struct session *s, struct fis_gate_judgement *j, struct fis_error *e)
{
    const struct fis_gate_options *o = &s->g->o;
    const struct fis_metrics *m = &s->anchor.metrics;
    struct fis_rng rng;
    judge_anchor(s, fis_learner_anchor(s->t), j);
    j->smallest_cell = smallest_cell(&s->rows, o->metric);
    j->warn_cell = j->smallest_cell < o->warn_cell;
    if (!isfinite(s->anchor.loss) || !isfinite(m->accuracy) ||
        !slab_finite(fis_learner_anchor(s->t), s->g->n_params))
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
    j->floor = fis_gate_floor(o, m->accuracy, -INFINITY, 0);
    fis_rng_seed(&rng, o->seed, s->g->looks);
    return intervals_of(s, &s->anchor, &rng, j, e);
}

int fis_gate_first(struct fis_gate *g, const struct fis_learner *t, struct fis_gate_judgement *j,
                   float *params, struct fis_error *e)
{
    struct session s;
    struct fis_gate_judgement out = nothing(g->looks + 1);
    int rc = session_init(&s, g, t, e);
    if (rc == 0)
        rc = first_in(&s, &out, e);
    if (rc == 0) {
        note_first(&s, &out);
        fis_gate_restore(g, out.pick.accuracy, fis_learner_anchor(t), out.looks);
        memcpy(g->picked, g->served[0], g->n_params * sizeof(float));
        memcpy(params, g->served[0], g->n_params * sizeof(float));
        g->has_picked = 1;
        *j = out;
    }
    session_done(&s);
    return rc;
}

/* ---- every round ---------------------------------------------------------------------------- */

void fis_gate_points_of(const struct fis_learner *t, struct fis_gate_points *p)
{
    const int boosted = fis_learner_options(t)->copies == FIS_COPIES_BOOSTED;
    const uint32_t folds = fis_learner_options(t)->folds;
    *p = (struct fis_gate_points){.anchor = fis_learner_end_anchor(t), .n = 1};
    if (!boosted)
        return;
    p->n_ends = 1;
    p->n = 1 + STEPS;
    for (uint32_t h = 0; h < 2; h++)
        p->end[0][h] = fis_learner_end_boosted(t, h < folds ? h : 0);
    for (uint32_t i = 0; i < p->n; i++)
        p->share[i][0] = (float)i / STEPS;
}

/* Of the accuracy's difference from the anchor, on the same rows. */
static double accuracy_se(const struct session *s, const struct judged *x)
{
    uint32_t gained = 0, lost = 0;
    for (uint32_t i = 0; i < s->rows.n; i++) {
        int before = s->anchor.predictions[i] == s->rows.y[i];
        int now = x->predictions[i] == s->rows.y[i];
        gained += (uint32_t)(now && !before);
        lost += (uint32_t)(before && !now);
    }
    return gate_accuracy_se(gained, lost, s->rows.n);
}

/* The pick is the admissible point with the least violation, and of equal ones the first, which is
 * the nearest to the anchor. */
static void pick_point(struct session *s)
{
    const struct fis_gate_options *o = &s->g->o;
    double least = INFINITY;
    for (uint32_t i = 0; i < s->points->n; i++) {
        for (uint32_t h = 0; h < 2; h++)
            make_point(s->points, i, h, s->g->n_params, s->point[h]);
        judge_point(&s->rows, (const float *const *)s->point, &s->trial);
        const struct fis_metrics *m = &s->trial.metrics;
        double se = accuracy_se(s, &s->trial);
        if (!gate_metrics_finite(o, &s->figures, m) ||
            !gate_admissible(o, &s->figures, m, i == 0, se))
            continue;
        if (m->predicted_classes < 2) {
            s->constant_passed_by = true;
            continue;
        }
        if (fis_metrics_of(m, o->metric) < least) {
            least = fis_metrics_of(m, o->metric);
            s->at = i;
            s->found = true;
            swap_judged(&s->pick, &s->trial);
        }
    }
}

static bool ends_finite(const struct session *s)
{
    const struct fis_gate_points *p = s->points;
    size_t n = s->g->n_params;
    bool finite = slab_finite(p->anchor, n);
    for (uint32_t i = 0; i < p->n_ends; i++)
        finite = finite && slab_finite(p->end[i][0], n) && slab_finite(p->end[i][1], n);
    return finite;
}

static int compare_with_served(struct session *s, struct fis_gate_judgement *j, struct fis_error *e)
{
    const struct fis_gate_options *o = &s->g->o;
    struct fis_rng rng;
    fis_rng_seed(&rng, o->seed, j->looks);
    if (s->g->serves) {
        judge_point(&s->rows, (const float *const *)s->g->served, &s->served);
        j->served = s->served.metrics;
        s->figures.served = &s->served.metrics;
        int rc = paired_difference(&s->rows, &s->served, &s->pick, o->metric, o->resamples, &rng,
                                   &j->difference, &j->difference_se, e);
        if (rc < 0)
            return rc;
        s->figures.difference = j->difference;
        s->figures.difference_se = j->difference_se;
    }
    return intervals_of(s, &s->pick, &rng, j, e);
}

static void explain(const struct session *s, struct fis_gate_judgement *j, enum fis_verdict verdict,
                    enum fis_gate_reason reason)
{
    const struct fis_gate_options *o = &s->g->o;
    const double served = j->served.n ? fis_metrics_of(&j->served, o->metric) : NAN;
    conclude(j, verdict, reason,
             "%s %s against %s served (difference %s, standard error %s), accuracy %s (served %s, "
             "anchor %s, floor %s), interpolation %.1f",
             fis_metric_name(o->metric), shown(fis_metrics_of(&j->pick, o->metric)).text,
             shown(served).text, shown(j->difference).text, shown(j->difference_se).text,
             shown(j->pick.accuracy).text, shown(j->served.accuracy).text,
             shown(j->anchor.accuracy).text, shown(j->floor).text, j->interpolation);
}

static int judge_in(struct session *s, struct fis_gate_judgement *j, struct fis_error *e)
{
    const struct fis_gate_options *o = &s->g->o;
    if (!(s->finite = ends_finite(s))) {
        conclude(j, FIS_REJECT, FIS_GATE_NOT_FINITE, "the weights are not finite");
        return 0;
    }
    judge_anchor(s, s->points->anchor, j);
    if (too_small(s, j))
        return show_anchor(s, j, e);
    if (!isfinite(s->anchor.loss) || !gate_metrics_finite(o, &s->figures, &s->anchor.metrics)) {
        conclude(j, FIS_REJECT, FIS_GATE_NOT_FINITE, "validation loss %s, accuracy %s, %s %s",
                 shown(s->anchor.loss).text, shown(j->anchor.accuracy).text,
                 fis_metric_name(o->metric), shown(fis_metrics_of(&j->anchor, o->metric)).text);
        return 0;
    }
    pick_point(s);
    double se = s->found ? accuracy_se(s, &s->pick) : 0;
    j->floor = gate_floor(o, &s->figures, s->points->n == 1 || (s->found && s->at == 0), se);
    if (!s->found) {
        conclude(j, FIS_REJECT, s->constant_passed_by ? FIS_GATE_CONSTANT : FIS_GATE_BELOW_FLOOR,
                 s->constant_passed_by
                     ? "one class only is predicted at accuracy %.4f; the floor is %.4f"
                     : "the anchor's accuracy is %.4f; the floor is %.4f",
                 j->anchor.accuracy, j->floor);
        return show_anchor(s, j, e);
    }
    j->pick = s->pick.metrics;
    j->interpolation = (double)s->points->share[s->at][0];
    j->second = (double)s->points->share[s->at][1];
    int rc = compare_with_served(s, j, e);
    if (rc < 0)
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

/* Keeps the pick's points, or the anchor without a pick. With cross-fit the mean of the two points
 * is what users get. */
static void keep_pick(struct session *s)
{
    struct fis_gate *g = s->g;
    const struct fis_gate_points *p = s->points;
    int pair = 0;
    g->has_picked = 1;
    if (!s->found) {
        memcpy(g->picked, p->anchor, g->n_params * sizeof(float));
        return;
    }
    for (uint32_t h = 0; h < 2; h++)
        make_point(p, s->at, h, g->n_params, g->point[h]);
    for (uint32_t i = 0; i < p->n_ends; i++)
        pair |= p->end[i][0] != p->end[i][1];
    if (pair)
        interpolate(g->point[0], g->point[1], 0.5f, g->n_params, g->picked);
    else
        memcpy(g->picked, g->point[0], g->n_params * sizeof(float));
}

static void publish(struct fis_gate *g, float *params)
{
    for (uint32_t h = 0; h < 2; h++)
        memcpy(g->served[h], g->point[h], g->n_params * sizeof(float));
    memcpy(params, g->picked, g->n_params * sizeof(float));
    g->serves = 1;
}

int fis_gate_judge_points(struct fis_gate *g, const struct fis_learner *t,
                          const struct fis_gate_points *p, struct fis_gate_judgement *j,
                          float *params, struct fis_error *e)
{
    struct session s;
    struct fis_gate_judgement out = nothing(g->looks + 1);
    int rc = session_init(&s, g, t, e);
    s.points = p;
    if (rc == 0)
        rc = judge_in(&s, &out, e);
    if (rc == 0) {
        g->looks = out.looks;
        g->has_picked = 0;
        if (out.anchor.n && s.finite)
            keep_pick(&s);
        if (out.verdict == FIS_PUBLISH)
            publish(g, params);
        *j = out;
    }
    session_done(&s);
    return rc;
}

int fis_gate_judge(struct fis_gate *g, const struct fis_learner *t, struct fis_gate_judgement *j,
                   float *params, struct fis_error *e)
{
    struct fis_gate_points p;
    fis_gate_points_of(t, &p);
    return fis_gate_judge_points(g, t, &p, j, params, e);
}
