/* The publication step of fis+: boosted copies on the kept sets, and the gate's pick between the
 * anchor and them. */
#include "lab/points.h"

static int publish(struct lab_run *r, int last, float *params, struct fis_error *e)
{
    struct fis_gate_points p;
    fis_gate_points_of(r->learner, &p);
    return lab_points_publish(r, &p, last, params, e);
}

const struct lab_publication lab_publication_pub = {
    .name = "pub", .copies = FIS_COPIES_BOOSTED, .by_metric = true, .publish = publish};
