/*
 * A fairness term for training: weight x the gradient of 1/2 sum gap^2 over rows with groups,
 * gaps of mean probabilities as the run's surrogate compares them.
 *
 * The surrogate phi of demographic parity is scaled (core/fairness.c); here it is brought back to
 * the gaps themselves, so that one weight means the same for every metric.
 */
#ifndef LAB_FAIR_TERM_H
#define LAB_FAIR_TERM_H

#include "fis/influence.h"

struct lab_fair_term_options {
    struct fis_shape shape;
    const struct fis_direction_options *directions; /* surrogate or losses; borrowed */
    struct fis_rows rows;                           /* borrowed */
    double weight;
    uint32_t sample; /* so many random rows a step; 0: all of them */
    uint64_t seed, stream;
};

struct lab_fair_term;
/* index: of the rows that count, n_index of them, borrowed until set again; NULL: all. */
struct lab_fair_term *lab_fair_term_new(const struct lab_fair_term_options *o,
                                        const uint32_t *index, uint32_t n_index,
                                        struct fis_error *e) FIS_MUST_CHECK;
void lab_fair_term_free(struct lab_fair_term *t);
/* With `sample` only. */
void lab_fair_term_rows(struct lab_fair_term *t, const uint32_t *index, uint32_t n_index);
void lab_fair_term_weight(struct lab_fair_term *t, double weight);
/* 1/2 sum gap^2 as the last step saw it; NaN before. */
double lab_fair_term_value(const struct lab_fair_term *t);

/* lab_sgd's `extra`; arg: the term. A sample that lacks a cell which the metric needs adds
 * nothing. */
int lab_fair_term_add(void *arg, const float *params, float *gradient,
                      struct fis_error *e) FIS_MUST_CHECK;

#endif
