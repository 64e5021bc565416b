/* Metrics of model versions: verdicts of the gate, and the served version. */
#include <stdio.h>

#include "daemon/monitor/metrics.h"
#include "wire/model_parts.h"

void metrics_verdicts(const struct status *s, struct http_reply *out, const struct metric *m)
{
    uint32_t n;
    const struct version_reason *r = version_log_reasons(s->versions, &n);
    for (uint32_t i = 0; i < n; i++) {
        char labels[METRICS_LABELS] = "";
        metrics_label(labels, "verdict", r[i].verdict);
        metrics_label(labels, "reason", r[i].reason);
        metrics_sample(out, m, labels, (double)r[i].count);
    }
}

void metrics_version(const struct status *s, struct http_reply *out, const struct metric *m)
{
    const struct version_info *newest = version_log_at(s->versions, 0);
    const struct version_info *served = version_log_served(s->versions);
    if (newest)
        metrics_sample(out, m, "which=\"newest\"", (double)newest->version);
    if (served)
        metrics_sample(out, m, "which=\"served\"", (double)served->version);
}

/* The models that are shown: what is served, the newest version, and the anchor it was judged
 * against (the newest model that was trained without regard to fairness). */
struct shown {
    const char *model;
    const struct fis_metrics *metrics;
};
static uint32_t models(const struct status *s, struct shown out[3])
{
    const struct version_info *newest = version_log_at(s->versions, 0);
    const struct version_info *served = version_log_served(s->versions);
    uint32_t n = 0;
    if (served && served->metrics.n)
        out[n++] = (struct shown){"served", &served->metrics};
    if (newest && newest->metrics.n)
        out[n++] = (struct shown){"newest", &newest->metrics};
    if (newest && newest->anchor.n)
        out[n++] = (struct shown){"anchor", &newest->anchor};
    return n;
}

void metrics_accuracy(const struct status *s, struct http_reply *out, const struct metric *m)
{
    struct shown shown[3];
    uint32_t n = models(s, shown);
    for (uint32_t i = 0; i < n; i++) {
        char labels[METRICS_LABELS] = "";
        metrics_label(labels, "model", shown[i].model);
        metrics_sample(out, m, labels, shown[i].metrics->accuracy);
    }
}

static void gap(struct http_reply *out, const struct metric *m, const char *model,
                const char *metric, const char *bound, double v)
{
    char labels[METRICS_LABELS] = "";
    metrics_label(labels, "model", model);
    metrics_label(labels, "metric", metric);
    if (bound)
        metrics_label(labels, "bound", bound);
    metrics_sample(out, m, labels, v);
}

void metrics_gaps(const struct status *s, struct http_reply *out, const struct metric *m)
{
    struct shown shown[3];
    uint32_t n = models(s, shown);
    for (uint32_t i = 0; i < n; i++) {
        for (int k = FIS_DEMOGRAPHIC_PARITY; k <= FIS_RISK_DISPARITY; k++)
            gap(out, m, shown[i].model, fis_metric_name((enum fis_metric)k), NULL,
                fis_metrics_of(shown[i].metrics, (enum fis_metric)k));
    }
}

void metrics_bounds(const struct status *s, struct http_reply *out, const struct metric *m)
{
    const struct version_info *v = version_log_served(s->versions);
    if (!v || v->intervals.level <= 0)
        return;
    for (enum wire_metric k = 0; k < WIRE_METRICS; k++) {
        const struct wire_number *t = &wire_metric_numbers[k];
        const struct fis_interval *i = wire_interval_of(&v->intervals, k);
        if (t->interval)
            gap(out, m, "served", t->name, "low", i->low);
        if (t->interval)
            gap(out, m, "served", t->name, "high", i->high);
    }
}

/* Of the served version, group by group; groups are numbered, never named. */
void metrics_groups(const struct status *s, struct http_reply *out, const struct metric *m)
{
    const struct version_info *v = version_log_served(s->versions);
    for (uint32_t i = 0; v && i < v->metrics.n_groups; i++) {
        char labels[METRICS_LABELS] = "", group[16];
        snprintf(group, sizeof group, "%u", i);
        metrics_label(labels, "model", "served");
        metrics_label(labels, "group", group);
        metrics_sample(out, m, labels, metrics_figure(&v->metrics.group[i], m->from.figure));
    }
}
