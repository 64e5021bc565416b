#include "core/gate_choice.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/softmax.h"
#include "fis/gate.h"
#include "fis/mem.h"

#define DRAWS 4000
#define RIDGE 1e-9
#define STREAM UINT64_C(0x63686f696365)
#define NO_CELL UINT32_MAX
#define P FIS_GATE_MAX_POINTS

extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info,
                    size_t uplo_length);

int gate_choice_init(struct gate_choice *c, const struct gate_rows *rows, uint32_t points,
                     enum fis_metric metric, struct fis_error *e)
{
    const size_t all = (size_t)points * rows->n;
    *c = (struct gate_choice){.rows = rows};
    c->predicted = fis_alloc(all, sizeof *c->predicted);
    c->value = fis_alloc(all, sizeof *c->value);
    c->cell = fis_alloc(rows->n, sizeof *c->cell);
    c->loss = metric == FIS_RISK_DISPARITY ? fis_alloc(all, sizeof *c->loss) : NULL;
    if (c->predicted && c->value && c->cell && (c->loss || metric != FIS_RISK_DISPARITY))
        return 0;
    return fis_fail(e, FIS_NOMEM, "gate: no memory for %u rows at %u points", rows->n, points);
}

void gate_choice_done(struct gate_choice *c)
{
    fis_free(c->predicted);
    fis_free(c->loss);
    fis_free(c->value);
    fis_free(c->cell);
    *c = (struct gate_choice){0};
}

void gate_choice_take(struct gate_choice *c, const struct judged *j)
{
    const uint32_t n = c->rows->n, k = fis_shape_classes(c->rows->shape);
    double p[FIS_MAX_CLASSES];
    const size_t point = c->points++;
    memcpy(c->predicted + point * n, j->predictions, n * sizeof *c->predicted);
    for (uint32_t i = 0; c->loss && i < n; i++)
        c->loss[point * n + i] = (float)softmax_row(j->logits + (size_t)i * k, k, c->rows->y[i], p);
}

/* Adds the covariance, between points, of the means of `value` in the cells, summed over cells. */
static void add_cells(struct gate_choice *c, uint32_t cells, double *covariance)
{
    const uint32_t n = c->rows->n;
    double rows[2 * FIS_MAX_GROUPS], sum[2 * FIS_MAX_GROUPS];
    for (uint32_t a = 0; a < c->points; a++) {
        double *v = c->value + (size_t)a * n;
        memset(rows, 0, cells * sizeof *rows);
        memset(sum, 0, cells * sizeof *sum);
        for (uint32_t i = 0; i < n; i++)
            if (c->cell[i] != NO_CELL) {
                rows[c->cell[i]]++;
                sum[c->cell[i]] += v[i];
            }
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t cell = c->cell[i];
            v[i] = cell == NO_CELL ? 0 : (v[i] - sum[cell] / rows[cell]) / rows[cell];
        }
    }
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)c->points, (int)n, 1, c->value,
                (int)n, 1, covariance, P);
}

static void of_accuracy(struct gate_choice *c, double *covariance)
{
    const uint32_t n = c->rows->n;
    memset(c->cell, 0, n * sizeof *c->cell);
    for (size_t i = 0; i < (size_t)c->points * n; i++)
        c->value[i] = c->predicted[i] == c->rows->y[i % n];
    add_cells(c, 1, covariance);
}

/* Of the rates of class k that the metric compares between groups. */
static void of_class(struct gate_choice *c, enum fis_metric metric, uint32_t k, double *covariance)
{
    const uint32_t n = c->rows->n;
    for (uint32_t i = 0; i < n; i++) {
        const bool is_class = c->rows->y[i] == k;
        c->cell[i] = metric == FIS_EQUAL_OPPORTUNITY && !is_class ? NO_CELL
                     : metric == FIS_EQUALIZED_ODDS               ? 2 * c->rows->group[i] + is_class
                                                                  : 2 * c->rows->group[i];
    }
    for (size_t i = 0; i < (size_t)c->points * n; i++)
        c->value[i] = c->loss ? (double)c->loss[i] : c->predicted[i] == k;
    add_cells(c, 2 * c->rows->n_groups, covariance);
}

static void of_metric(struct gate_choice *c, enum fis_metric metric, double *covariance)
{
    const uint32_t classes = fis_shape_classes(c->rows->shape);
    const bool one = classes == 2 || c->loss;
    for (uint32_t k = 0; k < classes; k++)
        if (!one || k == c->rows->positive)
            of_class(c, metric, k, covariance);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Lower triangle [P][P] -> its factor, of correlations; a point without variance follows none. */
static bool factor(uint32_t points, double *m)
{
    int n = (int)points, lda = P, info = 0;
    double scale[P];
    for (uint32_t a = 0; a < points; a++)
        scale[a] = m[a * P + a] > 0 ? 1 / sqrt(m[a * P + a]) : 0;
    for (uint32_t a = 0; a < points; a++)
        for (uint32_t b = 0; b <= a; b++)
            m[a * P + b] = m[a * P + b] * scale[a] * scale[b] + (a == b ? RIDGE : 0);
    dpotrf_("U", &n, m, &lda, &info, 1); /* the lower triangle by rows is the upper by columns */
    return info == 0;
}

static double furthest(uint32_t points, const double *factor, const double *draw)
{
    double most = 0;
    for (uint32_t a = 0; a < points; a++) {
        double x = 0;
        for (uint32_t b = 0; b <= a; b++)
            x += factor[a * P + b] * draw[b];
        most = fabs(x) > most ? fabs(x) : most;
    }
    return most;
}

enum { ACCURACY, GAP, WIDTHS };

/* The quantiles of the largest of the points' errors, by the same draws: those cost the most. */
static void largest(uint32_t points, double (*covariance)[P * P], uint64_t seed, double *quantile)
{
    double most[WIDTHS][DRAWS], draw[P];
    struct fis_rng rng;
    bool definite[WIDTHS];
    for (int w = 0; w < WIDTHS; w++)
        definite[w] = factor(points, covariance[w]);
    fis_rng_seed(&rng, seed, STREAM);
    for (uint32_t i = 0; i < DRAWS; i++) {
        for (uint32_t a = 0; a < points; a++)
            draw[a] = fis_rng_normal(&rng);
        for (int w = 0; w < WIDTHS; w++)
            most[w][i] = furthest(points, covariance[w], draw);
    }
    for (int w = 0; w < WIDTHS; w++) {
        qsort(most[w], DRAWS, sizeof **most, by_value);
        quantile[w] = definite[w] ? most[w][(size_t)(FIS_INTERVAL_LEVEL * DRAWS)] : FIS_INTERVAL_Z;
    }
}

struct fis_half_width gate_choice_width(struct gate_choice *c, enum fis_metric metric,
                                        uint64_t seed)
{
    double covariance[WIDTHS][P * P] = {0}, quantile[WIDTHS];
    if (c->points < 2)
        return (struct fis_half_width){FIS_INTERVAL_Z, FIS_INTERVAL_Z};
    of_accuracy(c, covariance[ACCURACY]);
    of_metric(c, metric, covariance[GAP]);
    largest(c->points, covariance, seed, quantile);
    return (struct fis_half_width){fmax(FIS_INTERVAL_Z, quantile[ACCURACY]),
                                   fmax(FIS_INTERVAL_Z, quantile[GAP])};
}
