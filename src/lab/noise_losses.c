#include <math.h>
#include <string.h>

#include "fis/loss.h"
#include "fis/mem.h"
#include "lab/noise_model.h"

void lab_noise_posterior(const double *t, const float *p, uint32_t label, uint32_t n, float *to)
{
    double sum = 0;
    for (uint32_t k = 0; k < n; k++)
        sum += (double)p[k] * t[k * n + label];
    for (uint32_t k = 0; k < n; k++)
        to[k] = sum > 0 ? (float)((double)p[k] * t[k * n + label] / sum) : p[k];
}

bool lab_noise_contradicts(const struct lab_noise_model *m, const float *p, uint32_t label)
{
    uint32_t own = 0;
    for (uint32_t k = 1; k < m->classes; k++)
        own = p[k] > p[own] ? k : own;
    return own != label && (double)p[own] > m->confidence;
}

/* One call's view. u [n][K]: what multiplies d p_k, or d CE in u[.][0], in d phi. */
struct eval {
    const struct lab_noise_model *m;
    const uint32_t *labels, *groups, *source;
    uint32_t n, classes, used; /* used: rows that are not trimmed */
    float *p, *posterior;      /* [n][K] */
    double *u, *ce;            /* [n][K], [n] */
    uint8_t *out;              /* [n] trimmed */
};

/* Cells of a comparison: all rows of a group, those of class k, those of the others. */
enum part { ALL_ROWS, SAME_CLASS, OTHER_CLASS };

