/*
 * Tasks: a data set with a label, groups, features, and the protocol of the experiments on it.
 *
 * The built-in ones are prepared as CSV files by lab/fetch.h; anybody's CSV makes one too. Class
 * and group indices are in the order of the values' bytes. The label, the sensitive columns and
 * what the task leaves out are no features.
 *
 * Thread: immutable once open; shared by runs.
 */
#ifndef LAB_TASK_H
#define LAB_TASK_H

#include "data/table.h"
#include "fis/fairness.h"
#include "fis/network.h"
#include "lab/images.h"

enum lab_regime { LAB_RICH, LAB_SCARCE, LAB_REGIMES };
const char *lab_regime_name(enum lab_regime r); /* "rich", "scarce" */
int lab_regime_find(const char *name, enum lab_regime *out, struct fis_error *e) FIS_MUST_CHECK;

/* What an experiment on a task is made of. Shares are of 1. */
struct lab_protocol {
    double test;       /* of all rows */
    double validation; /* of the test part; what is left of it is the test set */
    double initial;    /* of the training part: labelled at first */
    uint32_t rounds, labels_per_round;
    uint32_t warm_up_epochs, steps_per_round;
    uint32_t scored_per_round; /* random rows of the pool that are looked at; 0: all of it */
    uint32_t hidden, batch;
    float learning_rate, momentum, weight_decay;
    struct fis_vit vit; /* of images; height 0: no images */
    bool adamw, flip;   /* as struct fis_learner_options has them */
    uint32_t rise, shift;
    bool trees;   /* over a base of boosted trees */
    bool balance; /* resample the training part so that class and group are balanced (the paper) */
    /* One-hot features too get mean 0 and deviation 1 over the initial rows. fisd's encoder does
     * not do that: rare categories become large, and few labels are learnt by heart. the
     * prototype's table was made so. */
    bool standardise;
};

/* A table (with `images` the labels of images); CelebA's folder or a .npz, both of --data. */
enum lab_layout { LAB_TABLE, LAB_CELEBA, LAB_NPZ };

struct lab_task_spec {
    const char *name;
    const char *file; /* of the fetched ones: its name in the cache; else a path */
    const char *label;
    const char *positive;     /* class; NULL: the last one */
    const char *sensitive[4]; /* NULL ends it */
    const char *leave_out;    /* columns, separated by commas; may be NULL */
    bool fetched;
    const struct data_reading *read; /* how the file is written; NULL: as its name says */
    struct lab_protocol protocol[LAB_REGIMES];
    const char *images; /* file of pixels [n][height][width][channels], a byte each; NULL: none */
    enum lab_layout layout; /* of `file` */
    bool rich; /* the regime unless another is asked for: a transformer begins with more images */
    /* Column that is not 0 of the rows which may be labelled at first; the others are the rest. */
    const char *biased;
};

/* The built-in tasks, and the seven of the main tables among them ("all"). */
const struct lab_task_spec *lab_task_specs(uint32_t *n);
const struct lab_task_spec *lab_task_find(const char *name, struct fis_error *e);
extern const char *const lab_tasks_all[]; /* names; NULL ends it */
/* The protocol that a CSV of one's own gets: as Adult's, with rounds that fit its `rows`. */
void lab_protocol_for(uint32_t rows, enum lab_regime regime, struct lab_protocol *out);
/* The same for images of one's own: a transformer with patches such that there are at most 64. */
void lab_protocol_for_images(const struct lab_images *images, enum lab_regime regime,
                             struct lab_protocol *out);

struct lab_task {
    const struct lab_task_spec *spec;
    const struct data_table *table; /* borrowed */
    uint32_t n;                     /* rows */
    uint32_t n_classes, n_groups, positive;
    char **classes;                  /* [n_classes] */
    uint32_t *y, *group;             /* [n] */
    uint32_t n_features;             /* columns */
    uint32_t *features;              /* [n_features] columns of the table */
    const struct lab_images *images; /* [n]; borrowed; NULL: none */
    uint8_t *biased;                 /* [n]; NULL: every row may be labelled at first */
};

/* images: NULL, or those of the table's rows. INPUT: a column that is not there; a label or a
 * sensitive value that is missing (with the row); fewer than two classes or groups, or too many. */
struct lab_task *lab_task_open(const struct lab_task_spec *spec, const struct data_table *table,
                               const struct lab_images *images, struct fis_error *e) FIS_MUST_CHECK;
void lab_task_free(struct lab_task *t);

#endif
