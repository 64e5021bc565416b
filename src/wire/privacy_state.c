/* What noise on directions has spent, in heads' company: model versions and the trainer's state. */
#include "wire/model_parts.h"

#include <math.h>

Fis__V1__Privacy *wire_privacy_fill(Fis__V1__Privacy *out, const struct wire_privacy *from)
{
    if (!from->refreshes && !from->exact)
        return NULL;
    fis__v1__privacy__init(out);
    out->refreshes = from->refreshes;
    out->exact = from->exact;
    out->tag = from->tag;
    out->rho = from->rho;
    out->noise = from->noise;
    out->clip = from->clip;
    out->delta = from->delta;
    out->epsilon = isfinite(from->epsilon) ? from->epsilon : 0;
    return out;
}

int wire_privacy_read(const Fis__V1__Privacy *from, struct wire_privacy *out, struct fis_error *e)
{
    if (!from || (!from->refreshes && !from->exact))
        return 0;
    const double numbers[] = {from->rho, from->noise, from->clip, from->delta, from->epsilon};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!(numbers[i] >= 0 && isfinite(numbers[i])))
            return fis_fail(e, FIS_INPUT, "privacy: number %zu is %g; 0 or more is expected", i,
                            numbers[i]);
    *out = (struct wire_privacy){
        .refreshes = from->refreshes,
        .exact = from->exact,
        .tag = from->tag,
        .rho = from->rho,
        .noise = from->noise,
        .clip = from->clip,
        .delta = from->delta,
        .epsilon = from->exact ? (double)NAN : from->epsilon,
    };
    return 0;
}
