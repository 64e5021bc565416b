/*
 * Boosted trees fitted by XGBoost, through its C interface: single thread, seeded, deterministic.
 *
 * Thread: any; blocks while it fits. Owns: nothing.
 */
#ifndef DATA_BOOST_H
#define DATA_BOOST_H

#include "fis/trees.h"

/* A fis_trees_fit_fn: histogram method, logistic loss (softmax for more than two classes),
 * depth-wise. INPUT: no rows, or what XGBoost says. */
int data_boost(const struct fis_trees_rows *rows, const uint32_t *index, uint32_t n,
               uint32_t n_held, const struct fis_trees_options *o, struct fis_trees **out,
               struct fis_error *e) FIS_MUST_CHECK;

#endif
