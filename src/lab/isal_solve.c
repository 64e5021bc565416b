#include "lab/isal.h"

#include <math.h>
#include <string.h>

#include "fis/loss.h"
#include "fis/mem.h"

#define CHUNK 256u

/* u <- (diag p - p p^T) u / n, for each row. */
static void curve(const float *p, float *u, uint32_t rows, uint32_t classes, uint32_t n)
{
    for (uint32_t i = 0; i < rows; i++, p += classes, u += classes) {
        float along = 0;
        for (uint32_t k = 0; k < classes; k++)
            along += p[k] * u[k];
        for (uint32_t k = 0; k < classes; k++)
            u[k] = p[k] * (u[k] - along) / (float)n;
    }
}

/* out = (H + damping I) v; slabs. H = mean over rows of J^T (diag p - p p^T) J, J = d logits /
 * d params: tangents of the logits along v, then a backward pass. */
static int product(const struct lab_isal *a, const float *v, float *out, struct fis_error *e)
{
    const uint32_t k = fis_shape_classes(a->shape), d = fis_shape_inputs(a->shape);
    const size_t n_params = fis_shape_params(a->shape);
    struct fis_panel *panel = fis_panel_new(a->shape, a->params, &v, 1);
    struct fis_scratch *scratch = fis_scratch_new(a->shape, CHUNK, 1);
    float *p = fis_alloc((size_t)CHUNK * k, sizeof *p),
          *u = fis_alloc((size_t)CHUNK * k, sizeof *u);
    int rc = 0;
    if (!panel || !scratch || !p || !u)
        rc = fis_fail(e, FIS_NOMEM, "isal: no memory");
    for (size_t i = 0; rc == 0 && i < n_params; i++)
        out[i] = (float)a->damping * v[i];
    for (uint32_t from = 0; rc == 0 && from < a->n; from += CHUNK) {
        const uint32_t rows = a->n - from < CHUNK ? a->n - from : CHUNK;
        const float *x = a->x + (size_t)from * d;
        fis_panel_tangents(panel, x, rows, scratch, p, u);
        fis_network_forward(a->shape, a->params, x, rows, scratch, p);
        fis_softmax(p, rows, k, p);
        curve(p, u, rows, k, a->n);
        fis_network_backward(a->shape, a->params, x, rows, scratch, u, out);
    }
    fis_panel_unref(panel);
    fis_scratch_free(scratch);
    fis_free(p);
    fis_free(u);
    return rc;
}

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* s, rest, along, times: slabs; rest = g - A s holds throughout. Returns rest . rest. */
static int iterate(const struct lab_isal *a, double goal, uint32_t most, float *s, float *rest,
                   float *along, float *times, double *left, struct fis_error *e)
{
    const size_t n = fis_shape_params(a->shape);
    double now = dot(rest, rest, n);
    for (uint32_t i = 0; i < most && now > goal; i++) {
        int rc = product(a, along, times, e);
        if (rc < 0)
            return rc;
        double curvature = dot(along, times, n);
        if (!(curvature > 0)) /* H is positive: a matter of rounding, or of NaN */
            return fis_fail(e, FIS_INPUT, "isal: the curvature along a direction is %g", curvature);
        const double step = now / curvature, before = now;
        for (size_t j = 0; j < n; j++) {
            s[j] += (float)(step * (double)along[j]);
            rest[j] -= (float)(step * (double)times[j]);
        }
        now = dot(rest, rest, n);
        for (size_t j = 0; j < n; j++)
            along[j] = rest[j] + (float)(now / before) * along[j];
    }
    *left = now;
    return 0;
}

int lab_isal_solve(const struct lab_isal *a, const float *g, double tolerance, uint32_t most,
                   float *s, double *residual, struct fis_error *e)
{
    const size_t n = fis_shape_params(a->shape);
    float *work = fis_alloc(3 * n, sizeof *work);
    double left = 0;
    if (!work)
        return fis_fail(e, FIS_NOMEM, "isal: no memory");
    const double size = dot(g, g, n);
    memset(s, 0, n * sizeof *s);
    memcpy(work, g, n * sizeof *g);
    memcpy(work + n, g, n * sizeof *g);
    int r =
        iterate(a, tolerance * tolerance * size, most, s, work, work + n, work + 2 * n, &left, e);
    if (r == 0 && residual)
        *residual = size > 0 ? sqrt(left / size) : 0;
    fis_free(work);
    return r;
}
