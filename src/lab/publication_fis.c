/* Algorithm 1 as published, which is the daemon's (role/publication_mixed.c): one model, trained on
 * the initial rows and what the label check keeps; a round that the gate rejects is rolled back. */
#include "lab/run.h"

/* What was accepted last stays in params. */
static int publish(struct lab_run *r, int last, float *params, struct fis_error *e)
{
    int rc = publication_mixed.judge(r->parts, r->judgement, params, e);
    (void)last;
    r->result->rounds_rejected += rc == 0 && r->judgement->verdict == FIS_REJECT;
    return rc;
}

const struct lab_publication lab_publication_fis = {
    .name = "fis", .mixed = true, .by_metric = true, .every_round = true, .publish = publish};
