/* The lines of /metrics: samples, labels, histograms. */
#include <math.h>
#include <string.h>

#include "daemon/monitor/metrics.h"

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

void metrics_histogram(struct http_reply *out, const struct metric *m, const struct histogram *h)
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
