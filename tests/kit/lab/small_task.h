/*
 * A small biased task, made here and split already: classes follow one feature and the group, the
 * group shows in another feature. Any number of classes and groups.
 */
#ifndef TESTS_KIT_LAB_SMALL_TASK_H
#define TESTS_KIT_LAB_SMALL_TASK_H

#include "lab/run.h"

#define SMALL_D 4u
enum { SMALL_INITIAL = 240, SMALL_POOL = 700, SMALL_VALIDATION = 1200, SMALL_TEST = 400 };
enum { SMALL_ROWS = SMALL_INITIAL + SMALL_POOL + SMALL_VALIDATION + SMALL_TEST };

struct small_task {
    struct lab_task_spec spec;
    struct lab_task task;
    struct lab_split split;
    float x[SMALL_ROWS][SMALL_D];
    uint32_t y[SMALL_ROWS], group[SMALL_ROWS], rows[SMALL_ROWS];
};

void small_task_make(struct small_task *t, uint32_t classes, uint32_t groups, uint64_t seed);

struct lab_options small_options(const struct small_task *t, enum fis_metric metric);

/* Two results, but for the time they took. */
int small_same(const struct lab_result *a, const struct lab_result *b);

#endif
