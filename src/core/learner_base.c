/* Trees below the network: fitted to the labelled rows, and the margins of all rows by them. */
#include <string.h>

#include "core/blob.h"
#include "core/learner_impl.h"
#include "fis/mem.h"

/* Labelled rows are counted through: the initial ones, then those that were bought. */
static float *row_of(struct fis_learner *t, uint32_t i)
{
    uint32_t d = fis_shape_inputs(&t->o.shape), initial = t->initial.n;
    return i < initial ? t->initial.x + (size_t)i * d : t->bought.x + (size_t)(i - initial) * d;
}

static float *margins_of(const struct fis_learner *t, uint32_t i)
{
    const struct fis_shape *s = &t->o.shape;
    return row_of((struct fis_learner *)(uintptr_t)t, i) + fis_shape_inputs(s) - s->margins;
}

uint32_t fis_learner_fitted(const struct fis_learner *t)
{
    return t->fitted;
}

void fis_learner_apply_base(struct fis_learner *t, const struct fis_trees *trees)
{
    for (uint32_t i = t->fitted; i < t->initial.n + t->bought.n; i++)
        fis_trees_apply(trees, row_of(t, i));
    for (uint32_t i = 0; i < t->rows.n; i++)
        fis_trees_apply(trees, t->val_x + (size_t)i * t->rows.d);
}

int fis_learner_fit_base(struct fis_learner *t, const struct fis_trees_options *o,
                         fis_trees_fit_fn *fit, struct fis_trees **out, struct fis_error *e)
{
    uint32_t d = fis_shape_inputs(&t->o.shape), m = t->o.shape.margins;
    uint32_t n = t->initial.n + t->bought.n;
    float *x = fis_alloc((size_t)n * d, sizeof *x);
    float *margins = fis_alloc((size_t)n * m, sizeof *margins);
    uint32_t *y = fis_alloc(n, sizeof *y);
    int rc = x && y && margins ? 0 : fis_fail(e, FIS_NOMEM, "learner: no memory for %u rows", n);
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        memcpy(x + (size_t)i * d, row_of(t, i), d * sizeof *x);
        y[i] = i < t->initial.n ? t->initial.y[i] : t->bought.y[i - t->initial.n];
    }
    struct fis_trees_rows rows = {n, d - m, d, fis_shape_classes(&t->o.shape), x, y};
    if (rc == 0)
        rc = fis_trees_fit(&rows, o, fit, out, margins, e);
    if (rc == 0) {
        t->fitted = n;
        for (uint32_t i = 0; i < n; i++)
            memcpy(margins_of(t, i), margins + (size_t)i * m, m * sizeof *margins);
        fis_learner_apply_base(t, *out);
    }
    fis_free(x);
    fis_free(y);
    fis_free(margins);
    return rc;
}

/* ---- saved state ---------------------------------------------------------------------------- */

void learner_put_base(struct blob_writer *w, const struct fis_learner *t)
{
    if (!t->o.shape.margins)
        return;
    blob_put_u32(w, t->fitted);
    for (uint32_t i = 0; i < t->fitted; i++)
        blob_put(w, margins_of(t, i), t->o.shape.margins * sizeof(float));
}

bool learner_get_base(struct blob_reader *r, const struct fis_learner *t,
                      struct learner_base_saved *saved)
{
    *saved = (struct learner_base_saved){0};
    if (!t->o.shape.margins)
        return true;
    saved->fitted = blob_get_u32(r);
    size_t numbers = (size_t)saved->fitted * t->o.shape.margins;
    saved->margins = blob_skip(r, numbers * sizeof(float));
    return saved->fitted <= t->initial.n + t->bought.n && saved->margins &&
           blob_floats_finite(saved->margins, numbers);
}

void learner_install_base(struct fis_learner *t, const struct learner_base_saved *saved)
{
    size_t size = t->o.shape.margins * sizeof(float);
    t->fitted = saved->fitted;
    for (uint32_t i = 0; i < saved->fitted; i++)
        memcpy(margins_of(t, i), saved->margins + i * size, size);
}
