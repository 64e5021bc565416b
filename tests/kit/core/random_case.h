/* Random networks and labelled rows for the property tests. */
#ifndef TESTS_KIT_CORE_RANDOM_CASE_H
#define TESTS_KIT_CORE_RANDOM_CASE_H

#include <stdint.h>

#include "fis/influence.h"
#include "fis/mem.h"

struct random_case {
    struct fis_shape shape;
    struct fis_rng rng;
    size_t params;
    uint32_t n, d, classes, groups;
    float *w, *g_acc, *g_fair; /* slabs */
    float *x;                  /* [n][d] */
    uint32_t *y, *group;       /* [n]; every cell has rows */
    struct fis_rows rows;
};

float random_normal(struct fis_rng *rng, double scale);

void random_case_done(struct random_case *c);

/* depth hidden layers of 5 to 12 units; biases are not 0; random directions; margins where the seed
 * is odd. 0 on success. */
int random_case_init(struct random_case *c, uint64_t seed, uint32_t depth, uint32_t classes,
                     uint32_t groups, uint32_t n);

/* Depths 0 to 3, K = 2, 3, 10, M = 2, 3, 5. */
int random_case_number(struct random_case *c, uint32_t i, uint32_t n);
#define RANDOM_CASES 72u /* each combination twice */

/*
 * A twin of the forward pass in double, of any depth, with params + t direction; `pattern` (may be
 * NULL) adds up which units are on, so that a finite difference across a kink can be recognised.
 */
void twin_logits(const struct random_case *c, const float *direction, double t, const float *x,
                 double *out, uint64_t *pattern);

#endif
