/* Trees below the network: fitted to the labelled rows, and the margins of all rows by them. */
#include <string.h>

#include "core/blob.h"
#include "core/learner_impl.h"
#include "fis/mem.h"
#include "fis/selector.h"

static uint32_t labelled(const struct fis_learner *t)
{
    return t->initial.n + t->bought.n;
}

/* Rows are counted through: the initial ones, those that were bought, the validation rows. */
static float *row_of(struct fis_learner *t, uint32_t i)
{
    uint32_t d = fis_shape_inputs(&t->o.shape), initial = t->initial.n, labels = labelled(t);
    return i < initial  ? t->initial.x + (size_t)i * d
           : i < labels ? t->bought.x + (size_t)(i - initial) * d
                        : t->val_x + (size_t)(i - labels) * d;
}

static uint32_t class_of(const struct fis_learner *t, uint32_t i)
{
    uint32_t initial = t->initial.n, labels = labelled(t);
    return i < initial  ? t->initial.y[i]
           : i < labels ? t->bought.y[i - initial]
                        : t->rows.y[i - labels];
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

bool fis_learner_base_has_validation(const struct fis_learner *t)
{
    return t->validation_fitted;
}

void fis_learner_apply_base(struct fis_learner *t, const struct fis_trees *trees)
{
    const uint32_t labels = labelled(t), all = labels + (t->validation_fitted ? 0 : t->rows.n);
    const uint32_t ends[] = {t->initial.n, labels, all}; /* of rows that lie side by side */
    uint32_t at = t->fitted;
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++)
        if (at < ends[k]) {
            fis_trees_apply(trees, row_of(t, at), ends[k] - at);
            at = ends[k];
        }
}

/* Without folds what judges would have been learnt by heart; with noise (fis/privacy.h) the labels
 * of validation rows are not to be learnt from. */
static bool learns_validation(const struct fis_learner *t, const struct fis_trees_options *o)
{
    if (t->o.mixed || t->o.split_by_place)
        return false;
    return t->o.learn_validation < 0 ? o->folds > 0 : t->o.learn_validation;
}

/* margins [n][m]: of the rows that trees were fitted to. */
static void take_margins(struct fis_learner *t, const float *margins, uint32_t n)
{
    uint32_t m = t->o.shape.margins;
    for (uint32_t i = 0; i < n; i++)
        memcpy(margins_of(t, i), margins + (size_t)i * m, m * sizeof *margins);
}

int fis_learner_fit_base(struct fis_learner *t, const struct fis_trees_options *o,
                         fis_trees_fit_fn *fit, struct fis_trees **out, struct fis_error *e)
{
    uint32_t d = fis_shape_inputs(&t->o.shape), m = t->o.shape.margins;
    const bool validation = learns_validation(t, o);
    uint32_t n = labelled(t) + (validation ? t->rows.n : 0);
    float *x = fis_alloc((size_t)n * d, sizeof *x);
    float *margins = fis_alloc((size_t)n * m, sizeof *margins);
    uint32_t *y = fis_alloc(n, sizeof *y);
    int rc = x && y && margins ? 0 : fis_fail(e, FIS_NOMEM, "learner: no memory for %u rows", n);
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        memcpy(x + (size_t)i * d, row_of(t, i), d * sizeof *x);
        y[i] = class_of(t, i);
    }
    struct fis_trees_rows rows = {n, d - m, d, fis_shape_classes(&t->o.shape), x, y};
    if (rc == 0)
        rc = fis_trees_fit(&rows, o, fit, out, margins, e);
    if (rc == 0) {
        t->fitted = labelled(t);
        t->validation_fitted = validation;
        take_margins(t, margins, n);
        fis_learner_apply_base(t, *out);
    }
    fis_free(x);
    fis_free(y);
    fis_free(margins);
    return rc;
}

/* ---- what is served ------------------------------------------------------------------------- */

const float *fis_learner_served_rows(const struct fis_learner *t)
{
    return t->served_x;
}

int fis_learner_keep_served(struct fis_learner *t, struct fis_error *e)
{
    const size_t cells = (size_t)t->rows.n * t->rows.d;
    float *x = fis_alloc(cells, sizeof *x);
    if (!x)
        return fis_fail(e, FIS_NOMEM, "learner: no memory for %u validation rows", t->rows.n);
    memcpy(x, t->val_x, cells * sizeof *x);
    fis_free(t->served_x);
    t->served_x = x;
    return 0;
}

