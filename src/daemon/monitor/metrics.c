#include "daemon/monitor/metrics.h"

#include <math.h>
#include <string.h>

static void write_number(struct http_reply *out, double v)
{
    if (isinf(v))
        http_text(out, v > 0 ? "+Inf" : "-Inf");
    else if (v == floor(v) && fabs(v) < 1e15)
        http_printf(out, "%.0f", v);
    else
        http_printf(out, "%.12g", v);
}

void metrics_sample(struct http_reply *out, const struct metric *m, const char *labels,
                    double value)
{
    if (isnan(value))
        return;
    http_text(out, m->name);
    if (*labels)
        http_printf(out, "{%s}", labels);
    http_text(out, " ");
    write_number(out, value);
    http_text(out, "\n");
}

static void write_histogram(struct http_reply *out, const struct metric *m,
                            const struct histogram *h)
{
    uint64_t below = 0;
    if (!h)
        return;
    for (uint32_t i = 0; i <= h->n; i++) {
        below += h->counts[i];
        http_printf(out, "%s_bucket{le=\"", m->name);
        write_number(out, i < h->n ? h->bounds[i] : (double)INFINITY);
        http_printf(out, "\"} %llu\n", (unsigned long long)below);
    }
    http_printf(out, "%s_sum %.9g\n%s_count %llu\n", m->name, h->sum, m->name,
                (unsigned long long)h->count);
}

void metrics_label(char labels[METRICS_LABELS], const char *name, const char *value)
{
    size_t n = strlen(labels);
    int k = snprintf(labels + n, METRICS_LABELS - n, "%s%s=\"", n ? "," : "", name);
    if (k < 0 || (n += (size_t)k) + 4 >= METRICS_LABELS) {
        labels[n < METRICS_LABELS ? n - (size_t)k : 0] = 0;
        return;
    }
    for (; *value && n + 4 < METRICS_LABELS; value++) {
        if (*value == '"' || *value == '\\')
            labels[n++] = '\\';
        labels[n++] = *value == '\n' ? ' ' : *value;
    }
    labels[n++] = '"';
    labels[n] = 0;
}

double metrics_figure(const void *base, struct figure f)
{
    const void *at = (const char *)base + f.offset;
    switch (f.kind) {
    case FIGURE_BOOL:
        return *(const bool *)at;
    case FIGURE_U32:
        return *(const uint32_t *)at;
    case FIGURE_U64:
        return *(const uint64_t *)at == UINT64_MAX ? (double)NAN : (double)*(const uint64_t *)at;
    case FIGURE_I64:
        return *(const int64_t *)at < 0 ? (double)NAN : (double)*(const int64_t *)at;
    default:
        return *(const double *)at;
    }
}

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
        write_histogram(out, m, *(const struct histogram *const *)at);
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
