#include "core/direction_precondition.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "core/softmax.h"
#include "fis/mem.h"

/* LAPACK's solver for symmetric positive definite systems, part of OpenBLAS (which ships no
 * prototype for it); column-major, and the trailing length is Fortran's for `uplo`. */
extern void dposv_(const char *uplo, const int *n, const int *nrhs, double *a, const int *lda,
                   double *b, const int *ldb, int *info, size_t uplo_length);

#define MAX_DIM 4097u
#define ROWS 64u

struct precondition {
    uint32_t dim, classes, n;
    double *block; /* [K][dim][dim], one triangle filled */
    double *a;     /* [ROWS][dim]: activations and 1, each row times sqrt(p_k (1 - p_k) / n) */
    double *b;     /* [2][dim]: right-hand sides */
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
    *p = (struct precondition){.dim = dim, .classes = k, .n = n};
    p->block = fis_calloc((size_t)k * dim * dim, sizeof *p->block);
    p->a = fis_alloc((size_t)ROWS * dim, sizeof *p->a);
    p->b = fis_alloc((size_t)2 * dim, sizeof *p->b);
    if (!p->block || !p->a || !p->b) {
        precondition_free(p);
        return fis_fail(e, FIS_NOMEM, "precondition: no memory for %u blocks of %u by %u", k, dim,
                        dim);
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

/* Class k's scaled rows, and their product added to its block. */
static void add_class(struct precondition *p, uint32_t k, const float *act, const double *weight,
                      uint32_t n)
{
    uint32_t dim = p->dim, in = dim - 1;
    for (uint32_t i = 0; i < n; i++) {
        double s = weight[(size_t)i * p->classes + k], *row = p->a + (size_t)i * dim;
        for (uint32_t j = 0; j < in; j++)
            row[j] = s * act[(size_t)i * in + j];
        row[in] = s;
    }
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, (int)dim, (int)n, 1, p->a, (int)dim, 1,
                p->block + (size_t)k * dim * dim, (int)dim);
}

void precondition_add(struct precondition *p, const struct fis_shape *shape,
                      const struct fis_scratch *s, const float *x, const float *logits, uint32_t n)
{
    double weight[ROWS * FIS_MAX_CLASSES];
    uint32_t last = shape->n_layers - 1;
    const float *act = last ? s->act[last] : x;
    for (uint32_t from = 0; from < n; from += ROWS) {
        uint32_t rows = n - from < ROWS ? n - from : ROWS;
        for (uint32_t i = 0; i < rows; i++) {
            double *w = weight + (size_t)i * p->classes;
            (void)softmax_row(logits + (size_t)(from + i) * p->classes, p->classes, 0, w);
            for (uint32_t k = 0; k < p->classes; k++)
                w[k] = sqrt(w[k] * (1 - w[k]) / p->n);
        }
        for (uint32_t k = 0; k < p->classes; k++)
            add_class(p, k, act + (size_t)from * (p->dim - 1), weight, rows);
    }
}

/* Column k of the last layer's [in + 1][K] block of both slabs <-> the right-hand sides. */
static void columns(struct precondition *p, uint32_t k, float *acc, float *fair, int store)
{
    float *g[2] = {acc, fair};
    for (int i = 0; i < 2; i++)
        for (uint32_t j = 0; j < p->dim; j++) {
            float *v = g[i] + (size_t)j * p->classes + k;
            if (store)
                *v = (float)p->b[(size_t)i * p->dim + j];
            else
                p->b[(size_t)i * p->dim + j] = *v;
        }
}

int precondition_apply(struct precondition *p, const struct fis_shape *shape, double damping,
                       float *g_acc, float *g_fair, struct fis_error *e)
{
    size_t at = fis_shape_offset(shape, shape->n_layers - 1);
    memset(g_acc, 0, at * sizeof *g_acc);
    memset(g_fair, 0, at * sizeof *g_fair);
    int dim = (int)p->dim, two = 2, info = 0;
    for (uint32_t k = 0; k < p->classes; k++) {
        double *h = p->block + (size_t)k * p->dim * p->dim, trace = 0;
        for (size_t j = 0; j < p->dim; j++)
            trace += h[j * p->dim + j];
        if (trace == 0)
            continue;
        for (size_t j = 0; j < p->dim; j++)
            h[j * p->dim + j] += damping * trace / p->dim;
        columns(p, k, g_acc + at, g_fair + at, 0);
        /* The upper triangle by rows is the lower one by columns. */
        dposv_("L", &dim, &two, h, &dim, p->b, &dim, &info, 1);
        if (info)
            return fis_fail(e, FIS_INPUT,
                            "precondition: the curvature of class %u is not positive definite "
                            "(damping %g; a positive number is needed)",
                            k, damping);
        columns(p, k, g_acc + at, g_fair + at, 1);
    }
    return 0;
}
