#include "kit/core/selector_model.h"

struct fis_id model_id(uint32_t i)
{
    char name[16];
    struct fis_id id;
    int n = snprintf(name, sizeof name, "rec-%u", i);
    assert_int_equal(fis_id_set(&id, name, (size_t)n), 0);
    return id;
}

float model_score(uint32_t head, uint32_t record, uint32_t criterion)
{
    struct fis_rng rng;
    fis_rng_seed(&rng, head, record * 2 + criterion);
    if (fis_rng_below(&rng, 3) == 0)
        return FIS_NOT_A_CANDIDATE;
    return (float)fis_rng_below(&rng, 12);
}

void model_candidate(const struct selector_model *m, uint32_t i, struct fis_candidate *c)
{
    static const char *const payload = "what people see";
    *c = (struct fis_candidate){.id = model_id(i), .x = m->r[i].x, .payload = payload};
    c->payload_length = strlen(payload);
    for (uint32_t k = 0; k < FIS_MAX_CRITERIA; k++)
        c->scores[k] = model_score(m->head, i, k);
}

struct fis_selector *model_selector(const struct selector_model *m)
{
    struct fis_error e;
    struct fis_selector_options o = {
        .criteria = {.acquisition = &fis_acquisition_fis_plus, .strategy = 2},
        .d = MODEL_D,
        .labels_per_round = MODEL_LABELS,
        .heap = MODEL_HEAP,
        .in_flight = MODEL_FLIGHT,
        .budget = m->budget,
        .rounds_of_kept = true,
    };
    struct fis_selector *s = fis_selector_new(&o, &e);
    assert_non_null(s);
    fis_selector_set_allowance(s, m->allowance);
    fis_selector_round_begin(s, m->round);
    return s;
}

uint32_t model_placed(const struct selector_model *m, uint32_t criterion)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < MODEL_RECORDS; i++)
        n += m->r[i].placed && m->r[i].criterion == criterion;
    return n;
}
