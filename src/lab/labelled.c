#include "lab/labelled.h"

struct lab_sgd_rows lab_labelled_rows(const struct lab_run *r)
{
    return (struct lab_sgd_rows){.x = r->split->x,
                                 .y = r->split->task->y,
                                 .rows = r->labelled,
                                 .n = r->n_labelled,
                                 .d = r->split->d};
}

struct lab_sgd_options lab_labelled_sgd(const struct lab_run *r, uint64_t stream)
{
    const struct lab_protocol *p = &r->o->protocol;
    return (struct lab_sgd_options){.shape = r->shape,
                                    .batch = p->batch,
                                    .learning_rate = p->learning_rate,
                                    .momentum = p->momentum,
                                    .weight_decay = p->weight_decay,
                                    .seed = r->o->seed,
                                    .stream = stream};
}
