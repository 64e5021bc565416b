/* The part of Just Train Twice that makes the second training set. */
#ifndef LAB_JTT_H
#define LAB_JTT_H

#include <stdint.h>

#define LAB_JTT_WEIGHT 20u

/* out [at most n x weight]: every row, those with predicted != y `weight` times. y is by row,
 * predicted by position. Returns their number. */
uint32_t lab_jtt_upweight(const uint32_t *rows, const uint32_t *predicted, const uint32_t *y,
                          uint32_t n, uint32_t weight, uint32_t *out);

#endif
