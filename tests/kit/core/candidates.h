/* Candidates whose scores follow from their numbers. */
#ifndef TEST_KIT_CANDIDATES_H
#define TEST_KIT_CANDIDATES_H

#include <math.h>

#include "fis/mem.h"
#include "fis/rng.h"
#include "fis/selector.h"
#include "kit/cmocka.h"
#include "kit/core/requests.h"

#define CANDIDATE_D 3u

#define CANDIDATES 400u

extern float candidate_features[CANDIDATES][CANDIDATE_D];

extern struct fis_candidate candidates[CANDIDATES];

void candidates_make(uint64_t seed);

struct fis_selector *candidates_selector(const struct fis_acquisition *a, uint32_t r,
                                         uint32_t in_flight, uint64_t budget);

void candidates_offer_all(struct fis_selector *s, uint64_t order_seed);

#endif
