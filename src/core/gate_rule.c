#include "core/gate_rule.h"

#include <math.h>

#define FLOOR_ERRORS 2.0
#define UNDETECTABLE_SHARE .5

static const char *const reasons[] = {
    [FIS_GATE_FIRST] = "first",
    [FIS_GATE_FAIRER] = "fairer",
    [FIS_GATE_SERVED_AGED] = "served_aged",
    [FIS_GATE_MORE_ACCURATE] = "more_accurate",
    [FIS_GATE_ALWAYS] = "accuracy_kept",
    [FIS_GATE_NOT_FAIRER] = "not_fairer",
    [FIS_GATE_BELOW_FLOOR] = "below_floor",
    [FIS_GATE_NOT_FINITE] = "not_finite",
    [FIS_GATE_FEW_ROWS] = "few_rows",
    [FIS_GATE_SMALL_CELL] = "cell_too_small",
    [FIS_GATE_CONSTANT] = "constant",
    [FIS_GATE_PINNED] = "pinned",
};

const char *fis_gate_reason_name(enum fis_gate_reason r)
{
    return r >= FIS_GATE_FIRST && r <= FIS_GATE_PINNED ? reasons[r] : "unknown";
}

bool gate_metrics_finite(const struct fis_gate_options *o, const struct gate_figures *f,
                         const struct fis_metrics *m)
{
    if (!isfinite(m->accuracy) || !isfinite(m->balanced_accuracy))
        return false;
    if (!isfinite(m->demographic_parity) || !isfinite(m->risk_disparity))
        return false;
    if (f->odds_estimable[0] && !isfinite(m->equal_opportunity))
        return false;
    if (f->odds_estimable[1] && (!isfinite(m->equalized_odds) || !isfinite(m->equalized_odds_max)))
        return false;
    return isfinite(fis_metrics_of(m, o->metric));
}

double fis_gate_floor(const struct fis_gate_options *o, double reference, double se)
{
    return reference - o->epsilon - (o->line ? FLOOR_ERRORS * se : 0);
}

double gate_floor(const struct fis_gate_options *o, const struct gate_figures *f)
{
    if (!o->line)
        return fis_gate_floor(o, f->val0, 0);
    return f->served ? fis_gate_floor(o, f->served->accuracy, f->gain_se) : (double)-INFINITY;
}

bool gate_admissible(const struct fis_gate_options *o, const struct gate_figures *f,
                     const struct fis_metrics *m, bool is_anchor, double change)
{
    if (o->line)
        return is_anchor || change >= -o->epsilon * (f->undetectable ? UNDETECTABLE_SHARE : 1);
    const double floor = gate_floor(o, f);
    return f->strict ? m->accuracy > floor : m->accuracy >= floor;
}

enum fis_verdict gate_decide(const struct fis_gate_options *o, const struct gate_figures *f,
                             const struct fis_metrics *pick, enum fis_gate_reason *reason)
{
    *reason = FIS_GATE_NOT_FINITE;
    if (!gate_metrics_finite(o, f, pick) || !gate_metrics_finite(o, f, f->anchor))
        return FIS_REJECT;
    if (o->line && f->served && !(pick->accuracy >= gate_floor(o, f))) {
        *reason = FIS_GATE_BELOW_FLOOR;
        return FIS_REJECT;
    }
    if (o->rule == FIS_GATE_RULE_ALWAYS || !f->served) {
        *reason = FIS_GATE_ALWAYS;
        return FIS_PUBLISH;
    }
    if (!gate_metrics_finite(o, f, f->served))
        return FIS_REJECT;
    if (f->difference > 0 && f->difference > o->standard_errors * f->difference_se) {
        *reason = FIS_GATE_FAIRER;
        return FIS_PUBLISH;
    }
    if (f->served->accuracy < f->anchor->accuracy - o->epsilon) {
        *reason = FIS_GATE_SERVED_AGED;
        return FIS_PUBLISH;
    }
    if (!f->strict && f->gain > 0 && f->gain > o->standard_errors * f->gain_se &&
        f->difference >= -o->standard_errors * f->difference_se) {
        *reason = FIS_GATE_MORE_ACCURATE;
        return FIS_PUBLISH;
    }
    *reason = isfinite(f->difference) && isfinite(f->difference_se) ? FIS_GATE_NOT_FAIRER
                                                                    : FIS_GATE_NOT_FINITE;
    return FIS_REJECT;
}