static void eval_done(struct eval *v)
{
    void *const all[] = {v->p, v->posterior, v->u, v->ce, v->out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fis_free(all[i]);
}

/* -log sum_k p_k T[k][y], and the posterior that its gradient p_k - posterior_k goes to. */
static void look_at_row(struct eval *v, uint32_t i)
{
    const uint32_t k = v->classes, y = v->labels[i];
    const float *p = v->p + (size_t)i * k;
    float *posterior = v->posterior + (size_t)i * k;
    double q = 0;
    for (uint32_t j = 0; j < k; j++) {
        q += (double)p[j] * (v->m->t ? v->m->t[j * k + y] : j == y);
        posterior[j] = j == y;
    }
    if (v->m->t)
        lab_noise_posterior(v->m->t, p, y, k, posterior);
    v->ce[i] = -log(q > 1e-30 ? q : 1e-30);
    v->out[i] = v->m->trim && lab_noise_contradicts(v->m, p, y);
    v->used += !v->out[i];
}

static int eval_init(struct eval *v, const float *logits, struct fis_error *e)
{
    const size_t size = (size_t)v->n * v->classes;
    v->p = fis_alloc(size, sizeof *v->p);
    v->posterior = fis_alloc(size, sizeof *v->posterior);
    v->u = fis_calloc(size, sizeof *v->u);
    v->ce = fis_alloc(v->n, sizeof *v->ce);
    v->out = fis_calloc(v->n, 1);
    if (!v->p || !v->posterior || !v->u || !v->ce || !v->out)
        return fis_fail(e, FIS_NOMEM, "noise: no memory for %u rows", v->n);
    fis_softmax(logits, v->n, v->classes, v->p);
    for (uint32_t i = 0; i < v->n; i++)
        look_at_row(v, i);
    return 0;
}

/* How much row i counts for group g's cell. */
static double weight(const struct eval *v, uint32_t i, uint32_t g, enum part part, uint32_t k)
{
    const float *groups = v->m->group_posterior;
    const size_t row = v->source ? v->source[i] : i;
    const double group = groups ? (double)groups[row * v->m->groups + g] : v->groups[i] == g;
    const double class = (double)v->posterior[(size_t)i * v->classes + k];
    if (v->out[i])
        return 0;
    return part == ALL_ROWS ? group : group * (part == SAME_CLASS ? class : 1 - class);
}

/* d becomes d phi / d mean; returns what is added to phi. */
static double compare(const double *mean, const double *rows, uint32_t groups, int pairs, double *d)
{
    double phi = 0, all = 0, total = 0, sum = 0;
    memset(d, 0, groups * sizeof *d);
    for (uint32_t i = 0; i < groups; i++) {
        for (uint32_t j = i + 1; pairs && j < groups; j++) {
            const double c = mean[i] - mean[j];
            phi += c * c / 2;
            d[i] += c;
            d[j] -= c;
        }
        all += mean[i] * rows[i];
        total += rows[i];
    }
    for (uint32_t i = 0; !pairs && i < groups; i++) {
        d[i] = mean[i] - all / total;
        phi += d[i] * d[i] / 2;
        sum += d[i];
    }
    for (uint32_t i = 0; !pairs && i < groups; i++)
        d[i] -= rows[i] / total * sum; /* the overall mean moves with the group's */
    return phi;
}

static double quantity(const struct eval *v, uint32_t i, uint32_t k, int risk)
{
    return risk ? v->ce[i] : (double)v->p[(size_t)i * v->classes + k];
}

/* One comparison of the groups' means; `scale` is of its constraint values. */
static double constrain(struct eval *v, enum part part, uint32_t k, int pairs, double scale)
{
    const uint32_t groups = v->m->groups;
    const int risk = v->m->surrogate.metric == FIS_RISK_DISPARITY;
    double mean[FIS_MAX_GROUPS] = {0}, rows[FIS_MAX_GROUPS] = {0}, d[FIS_MAX_GROUPS];
    for (uint32_t i = 0; i < v->n; i++)
        for (uint32_t g = 0; g < groups; g++) {
            const double w = weight(v, i, g, part, k);
            rows[g] += w;
            mean[g] += w * quantity(v, i, k, risk);
        }
    for (uint32_t g = 0; g < groups; g++) {
        if (rows[g] < 1)
            return 0;
        mean[g] /= rows[g];
    }
    const double phi = scale * scale * compare(mean, rows, groups, pairs, d);
    for (uint32_t i = 0; i < v->n; i++)
        for (uint32_t g = 0; g < groups; g++)
            v->u[(size_t)i * v->classes + k] +=
                scale * scale * d[g] * weight(v, i, g, part, k) / rows[g];
    return phi;
}

static double constrain_all(struct eval *v)
{
    const struct fis_surrogate *s = &v->m->surrogate;
    const uint32_t m = v->m->groups, k = v->classes;
    const int pairs = s->form == FIS_GAP_PAIRS || m == 2;
    const int by_label = s->metric == FIS_EQUAL_OPPORTUNITY || s->metric == FIS_EQUALIZED_ODDS;
    const uint32_t from = by_label && k == 2 ? s->positive : 0;
    const uint32_t to = by_label && k == 2 ? s->positive + 1 : k;
    double phi = 0;
    if (s->metric == FIS_RISK_DISPARITY)
        return constrain(v, ALL_ROWS, 0, 0, 1);
    for (uint32_t j = from; j < to; j++) {
        if (!by_label)
            phi += constrain(v, ALL_ROWS, j, pairs, pairs ? 1.0 / ((double)m * (m - 1) * k) : 1);
        else
            phi += constrain(v, SAME_CLASS, j, pairs, 1);
        if (s->metric == FIS_EQUALIZED_ODDS)
            phi += constrain(v, OTHER_CLASS, j, pairs, 1);
    }
    return phi;
}

/* d phi / d logits from u. */
static void spread(const struct eval *v, float *d_fair)
{
    const uint32_t k = v->classes;
    const int risk = v->m->surrogate.metric == FIS_RISK_DISPARITY;
    for (uint32_t i = 0; i < v->n; i++) {
        const float *p = v->p + (size_t)i * k;
        const float *posterior = v->posterior + (size_t)i * k;
        const double *u = v->u + (size_t)i * k;
        double along = 0;
        for (uint32_t j = 0; j < k; j++)
            along += (double)p[j] * u[j];
        for (uint32_t j = 0; j < k; j++)
            d_fair[(size_t)i * k + j] = (float)(risk ? u[0] * (double)(p[j] - posterior[j])
                                                     : (double)p[j] * (u[j] - along));
    }
}

int lab_noise_losses(void *arg, const float *logits, const uint32_t *labels, const uint32_t *groups,
                     const uint32_t *source, uint32_t n, uint32_t classes, double *ce, float *d_acc,
                     double *phi, float *d_fair, struct fis_error *e)
{
    struct eval v = {
        .m = arg, .labels = labels, .groups = groups, .source = source, .n = n, .classes = classes};
    double sum = 0;
    int rc = eval_init(&v, logits, e);
    if (rc == 0 && v.used == 0)
        rc = fis_fail(e, FIS_INPUT, "noise: the model contradicts every validation row");
    if (rc < 0) {
        eval_done(&v);
        return rc;
    }
    for (uint32_t i = 0; i < n; i++) {
        sum += v.out[i] ? 0 : v.ce[i];
        for (uint32_t k = 0; k < classes; k++)
            d_acc[(size_t)i * classes + k] =
                v.out[i] ? 0
                         : (v.p[(size_t)i * classes + k] - v.posterior[(size_t)i * classes + k]) /
                               (float)v.used;
    }
    *ce = sum / v.used;
    *phi = constrain_all(&v);
    spread(&v, d_fair);
    eval_done(&v);
    return 0;
}
