/* Validation rows, their folds, and the directions that are taken from them. */
#include "core/learner_impl.h"
#include "base/decimal.h"
#include "core/direction_private.h"

#include <math.h>
#include <string.h>

#include "fis/mem.h"

static void free_rows(struct fis_learner *t)
{
    fis_free(t->val_x);
    learner_forget_served(t);
    fis_free(t->val_y);
    fis_free(t->val_group);
    fis_free(t->fold_of);
    fis_free(t->fold_rows[0]); /* one block */
}

static void drop_head(struct fis_learner *t)
{
    fis_panel_unref(t->panel);
    t->panel = NULL;
    for (uint32_t i = 0; i < FIS_DIRECTIONS; i++) {
        fis_free(t->direction[i]);
        t->direction[i] = NULL;
    }
}

void learner_done_validation(struct fis_learner *t)
{
    drop_head(t);
    free_rows(t);
}

static int check_rows(const struct fis_learner *t, const struct fis_rows *rows, uint32_t n_groups,
                      struct fis_error *e)
{
    uint32_t d = fis_shape_inputs(&t->o.shape), k = fis_shape_classes(&t->o.shape);
    if (rows->d != d)
        return fis_fail(e, FIS_INPUT, "validation: %s a row; the network takes %u",
                        DECIMAL_COUNT(rows->d, "feature"), d);
    if (n_groups < 2 || n_groups > FIS_MAX_GROUPS)
        return fis_fail(e, FIS_INPUT, "validation: %s; 2 to %d are possible",
                        DECIMAL_COUNT(n_groups, "group"), FIS_MAX_GROUPS);
    if (rows->n < 2)
        return fis_fail(e, FIS_INPUT, "validation: %s; at least 2 are needed",
                        DECIMAL_COUNT(rows->n, "row"));
    for (uint32_t i = 0; i < rows->n; i++)
        if (rows->y[i] >= k || rows->group[i] >= n_groups)
            return fis_fail(e, FIS_INPUT, "validation: row %u: class or group out of range", i);
    for (size_t i = 0; i < (size_t)rows->n * d; i++)
        if (!isfinite(rows->x[i]))
            return fis_fail(e, FIS_INPUT, "validation: row %zu: feature %zu is not finite", i / d,
                            i % d);
    return 0;
}

/* Folds by seed, stratified: the rows of each cell of group and class are dealt out in turn, and
 * the dealing goes on from one cell to the next, so that folds differ by one row at most. */
static void split(struct fis_learner *t)
{
    uint32_t n = t->rows.n, k = fis_shape_classes(&t->o.shape), dealt = 0;
    uint32_t *order = t->fold_rows[0];
    struct fis_rng rng;
    fis_rng_seed(&rng, t->o.seed, 17);
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    fis_rng_shuffle(&rng, order, n);
    uint32_t cells = t->o.split_by_place ? 1 : t->n_groups * k;
    for (uint32_t cell = 0; cell < cells; cell++)
        for (uint32_t i = 0; i < n; i++)
            if (cells == 1 || t->val_group[order[i]] * k + t->val_y[order[i]] == cell)
                t->fold_of[order[i]] = (uint8_t)(dealt++ % t->o.folds);
    memset(t->fold_n, 0, sizeof t->fold_n);
    for (uint32_t i = 0; i < n; i++)
        t->fold_n[t->fold_of[i]]++;
    for (uint32_t h = 1; h < FIS_MAX_FOLDS; h++)
        t->fold_rows[h] = t->fold_rows[h - 1] + t->fold_n[h - 1];
    memset(t->fold_n, 0, sizeof t->fold_n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t h = t->fold_of[i];
        t->fold_rows[h][t->fold_n[h]++] = i;
    }
}

int fis_learner_set_validation(struct fis_learner *t, const struct fis_rows *rows,
                               uint32_t n_groups, struct fis_error *e)
{
    int rc = check_rows(t, rows, n_groups, e);
    if (rc < 0)
        return rc;
    size_t n = rows->n;
    float *x = fis_alloc(n * rows->d, sizeof *x);
    uint32_t *y = fis_alloc(n, sizeof *y), *group = fis_alloc(n, sizeof *group);
    uint8_t *fold_of = fis_calloc(n, 1);
    uint32_t *order = fis_alloc(n, sizeof *order);
    if (!x || !y || !group || !fold_of || !order) {
        void *const all[] = {x, y, group, fold_of, order};
        for (size_t i = 0; i < 5; i++)
            fis_free(all[i]);
        return fis_fail(e, FIS_NOMEM, "learner: no memory for %u validation rows", rows->n);
    }
    drop_head(t);
    free_rows(t);
    t->n_fresh = 0;
    if (t->validation_fitted)
        t->fitted = 0;
    t->validation_fitted = false;
    memcpy(x, rows->x, n * rows->d * sizeof *x);
    memcpy(y, rows->y, n * sizeof *y);
    memcpy(group, rows->group, n * sizeof *group);
    t->val_x = x;
    t->val_y = y;
    t->val_group = group;
    t->fold_of = fold_of;
    t->fold_rows[0] = order;
    t->n_groups = n_groups;
    t->rows = (struct fis_rows){.n = rows->n, .d = rows->d, .x = x, .y = y, .group = group};
    split(t);
    learner_hash_validation(t);
    return 0;
}

const struct fis_rows *fis_learner_validation(const struct fis_learner *t)
{
    return &t->rows;
}

const uint8_t *fis_learner_fold_of(const struct fis_learner *t)
{
    return t->fold_of;
}

const float *fis_learner_initial(const struct fis_learner *t, uint32_t *n)
{
    *n = t->initial.n;
    return t->initial.x;
}

