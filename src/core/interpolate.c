#include "core/interpolate.h"

#include <math.h>
#include <string.h>

#include "core/fairness_cells.h"
#include "fis/loss.h"
#include "fis/mem.h"

#define ROWS_AT_A_TIME 256u

static bool is_gate_row(const struct fis_learner *t, uint32_t row)
{
    return !fis_learner_options(t)->guided || fis_learner_fold_of(t)[row] == 1;
}

static void gather(struct gate_rows *g, const struct fis_learner *t)
{
    const struct fis_rows *rows = fis_learner_validation(t);
    for (uint32_t h = 0; h < g->folds; h++) {
        g->begin[h] = g->n;
        for (uint32_t i = 0; i < rows->n; i++) {
            if (!is_gate_row(t, i) || fis_learner_fold_of(t)[i] != h)
                continue;
            memcpy(g->x + (size_t)g->n * g->d, rows->x + (size_t)i * g->d, g->d * sizeof *g->x);
            g->y[g->n] = rows->y[i];
            g->source[g->n] = i;
            g->group[g->n++] = rows->group[i];
        }
    }
    g->begin[g->folds] = g->n;
}

int gate_rows_init(struct gate_rows *g, const struct fis_learner *t, uint32_t positive,
                   struct fis_error *e)
{
    const struct fis_rows *rows = fis_learner_validation(t);
    *g = (struct gate_rows){.shape = fis_learner_shape(t), .d = rows->d, .positive = positive};
    if (rows->n == 0)
        return fis_fail(e, FIS_INPUT, "gate: there are no validation rows");
    g->n_groups = fis_learner_groups(t);
    g->folds = fis_learner_options(t)->folds;
    g->x = fis_alloc((size_t)rows->n * rows->d, sizeof *g->x);
    g->y = fis_alloc(rows->n, sizeof *g->y);
    g->group = fis_alloc(rows->n, sizeof *g->group);
    g->source = fis_alloc(rows->n, sizeof *g->source);
    g->scratch = fis_scratch_new(g->shape, ROWS_AT_A_TIME, 0);
    if (!g->x || !g->y || !g->group || !g->source || !g->scratch) {
        gate_rows_done(g);
        return fis_fail(e, FIS_NOMEM, "gate: no memory for %u rows", rows->n);
    }
    gather(g, t);
    return 0;
}

void gate_rows_take(struct gate_rows *g, const float *x)
{
    for (uint32_t i = 0; i < g->n; i++)
        memcpy(g->x + (size_t)i * g->d, x + (size_t)g->source[i] * g->d, g->d * sizeof *x);
}

void gate_rows_done(struct gate_rows *g)
{
    fis_free(g->x);
    fis_free(g->y);
    fis_free(g->group);
    fis_free(g->source);
    fis_scratch_free(g->scratch);
    *g = (struct gate_rows){0};
}

int judged_init(struct judged *j, const struct gate_rows *g, struct fis_error *e)
{
    *j = (struct judged){0};
    j->predictions = fis_alloc(g->n, sizeof *j->predictions);
    j->logits = fis_alloc((size_t)g->n * fis_shape_classes(g->shape), sizeof *j->logits);
    if (!j->predictions || !j->logits) {
        judged_done(j);
        return fis_fail(e, FIS_NOMEM, "gate: no memory for %u rows", g->n);
    }
    return 0;
}

void judged_done(struct judged *j)
{
    fis_free(j->predictions);
    fis_free(j->logits);
    j->predictions = NULL;
    j->logits = NULL;
}

static void forward_range(const struct gate_rows *g, const float *params, uint32_t from,
                          uint32_t to, float *logits)
{
    uint32_t k = fis_shape_classes(g->shape);
    for (; from < to; from += ROWS_AT_A_TIME) {
        uint32_t n = to - from < ROWS_AT_A_TIME ? to - from : ROWS_AT_A_TIME;
        fis_network_forward(g->shape, params, g->x + (size_t)from * g->d, n, g->scratch,
                            logits + (size_t)from * k);
    }
}

/* logits: NULL when the risk is not needed. */
static void measure(const struct gate_rows *g, const struct judged *j, const float *logits,
                    const uint32_t *rows, struct fis_metrics *out)
{
    const uint32_t k = fis_shape_classes(g->shape);
    if (g->measure)
        g->measure(g->measure_arg, j->predictions, logits, g->y, g->group, g->source, rows, g->n, k,
                   g->n_groups, g->positive, out);
    else
        fis_metrics_eval(j->predictions, logits, g->y, g->group, rows, g->n, k, g->n_groups,
                         g->positive, out);
}

