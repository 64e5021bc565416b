/*
 * The metrics: one table (metrics_table.inc) of name, type, labels, meaning, and where the value
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

/* ---- for the table --------------------------------------------------------------------------- */

/* A number (or histogram) of a struct, found by its place. */
struct figure {
    size_t offset;
    enum {
        FIGURE_BOOL = 1,
        FIGURE_U32,
        FIGURE_U64,
        FIGURE_I64,
        FIGURE_DOUBLE,
        FIGURE_HISTOGRAM
    } kind;
};
#define FIGURE(type, member)                                                                         \
    {                                                                                                \
        offsetof(type, member), _Generic(((type *)0)->member,                                      \
                                    bool: FIGURE_BOOL,                                             \
                                    uint32_t: FIGURE_U32,                                          \
                                    uint64_t: FIGURE_U64,                                          \
                                    int64_t: FIGURE_I64,                                           \
                                    double: FIGURE_DOUBLE,                                         \
                                    const struct histogram *: FIGURE_HISTOGRAM) \
    }
/* NaN: not known, as a negative integer or UINT64_MAX says. */
double metrics_figure(const void *base, struct figure f);

enum metric_when {
    WHEN_ALWAYS,
    WHEN_SCORER,  /* the process has the role, and it has begun */
    WHEN_TRAINER, /* the process has the role */
    WHEN_LEADING, /* it leads, and runs */
    WHEN_NOISY    /* the same, and privacy.noise is on */
};

struct metric;
typedef double metrics_value_fn(const struct status *s);
typedef void metrics_write_fn(const struct status *s, struct http_reply *out,
                              const struct metric *m);
struct metric {
    const char *name, *type; /* "counter", "gauge", "histogram" */
    enum metric_when when;
    struct {
        const char *labels;   /* names, for the reference; NULL: none */
        struct figure figure; /* of the status, where the others are NULL */
        double scale;         /* of the figure; 0: as it is */
        metrics_value_fn *value;
        const struct metric_part {
            const char *value; /* of the only label; NULL at the end */
            struct figure figure;
        } * parts;
        metrics_write_fn *write;
    } from;
    const char *help;
};
extern const struct metric metrics_table[]; /* name NULL at the end */
/* metrics_agreement.c */
metrics_value_fn metrics_agreement_records, metrics_agreement_alpha;
metrics_write_fn metrics_agreement_classes;
/* metrics_process.c */
metrics_value_fn metrics_cpu, metrics_resident, metrics_descriptors;
/* metrics_versions.c; the last one gives the figure of each group of what is served */
metrics_write_fn metrics_verdicts, metrics_version, metrics_accuracy, metrics_gaps, metrics_bounds,
    metrics_groups;

/* metrics_sample.c */
/* One sample: labels is `a="b",c="d"`, or "". NaN: left out. */
void metrics_sample(struct http_reply *out, const struct metric *m, const char *labels,
                    double value);
void metrics_histogram(struct http_reply *out, const struct metric *m, const struct histogram *h);
/* Appends name="value" to labels, escaped, with a comma where there are others. */
#define METRICS_LABELS 512
void metrics_label(char labels[METRICS_LABELS], const char *name, const char *value);

#endif
