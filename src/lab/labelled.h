/* The rows that are labelled so far: rows of the task, the initial ones first, then what was
 * bought, in order. */
#ifndef LAB_LABELLED_H
#define LAB_LABELLED_H

#include "lab/run.h"
#include "lab/sgd.h"

struct lab_labelled {
    uint32_t *rows;
    uint32_t n, capacity;
};

/* Starts as {0}; called again, it takes in what has been bought since. */
int lab_labelled_update(struct lab_labelled *l, const struct lab_run *r,
                        struct fis_error *e) FIS_MUST_CHECK;
void lab_labelled_done(struct lab_labelled *l);

/* The view of them that training needs, and the run's own way of training. */
struct lab_sgd_rows lab_labelled_rows(const struct lab_labelled *l, const struct lab_run *r);
struct lab_sgd_options lab_labelled_sgd(const struct lab_run *r, uint64_t stream);

#endif
