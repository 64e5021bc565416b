#include "core/line.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "core/direction_precondition.h"
#include "core/fairness_impl.h"
#include "core/network_scratch.h"
#include "core/slab.h"
#include "core/softmax.h"
#include "fis/mem.h"

#define CHUNK 256u
#define DAMPING .01
#define RIDGE 1e-6

extern void dposv_(const char *uplo, const int *n, const int *nrhs, double *a, const int *lda,
                   double *b, const int *ldb, int *info, size_t uplo_length);

/* A mean over the cell of a part, class and group. */
struct cell {
    enum part part;
    uint32_t class, group;
    double rows, sum;
    double *j; /* [K][dim] sum of the quantity's gradient, then of the mean's */
};

struct line {
    const struct fis_shape *shape;
    const float *params;
    bool risk;
    uint32_t classes, dim, n_groups;
    size_t side; /* K * dim */
    struct fairness_work *plan;
    struct cell *cells; /* [n_cells], those of one part and class side by side */
    uint32_t n_cells, n_gaps;
    double *slab; /* the cells' j */
    double *gap;  /* [n_gaps] */
    double *jac;  /* [n_gaps][K][dim] J */
    double *sol;  /* [n_gaps][K][dim] H^-1 J^T */
    double *gram; /* [n_gaps][n_gaps] */
    struct fis_scratch *scratch;
    float *x, *logits; /* [CHUNK][d], [CHUNK][K] */
};

static void line_done(struct line *t)
{
    void *const all[] = {t->plan, t->cells, t->slab, t->gap,   t->jac,
                         t->sol,  t->gram,  t->x,    t->logits};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fis_free(all[i]);
    fis_scratch_free(t->scratch);
}

/* The parts and classes that are compared: as the surrogate has them, but of two classes one. */
static void make_plan(struct line *t, enum fis_metric metric, uint32_t positive)
{
    const struct fis_surrogate s = {.metric = metric, .positive = positive};
    fairness_plan(t->plan, &s, t->classes, t->n_groups);
    if (t->classes == 2 && metric == FIS_DEMOGRAPHIC_PARITY) {
        t->plan->first = positive;
        t->plan->last = positive + 1;
    }
    t->risk = metric == FIS_RISK_DISPARITY;
    for (int part = 0; part < PARTS; part++)
        t->n_cells += t->plan->uses[part] ? (t->plan->last - t->plan->first) * t->n_groups : 0;
}

static int line_init(struct line *t, enum fis_metric metric, uint32_t positive, struct fis_error *e)
{
    const uint32_t last = t->shape->n_layers - 1;
    t->classes = fis_shape_classes(t->shape);
    t->dim = t->shape->width[last] + 1;
    t->side = (size_t)t->classes * t->dim;
    if (!(t->plan = fis_alloc(1, sizeof *t->plan)))
        return fis_fail(e, FIS_NOMEM, "line: no memory");
    make_plan(t, metric, positive);
    if (t->n_cells > LINE_MAX_GAPS)
        return fis_fail(e, FIS_INPUT, "line: %u gaps, at most %u are possible", t->n_cells,
                        LINE_MAX_GAPS);
    const size_t vectors = (size_t)t->n_cells * t->side;
    t->cells = fis_calloc(t->n_cells, sizeof *t->cells);
    t->slab = fis_calloc(vectors, sizeof *t->slab);
    t->gap = fis_calloc(t->n_cells, sizeof *t->gap);
    t->jac = fis_alloc(vectors, sizeof *t->jac);
    t->sol = fis_alloc(vectors, sizeof *t->sol);
    t->gram = fis_alloc((size_t)t->n_cells * t->n_cells, sizeof *t->gram);
    t->scratch = fis_scratch_new(t->shape, CHUNK, 0);
    t->x = fis_alloc((size_t)CHUNK * fis_shape_inputs(t->shape), sizeof *t->x);
    t->logits = fis_alloc((size_t)CHUNK * t->classes, sizeof *t->logits);
    if (!t->cells || !t->slab || !t->gap || !t->jac || !t->sol || !t->gram || !t->scratch ||
        !t->x || !t->logits)
        return fis_fail(e, FIS_NOMEM, "line: no memory for %u gaps", t->n_cells);
    struct cell *c = t->cells;
    for (int part = 0; part < PARTS; part++)
        for (uint32_t k = t->plan->first; t->plan->uses[part] && k < t->plan->last; k++)
            for (uint32_t g = 0; g < t->n_groups; g++, c++)
                *c = (struct cell){.part = (enum part)part,
                                   .class = k,
                                   .group = g,
                                   .j = t->slab + (size_t)(c - t->cells) * t->side};
    return 0;
}