int fis_learner_serve_base(struct fis_learner *t, const struct fis_trees *trees,
                           struct fis_error *e)
{
    int rc = 0;
    if (trees)
        rc = fis_learner_keep_served(t, e);
    else
        learner_forget_served(t);
    if (trees && rc == 0)
        fis_trees_apply(trees, t->served_x, t->rows.n);
    return rc;
}

void learner_forget_served(struct fis_learner *t)
{
    fis_free(t->served_x);
    t->served_x = NULL;
}

/* ---- saved state ---------------------------------------------------------------------------- */

void learner_hash_validation(struct fis_learner *t)
{
    uint64_t hash = t->rows.n;
    for (uint32_t i = 0; i < t->rows.n; i++) {
        const float *x = t->val_x + (size_t)i * t->rows.d;
        hash = hash * UINT64_C(0x9e3779b97f4a7c15) + t->rows.y[i];
        hash ^= fis_features_hash(x, t->rows.d - t->o.shape.margins);
    }
    t->validation_hash = hash;
}

static void put_margins(struct blob_writer *w, const struct fis_learner *t, const float *x,
                        uint32_t n)
{
    const uint32_t d = fis_shape_inputs(&t->o.shape), m = t->o.shape.margins;
    for (uint32_t i = 0; i < n; i++)
        blob_put(w, x + (size_t)i * d + d - m, m * sizeof *x);
}

/* Those of trees that were fitted to the validation rows cannot be had from the trees. */
void learner_put_base(struct blob_writer *w, const struct fis_learner *t)
{
    if (!t->o.shape.margins)
        return;
    blob_put_u32(w, t->fitted);
    for (uint32_t i = 0; i < t->fitted; i++)
        blob_put(w, margins_of(t, i), t->o.shape.margins * sizeof(float));
    blob_put_u32(w, t->validation_fitted ? t->rows.n : 0);
    if (!t->validation_fitted)
        return;
    blob_put_u64(w, t->validation_hash);
    put_margins(w, t, t->val_x, t->rows.n);
    blob_put_u32(w, t->served_x ? t->rows.n : 0);
    if (t->served_x)
        put_margins(w, t, t->served_x, t->rows.n);
}

/* n rows' margins; false: cut short, or not finite. */
static bool get_margins(struct blob_reader *r, const struct fis_learner *t, uint32_t n,
                        const unsigned char **margins)
{
    size_t numbers = (size_t)n * t->o.shape.margins;
    *margins = blob_skip(r, numbers * sizeof(float));
    return *margins && blob_floats_finite(*margins, numbers);
}

bool learner_get_base(struct blob_reader *r, const struct fis_learner *t,
                      struct learner_base_saved *saved)
{
    *saved = (struct learner_base_saved){0};
    if (!t->o.shape.margins)
        return true;
    saved->fitted = blob_get_u32(r);
    if (saved->fitted > labelled(t) || !get_margins(r, t, saved->fitted, &saved->margins))
        return false;
    saved->validation = blob_get_u32(r);
    if (!saved->validation)
        return true;
    saved->hash = blob_get_u64(r);
    if (!get_margins(r, t, saved->validation, &saved->of_validation))
        return false;
    saved->served = blob_get_u32(r);
    return (!saved->served || saved->served == saved->validation) &&
           get_margins(r, t, saved->served, &saved->of_served);
}

/* margins [n][m] -> the last features of x [n][d]. */
static void install_margins(const struct fis_learner *t, const unsigned char *margins, uint32_t n,
                            float *x)
{
    const uint32_t d = fis_shape_inputs(&t->o.shape), m = t->o.shape.margins;
    for (uint32_t i = 0; i < n; i++)
        memcpy(x + (size_t)i * d + d - m, margins + (size_t)i * m * sizeof *x, m * sizeof *x);
}

/* Of other validation rows than are in force: as if there had been no fit. */
int learner_install_base(struct fis_learner *t, const struct learner_base_saved *saved,
                         struct fis_error *e)
{
    const size_t size = t->o.shape.margins * sizeof(float);
    const bool same =
        !saved->validation || (saved->validation == t->rows.n && saved->hash == t->validation_hash);
    learner_forget_served(t);
    t->validation_fitted = same && saved->validation;
    t->fitted = same ? saved->fitted : 0;
    for (uint32_t i = 0; i < t->fitted; i++)
        memcpy(margins_of(t, i), saved->margins + i * size, size);
    if (!t->validation_fitted)
        return 0;
    install_margins(t, saved->of_validation, t->rows.n, t->val_x);
    if (!saved->served)
        return 0;
    int rc = fis_learner_keep_served(t, e);
    if (rc == 0)
        install_margins(t, saved->of_served, t->rows.n, t->served_x);
    return rc;
}