uint32_t fis_learner_groups(const struct fis_learner *t)
{
    return t->n_groups;
}

/* ---- directions ----------------------------------------------------------------------------- */

struct head {
    float *direction[FIS_DIRECTIONS];
    struct fis_panel *panel;
};

static void head_done(struct head *h)
{
    fis_panel_unref(h->panel);
    for (uint32_t i = 0; i < FIS_DIRECTIONS; i++)
        fis_free(h->direction[i]);
    *h = (struct head){0};
}

static int head_room(const struct fis_learner *t, struct head *h, struct fis_error *e)
{
    for (uint32_t i = 0; i < FIS_DIRECTIONS; i++) {
        h->direction[i] = fis_calloc(t->n_params, sizeof(float));
        if (!h->direction[i])
            return fis_fail(e, FIS_NOMEM, "learner: no memory for directions");
    }
    return 0;
}

static int head_panel(const struct fis_learner *t, struct head *h, struct fis_error *e)
{
    for (size_t i = 0; i < t->n_params; i++)
        if (!isfinite(h->direction[0][i]) || !isfinite(h->direction[1][i]))
            return fis_fail(e, FIS_INPUT, "directions: not finite; the head is kept as it was");
    const float *const directions[] = {h->direction[0], h->direction[1]};
    h->panel = fis_panel_new(&t->o.shape, t->anchor.params, directions, FIS_DIRECTIONS);
    return h->panel ? 0 : fis_fail(e, FIS_NOMEM, "learner: no memory for a panel");
}

/* Of the rows that guide: all of them, or those of fold 0. noise: the refresh's key, or NULL. */
static int head_make(const struct fis_learner *t, const struct fis_direction_options *o,
                     const unsigned char *noise, struct head *h, struct fis_error *e)
{
    double phi;
    struct chacha_normal normal;
    const uint32_t *index = t->o.guided ? t->fold_rows[0] : NULL;
    uint32_t n = t->o.guided ? t->fold_n[0] : 0;
    int rc = head_room(t, h, e);
    if (rc < 0)
        return rc;
    if (noise) {
        chacha_normal_init(&normal, noise, 0);
        rc = private_directions(&t->o.shape, t->anchor.params, &t->rows, index, n, t->initial.x,
                                t->initial.n, o, &normal, h->direction[0], h->direction[1], e);
    } else {
        rc = fis_directions(&t->o.shape, t->anchor.params, &t->rows, index, n, o, h->direction[0],
                            h->direction[1], &phi, e);
    }
    return rc < 0 ? rc : head_panel(t, h, e);
}

static double cosine_of(const float *a, const float *b, size_t n)
{
    double ab = 0, aa = 0, bb = 0;
    if (!a || !b)
        return NAN;
    for (size_t i = 0; i < n; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : NAN;
}

static void install(struct fis_learner *t, struct head *head)
{
    drop_head(t);
    t->panel = head->panel;
    head->panel = NULL;
    for (uint32_t i = 0; i < FIS_DIRECTIONS; i++) {
        t->direction[i] = head->direction[i];
        head->direction[i] = NULL;
    }
}

/* The key of this refresh, and the account when it has been made. The newest refresh once more, to
 * the bit, is no new one. */
static struct fis_privacy_account charge(const struct fis_learner *t,
                                         const struct fis_direction_options *o, unsigned char *key)
{
    struct fis_privacy_account spent = t->spent;
    const float *params = t->anchor.params;
    uint64_t tag;
    if (t->may_repeat) {
        private_refresh_key(o, spent.refreshes, &t->o.shape, params, &t->rows, t->fold_of, key,
                            &tag);
        if (tag == spent.tag)
            return spent;
    }
    spent.refreshes++;
    spent.rho += fis_privacy_rho(o->privacy->noise);
    private_refresh_key(o, spent.refreshes, &t->o.shape, params, &t->rows, t->fold_of, key,
                        &spent.tag);
    return spent;
}

int fis_learner_refresh(struct fis_learner *t, const struct fis_direction_options *o,
                        double *cosine, struct fis_error *e)
{
    struct head head = {0};
    struct fis_privacy_account spent = t->spent;
    unsigned char key[CHACHA_KEY];
    if (t->rows.n == 0)
        return fis_fail(e, FIS_INPUT, "directions: there are no validation rows");
    if (o->privacy && t->o.guided && !t->o.split_by_place)
        return fis_fail(e, FIS_INPUT, "directions: noise needs halves that are split by place");
    if (o->privacy)
        spent = charge(t, o, key);
    else
        spent.exact += spent.refreshes > 0 || spent.exact > 0;
    int rc = head_make(t, o, o->privacy ? key : NULL, &head, e);
    if (rc == 0) {
        if (cosine)
            *cosine = cosine_of(t->direction[FIS_DIRECTION_FAIRNESS],
                                head.direction[FIS_DIRECTION_FAIRNESS], t->n_params);
        install(t, &head);
        t->spent = spent;
        t->may_repeat = false;
    }
    head_done(&head);
    return rc;
}

struct fis_privacy_account fis_learner_privacy(const struct fis_learner *t)
{
    return t->spent;
}

void fis_learner_set_privacy(struct fis_learner *t, const struct fis_privacy_account *spent)
{
    t->spent = *spent;
    t->may_repeat = spent->refreshes > 0;
}

const float *fis_learner_direction(const struct fis_learner *t, int which)
{
    return which >= 0 && which < FIS_DIRECTIONS ? t->direction[which] : NULL;
}

struct fis_panel *fis_learner_panel(const struct fis_learner *t)
{
    return t->panel;
}
