/* The learner's rows, and which of the bought ones are kept. */
#include "core/learner_impl.h"

#include <math.h>
#include <string.h>

#include "fis/mem.h"

static uint32_t grown(uint32_t capacity)
{
    return capacity ? capacity * 2 : 256;
}

static int check_row(const struct fis_learner *t, const float *x, uint32_t y, struct fis_error *e)
{
    uint32_t k = fis_shape_classes(&t->o.shape);
    if (y >= k)
        return fis_fail(e, FIS_INPUT, "labelled row: class %u; 0 to %u are possible", y, k - 1);
    for (uint32_t i = 0; i < fis_shape_inputs(&t->o.shape); i++)
        if (!isfinite(x[i]))
            return fis_fail(e, FIS_INPUT, "labelled row: feature %u is not finite", i);
    return 0;
}

static int rows_add(struct row_store *s, uint32_t d, const float *x, uint32_t y)
{
    if (s->n == s->capacity) {
        uint32_t capacity = grown(s->capacity);
        if (capacity <= s->capacity)
            return -1;
        float *xs = fis_alloc((size_t)capacity * d, sizeof *xs);
        if (!xs || !fis_grow(&s->y, s->n, capacity, sizeof *s->y)) {
            fis_free(xs);
            return -1;
        }
        if (s->n)
            memcpy(xs, s->x, (size_t)s->n * d * sizeof *xs);
        fis_free(s->x);
        s->x = xs;
        s->capacity = capacity;
    }
    memcpy(s->x + (size_t)s->n * d, x, d * sizeof *x);
    s->y[s->n++] = y;
    return 0;
}

int fis_learner_add_initial(struct fis_learner *t, const float *x, uint32_t y, struct fis_error *e)
{
    int rc = check_row(t, x, y, e);
    if (rc < 0)
        return rc;
    if (rows_add(&t->initial, fis_shape_inputs(&t->o.shape), x, y) < 0)
        return fis_fail(e, FIS_NOMEM, "learner: no memory for another initial row");
    t->order_n = 0;
    return 0;
}

/* Marks and list are made as long as the row store will be, before a row goes in. */
static int make_room(struct fis_learner *t)
{
    if (t->bought.n < t->bought.capacity)
        return 0;
    uint32_t n = t->bought.n, capacity = grown(t->bought.capacity);
    return fis_grow(&t->kept, t->n_kept, capacity, sizeof *t->kept) &&
                   fis_grow(&t->mark, n, capacity, 1)
               ? 0
               : -1;
}

int fis_learner_add_bought(struct fis_learner *t, const float *x, uint32_t y, uint32_t *index,
                           struct fis_error *e)
{
    int rc = check_row(t, x, y, e);
    if (rc < 0)
        return rc;
    if (make_room(t) < 0 || rows_add(&t->bought, fis_shape_inputs(&t->o.shape), x, y) < 0)
        return fis_fail(e, FIS_NOMEM, "learner: no memory for another bought row");
    *index = t->bought.n - 1;
    t->mark[*index] = 0;
    return 0;
}

/* ---- the check ------------------------------------------------------------------------------ */

/* List and counts from the marks, in the order of buying, so that draws depend on nothing else. */
void learner_rebuild_list(struct fis_learner *t)
{
    t->n_kept = t->n_excluded = 0;
    for (uint32_t i = 0; i < t->bought.n; i++) {
        t->n_excluded += (t->mark[i] & MARK_EXCLUDED) != 0;
        if (t->mark[i] & MARK_KEPT)
            t->kept[t->n_kept++] = i;
    }
}

/* Influences of rows from..from+n at all labels, into t->score_*. */
static void score_rows(struct fis_learner *t, uint32_t from, uint32_t n)
{
    fis_influence_batch(t->panel, row_x(&t->bought, fis_shape_inputs(&t->o.shape), from), n,
                        t->score_scratch, t->score_p, t->score_acc, t->score_fair);
}

/* Sets the marks of rows from..from+n; returns how many changed. NaN is not kept. */
static uint32_t mark_rows(struct fis_learner *t, uint32_t from, uint32_t n)
{
    uint32_t k = fis_shape_classes(&t->o.shape), changed = 0;
    score_rows(t, from, n);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *mark = &t->mark[from + i], before = *mark;
        size_t at = (size_t)i * k + t->bought.y[from + i];
        bool keep = t->score_acc[at] <= 0 && t->score_fair[at] <= 0;
        if (before & MARK_EXCLUDED)
            continue;
        *mark = (uint8_t)(keep ? before | MARK_KEPT : before & ~MARK_KEPT);
        changed += before != *mark;
    }
    return changed;
}

bool fis_learner_check(struct fis_learner *t, uint32_t index, float *infl_acc, float *infl_fair)
{
    size_t at = t->bought.y[index];
    if (!t->panel)
        return false;
    if (mark_rows(t, index, 1))
        learner_rebuild_list(t);
    if (infl_acc)
        *infl_acc = t->score_acc[at];
    if (infl_fair)
        *infl_fair = t->score_fair[at];
    return fis_learner_is_kept(t, index);
}

uint32_t fis_learner_review(struct fis_learner *t)
{
    uint32_t changed = 0;
    if (!t->panel)
        return 0;
    for (uint32_t from = 0; from < t->bought.n; from += LEARNER_SCORE_ROWS) {
        uint32_t left = t->bought.n - from;
        changed += mark_rows(t, from, left < LEARNER_SCORE_ROWS ? left : LEARNER_SCORE_ROWS);
    }
    learner_rebuild_list(t);
    return changed;
}

bool fis_learner_is_kept(const struct fis_learner *t, uint32_t index)
{
    return index < t->bought.n && (t->mark[index] & MARK_KEPT);
}

/* ---- rows that cannot be learnt from -------------------------------------------------------- */

static bool is_absurd(struct fis_learner *t, uint32_t row)
{
    uint32_t d = fis_shape_inputs(&t->o.shape), k = fis_shape_classes(&t->o.shape);
    fis_network_forward(&t->o.shape, t->anchor.params, row_x(&t->bought, d, row), 1, t->scratch,
                        t->logits);
    for (uint32_t i = 0; i < k; i++)
        if (!(fabsf(t->logits[i]) <= ABSURD_LOGIT))
            return true;
    return false;
}

void learner_exclude_absurd(struct fis_learner *t)
{
    for (uint32_t i = 0; i < t->bought.n; i++)
        if (is_absurd(t, i))
            t->mark[i] = (uint8_t)(MARK_EXCLUDED | (t->mark[i] & MARK_LEFT_OUT));
    learner_rebuild_list(t);
}
