/*
 * The publication step of fis+: boosted copies on the kept sets, and the gate's pick between the
 * anchor and them. Where the gate refuses to judge (too few rows) the anchor stands.
 */
#include <string.h>

#include "fis/defaults.h"
#include "fis/mem.h"
#include "lab/points.h"

int lab_gate_make(struct lab_run *r, enum fis_gate_rule rule, int judge_all, struct fis_error *e)
{
    const struct fis_gate_options o = {
        .metric = r->o->metric,
        .positive = r->split->task->positive,
        .epsilon = r->o->epsilon,
        .floor_errors = r->o->floor_errors,
        .min_rows = judge_all ? 0 : FIS_DEFAULT_MIN_ROWS,
        .min_cell = judge_all ? 1 : FIS_DEFAULT_MIN_CELL,
        .warn_cell = FIS_DEFAULT_WARN_CELL,
        .rule = rule,
        .standard_errors = r->o->standard_errors,
        /* `always` does not look at standard errors. */
        .resamples = rule == FIS_GATE_RULE_ALWAYS ? 2 : FIS_DEFAULT_RESAMPLES,
        .seed = r->o->seed,
    };
    struct fis_gate_judgement j;
    float *warm_up = fis_alloc(r->n_params, sizeof *warm_up);
    if (!warm_up)
        return fis_fail(e, FIS_NOMEM, "run: no memory");
    int rc = 0;
    r->gate = fis_gate_new(&o, &r->shape, e);
    if (!r->gate)
        rc = -(int)(e ? e->kind : FIS_NOMEM);
    else
        rc = fis_gate_first(r->gate, r->learner, &j, warm_up, e);
    if (rc == 0)
        memcpy(r->published, warm_up, r->n_params * sizeof *warm_up);
    fis_free(warm_up);
    return rc;
}

static int publish(struct lab_run *r, int last, float *params, struct fis_error *e)
{
    struct fis_gate_points p;
    fis_gate_points_of(r->learner, &p);
    return lab_points_publish(r, &p, last, params, e);
}

const struct lab_publication lab_publication_pub = {.name = "pub",
                                                    .copies = FIS_COPIES_BOOSTED,
                                                    .by_metric = 1,
                                                    .begin = lab_points_begin,
                                                    .publish = publish};
