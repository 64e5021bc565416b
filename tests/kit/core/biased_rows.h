/* A small biased problem: the label depends on feature 0, and on the group through feature 1, so
 * that a network that learns it is accurate and unfair. */
#ifndef TESTS_KIT_CORE_BIASED_ROWS_H
#define TESTS_KIT_CORE_BIASED_ROWS_H

#include "fis/influence.h"

#define SYN_D 3u
#define SYN_MAX 4000u

struct synthetic {
    uint32_t n;
    float x[SYN_MAX][SYN_D];
    uint32_t y[SYN_MAX], group[SYN_MAX];
};

/* positives: roughly the share of class 1. */
void synthetic_make(struct synthetic *s, uint32_t n, double positives, uint64_t seed);

struct fis_rows synthetic_rows(const struct synthetic *s);

#endif
