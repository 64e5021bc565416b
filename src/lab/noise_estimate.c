/* Noise matrices, given or estimated, and the posteriors of true classes and groups. */
#include <string.h>

#include "fis/loss.h"
#include "fis/mem.h"
#include "lab/noise_matrix.h"
#include "lab/noise_impl.h"
#include "lab/sgd.h"

#define GROUP_STREAM 182u
#define GROUP_EPOCHS 30u

/* A linear model of the noisy memberships; p [n][M]. */
static int learn_groups(struct lab_run *r, const struct fis_rows *v, const uint32_t *all, float *p,
                        struct fis_error *e)
{
    const struct lab_protocol *o = &r->o->protocol;
    struct lab_sgd_options options = {.batch = o->batch,
                                      .learning_rate = o->learning_rate,
                                      .momentum = o->momentum,
                                      .weight_decay = o->weight_decay,
                                      .seed = r->o->seed,
                                      .stream = GROUP_STREAM};
    const struct lab_sgd_rows rows = {.x = v->x, .y = v->group, .rows = all, .n = v->n, .d = v->d};
    const uint32_t m = fis_learner_groups(r->learner);
    int rc = fis_shape_init(&options.shape, v->d, NULL, 0, m, e);
    if (rc < 0)
        return rc;
    float *params = fis_calloc(fis_shape_params(&options.shape), sizeof *params);
    struct lab_sgd *sgd = params ? lab_sgd_new(&options, e) : NULL;
    struct fis_scratch *scratch = fis_scratch_new(&options.shape, v->n, 0);
    if (!params || !sgd || !scratch)
        rc = fis_fail(e, FIS_NOMEM, "noise: no memory for %u rows", v->n);
    else
        rc = lab_sgd_steps(sgd, &rows, GROUP_EPOCHS * lab_sgd_epoch_steps(sgd, v->n), params, 0,
                           NULL, e);
    if (rc == 0) {
        fis_network_forward(&options.shape, params, v->x, v->n, scratch, p);
        fis_softmax(p, v->n, m, p);
    }
    fis_free(params);
    lab_sgd_free(sgd);
    fis_scratch_free(scratch);
    return rc;
}

/* p [M] of noisy memberships becomes that of true ones: p T^-1, cut at 0 and brought to sum 1. */
static void bring_back(const double *inverse, uint32_t m, float *p)
{
    double q[FIS_MAX_GROUPS], sum = 0;
    for (uint32_t g = 0; g < m; g++) {
        q[g] = 0;
        for (uint32_t j = 0; j < m; j++)
            q[g] += (double)p[j] * inverse[j * m + g];
        q[g] = q[g] > 0 ? q[g] : 0;
        sum += q[g];
    }
    for (uint32_t g = 0; sum > 0 && g < m; g++)
        p[g] = (float)(q[g] / sum);
}

/* s->groups from a model of the noisy memberships. A matrix that cannot be inverted leaves the
 * memberships as they are. */
static int group_posteriors(struct lab_run *r, struct lab_noisy *s, struct fis_error *e)
{
    const struct fis_rows *v = fis_learner_validation(r->learner);
    const uint32_t m = s->model.groups;
    double inverse[FIS_MAX_GROUPS * FIS_MAX_GROUPS];
    int rc = 0;
    if (s->o->estimate)
        rc = lab_noise_anchors(s->groups, v->n, m, s->t_groups, e);
    else
        lab_noise_uniform(m, s->o->group_noise, s->t_groups);
    if (rc == 0)
        rc = lab_noise_invert(m, s->t_groups, inverse, e);
    if (rc < 0)
        return rc == -FIS_INPUT && s->o->estimate ? 0 : rc;
    for (uint32_t i = 0; i < v->n; i++) {
        float q[FIS_MAX_GROUPS], *p = s->groups + (size_t)i * m;
        bring_back(inverse, m, p);
        lab_noise_posterior(s->t_groups, p, v->group[i], m, q);
        memcpy(p, q, m * sizeof *p);
    }
    s->model.group_posterior = s->groups;
    return 0;
}

static int know_groups(struct lab_run *r, struct lab_noisy *s, struct fis_error *e)
{
    const struct fis_rows *v = fis_learner_validation(r->learner);
    uint32_t *all = fis_alloc(v->n, sizeof *all);
    if (!all)
        return fis_fail(e, FIS_NOMEM, "noise: no memory for %u rows", v->n);
    for (uint32_t i = 0; i < v->n; i++)
        all[i] = i;
    int rc = learn_groups(r, v, all, s->groups, e);
    fis_free(all);
    return rc < 0 ? rc : group_posteriors(r, s, e);
}

static void know_classes(struct lab_run *r, struct lab_noisy *s)
{
    const struct fis_rows *v = fis_learner_validation(r->learner);
    const uint32_t k = r->classes;
    if (s->o->estimate)
        lab_noise_likeliest(s->p, v->y, v->n, k, s->t);
    else
        lab_noise_uniform(k, s->o->label_noise, s->t);
    for (uint32_t i = 0; i < v->n; i++)
        lab_noise_posterior(s->t, s->p + (size_t)i * k, v->y[i], k, s->posterior + (size_t)i * k);
    s->model.t = s->t;
    s->model.class_posterior = s->posterior;
}

int lab_noise_know(struct lab_run *r, struct lab_noisy *s, struct fis_error *e)
{
    int rc = 0;
    if (s->o->label_noise > 0)
        know_classes(r, s);
    if (s->o->group_noise > 0 && !s->known)
        rc = know_groups(r, s, e);
    s->known = rc == 0;
    return rc;
}