/* The last layer's inputs [n][dim - 1]. */
static const float *forward(struct line *t, const float *x, uint32_t n)
{
    fis_network_forward(t->shape, t->params, x, n, t->scratch, t->logits);
    return network_last_inputs(t->shape, t->scratch, x);
}

/* ---- gaps ----------------------------------------------------------------------------------- */

/* The quantity of a row in a cell is p_class, or its cross-entropy `ce`; its gradient by the logits
 * times the last layer's input. */
static void add_row(const struct line *t, struct cell *c, const double *p, double ce, uint32_t y,
                    const float *act)
{
    const uint32_t in = t->dim - 1;
    c->rows++;
    c->sum += t->risk ? ce : p[c->class];
    for (uint32_t l = 0; l < t->classes; l++) {
        double d = t->risk ? p[l] - (l == y) : p[c->class] * ((l == c->class) - p[l]);
        double *j = c->j + (size_t)l * t->dim;
        for (uint32_t i = 0; i < in; i++)
            j[i] += d * (double)act[i];
        j[in] += d;
    }
}

static void add_rows(struct line *t, const struct line_guide *guide)
{
    const struct fis_rows *rows = guide->rows;
    const uint32_t n = guide->index ? guide->n : rows->n;
    double p[FIS_MAX_CLASSES];
    for (uint32_t from = 0; from < n; from += CHUNK) {
        const uint32_t count = n - from < CHUNK ? n - from : CHUNK;
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t row = guide->index ? guide->index[from + i] : from + i;
            memcpy(t->x + (size_t)i * rows->d, rows->x + (size_t)row * rows->d,
                   rows->d * sizeof *t->x);
        }
        const float *act = forward(t, t->x, count);
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t row = guide->index ? guide->index[from + i] : from + i;
            const uint32_t y = rows->y[row], g = rows->group[row];
            const double ce = softmax_row(t->logits + (size_t)i * t->classes, t->classes, y, p);
            for (uint32_t c = g; c < t->n_cells; c += t->n_groups)
                if (fairness_part(t->plan, y, t->cells[c].class) == t->cells[c].part)
                    add_row(t, &t->cells[c], p, ce, y, act + (size_t)i * (t->dim - 1));
        }
    }
}

/* Gap `to` = the mean of cell a less `share` of the mean of cell b, added. */
static void add_gap(struct line *t, uint32_t to, const struct cell *c, double share)
{
    t->gap[to] += share * c->sum / c->rows;
    cblas_daxpy((int)t->side, share / c->rows, c->j, 1, t->jac + (size_t)to * t->side, 1);
}

/* Of the cells of one part and class: two groups are compared with each other, more with the mean
 * over all. */
static void compare(struct line *t, const struct cell *c)
{
    double rows = 0;
    uint32_t groups = 0;
    for (uint32_t g = 0; g < t->n_groups; g++) {
        rows += c[g].rows;
        groups += c[g].rows > 0;
    }
    for (uint32_t g = 0; groups > 1 && g < t->n_groups; g++) {
        if (c[g].rows == 0)
            continue;
        const uint32_t to = t->n_gaps++;
        t->gap[to] = 0;
        memset(t->jac + (size_t)to * t->side, 0, t->side * sizeof *t->jac);
        add_gap(t, to, &c[g], 1);
        for (uint32_t other = 0; other < t->n_groups; other++)
            if (c[other].rows > 0 && (groups > 2 || other != g))
                add_gap(t, to, &c[other], groups > 2 ? -c[other].rows / rows : -1);
        if (groups == 2)
            break;
    }
}

/* ---- the step ------------------------------------------------------------------------------- */

static int curvature(struct line *t, const struct line_unlabelled *u, struct precondition **out,
                     struct fis_error *e)
{
    const uint32_t d = fis_shape_inputs(t->shape);
    uint32_t n[2];
    for (int i = 0; i < 2; i++)
        n[i] = u->n[i] < LINE_CURVATURE_ROWS ? u->n[i] : LINE_CURVATURE_ROWS;
    int rc = precondition_new(t->shape, n[0] + n[1], out, e);
    for (int i = 0; rc == 0 && i < 2; i++)
        for (uint32_t from = 0; from < n[i]; from += CHUNK) {
            const uint32_t count = n[i] - from < CHUNK ? n[i] - from : CHUNK;
            const float *act = forward(t, u->x[i] + (size_t)from * d, count);
            precondition_add(*out, act, t->logits, count);
        }
    return rc;
}

