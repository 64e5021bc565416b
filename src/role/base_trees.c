/* Trees below the network (fis/trees.h): when they are fitted, and whose margins a row has. */
#include "role/trainer_impl.h"

#include <string.h>

#include "fis/mem.h"

static void replace(struct fis_trees **at, struct fis_trees *by)
{
    struct fis_trees *old = *at;
    *at = fis_trees_ref(by);
    fis_trees_unref(old);
}

int trainer_base_init(struct trainer_role *m, struct fis_error *e)
{
    replace(&m->trees, fis_encoder_trees(m->encoder));
    m->call.trees = m->trees;
    m->based = fis_alloc((size_t)ROLE_BLOCK * fis_shape_inputs(&m->shape), sizeof *m->based);
    if (!m->based)
        return fis_fail(e, FIS_NOMEM, "trainer: no memory for %u rows", ROLE_BLOCK);
    if (fis_encoder_has_trees(m->encoder) && !m->o.fit_trees)
        return fis_fail(e, FIS_FATAL, "trainer: nothing to fit trees with");
    return 0;
}

void trainer_base_done(struct trainer_role *m)
{
    fis_trees_unref(m->trees);
    fis_trees_unref(m->served_trees);
    fis_free(m->based);
    fis_free(m->served_x);
}

/* What scorers and the ledger bring has the margins of the trees that were newest then. */
const float *trainer_based(struct trainer_role *m, const struct fis_trees *trees, const float *x,
                           uint32_t n)
{
    size_t d = fis_shape_inputs(&m->shape);
    if (!trees)
        return x;
    memcpy(m->based, x, n * d * sizeof *x);
    for (uint32_t i = 0; i < n; i++)
        fis_trees_apply(trees, m->based + i * d);
    return m->based;
}

static bool due(const struct trainer_role *m)
{
    struct fis_learner_counts n = fis_learner_counts(m->learner);
    double fitted = fis_learner_fitted(m->learner);
    return !m->trees || fitted == 0 || n.initial + n.bought >= (1 + m->o.trees.growth) * fitted;
}

int trainer_fit_base(struct trainer_role *m, struct fis_error *e)
{
    struct fis_trees *trees;
    if (!fis_encoder_has_trees(m->encoder) || !due(m))
        return 0;
    int rc = fis_learner_fit_base(m->learner, &m->o.trees, m->o.fit_trees, &trees, e);
    if (rc < 0)
        return rc;
    fis_trees_unref(m->trees);
    m->trees = trees;
    m->call.trees = trees;
    m->refitted = true;
    return trainer_serve_base(m, m->served_trees, e);
}

/* What is served predicts with its own trees, on the validation rows too. */
int trainer_serve_base(struct trainer_role *m, struct fis_trees *trees, struct fis_error *e)
{
    const struct fis_rows *v = fis_learner_validation(m->learner);
    size_t cells = (size_t)v->n * v->d;
    float *x = NULL;
    if (trees && trees != m->trees) {
        if (!(x = fis_alloc(cells, sizeof *x)))
            return fis_fail(e, FIS_NOMEM, "trainer: no memory for %u validation rows", v->n);
        memcpy(x, v->x, cells * sizeof *x);
        for (uint32_t i = 0; i < v->n; i++)
            fis_trees_apply(trees, x + (size_t)i * v->d);
    }
    replace(&m->served_trees, trees);
    fis_free(m->served_x);
    m->served_x = x;
    fis_gate_served_rows(m->gate, x);
    return 0;
}

void trainer_note_base(struct trainer_role *m)
{
    if (m->refitted)
        trainer_note(m, "base", "trees=%u rows=%u", fis_trees_shape(m->trees)->n,
                     fis_learner_fitted(m->learner));
    m->refitted = false;
}
