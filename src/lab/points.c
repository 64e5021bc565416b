#include "lab/points.h"

#include <math.h>
#include <string.h>

int lab_points_publish(struct lab_run *r, const struct fis_gate_points *p, int last, float *params,
                       struct fis_error *e)
{
    struct fis_gate_judgement *j = r->judgement;
    int rc = fis_gate_judge_points(r->gate, r->learner, p, j, params, e);
    if (rc < 0)
        return rc;
    if (j->verdict == FIS_PUBLISH) {
        r->result->interpolation = j->interpolation;
        return 0;
    }
    r->result->rounds_rejected += r->o->publish == LAB_PUBLISH_EVERY || last;
    if (r->o->publish == LAB_PUBLISH_ONCE) {
        r->result->interpolation = NAN;
        memcpy(params, p->anchor, r->n_params * sizeof *params);
    }
    return 0;
}
