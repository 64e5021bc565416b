/*
 * The metrics: one table (metrics_table.c) of name, type, labels, meaning, and where the value
 * comes from. /metrics and the reference in the manual are written from it.
 *
 * Thread: the loop.
 */
#ifndef DAEMON_METRICS_H
#define DAEMON_METRICS_H

#include <stdio.h>

#include "daemon/monitor/status.h"

/* Prometheus text, version 0.0.4. */
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
void metrics_write(const struct status *s, struct http_reply *out);
/* The reference, a table in Markdown. */
void metrics_write_markdown(FILE *out);

/* ---- for the table ----------------------------------------------------------------------------
 */

struct metric;
/* One sample: labels is `a="b",c="d"` (metrics_label_text escapes a value), or "". NaN: left out.
 */
void metrics_sample(struct http_reply *out, const struct metric *m, const char *labels,
                    double value);
void metrics_histogram(struct http_reply *out, const struct metric *m, const struct histogram *h);
/* Appends name="value" to labels, with a comma where there are others. */
#define METRICS_LABELS 512
void metrics_label(char labels[METRICS_LABELS], const char *name, const char *value);

enum metric_when {
    WHEN_ALWAYS,
    WHEN_SCORER,  /* the process has the role, and it has begun */
    WHEN_TRAINER, /* the process has the role */
    WHEN_LEADING  /* it leads, and runs */
};

struct metric {
    const char *name, *type; /* "counter", "gauge", "histogram" */
    const char *labels;      /* names, for the reference; NULL: none */
    enum metric_when when;
    double (*value)(const struct status *s); /* one of the two */
    void (*write)(const struct status *s, struct http_reply *out, const struct metric *m);
    const char *help;
};
/* metrics_versions.c */
typedef void metrics_write_fn(const struct status *s, struct http_reply *out,
                              const struct metric *m);
metrics_write_fn metrics_verdicts, metrics_version, metrics_accuracy, metrics_gaps, metrics_bounds,
    metrics_group_rate, metrics_group_accuracy, metrics_group_rows;
extern const struct metric metrics_table[]; /* name NULL at the end */

#endif
