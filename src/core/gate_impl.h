/* The inside of struct fis_gate, shared by the files that implement it. */
#ifndef CORE_GATE_IMPL_H
#define CORE_GATE_IMPL_H

#include "fis/gate.h"

struct fis_gate {
    struct fis_gate_options o;
    size_t n_params;
    double val0;
    uint32_t looks;
    int serves, held;
    float *served[2]; /* slabs: the point for each half of the rows */
    float *point[2];  /* slabs: likewise, of the last judgement's pick */
    float *picked;    /* slab: the pick as it would be published */
    int has_picked;
    fis_gate_measure_fn *measure;
    void *measure_arg;
};

#endif
