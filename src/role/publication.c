#include "role/publication.h"

int publication_retrain(struct publication_call *c, struct fis_error *e)
{
    int rc = fis_learner_retrain(c->learner, c->round, e);
    return rc == -FIS_INPUT ? 0 : rc;
}

static int judge(struct publication_call *c, struct fis_gate_judgement *j, float *params,
                 struct fis_error *e)
{
    int rc = publication_retrain(c, e);
    return rc < 0 ? rc : fis_gate_judge(c->gate, c->learner, j, params, e);
}

const struct publication publication_line = {.name = "line", .line = true, .judge = judge};

const struct publication publication_plain = {.name = "plain", .judge = judge};
