/* The points that a gate judges: the learner's end point, and the line that begins there. */
#include "core/gate_impl.h"
#include "core/line.h"
#include "fis/mem.h"

/* a = 0, .025, … .3, .35, … .6, .7, … 1.5: near the anchor, where most picks are, the points are
 * dense. In 1/40. */
static const struct {
    uint32_t upto, step;
} stretches[] = {{12, 1}, {24, 2}, {60, 4}};

struct fis_gate_points gate_end_alone(const struct fis_learner *t)
{
    struct fis_gate_points p = {.publish_from = fis_learner_end(t), .n = 1};
    for (uint32_t h = 0; h < fis_learner_options(t)->folds; h++)
        p.from[h] = fis_learner_end_of(t, h);
    return p;
}

/* The rows that are not of fold h (h below the folds), or all of them. */
static struct line_guide guide_of(const struct fis_learner *t, uint32_t h, uint32_t *index)
{
    const struct fis_rows *rows = fis_learner_validation(t);
    struct line_guide guide = {.rows = rows};
    if (h >= fis_learner_options(t)->folds)
        return guide;
    guide.index = index;
    for (uint32_t i = 0; i < rows->n; i++)
        if (fis_learner_fold_of(t)[i] != h)
            index[guide.n++] = i;
    return guide;
}

/* to: where the line from `from` is at 1. A line that cannot be had is a point. */
static int line_to(const struct fis_gate *g, const struct fis_learner *t, const float *from,
                   const struct line_guide *guide, float *to, struct fis_error *e)
{
    const struct fis_rows *rows = fis_learner_validation(t);
    struct line_unlabelled u = {.x = {NULL, rows->x}, .n = {0, rows->n}};
    u.x[0] = fis_learner_initial(t, &u.n[0]);
    const float *noised =
        fis_learner_privacy(t).refreshes ? fis_learner_direction(t, FIS_DIRECTION_FAIRNESS) : NULL;
    int rc = noised ? line_along(fis_learner_shape(t), from, noised, u.x[0], u.n[0], to, e)
                    : line_step(fis_learner_shape(t), from, guide, &u, g->o.metric, g->o.positive,
                                fis_learner_groups(t), to, e);
    for (size_t i = 0; i < g->n_params; i++)
        to[i] += from[i];
    return rc == -FIS_INPUT ? 0 : rc;
}

/* The points of the line from the learner's end point. */
int gate_line_points(struct fis_gate *g, const struct fis_learner *t, struct fis_gate_points *p,
                     struct fis_error *e)
{
    const uint32_t folds = fis_learner_options(t)->folds;
    uint32_t *index = fis_alloc(fis_learner_validation(t)->n, sizeof *index);
    int rc = index ? 0 : fis_fail(e, FIS_NOMEM, "gate: no memory for a line");
    for (uint32_t h = 0; rc == 0 && h <= folds; h++) {
        const struct line_guide guide = guide_of(t, h, index);
        rc = line_to(g, t, h < folds ? p->from[h] : p->publish_from, &guide,
                     g->line[h < folds ? 1 + h : 0], e);
    }
    fis_free(index);
    p->publish_to = g->line[0];
    for (uint32_t h = 0; h < folds; h++)
        p->to[h] = g->line[1 + h];
    p->share[p->n = 0] = 0;
    for (uint32_t i = 0, at = 0; i < sizeof stretches / sizeof *stretches; i++)
        while (at < stretches[i].upto) {
            at += stretches[i].step;
            p->share[++p->n] = (float)at / 40;
        }
    p->n++;
    return rc;
}