void judge_point(const struct gate_rows *g, float *const *point, struct judged *j)
{
    uint32_t k = fis_shape_classes(g->shape);
    for (uint32_t h = 0; h < g->folds; h++)
        forward_range(g, point[h], g->begin[h], g->begin[h + 1], j->logits);
    fis_predict(j->logits, g->n, k, j->predictions);
    j->loss = fis_cross_entropy(j->logits, g->y, NULL, g->n, k, NULL);
    measure(g, j, j->logits, NULL, &j->metrics);
}

void interpolate(const float *a, const float *b, float share, size_t n, float *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (1.0f - share) * a[i] + share * b[i];
}

double accuracy_se(const struct gate_rows *g, const struct judged *a, const struct judged *b)
{
    uint32_t gained = 0, lost = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        bool right = a->predictions[i] == g->y[i], other = b->predictions[i] == g->y[i];
        gained += (uint32_t)(right && !other);
        lost += (uint32_t)(other && !right);
    }
    double differ = (double)gained + lost, gain = ((double)gained - lost) / g->n;
    return sqrt((differ / g->n - gain * gain) / g->n);
}

double likely_difference(const struct gate_rows *g, const struct judged *a, const struct judged *b,
                         const float *pi)
{
    const uint32_t k = fis_shape_classes(g->shape);
    double sum = 0;
    for (uint32_t i = 0; i < g->n; i++)
        sum += (double)pi[(size_t)i * k + a->predictions[i]] -
               (double)pi[(size_t)i * k + b->predictions[i]];
    return sum / g->n;
}

static double violation(const struct gate_rows *g, const struct judged *j, enum fis_metric metric,
                        const uint32_t *rows)
{
    struct fis_metrics m;
    measure(g, j, metric == FIS_RISK_DISPARITY ? j->logits : NULL, rows, &m);
    return fis_metrics_of(&m, metric);
}

int paired_difference(const struct gate_rows *g, const struct judged *a, const struct judged *b,
                      enum fis_metric metric, uint32_t resamples, struct fis_rng *rng,
                      double *difference, double *se, struct fis_error *e)
{
    uint32_t kept = 0, *rows = fis_alloc(g->n, sizeof *rows);
    double mean = 0, square = 0;
    if (!rows)
        return fis_fail(e, FIS_NOMEM, "gate: no memory for %u rows", g->n);
    for (uint32_t i = 0; i < resamples; i++) {
        for (uint32_t j = 0; j < g->n; j++)
            rows[j] = fis_rng_below(rng, g->n);
        double d = violation(g, a, metric, rows) - violation(g, b, metric, rows);
        if (isnan(d))
            continue;
        double off = d - mean; /* Welford's update */
        mean += off / ++kept;
        square += off * (d - mean);
    }
    fis_free(rows);
    *difference = fis_metrics_of(&a->metrics, metric) - fis_metrics_of(&b->metrics, metric);
    *se = kept >= 2 && kept >= resamples / 2 ? sqrt(square / (kept - 1)) : NAN;
    return 0;
}

uint32_t smallest_cell(const struct gate_rows *g, enum fis_metric metric)
{
    struct fairness_cells c;
    fairness_cells_count(&c, g->y, g->group, g->n, g->n_groups);
    return fairness_cells_smallest(&c, metric, fis_shape_classes(g->shape), g->n_groups,
                                   g->positive);
}

static void count_cells(const struct fis_learner *t, struct fairness_cells *c)
{
    const struct fis_rows *rows = fis_learner_validation(t);
    *c = (struct fairness_cells){0};
    for (uint32_t i = 0; i < rows->n; i++) {
        if (!is_gate_row(t, i))
            continue;
        c->group[rows->group[i]]++;
        c->label[rows->group[i]][rows->y[i]]++;
    }
}

uint32_t gate_smallest_cell(const struct fis_learner *t, enum fis_metric metric, uint32_t positive)
{
    struct fairness_cells c;
    count_cells(t, &c);
    return fairness_cells_smallest(&c, metric, fis_shape_classes(fis_learner_shape(t)),
                                   fis_learner_groups(t), positive);
}

double gate_detectable(const struct fis_learner *t, enum fis_metric metric, uint32_t positive,
                       const struct fis_metrics *m)
{
    const uint32_t classes = fis_shape_classes(fis_learner_shape(t));
    double rows[FIS_MAX_GROUPS * FIS_MAX_CLASSES];
    struct fairness_cells c;
    count_cells(t, &c);
    for (uint32_t g = 0; g < fis_learner_groups(t); g++)
        for (uint32_t k = 0; k < classes; k++)
            rows[g * classes + k] = c.label[g][k];
    return fis_detectable_gap(metric, rows, classes, fis_learner_groups(t), positive, m);
}
