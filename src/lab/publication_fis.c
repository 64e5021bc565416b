/*
 * Algorithm 1 as published: one model, trained on the initial rows and what the label check keeps;
 * a round that leaves it below VAL_0 - epsilon on the validation rows is rolled back.
 */
#include <string.h>

#include "lab/run_impl.h"

static int begin(struct lab_run *r, struct fis_error *e)
{
    return lab_gate_make(r, FIS_GATE_RULE_ALWAYS, r->o->whole, e);
}

static int round_end(struct lab_run *r, struct fis_error *e)
{
    struct fis_gate_judgement j;
    int rc = fis_gate_judge(r->gate, r->learner, &j, r->published, e);
    if (rc < 0 || j.verdict == FIS_PUBLISH)
        return rc;
    r->result->rounds_rejected++;
    fis_learner_roll_back(r->learner);
    return lab_refresh(r, e);
}

/* What was accepted last, or the warm-up model. */
static int publish(struct lab_run *r, int last, float *params, struct fis_error *e)
{
    (void)last;
    (void)e;
    if (params != r->published)
        memcpy(params, r->published, r->n_params * sizeof *params);
    return 0;
}

const struct lab_publication lab_publication_fis = {.name = "fis",
                                                    .copies = FIS_COPIES_MIXED,
                                                    .by_metric = 1,
                                                    .begin = begin,
                                                    .publish = publish,
                                                    .round_end = round_end};
