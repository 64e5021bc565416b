/* Algorithm 1 as published: a round that leaves the model below the floor is rolled back. */
#include "role/publication.h"

static int judge(struct publication_call *c, struct fis_gate_judgement *j, float *params,
                 struct fis_error *e)
{
    int rc = fis_gate_judge(c->gate, c->learner, j, params, e);
    if (rc == 0 && j->verdict == FIS_REJECT)
        fis_learner_roll_back(c->learner);
    return rc;
}

const struct publication publication_mixed = {
    .name = "mixed", .mixed = true, .strict = true, .halves = true, .judge = judge};
