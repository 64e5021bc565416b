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
}

/* What scorers and the ledger bring has the margins of the trees that were newest then. */
const float *trainer_based(struct trainer_role *m, const struct fis_trees *trees, const float *x,
                           uint32_t n)
{
    size_t d = fis_shape_inputs(&m->shape);
    if (!trees)
        return x;
    memcpy(m->based, x, n * d * sizeof *x);
    fis_trees_apply(trees, m->based, n);
    return m->based;
}

static bool due(const struct trainer_role *m)
{
    struct fis_learner_counts n = fis_learner_counts(m->learner);
    double fitted = fis_learner_fitted(m->learner), now = n.initial + n.bought;
    bool last = m->o.rounds && m->state.round >= m->o.rounds && now > fitted;
    return !m->trees || fitted == 0 || last || now >= (1 + m->o.trees.growth) * fitted;
}

/* What is served keeps the margins out of fold that it was published with. */
static int keep_served(struct trainer_role *m, struct fis_error *e)
{
    bool as_now = m->served_trees && m->served_trees == m->trees;
    return as_now && !fis_learner_served_rows(m->learner) ? fis_learner_keep_served(m->learner, e)
                                                          : 0;
}

int trainer_refit_base(struct trainer_role *m, struct fis_error *e)
{
    struct fis_trees *trees;
    const bool knew = fis_learner_base_has_validation(m->learner);
    int rc = knew ? keep_served(m, e) : 0;
    if (rc == 0)
        rc = fis_learner_fit_base(m->learner, &m->o.trees, m->o.fit_trees, &trees, e);
    if (rc < 0)
        return rc;
    fis_trees_unref(m->trees);
    m->trees = trees;
    m->call.trees = trees;
    m->refitted = true;
    if (!knew)
        return trainer_serve_base(m, m->served_trees, e);
    fis_gate_served_rows(m->gate, fis_learner_served_rows(m->learner));
    return 0;
}

int trainer_fit_base(struct trainer_role *m, struct fis_error *e)
{
    if (!fis_encoder_has_trees(m->encoder) || !due(m))
        return 0;
    return trainer_refit_base(m, e);
}

/* What is served predicts with its own trees, on the validation rows too. Where trees have learnt
 * from these, it is judged over the newest ones', whose margins are out of fold. */
int trainer_serve_base(struct trainer_role *m, struct fis_trees *trees, struct fis_error *e)
{
    const bool as_now = trees == m->trees || fis_learner_base_has_validation(m->learner);
    int rc = fis_learner_serve_base(m->learner, as_now ? NULL : trees, e);
    if (rc < 0)
        return rc;
    replace(&m->served_trees, trees);
    fis_gate_served_rows(m->gate, fis_learner_served_rows(m->learner));
    return 0;
}

void trainer_note_base(struct trainer_role *m)
{
    if (m->refitted)
        trainer_note(m, "base", "trees=%u rows=%u", fis_trees_shape(m->trees)->n,
                     fis_learner_fitted(m->learner));
    m->refitted = false;
}
