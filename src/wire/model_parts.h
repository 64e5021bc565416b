/*
 * What heads and models have in common: the network, the encoder, lists of named numbers.
 *
 * The fill functions make protobuf messages whose small parts lie in the arena; they return
 * -FIS_NOMEM when it is full. Large arrays and strings are borrowed.
 */
#ifndef WIRE_MODEL_PARTS_H
#define WIRE_MODEL_PARTS_H

#include "fis/fairness.h"

#include "wire/protobuf_parts.h"

/* An arena in memory of its own, to be freed with fis_free(a->base). */
int wire_scratch_init(struct fis_arena *a, size_t bytes, struct fis_error *e) FIS_MUST_CHECK;
int wire_scratch_full(const struct fis_arena *a, struct fis_error *e);

/* INPUT naming the first of x [n] that is NaN or infinite: "<what> 17 is not finite". */
int wire_check_finite(const float *x, size_t n, const char *what,
                      struct fis_error *e) FIS_MUST_CHECK;

/* params may be NULL: the shape alone. */
struct wire_network {
    Fis__V1__Network message;
    Fis__V1__Network__Transformer transformer;
};
void wire_network_fill(struct wire_network *to, const struct fis_shape *shape, const float *params);
/* The shape is checked; *params is NULL when there are none, else all of them and finite. */
int wire_network_read(const Fis__V1__Network *n, struct fis_shape *shape, const float **params,
                      struct fis_error *e) FIS_MUST_CHECK;

size_t wire_encoder_scratch(const struct fis_encoder *enc); /* bytes that fill needs */
/* trees: NULL for the encoder's own. INPUT: it has none and needs some. */
int wire_encoder_fill(Fis__V1__Encoder *out, const struct fis_encoder *enc,
                      const struct fis_trees *trees, struct fis_arena *a,
                      struct fis_error *e) FIS_MUST_CHECK;
/* A new encoder for a network of this shape, which receives its margins; INPUT when it makes no
 * sense or does not fit. */
int wire_encoder_read(const Fis__V1__Encoder *from, struct fis_shape *shape,
                      struct fis_encoder **out, struct fis_error *e) FIS_MUST_CHECK;

/* Named numbers of a struct. */
struct wire_number {
    const char *name;
    size_t at;       /* offset of the double */
    size_t interval; /* of its interval in fis_metrics_intervals; 0: none (level is at 0) */
};
double wire_number_at(const void *base, size_t at);
enum wire_metric {
    WIRE_ACCURACY,
    WIRE_BALANCED_ACCURACY,
    WIRE_DEMOGRAPHIC_PARITY,
    WIRE_EQUAL_OPPORTUNITY,
    WIRE_EQUALIZED_ODDS,
    WIRE_EQUALIZED_ODDS_MAX,
    WIRE_RISK_DISPARITY,
    WIRE_METRICS
};
/* Of fis_metrics, by enum wire_metric; to the name NULL. */
extern const struct wire_number wire_metric_numbers[WIRE_METRICS + 1];
extern const struct wire_number wire_group_numbers[]; /* of fis_group_metrics; the same */
extern const struct wire_number wire_gate_numbers[];  /* of wire_model; the same */

/* WIRE_METRICS: there is none of that name (NULL: none either). */
enum wire_metric wire_metric_named(const char *name);
/* NaN where nothing was measured. */
double wire_metric_of(const struct fis_metrics *m, enum wire_metric metric);
/* NaN where it has none. */
const struct fis_interval *wire_interval_of(const struct fis_metrics_intervals *in,
                                            enum wire_metric metric);

/* The list of those numbers of `from` that are finite. `intervals` may be NULL. */
int wire_numbers_fill(const struct wire_number *table, const void *from,
                      const struct fis_metrics_intervals *intervals, struct fis_arena *a,
                      Fis__V1__Metric ***list, size_t *n, struct fis_error *e) FIS_MUST_CHECK;
/* Back: NaN where the list has none. `intervals` may be NULL. INPUT: a number is not finite. */
int wire_numbers_read(const struct wire_number *table, Fis__V1__Metric *const *list, size_t n,
                      void *to, struct fis_metrics_intervals *intervals,
                      struct fis_error *e) FIS_MUST_CHECK;

#define WIRE_METRICS_SCRATCH ((size_t)96 * 1024) /* bytes that one wire_metrics_fill needs */
int wire_metrics_fill(Fis__V1__Metrics *out, const struct fis_metrics *m,
                      const struct fis_metrics_intervals *intervals, struct fis_arena *a,
                      struct fis_error *e) FIS_MUST_CHECK;
/* m NULL: everything is NaN or 0. */
int wire_metrics_read(const Fis__V1__Metrics *m, struct fis_metrics *out,
                      struct fis_metrics_intervals *intervals, struct fis_error *e) FIS_MUST_CHECK;

/* What noise has spent. fill: NULL when there is none, else `out`. read: NULL is none. INPUT: a
 * number that none can be. */
Fis__V1__Privacy *wire_privacy_fill(Fis__V1__Privacy *out, const struct wire_privacy *from);
int wire_privacy_read(const Fis__V1__Privacy *from, struct wire_privacy *out,
                      struct fis_error *e) FIS_MUST_CHECK;

#endif
