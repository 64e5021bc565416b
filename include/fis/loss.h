/*
 * Softmax and cross-entropy, finite for every finite input: the largest logit is subtracted
 * first, and log p is computed without forming p.
 */
#ifndef FIS_LOSS_H
#define FIS_LOSS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* p [n][K] from logits [n][K]; rows sum to 1. In place is allowed. */
void fis_softmax(const float *logits, uint32_t n, uint32_t classes, float *p);

/*
 * Weighted mean cross-entropy  L = sum_n v_n CE_n / sum_n v_n,  CE = log sum exp(f) - f_y.
 * weights: [n] >= 0 or NULL for 1. dlogits: [n][K] or NULL, receives d L / d logits.
 * Returns L; 0 when n or the sum of weights is 0. NaN in, NaN out.
 */
double fis_cross_entropy(const float *logits, const uint32_t *labels, const float *weights,
                         uint32_t n, uint32_t classes, float *dlogits);

#ifdef __cplusplus
}
#endif

#endif
