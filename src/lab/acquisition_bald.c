/*
 * BALD (Houlsby and others, 2011): the rows on which the members of a posterior disagree most,
 *     I(x) = H(mean_m p_m) - mean_m H(p_m).
 * Gal and others (2017) and the paper draw the members by dropout at prediction time. Here they are
 * a deep ensemble: five networks of their own initial weights, each trained as the anchor is (the
 * same warm-up, then as many steps on all labels), in orders of their own. The networks of these
 * experiments are trained without dropout, so that dropping their units would sample no posterior.
 */
#include <math.h>
#include <string.h>

#include "fis/loss.h"
#include "fis/mem.h"
#include "lab/labelled.h"

enum { MEMBERS = 5 };
#define INIT_STREAM 110u
#define TRAIN_STREAM 120u

struct bald {
    struct lab_sgd *sgd[MEMBERS];
    float *params[MEMBERS];
    float *mean, *entropy; /* [LAB_SCORE_ROWS][K], [LAB_SCORE_ROWS] */
    uint64_t steps;        /* of the anchor, that members have done too */
};

static int make_member(struct lab_run *r, struct bald *b, uint32_t m, struct fis_error *e)
{
    const struct lab_sgd_options o = lab_labelled_sgd(r, TRAIN_STREAM + m);
    const struct lab_sgd_rows rows = lab_labelled_rows(r);
    struct fis_rng rng;
    b->sgd[m] = lab_sgd_new(&o, e);
    b->params[m] = fis_alloc(r->n_params, sizeof(float));
    if (!b->sgd[m] || !b->params[m])
        return fis_fail(e, FIS_NOMEM, "bald: no memory");
    fis_rng_seed(&rng, r->o->seed, INIT_STREAM + m);
    fis_network_init(&r->shape, b->params[m], &rng);
    const uint32_t epochs = r->o->protocol.warm_up_epochs;
    return lab_sgd_steps(b->sgd[m], &rows, epochs * lab_sgd_epoch_steps(b->sgd[m], rows.n),
                         b->params[m], 0, NULL, e);
}

static int begin(void *state, const struct fis_learner *t, struct fis_error *e)
{
    struct lab_run *r = state;
    struct bald *b = fis_calloc(1, sizeof *b);
    if (!b)
        return fis_fail(e, FIS_NOMEM, "bald: no memory");
    r->acquisition_state = b;
    b->mean = fis_alloc((size_t)LAB_SCORE_ROWS * r->classes, sizeof *b->mean);
    b->entropy = fis_alloc(LAB_SCORE_ROWS, sizeof *b->entropy);
    if (!b->mean || !b->entropy)
        return fis_fail(e, FIS_NOMEM, "bald: no memory");
    b->steps = fis_learner_counts(t).steps;
    int rc = 0;
    for (uint32_t m = 0; rc == 0 && m < MEMBERS; m++)
        rc = make_member(r, b, m, e);
    return rc;
}

static int refreshed(void *state, const struct fis_learner *t, struct fis_error *e)
{
    struct lab_run *r = state;
    struct bald *b = r->acquisition_state;
    const uint64_t now = fis_learner_counts(t).steps;
    const uint32_t steps = now > b->steps ? (uint32_t)(now - b->steps) : 0; /* rolled back: none */
    b->steps = now;
    const struct lab_sgd_rows rows = lab_labelled_rows(r);
    int rc = 0;
    for (uint32_t m = 0; rc == 0 && m < MEMBERS; m++)
        rc = lab_sgd_steps(b->sgd[m], &rows, steps, b->params[m], 0, NULL, e);
    return rc;
}

static void end(void *state)
{
    struct lab_run *r = state;
    struct bald *b = r->acquisition_state;
    if (!b)
        return;
    for (uint32_t m = 0; m < MEMBERS; m++) {
        lab_sgd_free(b->sgd[m]);
        fis_free(b->params[m]);
    }
    fis_free(b->mean);
    fis_free(b->entropy);
    fis_free(b);
}

static float entropy_of(const float *p, uint32_t classes)
{
    double h = 0;
    for (uint32_t k = 0; k < classes; k++)
        h -= p[k] > 0 ? (double)p[k] * log((double)p[k]) : 0;
    return (float)h;
}

static void score_some(struct lab_run *r, const float *x, uint32_t n, float *scores)
{
    struct bald *b = r->acquisition_state;
    const uint32_t k = r->classes;
    memset(b->mean, 0, (size_t)n * k * sizeof *b->mean);
    memset(b->entropy, 0, n * sizeof *b->entropy);
    for (uint32_t m = 0; m < MEMBERS; m++) {
        fis_network_forward(&r->shape, b->params[m], x, n, r->scratch, r->p);
        fis_softmax(r->p, n, k, r->p);
        for (size_t i = 0; i < (size_t)n * k; i++)
            b->mean[i] += r->p[i] / MEMBERS;
        for (uint32_t i = 0; i < n; i++)
            b->entropy[i] += entropy_of(r->p + (size_t)i * k, k) / MEMBERS;
    }
    for (uint32_t i = 0; i < n; i++, scores += FIS_MAX_CRITERIA) {
        scores[0] = entropy_of(b->mean + (size_t)i * k, k) - b->entropy[i];
        scores[1] = FIS_NOT_A_CANDIDATE;
    }
}

static void batch(const struct fis_criteria *c, const struct fis_id *const *ids, const float *x,
                  uint32_t n, float *scores)
{
    (void)ids;
    lab_score(c->state, x, n, scores, score_some);
}

const struct fis_acquisition lab_acquisition_bald = {.name = "bald",
                                                     .criteria = {"bald"},
                                                     .batch = batch,
                                                     .begin = begin,
                                                     .refreshed = refreshed,
                                                     .end = end};
