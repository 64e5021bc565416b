#include "daemon/monitor/metrics.h"

#include <math.h>

static bool applies(const struct metric *m, const struct status *s)
{
    switch (m->when) {
    case WHEN_SCORER:
        return s->scorer.on && s->scorer.open;
    case WHEN_TRAINER:
        return s->trainer.on;
    case WHEN_LEADING:
        return s->trainer.on && s->trainer.running;
    case WHEN_NOISY:
        return s->trainer.on && s->trainer.running && s->trainer.counts.privacy.refreshes;
    default:
        return true;
    }
}

static void write_samples(const struct status *s, struct http_reply *out, const struct metric *m)
{
    if (m->from.write) {
        m->from.write(s, out, m);
    } else if (m->from.parts) {
        for (const struct metric_part *p = m->from.parts; p->value; p++) {
            char labels[METRICS_LABELS] = "";
            metrics_label(labels, m->from.labels, p->value);
            metrics_sample(out, m, labels, metrics_figure(s, p->figure));
        }
    } else if (m->from.value) {
        metrics_sample(out, m, "", m->from.value(s));
    } else if (m->from.figure.kind == FIGURE_HISTOGRAM) {
        const void *at = (const char *)s + m->from.figure.offset;
        metrics_histogram(out, m, *(const struct histogram *const *)at);
    } else {
        double scale = m->from.scale != 0 ? m->from.scale : 1;
        metrics_sample(out, m, "", scale * metrics_figure(s, m->from.figure));
    }
}

void metrics_write(const struct status *s, struct http_reply *out)
{
    out->type = METRICS_TYPE;
    for (const struct metric *m = metrics_table; m->name; m++) {
        if (!applies(m, s))
            continue;
        http_printf(out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, m->type);
        write_samples(s, out, m);
    }
}

void metrics_write_markdown(FILE *out)
{
    static const char *const when[] = {"always", "scorer", "trainer", "leading trainer",
                                       "leading trainer"};
    fputs("| metric | type | labels | from | meaning |\n|---|---|---|---|---|\n", out);
    for (const struct metric *m = metrics_table; m->name; m++)
        fprintf(out, "| `%s` | %s | %s | %s | %s |\n", m->name, m->type,
                m->from.labels ? m->from.labels : "", when[m->when], m->help);
}
