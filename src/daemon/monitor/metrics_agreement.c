/* How far annotators agree. Their names are in no metric. */
#include <math.h>

#include "daemon/monitor/metrics.h"

double metrics_agreement_records(const struct status *s)
{
    return s->trainer.agreement ? (double)s->trainer.agreement->records : (double)NAN;
}

double metrics_agreement_alpha(const struct status *s)
{
    return s->trainer.agreement ? s->trainer.agreement->alpha : (double)NAN;
}

void metrics_agreement_classes(const struct status *s, struct http_reply *out,
                               const struct metric *m)
{
    for (uint32_t k = 0; s->trainer.agreement && k < s->cfg->classes.count; k++) {
        char labels[METRICS_LABELS] = "";
        metrics_label(labels, "class", s->cfg->classes.items[k]);
        metrics_sample(out, m, labels, s->trainer.agreement->by_class[k]);
    }
}
