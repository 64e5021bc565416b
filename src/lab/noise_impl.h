/* What a noisy run hangs on its hooks; between the files of lab/noise.h. */
#ifndef LAB_NOISE_STATE_H
#define LAB_NOISE_STATE_H

#include <stdbool.h>

#include "lab/noise.h"
#include "lab/noise_model.h"

struct lab_noisy {
    const struct lab_noise_options *o;
    struct lab_noise_model model;
    struct fis_rng rng;
    struct fis_panel *panel; /* of noisy directions */
    float *p, *posterior;    /* [n validation][K]: of the anchor */
    float *groups;           /* [n validation][M]: posterior */
    uint8_t *trimmed;        /* [n validation] */
    double *t, *t_groups;    /* [K][K], [M][M] */
    float *warm_up;          /* slab, where there is a gate */
    bool known;              /* the matrices are there */
};

static inline bool lab_noise_forwards(const struct lab_noise_options *o)
{
    return o->correction == LAB_CORRECT_FORWARD || o->correction == LAB_CORRECT_BOTH;
}

static inline bool lab_noise_trims(const struct lab_noise_options *o)
{
    return o->correction == LAB_CORRECT_TRIM || o->correction == LAB_CORRECT_BOTH;
}

/* Matrices and posteriors of what is noisy, from s->p: classes each time, groups once. */
int lab_noise_know(struct lab_run *r, struct lab_noisy *s, struct fis_error *e) FIS_MUST_CHECK;

#endif
