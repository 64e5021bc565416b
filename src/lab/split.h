/*
 * One split of a task, encoded: which rows are labelled at first, which are the pool, which
 * validate and which test, by seed; and the features of all rows under the encoder that was fitted
 * on the initial ones.
 *
 * Thread: immutable once made, but for `validation_y` and `validation_group`, which an experiment
 * on noise may change before a run. Owns: everything but the task.
 */
#ifndef LAB_SPLIT_H
#define LAB_SPLIT_H

#include "lab/task.h"

struct lab_split {
    const struct lab_task *task;
    uint64_t seed;
    uint32_t d;
    uint32_t margins; /* of d: those of a base of trees, 0 here; protocol.trees */
    float *x;         /* [task->n][d]; NULL: images, whose numbers are made by lab_split_copy */
    struct fis_encoder *encoder; /* of images, else NULL */
    /* Indices of the task's rows. With `balance` a row may occur more than once. */
    uint32_t *initial, *pool, *validation, *test;
    uint32_t n_initial, n_pool, n_validation, n_test;
    float *validation_x, *test_x;              /* gathered, [n][d]; test_x NULL: images */
    uint32_t *validation_y, *validation_group; /* gathered copies */
    uint32_t *test_y, *test_group;
};

struct lab_split *lab_split_new(const struct lab_task *task, const struct lab_protocol *protocol,
                                uint64_t seed, struct fis_error *e) FIS_MUST_CHECK;
void lab_split_free(struct lab_split *s);

/* A row's d features; of an image, made of its bytes. */
void lab_split_copy(const struct lab_split *s, uint32_t row, float *to);
/* Where they lie, but for images; room [d] is theirs. */
static inline const float *lab_split_see(const struct lab_split *s, uint32_t row, float *room)
{
    if (s->x)
        return s->x + (size_t)row * s->d;
    lab_split_copy(s, row, room);
    return room;
}
static inline const float *lab_split_row(const struct lab_split *s, uint32_t row)
{
    return s->x + (size_t)row * s->d;
}

#endif
