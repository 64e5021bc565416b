/* What a model is worth on the test rows. */
#include "lab/run.h"

void lab_forward(struct lab_run *r, const float *params, const float *x, uint32_t n, float *logits)
{
    for (uint32_t i = 0; i < n; i += LAB_SCORE_ROWS) {
        uint32_t m = n - i < LAB_SCORE_ROWS ? n - i : LAB_SCORE_ROWS;
        fis_network_forward(&r->shape, params, x + (size_t)i * r->split->d, m, r->scratch,
                            logits + (size_t)i * r->classes);
    }
}

void lab_score(struct lab_run *r, const float *x, uint32_t n, float *scores,
               void (*some)(struct lab_run *r, const float *x, uint32_t n, float *scores))
{
    for (uint32_t i = 0; i < n; i += LAB_SCORE_ROWS)
        some(r, x + (size_t)i * r->split->d, n - i < LAB_SCORE_ROWS ? n - i : LAB_SCORE_ROWS,
             scores + (size_t)i * FIS_MAX_CRITERIA);
}

/* Of images a piece at a time, as all of them do not fit. */
static void forward_test(struct lab_run *r, const float *params)
{
    const struct lab_split *s = r->split;
    if (s->x) {
        lab_forward(r, params, r->test_x, s->n_test, r->logits);
        return;
    }
    for (uint32_t i = 0; i < s->n_test; i += LAB_SCORE_ROWS) {
        uint32_t m = s->n_test - i < LAB_SCORE_ROWS ? s->n_test - i : LAB_SCORE_ROWS;
        for (uint32_t j = 0; j < m; j++)
            lab_split_copy(s, s->test[i + j], r->room + (size_t)j * s->d);
        lab_forward(r, params, r->room, m, r->logits + (size_t)i * r->classes);
    }
}

/* The test rows over these trees. */
static void set_margins(struct lab_run *r, struct fis_trees *trees)
{
    if (!trees || trees == r->test_trees)
        return;
    fis_trees_unref(r->test_trees);
    r->test_trees = fis_trees_ref(trees);
    fis_trees_apply(trees, r->test_x, r->split->n_test);
}

void lab_evaluate(struct lab_run *r, const float *params, struct fis_metrics *out)
{
    lab_evaluate_over(r, params, r->parts->trees, out);
}

void lab_evaluate_over(struct lab_run *r, const float *params, struct fis_trees *trees,
                       struct fis_metrics *out)
{
    const struct lab_split *s = r->split;
    set_margins(r, trees);
    forward_test(r, params);
    fis_predict(r->logits, s->n_test, r->classes, r->predictions);
    fis_metrics_eval(r->predictions, r->logits, s->test_y, s->test_group, NULL, s->n_test,
                     r->classes, s->task->n_groups, s->task->positive, out);
}
