/*
 * Noise matrices: T[k][j] = P(a row of class k is labelled j), row-major [n][n], rows sum to 1.
 * Groups likewise.
 */
#ifndef LAB_NOISE_MATRIX_H
#define LAB_NOISE_MATRIX_H

#include <stdint.h>

#include "fis/error.h"

/* Another class with probability `noise`, each alike. */
void lab_noise_uniform(uint32_t n, double noise, double *t);
/* INPUT: singular, or so nearly that its inverse is of no use (an entry beyond 100). */
int lab_noise_invert(uint32_t n, const double *t, double *inverse,
                     struct fis_error *e) FIS_MUST_CHECK;

/* Maximum likelihood of T given the probabilities p [rows][n] of true classes and the noisy labels:
 * of sum_i log sum_k p_ik T[k][y_i], by expectation and maximisation from 10 % of uniform noise.
 * Consistent where p is calibrated. A class that nobody has keeps the start. */
void lab_noise_likeliest(const float *p, const uint32_t *labels, uint32_t rows, uint32_t n,
                         double *t);
/* Anchor points: row k of T is the mean of p, the probabilities of *noisy* labels, over the
 * hundredth part of the rows (ten at least) where p_k is highest. NOMEM. */
int lab_noise_anchors(const float *p, uint32_t rows, uint32_t n, double *t,
                      struct fis_error *e) FIS_MUST_CHECK;

#endif
