/* Adult's CSV files as encoded matrices, for the experiments. Exits with a message on bad files. */
#ifndef EXPERIMENT_TABLE_H
#define EXPERIMENT_TABLE_H

#include "fis/encoder.h"
#include "fis/id.h"
#include "fis/influence.h"

struct table {
    uint32_t n, d;
    float *x;           /* [n][d] */
    uint32_t *y;        /* 1: >50K; 0 throughout when there is no such column */
    uint32_t *group;    /* 1: Female; the same */
    struct fis_id *ids; /* [n] */
};

struct adult {
    struct fis_encoder *encoder;
    struct table initial, pool, validation, test; /* pool.y: from answers.csv */
};

/* standardise_all: the one-hot columns too, by the initial rows' means and deviations. */
void adult_load(const char *folder, int standardise_all, struct adult *a);
void adult_free(struct adult *a);
struct fis_rows table_rows(const struct table *t);

#endif
