/* The rival that a team has without fisd: boosted trees alone, fitted again to all labels after
 * each round, and taken as they are. The network over them stays untrained, and so adds nothing. */
#include <string.h>

#include "lab/run.h"

static int train(struct lab_run *r, uint32_t steps, struct fis_error *e)
{
    (void)r;
    (void)steps;
    (void)e;
    return 0;
}

static int publish(struct lab_run *r, int last, float *params, struct fis_error *e)
{
    (void)last;
    (void)e;
    memcpy(params, fis_learner_anchor(r->learner), r->n_params * sizeof *params);
    return 0;
}

const struct lab_publication lab_publication_trees = {
    .name = "trees", .trees_alone = true, .train = train, .publish = publish};
