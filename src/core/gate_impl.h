/* The inside of struct fis_gate, shared by the files that implement it. */
#ifndef CORE_GATE_IMPL_H
#define CORE_GATE_IMPL_H

#include "fis/gate.h"

struct fis_gate {
    struct fis_gate_options o;
    size_t n_params;
    double val0;
    uint32_t looks;
    bool serves, held;
    /* Slabs of `slab`. */
    float *served[FIS_MAX_FOLDS];   /* the point for the rows of each fold */
    float *point[FIS_MAX_FOLDS];    /* likewise, of the point at hand, and then the pick's */
    float *line[1 + FIS_MAX_FOLDS]; /* where the line is at 1: published, and of each fold */
    float *picked;                  /* the pick as it would be published */
    float *slab;
    bool has_picked;
    fis_metrics_fn *measure;
    void *measure_arg;
    const float *served_x; /* validation rows as what is served sees them; NULL: the learner's */
};

struct fis_gate_points gate_end_alone(const struct fis_learner *t);
/* p: those of gate_end_alone; the others of the line are added. */
int gate_line_points(struct fis_gate *g, const struct fis_learner *t, struct fis_gate_points *p,
                     struct fis_error *e) FIS_MUST_CHECK;

/* ---- gate_text.c ---------------------------------------------------------------------------- */

/* A number for people: what could not be measured says so. */
struct gate_shown {
    char text[24];
};
struct gate_shown gate_shown(double value);
/* The verdict and its text; without a gap that the rows can tell, that is in it too. */
FIS_PRINTF(4, 5)
void gate_conclude(struct fis_gate_judgement *j, enum fis_verdict verdict,
                   enum fis_gate_reason reason, const char *format, ...);

#endif
