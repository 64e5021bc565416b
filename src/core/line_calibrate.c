/* Calibrated probabilities: Newton's method on the likelihood of a scale and one bias a class, for
 * each group. */
#include <math.h>
#include <string.h>

#include "core/line.h"
#include "core/softmax.h"
#include "fis/mem.h"

#define ROUNDS 25
#define ENOUGH 1e-7
#define RIDGE 1e-9 /* biases move together without effect */

extern void dposv_(const char *uplo, const int *n, const int *nrhs, double *a, const int *lda,
                   double *b, const int *ldb, int *info, size_t uplo_length);

#define ALL UINT32_MAX

struct fit {
    const float *logits;
    const uint32_t *y, *group;
    uint32_t only;            /* the group whose rows are fitted; ALL: all rows */
    uint32_t n, classes, dim; /* dim: 1 + K; the scale, then the biases */
    double at[1 + FIS_MAX_CLASSES], step[1 + FIS_MAX_CLASSES];
    double *h; /* [dim][dim] */
};

static double row_at(const struct fit *f, uint32_t i, double *p)
{
    const float *z = f->logits + (size_t)i * f->classes;
    float moved[FIS_MAX_CLASSES];
    for (uint32_t k = 0; k < f->classes; k++)
        moved[k] = (float)(f->at[0] * (double)z[k] + f->at[1 + k]);
    return softmax_row(moved, f->classes, f->y[i], p);
}

/* Adds a row's gradient to `step` and its curvature to `h`. Derivatives by the parameters are
 * (f_k, e_k) for logit k. */
static void add_row(struct fit *f, uint32_t i, const double *p)
{
    const float *z = f->logits + (size_t)i * f->classes;
    double mean = 0, square = 0;
    for (uint32_t k = 0; k < f->classes; k++) {
        mean += p[k] * (double)z[k];
        square += p[k] * (double)z[k] * (double)z[k];
    }
    f->step[0] += (double)z[f->y[i]] - mean;
    f->h[0] += square - mean * mean;
    for (uint32_t k = 0; k < f->classes; k++) {
        double *row = f->h + (size_t)(1 + k) * f->dim;
        f->step[1 + k] += (k == f->y[i]) - p[k];
        row[0] += p[k] * ((double)z[k] - mean);
        for (uint32_t l = 0; l <= k; l++)
            row[1 + l] += p[k] * ((l == k) - p[l]);
    }
}

/* One step of Newton's method; its length, or NaN. */
static double improve(struct fit *f)
{
    double p[FIS_MAX_CLASSES], length = 0;
    int n = (int)f->dim, one = 1, info = 0;
    memset(f->h, 0, (size_t)f->dim * f->dim * sizeof *f->h);
    memset(f->step, 0, f->dim * sizeof *f->step);
    for (uint32_t i = 0; i < f->n; i++)
        if (f->only == ALL || f->only == f->group[i]) {
            (void)row_at(f, i, p);
            add_row(f, i, p);
        }
    for (uint32_t j = 0; j < f->dim; j++)
        f->h[(size_t)j * f->dim + j] += RIDGE * f->n;
    /* The lower triangle by rows is the upper one by columns. */
    dposv_("U", &n, &one, f->h, &n, f->step, &n, &info, 1);
    for (uint32_t j = 0; info == 0 && j < f->dim; j++) {
        f->at[j] += f->step[j];
        length += fabs(f->step[j]);
    }
    return info ? (double)NAN : length;
}

/* Of the rows of `only`; `otherwise` where it does not converge. */
static void fit_rows(struct fit *f, uint32_t only, const double *otherwise)
{
    double length = INFINITY;
    f->only = only;
    memcpy(f->at, otherwise, f->dim * sizeof *f->at);
    for (int i = 0; i < ROUNDS && length > ENOUGH; i++)
        length = improve(f);
    if (!(length <= ENOUGH) || !(f->at[0] > 0))
        memcpy(f->at, otherwise, f->dim * sizeof *f->at);
}

int line_calibrate(const float *logits, const uint32_t *y, const uint32_t *group, uint32_t n,
                   uint32_t classes, uint32_t n_groups, float *pi, struct fis_error *e)
{
    struct fit f = {
        .logits = logits, .y = y, .group = group, .n = n, .classes = classes, .dim = 1 + classes};
    double p[FIS_MAX_CLASSES], all[1 + FIS_MAX_CLASSES] = {1};
    f.h = fis_alloc((size_t)f.dim * f.dim, sizeof *f.h);
    if (!f.h)
        return fis_fail(e, FIS_NOMEM, "gate: no memory to calibrate");
    fit_rows(&f, ALL, all);
    memcpy(all, f.at, f.dim * sizeof *all);
    for (uint32_t g = 0; g < n_groups; g++) {
        fit_rows(&f, g, all);
        for (uint32_t i = 0; i < n; i++) {
            if (group[i] != g)
                continue;
            (void)row_at(&f, i, p);
            for (uint32_t k = 0; k < classes; k++)
                pi[(size_t)i * classes + k] = (float)p[k];
        }
    }
    fis_free(f.h);
    return 0;
}
