#include "lab/points.h"

#include <math.h>
#include <string.h>

int lab_points_take(struct lab_run *r, int last, float *params)
{
    const struct fis_gate_judgement *j = r->judgement;
    if (j->verdict == FIS_PUBLISH) {
        r->result->interpolation = j->interpolation;
        return 0;
    }
    r->result->rounds_rejected += r->o->publish == LAB_PUBLISH_EVERY || last;
    if (r->o->publish == LAB_PUBLISH_ONCE) {
        r->result->interpolation = NAN;
        memcpy(params, fis_learner_end(r->learner), r->n_params * sizeof *params);
    }
    return 0;
}
