/*
 * A small data set to run methods on, written as a CSV file into a folder of the test's own:
 * five numbers, a category, a group that some of them depend on, a label.
 */
#ifndef TESTS_KIT_LAB_SMALL_FILE_H
#define TESTS_KIT_LAB_SMALL_FILE_H

#include "fis/rng.h"
#include "lab/batch.h"

struct synthetic {
    char folder[64], path[96];
    struct lab_task_spec spec;
    struct data_table *table;
    struct lab_task *task;
};

/* 0, or -1. */
int synthetic_make(struct synthetic *s, uint32_t rows, uint32_t classes, uint32_t groups);

void synthetic_done(struct synthetic *s);

#endif
