/* Calibrated probabilities: Newton's method on the likelihood of scales and one bias a class. */
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
#define SCALES 2 /* of the logits, and of what the line adds to them */

struct fit {
    const float *z[SCALES]; /* [n][K] */
    const uint32_t *y, *group;
    uint32_t only; /* the group whose rows are fitted; ALL: all rows */
    uint32_t n, classes, scales;
    /* The scales, then the biases. */
    double at[SCALES + FIS_MAX_CLASSES], step[SCALES + FIS_MAX_CLASSES];
    double *h; /* [scales + classes] squared */
};

static uint32_t dim(const struct fit *f)
{
    return f->scales + f->classes;
}

static double row_at(const struct fit *f, uint32_t i, double *p)
{
    float logits[FIS_MAX_CLASSES];
    for (uint32_t k = 0; k < f->classes; k++) {
        double z = f->at[f->scales + k];
        for (uint32_t s = 0; s < f->scales; s++)
            z += f->at[s] * (double)f->z[s][(size_t)i * f->classes + k];
        logits[k] = (float)z;
    }
    return softmax_row(logits, f->classes, f->y[i], p);
}

/* Adds a row's gradient to `step` and its curvature to `h`. Derivatives of logit k by the
 * parameters are (z_k of each scale, e_k). */
static void add_row(struct fit *f, uint32_t i, const double *p)
{
    const float *z[SCALES];
    double mean[SCALES] = {0};
    for (uint32_t s = 0; s < f->scales; s++) {
        z[s] = f->z[s] + (size_t)i * f->classes;
        for (uint32_t k = 0; k < f->classes; k++)
            mean[s] += p[k] * (double)z[s][k];
        f->step[s] += (double)z[s][f->y[i]] - mean[s];
        for (uint32_t r = 0; r <= s; r++)
            for (uint32_t k = 0; k < f->classes; k++)
                f->h[(size_t)s * dim(f) + r] +=
                    p[k] * ((double)z[s][k] - mean[s]) * (double)z[r][k];
    }
    for (uint32_t k = 0; k < f->classes; k++) {
        double *row = f->h + (size_t)(f->scales + k) * dim(f);
        f->step[f->scales + k] += (k == f->y[i]) - p[k];
        for (uint32_t s = 0; s < f->scales; s++)
            row[s] += p[k] * ((double)z[s][k] - mean[s]);
        for (uint32_t l = 0; l <= k; l++)
            row[f->scales + l] += p[k] * ((l == k) - p[l]);
    }
}

/* One step of Newton's method; its length, or NaN. */
static double improve(struct fit *f)
{
    double p[FIS_MAX_CLASSES], length = 0;
    int n = (int)dim(f), one = 1, info = 0;
    memset(f->h, 0, (size_t)dim(f) * dim(f) * sizeof *f->h);
    memset(f->step, 0, dim(f) * sizeof *f->step);
    for (uint32_t i = 0; i < f->n; i++)
        if (f->only == ALL || f->only == f->group[i]) {
            (void)row_at(f, i, p);
            add_row(f, i, p);
        }
    for (uint32_t j = 0; j < dim(f); j++)
        f->h[(size_t)j * dim(f) + j] += RIDGE * f->n;
    /* The lower triangle by rows is the upper one by columns. */
    dposv_("U", &n, &one, f->h, &n, f->step, &n, &info, 1);
    for (uint32_t j = 0; info == 0 && j < dim(f); j++) {
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
    memcpy(f->at, otherwise, dim(f) * sizeof *f->at);
    for (int i = 0; i < ROUNDS && length > ENOUGH; i++)
        length = improve(f);
    if (!(length <= ENOUGH) || !(f->at[0] > 0))
        memcpy(f->at, otherwise, dim(f) * sizeof *f->at);
}

/* pi += share of the probabilities of the rows of `only`. */
static void add_probabilities(const struct fit *f, uint32_t only, float share, float *pi)
{
    double p[FIS_MAX_CLASSES];
    for (uint32_t i = 0; i < f->n; i++) {
        if (only != ALL && only != f->group[i])
            continue;
        (void)row_at(f, i, p);
        for (uint32_t k = 0; k < f->classes; k++)
            pi[(size_t)i * f->classes + k] += share * (float)p[k];
    }
}

int line_calibrate(const float *logits, const float *added, const uint32_t *y,
                   const uint32_t *group, uint32_t n, uint32_t classes, uint32_t n_groups,
                   float *pi, struct fis_error *e)
{
    struct fit f = {.z = {logits, added}, .y = y, .group = group, .n = n, .classes = classes};
    const float share = added ? .5f : 1;
    double at[SCALES + FIS_MAX_CLASSES] = {1};
    f.h = fis_alloc((size_t)(SCALES + classes) * (SCALES + classes), sizeof *f.h);
    if (!f.h)
        return fis_fail(e, FIS_NOMEM, "gate: no memory to calibrate");
    memset(pi, 0, (size_t)n * classes * sizeof *pi);
    f.scales = 1;
    fit_rows(&f, ALL, at);
    memcpy(at, f.at, sizeof at);
    for (uint32_t g = 0; g < n_groups; g++) {
        fit_rows(&f, g, at);
        add_probabilities(&f, g, share, pi);
    }
    if (added) {
        memmove(at + 2, at + 1, classes * sizeof *at);
        at[1] = 0;
        f.scales = 2;
        fit_rows(&f, ALL, at);
        add_probabilities(&f, ALL, share, pi);
    }
    fis_free(f.h);
    return 0;
}
