/* The rows that are labelled so far, for training by oneself. */
#ifndef LAB_LABELLED_H
#define LAB_LABELLED_H

#include "lab/run.h"
#include "lab/sgd.h"

/* The view of r->labelled that training needs, and the run's own way of training. */
struct lab_sgd_rows lab_labelled_rows(const struct lab_run *r);
struct lab_sgd_options lab_labelled_sgd(const struct lab_run *r, uint64_t stream);

#endif
