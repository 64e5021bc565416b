#include "role/publication.h"

static int judge(struct publication_call *c, struct fis_gate_judgement *j, float *params,
                 struct fis_error *e)
{
    return fis_gate_judge(c->gate, c->learner, j, params, e);
}

const struct publication publication_line = {.name = "line", .line = true, .judge = judge};

const struct publication publication_plain = {.name = "plain", .judge = judge};
