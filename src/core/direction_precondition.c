#include "core/direction_precondition.h"

#include <cblas.h>
#include <math.h>
#include <stdbool.h>

#include "core/softmax.h"
#include "fis/mem.h"

/* LAPACK's factor and solver of symmetric positive definite systems, part of OpenBLAS (which ships
 * no prototype for it); column-major, and the trailing length is Fortran's for `uplo`. */
extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info,
                    size_t uplo_length);
extern void dpotrs_(const char *uplo, const int *n, const int *nrhs, const double *a,
                    const int *lda, double *b, const int *ldb, int *info, size_t uplo_length);

#define MAX_DIM 4097u
#define ROWS 64u

struct precondition {
    uint32_t dim, classes, n;
    uint32_t blocks; /* K, or 1 for two classes: p_0 (1 - p_0) = p_1 (1 - p_1) = p_0 p_1 */
    double *block;   /* [blocks][dim][dim], one triangle filled */
    double *a;       /* [ROWS][dim]: activations and 1, each row times sqrt(p_k (1 - p_k) / n) */
    double *b;       /* [2][K][dim]: the directions as right-hand sides */
};

int precondition_new(const struct fis_shape *shape, uint32_t n, struct precondition **out,
                     struct fis_error *e)
{
    uint32_t dim = shape->width[shape->n_layers - 1] + 1, k = fis_shape_classes(shape);
    if (dim > MAX_DIM)
        return fis_fail(e, FIS_INPUT,
                        "precondition: the last layer has %u inputs, at most %u allowed", dim - 1,
                        MAX_DIM - 1);
    struct precondition *p = fis_calloc(1, sizeof *p);
    if (!p)
        return fis_fail(e, FIS_NOMEM, "precondition: no memory");
    *p = (struct precondition){.dim = dim, .classes = k, .n = n, .blocks = k == 2 ? 1 : k};
    p->block = fis_calloc((size_t)p->blocks * dim * dim, sizeof *p->block);
    p->a = fis_alloc((size_t)ROWS * dim, sizeof *p->a);
    p->b = fis_alloc((size_t)2 * k * dim, sizeof *p->b);
    if (!p->block || !p->a || !p->b) {
        precondition_free(p);
        return fis_fail(e, FIS_NOMEM, "precondition: no memory for %u blocks of %u by %u",
                        k == 2 ? 1 : k, dim, dim);
    }
    *out = p;
    return 0;
}

void precondition_free(struct precondition *p)
{
    if (!p)
        return;
    fis_free(p->block);
    fis_free(p->a);
    fis_free(p->b);
    fis_free(p);
}

/* A block's scaled rows, and their product added to it. */
static void add_block(struct precondition *p, uint32_t block, const float *act,
                      const double *weight, uint32_t n)
{
    uint32_t dim = p->dim, in = dim - 1;
    for (uint32_t i = 0; i < n; i++) {
        double s = weight[(size_t)i * p->blocks + block], *row = p->a + (size_t)i * dim;
        for (uint32_t j = 0; j < in; j++)
            row[j] = s * act[(size_t)i * in + j];
        row[in] = s;
    }
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, (int)dim, (int)n, 1, p->a, (int)dim, 1,
                p->block + (size_t)block * dim * dim, (int)dim);
}

void precondition_add(struct precondition *p, const float *act, const float *logits, uint32_t n)
{
    double weight[ROWS * FIS_MAX_CLASSES], soft[FIS_MAX_CLASSES];
    for (uint32_t from = 0; from < n; from += ROWS) {
        uint32_t rows = n - from < ROWS ? n - from : ROWS;
        for (uint32_t i = 0; i < rows; i++) {
            double *w = weight + (size_t)i * p->blocks;
            (void)softmax_row(logits + (size_t)(from + i) * p->classes, p->classes, 0, soft);
            for (uint32_t k = 0; k < p->blocks; k++)
                w[k] = sqrt(soft[k] * (p->classes == 2 ? soft[1] : 1 - soft[k]) / p->n);
        }
        for (uint32_t k = 0; k < p->blocks; k++)
            add_block(p, k, act + (size_t)from * (p->dim - 1), weight, rows);
    }
}

/* The upper triangle by rows is the lower one by columns. */
static int solve_block(struct precondition *p, uint32_t k, double damping, double *b, int sides,
                       struct fis_error *e)
{
    double *h = p->block + (size_t)k * p->dim * p->dim, trace = 0;
    int dim = (int)p->dim, next = (int)(p->classes * p->dim), info = 0;
    for (size_t j = 0; j < p->dim; j++)
        trace += h[j * p->dim + j];
    if (trace == 0)
        return 0;
    for (size_t j = 0; j < p->dim; j++)
        h[j * p->dim + j] += damping * trace / p->dim;
    dpotrf_("L", &dim, h, &dim, &info, 1);
    for (uint32_t i = k; info == 0 && i < k + p->classes / p->blocks; i++)
        dpotrs_("L", &dim, &sides, h, &dim, b + (size_t)i * p->dim, &next, &info, 1);
    if (info)
        return fis_fail(e, FIS_INPUT,
                        "precondition: the curvature of class %u is not positive definite "
                        "(damping %g; a positive number is needed)",
                        k, damping);
    return 0;
}

int precondition_solve(struct precondition *p, double damping, double *b, uint32_t sides,
                       struct fis_error *e)
{
    int rc = 0;
    for (uint32_t k = 0; rc == 0 && k < p->blocks; k++)
        rc = solve_block(p, k, damping, b, (int)sides, e);
    return rc;
}

/* The last layer's block [in + 1][K] <-> a right-hand side [K][dim]. */
static void turn(const struct precondition *p, float *v, double *b, bool store)
{
    for (uint32_t k = 0; k < p->classes; k++)
        for (uint32_t j = 0; j < p->dim; j++, b++) {
            float *at = v + (size_t)j * p->classes + k;
            if (store)
                *at = (float)*b;
            else
                *b = (double)*at;
        }
}

int precondition_apply(struct precondition *p, double damping, float *g_acc, float *g_fair,
                       struct fis_error *e)
{
    const size_t side = (size_t)p->classes * p->dim;
    turn(p, g_acc, p->b, false);
    turn(p, g_fair, p->b + side, false);
    int rc = precondition_solve(p, damping, p->b, 2, e);
    if (rc < 0)
        return rc;
    turn(p, g_acc, p->b, true);
    turn(p, g_fair, p->b + side, true);
    return 0;
}
