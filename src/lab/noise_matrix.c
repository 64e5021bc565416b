#include "lab/noise_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fis/fairness.h"
#include "fis/mem.h"

#define ROUNDS 100
#define LARGEST 100.0

void lab_noise_uniform(uint32_t n, double noise, double *t)
{
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t j = 0; j < n; j++)
            t[k * n + j] = k == j ? 1 - noise : noise / (n - 1);
}

/* ---- inverse -------------------------------------------------------------------------------- */

static uint32_t pivot_of(const double *a, uint32_t n, uint32_t column)
{
    uint32_t best = column;
    for (uint32_t i = column; i < n; i++)
        if (fabs(a[i * n + column]) > fabs(a[best * n + column]))
            best = i;
    return best;
}

static void swap_rows(double *a, uint32_t n, uint32_t i, uint32_t j)
{
    for (uint32_t c = 0; i != j && c < n; c++) {
        double t = a[i * n + c];
        a[i * n + c] = a[j * n + c];
        a[j * n + c] = t;
    }
}

/* Gauss and Jordan with pivots; a becomes the identity. */
static int eliminate(double *a, double *b, uint32_t n)
{
    for (uint32_t c = 0; c < n; c++) {
        const uint32_t p = pivot_of(a, n, c);
        const double pivot = a[p * n + c];
        if (!(fabs(pivot) > 1e-9))
            return -1;
        swap_rows(a, n, c, p);
        swap_rows(b, n, c, p);
        for (uint32_t j = 0; j < n; j++) {
            a[c * n + j] /= pivot;
            b[c * n + j] /= pivot;
        }
        for (uint32_t i = 0; i < n; i++) {
            const double factor = a[i * n + c];
            for (uint32_t j = 0; i != c && j < n; j++) {
                a[i * n + j] -= factor * a[c * n + j];
                b[i * n + j] -= factor * b[c * n + j];
            }
        }
    }
    return 0;
}

int lab_noise_invert(uint32_t n, const double *t, double *inverse, struct fis_error *e)
{
    const size_t size = (size_t)n * n;
    double *work = fis_alloc(2 * size, sizeof *work), *b = work + size;
    if (!work)
        return fis_fail(e, FIS_NOMEM, "noise: no memory");
    memcpy(work, t, size * sizeof *work);
    for (size_t i = 0; i < size; i++)
        b[i] = i % (n + 1) == 0;
    int good = eliminate(work, b, n) == 0;
    for (size_t i = 0; good && i < size; i++)
        good = fabs(b[i]) <= LARGEST;
    if (good)
        memcpy(inverse, b, size * sizeof *inverse);
    fis_free(work);
    return good ? 0
                : fis_fail(e, FIS_INPUT,
                           "noise: the matrix cannot be inverted: its rows are alike; less noise "
                           "is allowed");
}

/* ---- estimates ------------------------------------------------------------------------------ */

/* T from the expected counts; a class without any keeps what it had. */
static double maximise(const double *counts, uint32_t n, double *t)
{
    double moved = 0;
    for (uint32_t k = 0; k < n; k++) {
        double total = 0;
        for (uint32_t j = 0; j < n; j++)
            total += counts[k * n + j];
        for (uint32_t j = 0; total > 0 && j < n; j++) {
            const double now = counts[k * n + j] / total;
            moved = fmax(moved, fabs(now - t[k * n + j]));
            t[k * n + j] = now;
        }
    }
    return moved;
}

void lab_noise_likeliest(const float *p, const uint32_t *labels, uint32_t rows, uint32_t n,
                         double *t)
{
    double counts[FIS_MAX_CLASSES * FIS_MAX_CLASSES];
    lab_noise_uniform(n, .1, t);
    for (int round = 0; round < ROUNDS; round++) {
        memset(counts, 0, (size_t)n * n * sizeof *counts);
        for (uint32_t i = 0; i < rows; i++) {
            const float *at = p + (size_t)i * n;
            double likelihood = 0;
            for (uint32_t k = 0; k < n; k++)
                likelihood += (double)at[k] * t[k * n + labels[i]];
            for (uint32_t k = 0; likelihood > 0 && k < n; k++)
                counts[k * n + labels[i]] += (double)at[k] * t[k * n + labels[i]] / likelihood;
        }
        if (maximise(counts, n, t) < 1e-6)
            break;
    }
}

struct ranked {
    float p;
    uint32_t row;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->p > y->p || x->p < y->p)
        return x->p < y->p ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

int lab_noise_anchors(const float *p, uint32_t rows, uint32_t n, double *t, struct fis_error *e)
{
    uint32_t top = rows / 100 > 10 ? rows / 100 : 10;
    struct ranked *order = fis_alloc(rows, sizeof *order);
    if (!order)
        return fis_fail(e, FIS_NOMEM, "noise: no memory for %u rows", rows);
    top = top < rows ? top : rows;
    memset(t, 0, (size_t)n * n * sizeof *t);
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t i = 0; i < rows; i++)
            order[i] = (struct ranked){p[(size_t)i * n + k], i};
        qsort(order, rows, sizeof *order, by_rank);
        for (uint32_t i = 0; i < top; i++)
            for (uint32_t j = 0; j < n; j++)
                t[k * n + j] += (double)p[(size_t)order[i].row * n + j] / top;
    }
    fis_free(order);
    return 0;
}
