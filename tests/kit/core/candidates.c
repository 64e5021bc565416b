#include "kit/core/candidates.h"

float candidate_features[CANDIDATES][CANDIDATE_D];

struct fis_candidate candidates[CANDIDATES];

void candidates_make(uint64_t seed)
{
    struct fis_rng rng;
    fis_rng_seed(&rng, seed, 0);
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        char name[16];
        int n = snprintf(name, sizeof name, "rec-%u", i);
        candidates[i] = (struct fis_candidate){
            .x = candidate_features[i], .payload = "text", .payload_length = 4};
        assert_int_equal(fis_id_set(&candidates[i].id, name, (size_t)n), 0);
        for (uint32_t j = 0; j < CANDIDATE_D; j++)
            candidate_features[i][j] = (float)(i * 10 + j);
        candidates[i].scores[0] =
            fis_rng_below(&rng, 3) == 0 ? (float)fis_rng_below(&rng, 50) : FIS_NOT_A_CANDIDATE;
        candidates[i].scores[1] = (float)fis_rng_below(&rng, 60);
    }
}

struct fis_selector *candidates_selector(const struct fis_acquisition *a, uint32_t r,
                                         uint32_t in_flight, uint64_t budget)
{
    struct fis_selector_options o = {
        .criteria = {.acquisition = a, .strategy = 2, .seed = 7},
        .d = CANDIDATE_D,
        .labels_per_round = r,
        .in_flight = in_flight,
        .budget = budget,
    };
    struct fis_error e;
    struct fis_selector *s = fis_selector_new(&o, &e);
    assert_non_null(s);
    return s;
}

void candidates_offer_all(struct fis_selector *s, uint64_t order_seed)
{
    uint32_t order[CANDIDATES];
    struct fis_rng rng;
    struct fis_error e;
    for (uint32_t i = 0; i < CANDIDATES; i++)
        order[i] = i;
    fis_rng_seed(&rng, order_seed, 9);
    fis_rng_shuffle(&rng, order, CANDIDATES);
    for (uint32_t i = 0; i < CANDIDATES; i++)
        assert_true(fis_selector_offer(s, &candidates[order[i]], &e) >= 0);
}
