#include "lab/labelled.h"

#include <string.h>

#include "fis/mem.h"

int lab_labelled_update(struct lab_labelled *l, const struct lab_run *r, struct fis_error *e)
{
    const uint32_t initial = r->split->n_initial, n = initial + r->n_bought;
    if (n > l->capacity) {
        uint32_t capacity = initial + 2 * r->n_bought;
        uint32_t *grown = fis_grow(l->rows, l->n, capacity, sizeof *grown);
        if (!grown)
            return fis_fail(e, FIS_NOMEM, "run: no memory for %u labels", capacity);
        l->rows = grown;
        l->capacity = capacity;
    }
    if (l->n == 0) {
        memcpy(l->rows, r->split->initial, initial * sizeof *l->rows);
        l->n = initial;
    }
    for (; l->n < n; l->n++)
        l->rows[l->n] = r->bought[l->n - initial].row;
    return 0;
}

void lab_labelled_done(struct lab_labelled *l)
{
    fis_free(l->rows);
    *l = (struct lab_labelled){0};
}

struct lab_sgd_rows lab_labelled_rows(const struct lab_labelled *l, const struct lab_run *r)
{
    return (struct lab_sgd_rows){
        .x = r->split->x, .y = r->split->task->y, .rows = l->rows, .n = l->n, .d = r->split->d};
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