/* gap <- (J sol^T + ridge)^-1 gap; false: there is nothing to solve. */
static bool solve_gaps(struct line *t)
{
    int n = (int)t->n_gaps, one = 1, info = 0;
    double trace = 0;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, (int)t->side, 1, t->jac,
                (int)t->side, t->sol, (int)t->side, 0, t->gram, n);
    for (size_t i = 0; i < t->n_gaps; i++)
        trace += t->gram[i * t->n_gaps + i];
    if (!(trace > 0 && trace < INFINITY))
        return false;
    for (size_t i = 0; i < t->n_gaps; i++)
        t->gram[i * t->n_gaps + i] += RIDGE * trace / n;
    dposv_("L", &n, &one, t->gram, &n, t->gap, &n, &info, 1);
    return info == 0;
}

static int solve(struct line *t, const struct line_unlabelled *u, float *step, struct fis_error *e)
{
    struct precondition *h = NULL;
    const size_t at = fis_shape_offset(t->shape, t->shape->n_layers - 1);
    memcpy(t->sol, t->jac, t->n_gaps * t->side * sizeof *t->sol);
    int rc = curvature(t, u, &h, e);
    if (rc == 0)
        rc = precondition_solve(h, DAMPING, t->sol, t->n_gaps, e);
    precondition_free(h);
    if (rc < 0 || !solve_gaps(t))
        return rc;
    for (uint32_t k = 0; k < t->classes; k++)
        for (uint32_t i = 0; i < t->dim; i++) {
            double v = 0;
            for (uint32_t j = 0; j < t->n_gaps; j++)
                v -= t->gap[j] * t->sol[j * t->side + (size_t)k * t->dim + i];
            step[at + (size_t)i * t->classes + k] = (float)v;
        }
    return 0;
}

int line_step(const struct fis_shape *shape, const float *params, const struct line_guide *guide,
              const struct line_unlabelled *u, enum fis_metric metric, uint32_t positive,
              uint32_t n_groups, float *step, struct fis_error *e)
{
    struct line t = {.shape = shape, .params = params, .n_groups = n_groups};
    const size_t n_params = fis_shape_params(shape);
    memset(step, 0, n_params * sizeof *step);
    int rc = line_init(&t, metric, positive, e);
    if (rc == 0) {
        add_rows(&t, guide);
        for (uint32_t c = 0; c < t.n_cells; c += n_groups)
            compare(&t, &t.cells[c]);
        if (t.n_gaps > 0)
            rc = solve(&t, u, step, e);
    }
    if (rc == 0 && !slab_finite(step, n_params))
        rc = fis_fail(e, FIS_INPUT, "line: the step is not finite");
    if (rc < 0)
        memset(step, 0, n_params * sizeof *step);
    line_done(&t);
    return rc;
}

/* Mean square of h.v over the rows and classes; v: the last layer's part of a slab. */
static double mean_square(struct line *t, const float *v, const float *x, uint32_t n)
{
    const uint32_t d = fis_shape_inputs(t->shape), in = t->dim - 1, k = t->classes;
    double sum = 0;
    for (uint32_t from = 0; from < n; from += CHUNK) {
        const uint32_t count = n - from < CHUNK ? n - from : CHUNK;
        const float *act = forward(t, x + (size_t)from * d, count);
        for (size_t i = 0; i < (size_t)count * k; i++) {
            const float *h = act + i / k * in, *column = v + i % k;
            double z = (double)column[(size_t)in * k];
            for (uint32_t j = 0; j < in; j++)
                z += (double)h[j] * (double)column[(size_t)j * k];
            sum += z * z;
        }
    }
    return n ? sum / ((double)n * k) : 0;
}

int line_along(const struct fis_shape *shape, const float *params, const float *direction,
               const float *x, uint32_t n, float *step, struct fis_error *e)
{
    struct line t = {.shape = shape, .params = params, .n_groups = 1};
    const size_t n_params = fis_shape_params(shape),
                 at = fis_shape_offset(shape, shape->n_layers - 1);
    memset(step, 0, n_params * sizeof *step);
    int rc = line_init(&t, FIS_DEMOGRAPHIC_PARITY, 0, e);
    if (rc == 0) {
        const uint32_t rows = n < LINE_CURVATURE_ROWS ? n : LINE_CURVATURE_ROWS;
        const double square = mean_square(&t, direction + at, x, rows);
        const double scale = square > 0 ? -.5 / sqrt(square) : 0;
        for (size_t i = at; isfinite(scale) && i < n_params; i++)
            step[i] = (float)(scale * (double)direction[i]);
    }
    line_done(&t);
    return rc;
}
