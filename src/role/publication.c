#include "role/publication.h"

#include <stddef.h>

static const struct publication *const table[] = {
    &publication_boosted,
    &publication_mixed,
    &publication_plain,
};

const struct publication *publication_of(enum fis_copies copies)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i]->copies == copies)
            return table[i];
    return NULL;
}

static int judge(struct publication_call *c, struct fis_gate_judgement *j, float *params,
                 struct fis_error *e)
{
    return fis_gate_judge(c->gate, c->learner, j, params, e);
}

const struct publication publication_boosted = {
    .name = "boosted", .copies = FIS_COPIES_BOOSTED, .judge = judge};

const struct publication publication_plain = {
    .name = "plain", .copies = FIS_COPIES_PLAIN, .judge = judge};
