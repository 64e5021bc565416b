/*
 * ISAL (Liu and others, 2021): the rows whose label would help a reference set's loss most, by
 * influence functions: with R the reference rows, H the Hessian of the training loss and G(x) the
 * gradient that x is expected to have,
 *     I(x) = -grad L(R)^T H^-1 G(x),      lowest first.
 * G(x) is taken at the model's own label here, as the paper does (the expectation over p is 0 for
 * every x). The reference rows are the guide rows; H is its Gauss-Newton part over labelled rows
 * (at most 1,024 of them, drawn again each time), damped, and H^-1 grad L comes from conjugate
 * gradients. s = H^-1 grad L is one direction, so that a row costs one tangent and no gradient. It
 * is taken once a round.
 */
#include <string.h>

#include "fis/loss.h"
#include "fis/mem.h"
#include "lab/isal.h"
#include "lab/labelled.h"

#define CURVATURE_ROWS 1024u
#define DAMPING .01
#define TOLERANCE .01
#define PRODUCTS 20u
#define STREAM 130u

struct isal {
    uint32_t *drawn, drawn_capacity;
    float *x, *direction, *gradient; /* x [CURVATURE_ROWS][d] */
    float *dlogits;                  /* [LAB_SCORE_ROWS][K] */
    struct fis_panel *panel;
    struct fis_rng rng;
    uint32_t refreshes;
};

static int begin(void *state, const struct fis_learner *t, struct fis_error *e)
{
    struct lab_run *r = state;
    (void)t;
    struct isal *s = fis_calloc(1, sizeof *s);
    if (!s)
        return fis_fail(e, FIS_NOMEM, "isal: no memory");
    r->acquisition_state = s;
    s->x = fis_alloc((size_t)CURVATURE_ROWS * r->split->d, sizeof *s->x);
    s->direction = fis_alloc(r->n_params, sizeof *s->direction);
    s->gradient = fis_alloc(r->n_params, sizeof *s->gradient);
    s->dlogits = fis_alloc((size_t)LAB_SCORE_ROWS * r->classes, sizeof *s->dlogits);
    if (!s->x || !s->direction || !s->gradient || !s->dlogits)
        return fis_fail(e, FIS_NOMEM, "isal: no memory");
    fis_rng_seed(&s->rng, r->o->seed, STREAM);
    return 0;
}

static void end(void *state)
{
    struct lab_run *r = state;
    struct isal *s = r->acquisition_state;
    if (!s)
        return;
    void *const all[] = {s->drawn, s->x, s->direction, s->gradient, s->dlogits};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fis_free(all[i]);
    fis_panel_unref(s->panel);
    fis_free(s);
}

/* x: the first of a shuffle of the labelled rows; returns how many. */
static int draw(struct lab_run *r, struct isal *s, struct fis_error *e)
{
    const uint32_t n = r->n_labelled;
    if (n > s->drawn_capacity) {
        fis_free(s->drawn);
        s->drawn_capacity = 0;
        if (!(s->drawn = fis_alloc(2 * (size_t)n, sizeof *s->drawn)))
            return fis_fail(e, FIS_NOMEM, "isal: no memory for %u rows", n);
        s->drawn_capacity = 2 * n;
    }
    memcpy(s->drawn, r->labelled, n * sizeof *s->drawn);
    fis_rng_shuffle(&s->rng, s->drawn, n);
    const uint32_t rows = n < CURVATURE_ROWS ? n : CURVATURE_ROWS;
    for (uint32_t i = 0; i < rows; i++)
        lab_split_copy(r->split, s->drawn[i], s->x + (size_t)i * r->split->d);
    return (int)rows;
}

static bool is_guide(const struct lab_run *r, uint32_t row)
{
    return !fis_learner_options(r->learner)->guided || fis_learner_fold_of(r->learner)[row] == 0;
}

/* The gradient of the guide rows' mean cross-entropy. With halves the rows of the gate, which may
 * judge what is bought, weigh nothing. */
static void reference_gradient(struct lab_run *r, struct isal *s)
{
    const struct fis_rows *v = fis_learner_validation(r->learner);
    const float *anchor = fis_learner_anchor(r->learner);
    uint32_t guides = 0;
    memset(s->gradient, 0, r->n_params * sizeof *s->gradient);
    for (uint32_t i = 0; i < v->n; i++)
        guides += (uint32_t)is_guide(r, i);
    for (uint32_t from = 0; from < v->n; from += LAB_SCORE_ROWS) {
        const uint32_t n = v->n - from < LAB_SCORE_ROWS ? v->n - from : LAB_SCORE_ROWS;
        const float *x = v->x + (size_t)from * v->d;
        fis_network_forward(&r->shape, anchor, x, n, r->scratch, r->p);
        (void)fis_cross_entropy(r->p, v->y + from, NULL, n, r->classes, s->dlogits);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < r->classes; k++)
                s->dlogits[(size_t)i * r->classes + k] *=
                    is_guide(r, from + i) ? (float)n / (float)guides : 0;
        fis_network_backward(&r->shape, anchor, x, n, r->scratch, s->dlogits, s->gradient);
    }
}

/* The first refresh, and then the last one of every round. */
static int refreshed(void *state, const struct fis_learner *t, struct fis_error *e)
{
    struct lab_run *r = state;
    struct isal *s = r->acquisition_state;
    if (s->refreshes++ % r->o->refreshes)
        return 0;
    int rows = draw(r, s, e);
    if (rows < 0)
        return rows;
    reference_gradient(r, s);
    const struct lab_isal a = {.shape = &r->shape,
                               .params = fis_learner_anchor(t),
                               .x = s->x,
                               .n = (uint32_t)rows,
                               .damping = DAMPING};
    int rc = lab_isal_solve(&a, s->gradient, TOLERANCE, PRODUCTS, s->direction, NULL, e);
    if (rc < 0)
        return rc;
    const float *const direction = s->direction;
    fis_panel_unref(s->panel);
    s->panel = fis_panel_new(&r->shape, a.params, &direction, 1);
    return s->panel ? 0 : fis_fail(e, FIS_NOMEM, "isal: no memory");
}

/* The influence of label k is u_k - p.u with u the tangent of the logits along s. */
static void score_some(struct lab_run *r, const float *x, uint32_t n, float *scores)
{
    struct isal *s = r->acquisition_state;
    const uint32_t classes = r->classes;
    float *u = r->infl_acc;
    fis_panel_tangents(s->panel, x, n, r->scratch, r->p, u);
    fis_softmax(r->p, n, classes, r->p);
    for (uint32_t i = 0; i < n; i++, scores += FIS_MAX_CRITERIA) {
        const float *p = r->p + (size_t)i * classes, *at = u + (size_t)i * classes;
        const uint32_t own = fis_proxy_label(2, p, NULL, classes);
        float mean = 0;
        for (uint32_t k = 0; k < classes; k++)
            mean += p[k] * at[k];
        scores[0] = mean - at[own];
        scores[1] = FIS_NOT_A_CANDIDATE;
    }
}

static void batch(const struct fis_criteria *c, const struct fis_id *const *ids, const float *x,
                  uint32_t n, float *scores)
{
    (void)ids;
    lab_score(c->state, x, n, scores, score_some);
}

const struct fis_acquisition lab_acquisition_isal = {.name = "isal",
                                                     .criteria = {"isal"},
                                                     .batch = batch,
                                                     .begin = begin,
                                                     .refreshed = refreshed,
                                                     .end = end};
