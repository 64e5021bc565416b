/* The linear system of influence functions: (H + damping I) s = g, H the Gauss-Newton matrix of the
 * mean cross-entropy over rows, never formed. */
#ifndef LAB_ISAL_H
#define LAB_ISAL_H

#include "fis/network.h"

struct lab_isal {
    const struct fis_shape *shape;
    const float *params; /* slab */
    const float *x;      /* [n][d] */
    uint32_t n;
    double damping;
};

/* Conjugate gradients from s = 0, until the residual is `tolerance` times |g| or for `most`
 * products. *residual (may be NULL): |g - A s| / |g|. */
int lab_isal_solve(const struct lab_isal *a, const float *g, double tolerance, uint32_t most,
                   float *s, double *residual, struct fis_error *e) FIS_MUST_CHECK;

#endif
