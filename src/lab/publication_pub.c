/* The publication step of fis+: the gate's pick among the points of the Newton line. */
#include "lab/points.h"

static int publish(struct lab_run *r, int last, float *params, struct fis_error *e)
{
    int rc = fis_gate_judge(r->gate, r->learner, r->judgement, params, e);
    return rc < 0 ? rc : lab_points_take(r, last, params);
}

const struct lab_publication lab_publication_pub = {
    .name = "pub", .line = true, .by_metric = true, .publish = publish};
