/* The table of acquisitions, and what is asked of all of them. */
#include "fis/acquisition.h"

#include <string.h>

static const struct fis_acquisition *const table[] = {
    &fis_acquisition_fis_plus, &fis_acquisition_fis,    &fis_acquisition_ekg,
    &fis_acquisition_product,  &fis_acquisition_random, &fis_acquisition_entropy,
};

const struct fis_acquisition *fis_acquisition_at(uint32_t i)
{
    return i < sizeof table / sizeof *table ? table[i] : NULL;
}

const struct fis_acquisition *fis_acquisition_find(const char *name)
{
    for (uint32_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    return NULL;
}

uint32_t fis_criteria_count(const struct fis_acquisition *a)
{
    return a->criteria[1] ? 2 : 1;
}

const char *fis_criterion_name(const struct fis_acquisition *a, uint32_t criterion)
{
    return criterion < fis_criteria_count(a) ? a->criteria[criterion] : "unknown";
}

void fis_criteria_score(const struct fis_criteria *c, const struct fis_id *id, const float *p,
                        const float *infl_acc, const float *infl_fair, uint32_t classes,
                        float *scores)
{
    for (uint32_t i = 0; i < FIS_MAX_CRITERIA; i++)
        scores[i] = FIS_NOT_A_CANDIDATE;
    c->acquisition->score(c, id, p, infl_acc, infl_fair, classes, scores);
}
